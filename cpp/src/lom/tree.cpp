#include "labeltrees/lom/tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "labeltrees/online/regressor_bank.hpp"
#include "labeltrees/platform/index.hpp"
#include "labeltrees/platform/room.hpp"

namespace labeltrees {

LomTree::LomTree() {
  nodes_.emplace_back();
  reset(0);
}

// Makes a node a leaf that has seen nothing.
void LomTree::reset(NodeId id) {
  LomNode fresh;
  fresh.n_recycled = node(id).n_recycled;
  fresh.ledger = ledgers_.open();
  node(id) = fresh;
}

void LomTree::make_room(LabelId label, std::size_t n_greedy) {
  labeltrees::make_room(nodes_, 2);
  labeltrees::make_room(used_slots_, 1);
  make_room_in_all(totals_, index(label) + 1);
  make_room_in_all(last_leaf_, index(label) + 1);
  ledgers_.make_room(2, max_path_ + 1 + n_greedy);
}

void LomTree::add_total(LabelId label, double weight) {
  if (index(label) >= totals_.size()) totals_.resize(index(label) + 1, 0.0);
  double& total = totals_[index(label)];
  if (total == 0) ++n_labels_;
  total += weight;
  total_weight_ += weight;
  const double best = this->total(top_total_);
  if (total > best || (total == best && label < top_total_)) top_total_ = label;
}

bool LomTree::has_room(const LomLearning& options) const noexcept {
  const double limit =
      std::max(options.max_splits, options.splits_per_label * static_cast<double>(n_labels_));
  return static_cast<double>(n_splits()) < limit &&
         nodes_.size() + 2 <= index(std::numeric_limits<NodeId>::max());
}

bool LomTree::wants_split(NodeId leaf, const LedgerEntry& entry, float weight,
                          const LomLearning& options) const {
  const LomNode& here = node(leaf);
  const std::uint32_t n_labels = here.leaf_labels + (entry.leaf_count == 0 ? 1 : 0);
  if (n_labels < 2) return false;
  if (has_room(options)) return true;
  if (n_splits() == 0) return false;  // there is nothing to recycle
  const double most = std::max(entry.leaf_count + weight, here.leaf_top);
  return here.least - most > options.swap_resistance * (node(root_).least + 1);
}

void LomTree::split(NodeId leaf, const LomLearning& options) {
  NodeId left, right;
  if (has_room(options)) {
    left = static_cast<NodeId>(nodes_.size());
    right = left + 1;
    nodes_.resize(nodes_.size() + 2);
    reset(left);
    reset(right);
  } else {
    left = smallest_leaf();  // never `leaf`, because its least is above the root's
    right = node(left).parent;
    recycle(left);
  }
  ++n_made_;
  LomNode& here = node(leaf);
  here.left = left;
  here.right = right;
  here.place = new_place(leaf);
  here.split_number = static_cast<std::uint32_t>(n_made_);
  node(left).parent = node(right).parent = leaf;
  node(left).least = std::floor(here.least / 2);
  node(right).least = here.least - node(left).least;
  update_least(left);
  max_path_ = std::max(max_path_, path_size(left));  // others got no longer
}

void LomTree::undo_split(NodeId inner) {
  const NodeId parent = node(inner).parent;
  for (const NodeId id : {inner, node(inner).left, node(inner).right}) {
    ledgers_.close(node(id).ledger);
  }
  nodes_.resize(nodes_.size() - 2);
  --n_made_;
  reset(inner);
  node(inner).parent = parent;
}

std::size_t LomTree::path_size(NodeId id) const noexcept {
  std::size_t n_nodes = 0;
  for (; id != none; id = node(id).parent) ++n_nodes;
  return n_nodes;
}

NodeId LomTree::smallest_leaf() const noexcept {
  NodeId at = root_;
  while (!is_leaf(at)) {
    const LomNode& here = node(at);
    at = node(here.left).least < node(here.right).least ? here.left : here.right;
  }
  return at;
}

// Takes the leaf and its parent out of the tree. The sibling moves up; if the parent was the root,
// the sibling is the root now. Ledgers and regressors of the two are given up.
void LomTree::recycle(NodeId smallest) {
  const NodeId parent = node(smallest).parent;
  const NodeId above = node(parent).parent;
  const NodeId sibling = node(parent).left == smallest ? node(parent).right : node(parent).left;
  node(sibling).parent = above;
  if (above == none) {
    root_ = sibling;
  } else {
    (node(above).left == parent ? node(above).left : node(above).right) = sibling;
    update_least(sibling);
  }
  for (const NodeId id : {smallest, parent}) {
    ledgers_.close(node(id).ledger);
    ++node(id).n_recycled;
    reset(id);
  }
}

// Tells the ancestors that the node's least may have changed.
void LomTree::update_least(NodeId id) noexcept {
  for (NodeId above = node(id).parent; above != none; above = node(above).parent) {
    LomNode& here = node(above);
    const double least = std::min(node(here.left).least, node(here.right).least);
    if (least == here.least) return;
    here.least = least;
  }
}

// In its parent's block, so that a row on its way down stays in one block as long as it can. A new
// block if all places there have been used, because the remains of a recycled regressor must not
// count.
Place LomTree::new_place(NodeId id) {
  const NodeId parent = node(id).parent;
  if (parent != none) {
    const std::uint32_t block = node(parent).place.block;
    std::uint8_t& used = used_slots_[block - 1];
    const auto slot = static_cast<std::uint32_t>(std::countr_one(used));
    if (slot < block_size) {
      used = static_cast<std::uint8_t>(used | 1 << slot);
      return {block, slot};
    }
  }
  used_slots_.push_back(1);
  return {static_cast<std::uint32_t>(used_slots_.size()), 0};
}

void LomTree::count_at_leaf(NodeId leaf, LedgerEntry& entry, float weight) {
  LomNode& here = node(leaf);
  if (entry.leaf_count == 0) ++here.leaf_labels;
  entry.leaf_count += weight;
  here.leaf_top = std::max(here.leaf_top, entry.leaf_count);
  here.least += weight;
  update_least(leaf);
}

void LomTree::count_score(NodeId inner, LedgerEntry& entry, float score, float weight) {
  LomNode& here = node(inner);
  entry.inner_count += weight;
  entry.mean = moved_mean(entry.mean, entry.inner_count, score, weight);
  here.mean_weight += weight;
  here.mean = moved_mean(here.mean, here.mean_weight, score, weight);
}

LedgerEntry& LomTree::count_histogram(NodeId id, LabelId label, float weight) {
  LomNode& here = node(id);
  LedgerEntry& entry = ledgers_.obtain(here.ledger, label);
  if (entry.count == 0) ++here.n_labels;
  entry.count += weight;
  here.common.note(label, entry.count);
  here.weight += weight;
  return entry;
}

double LomTree::kappa(const LomNode& here) const noexcept {
  if (here.n_labels == 0) return 0;
  const double trust = trust_.trust(trust_class(here));
  return back_off_ * here.weight * (1 - trust) / trust;
}

NodeId LomTree::last_leaf(LabelId label) const noexcept {
  return label >= 0 && index(label) < last_leaf_.size() ? last_leaf_[index(label)] : none;
}

void LomTree::remember_leaf(LabelId label, NodeId leaf) {
  if (index(label) >= last_leaf_.size()) last_leaf_.resize(index(label) + 1, none);
  last_leaf_[index(label)] = leaf;
}

LomArrays LomTree::arrays() const {
  LomArrays a;
  for (const LomNode& n : nodes_) {
    a.parent.push_back(n.parent);
    a.left.push_back(n.left);
    a.right.push_back(n.right);
    a.ledger.push_back(n.ledger);
    a.block.push_back(n.place.block);
    a.slot.push_back(static_cast<std::uint8_t>(n.place.slot));
    a.leaf_labels.push_back(n.leaf_labels);
    a.n_labels.push_back(n.n_labels);
    a.n_recycled.push_back(n.n_recycled);
    a.split_number.push_back(n.split_number);
    a.least.push_back(n.least);
    a.weight.push_back(n.weight);
    a.leaf_top.push_back(n.leaf_top);
    a.top.push_back(n.common[0].count);
    a.mean.push_back(n.mean);
    a.mean_weight.push_back(n.mean_weight);
  }
  return a;
}

LomTree::LomTree(const LomArrays& a, NodeId root, std::span<const std::uint8_t> used_slots,
                 std::span<const double> totals, Ledgers ledgers,
                 std::span<const std::uint64_t> keys, std::span<const float> weights,
                 std::span<const float> sums, const BackOff& trust, double again)
    : root_(root),
      ledgers_(std::move(ledgers)),
      used_slots_(used_slots.begin(), used_slots.end()),
      trust_(trust),
      again_(again) {
  const std::size_t n = a.parent.size();
  for (const std::size_t size :
       {a.left.size(), a.right.size(), a.ledger.size(), a.block.size(), a.slot.size(),
        a.leaf_labels.size(), a.n_labels.size(), a.n_recycled.size(), a.split_number.size(),
        a.least.size(), a.weight.size(), a.leaf_top.size(), a.top.size(), a.mean.size(),
        a.mean_weight.size()}) {
    if (size != n) throw TreeError("every node needs one value of everything");
  }
  for (std::size_t i = 0; i < n; ++i) {
    nodes_.push_back({a.parent[i],
                      a.left[i],
                      a.right[i],
                      a.ledger[i],
                      {a.block[i], a.slot[i]},
                      a.least[i],
                      a.leaf_labels[i],
                      a.leaf_top[i],
                      a.mean[i],
                      a.mean_weight[i],
                      a.weight[i],
                      a.n_labels[i],
                      {},
                      a.n_recycled[i],
                      a.split_number[i]});
    n_made_ = std::max<std::uint64_t>(n_made_, a.split_number[i]);
  }
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (!(totals[i] >= 0) || !std::isfinite(totals[i])) {
      throw TreeError("totals must be finite and not negative");
    }
    if (totals[i] > 0) add_total(static_cast<LabelId>(i), totals[i]);
  }
  totals_.resize(totals.size(), 0.0);
  check_shape();
  check_places();
  check_counts();
  for (LomNode& here : nodes_) {
    for_labels(here,
               [&](LabelId label) { here.common.note(label, ledgers_.count(here.ledger, label)); });
  }
  restore_lines(table_, keys, weights, sums, used_slots_.size());
}

