#include "labeltrees/conditional/tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/platform/index.hpp"
#include "labeltrees/platform/room.hpp"

namespace labeltrees {
namespace {

// A block is named after the node that opens it, counting from 1.
Place opens_block(NodeId node) { return {static_cast<std::uint32_t>(node) + 1, 0}; }

}  // namespace

double balance_share(double alpha) noexcept {
  return 1.0 / (1.0 + elementary::exp2(1.0 - 1.0 / alpha));
}

double depth_bound(double n_labels, double alpha) noexcept {
  if (alpha <= 0) return std::numeric_limits<double>::infinity();
  const double per_level = -elementary::log(balance_share(alpha));
  if (per_level <= 0) return std::numeric_limits<double>::infinity();
  return elementary::log(n_labels) / per_level + 2;
}

// A node joins its parent's block at the next local level, or opens a block below the third. The
// place of every node thus follows from the tree alone.
Place ConditionalTree::place_below(NodeId parent, NodeId child) const noexcept {
  const Place above = place(parent);
  if (above.slot >= block_size / 2) return opens_block(child);
  const std::uint32_t side = child == tree_.first_child(parent) ? 0 : 1;
  return {above.block, 2 * above.slot + 1 + side};
}

void ConditionalTree::make_room(std::size_t n_nodes) {
  labeltrees::make_room(places_, n_nodes);
  labeltrees::make_room(mass_, n_nodes);
  labeltrees::make_room(shallowest_, n_nodes);
}

void ConditionalTree::add_root(LabelId label) {
  make_room(1);
  tree_.add_root(label);
  places_.push_back(opens_block(0));
  mass_.push_back(0);
  shallowest_.push_back(0);
}

NodeId ConditionalTree::split_leaf(NodeId leaf, LabelId new_label) {
  make_room(2);
  const NodeId first = tree_.split_leaf(leaf, new_label);
  for (const NodeId child : {first, first + 1}) places_.push_back(place_below(leaf, child));
  mass_.push_back(mass(leaf));
  mass_.push_back(0);
  shallowest_.insert(shallowest_.end(), 2, 0);
  measure_up(leaf);
  return first;
}

void ConditionalTree::undo_split() noexcept {
  const NodeId leaf = tree_.parents().back();
  tree_.undo_split();
  places_.resize(tree_.n_nodes());
  mass_.resize(tree_.n_nodes());
  shallowest_.resize(tree_.n_nodes());
  if (leaf == none) return;
  shallowest_[index(leaf)] = 0;
  measure_up(tree_.parent(leaf));
}

// Tells the node and those above it that the nearest leaf may be another one.
void ConditionalTree::measure_up(NodeId node) noexcept {
  for (; node != none; node = tree_.parent(node)) {
    const NodeId left = tree_.first_child(node);
    const std::int32_t now = 1 + std::min(shallowest(left), shallowest(left + 1));
    if (now == shallowest(node)) return;
    shallowest_[index(node)] = now;
  }
}

void ConditionalTree::derive_from_tree() {
  const std::size_t n_nodes = tree_.n_nodes();
  places_.resize(n_nodes);
  shallowest_.assign(n_nodes, 0);
  for (std::size_t i = 0; i < n_nodes; ++i) {
    const auto node = static_cast<NodeId>(i);
    if (!tree_.is_leaf(node) && tree_.n_children(node) != 2) {
      throw TreeError("node " + std::to_string(i) + " does not have two children");
    }
    places_[i] = i == 0 ? opens_block(0) : place_below(tree_.parent(node), node);
  }
  for (std::size_t i = n_nodes; i-- > 0;) {
    const auto node = static_cast<NodeId>(i);
    if (tree_.is_leaf(node)) continue;
    const NodeId left = tree_.first_child(node);
    shallowest_[i] = 1 + std::min(shallowest(left), shallowest(left + 1));
  }
}

// Initial weights, before data shows the value of the inputs: the margin in full, each vote at a
// third.
ConditionalTree::ConditionalTree() {
  Mixture fresh;
  fresh.fill(0.3f);
  fresh[n_vote_classes] = 1.0f;
  fresh[n_vote_classes + 1] = 0.0f;
  mixtures_.fill(fresh);
}

ConditionalTree::ConditionalTree(LabelTree tree, std::span<const double> mass,
                                 std::span<const CountedLine> lines,
                                 std::span<const float> mixtures)
    : tree_(std::move(tree)), mass_(mass.begin(), mass.end()) {
  if (mass.size() != tree_.n_nodes()) throw TreeError("mass needs one value for every node");
  if (mixtures.size() != n_mixtures * n_mixed) throw TreeError("mixtures have the wrong size");
  const auto finite = [](auto value) { return std::isfinite(value); };
  if (!std::all_of(mixtures.begin(), mixtures.end(), finite) ||
      !std::all_of(mass.begin(), mass.end(), [](double m) { return m >= 0 && m < 1e300; })) {
    throw TreeError("mixtures must be finite, masses finite and not negative");
  }
  for (std::size_t i = 0; i < mixtures.size(); ++i)
    mixtures_[i / n_mixed][i % n_mixed] = mixtures[i];
  derive_from_tree();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::uint64_t key = lines[i].key;
    const std::uint32_t block = CountedTable::block_of(key);
    const bool is_block = block == CountedTable::shared_block ||
                          (block > 0 && block <= tree_.n_nodes() && places_[block - 1].slot == 0);
    if ((i > 0 && key <= lines[i - 1].key) || !is_block) {
      throw TreeError("line " + std::to_string(i) + " is out of order or names no block");
    }
    if (!std::all_of(lines[i].weight.begin(), lines[i].weight.end(), finite)) {
      throw TreeError("line " + std::to_string(i) + " has a weight that is not finite");
    }
    table_.make_room(1);
    table_.put_back(lines[i]);
  }
}

}  // namespace labeltrees