// Every node is reached once from the root. Finds the longest path.
void LomTree::check_shape() {
  const auto fail = [](std::size_t i) {
    throw TreeError("node " + std::to_string(i) + " is not where its parent or children say");
  };
  const std::size_t n = nodes_.size();
  if (n % 2 == 0 || root_ < 0 || index(root_) >= n || node(root_).parent != none) fail(0);
  struct Reached {
    NodeId id;
    std::size_t n_above;
  };
  std::vector<Reached> stack{{root_, 0}};
  std::size_t n_reached = 0;
  while (!stack.empty()) {
    const auto [id, n_above] = stack.back();
    stack.pop_back();
    max_path_ = std::max(max_path_, n_above + 1);
    if (++n_reached > n) fail(index(id));
    const LomNode& here = node(id);
    if (here.left == none && here.right == none) continue;
    for (const NodeId child : {here.left, here.right}) {
      if (child < 0 || index(child) >= n || node(child).parent != id) fail(index(id));
      stack.push_back({child, n_above + 1});
    }
    if (here.left == here.right) fail(index(id));
  }
  if (n_reached != n) fail(index(root_));
}

// Inner nodes have distinct places, and all nodes have distinct open ledgers.
void LomTree::check_places() const {
  std::vector<std::uint64_t> taken;
  std::vector<std::uint32_t> ledgers;
  for (const LomNode& here : nodes_) {
    if (!Ledgers::is_number(here.ledger) || !ledgers_.is_open(here.ledger)) {
      throw TreeError("a node has no ledger");
    }
    ledgers.push_back(here.ledger);
    if (here.left == none) continue;
    const Place at = here.place;
    if (at.block == 0 || at.block > used_slots_.size() || at.slot >= block_size ||
        (used_slots_[at.block - 1] >> at.slot & 1) == 0) {
      throw TreeError("a regressor has a place that does not exist");
    }
    taken.push_back(at.block * std::uint64_t{block_size} + at.slot);
  }
  std::sort(taken.begin(), taken.end());
  std::sort(ledgers.begin(), ledgers.end());
  if (std::adjacent_find(taken.begin(), taken.end()) != taken.end() ||
      std::adjacent_find(ledgers.begin(), ledgers.end()) != ledgers.end()) {
    throw TreeError("two nodes share a ledger or a regressor");
  }
}

void LomTree::check_counts() const {
  // Far beyond what can be learned, and far from where a product of counts is infinite.
  const auto is_count = [](double value) { return value >= 0 && value < 1e100; };
  for (const LomNode& here : nodes_) {
    const bool finite = std::isfinite(here.mean) && here.mean_weight >= 0 && is_count(here.least) &&
                        is_count(here.weight) && here.leaf_top >= 0;
    if (!finite) throw TreeError("a node's counts are not finite or negative");
    check_histogram(here);
    if (here.left == none) continue;
    if (here.least != std::min(node(here.left).least, node(here.right).least)) {
      throw TreeError("a node does not know the smallest leaf below it");
    }
  }
  if (!is_count(total_weight_)) throw TreeError("the totals add up to too much");
  // Sums of the same weights in another order may differ a little.
  if (!(again_ >= 0 && again_ <= total_weight_ * (1 + 1e-6))) {
    throw TreeError("more was learned again than was learned");
  }
  for (const SavedEntry& entry : ledgers_.sorted_entries()) {
    if (!(total(static_cast<LabelId>(entry.key & 0xffffffffu)) > 0)) {
      throw TreeError("a ledger has a label that was never learned");
    }
  }
}

// A node stores the number of labels in its histogram, and their weight. Its counts are floats that
// were added up one by one. They may be twice their true sum, where each addition is rounded up,
// and any smaller number, where they have stopped growing.
void LomTree::check_histogram(const LomNode& here) const {
  double sum = 0;
  std::uint32_t n_labels = 0;
  for_labels(here, [&](LabelId label) {
    const double count = ledgers_.count(here.ledger, label);
    n_labels += count > 0 ? 1 : 0;
    sum += count;
  });
  if (n_labels != here.n_labels || sum > 2 * here.weight || (n_labels == 0 && here.weight > 0)) {
    throw TreeError("a node's histogram is not what the node says of it");
  }
}

}  // namespace labeltrees
