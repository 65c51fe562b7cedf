#include "labeltrees/multilabel/tree.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "labeltrees/multilabel/siblings.hpp"
#include "labeltrees/platform/room.hpp"

namespace labeltrees {
namespace {

// Initial weights, before data shows the value of the inputs: the margin in full, the balance at
// less.
Mixtures fresh_mixtures() {
  Mixture fresh{};
  fresh[margin_trust] = 1.0f;
  fresh[balance_trust] = 0.2f;
  Mixtures mixtures;
  mixtures.fill(fresh);
  return mixtures;
}

void check_line(const CountedLine& line, std::size_t i, std::uint64_t before,
                const WideTree& tree) {
  const std::uint32_t block = CountedTable::block_of(line.key);
  const std::uint32_t first = MultilabelTree::top_block + 1;
  const bool is_node = block >= first && block - first < tree.n_nodes() &&
                       !tree.at(static_cast<NodeId>(block - first)).is_leaf();
  const bool is_block =
      block == CountedTable::shared_block || block == MultilabelTree::top_block || is_node;
  if ((i > 0 && line.key <= before) || !is_block) {
    throw TreeError("line " + std::to_string(i) + " is out of order or names no block");
  }
  if (!std::all_of(line.weight.begin(), line.weight.end(),
                   [](float weight) { return std::isfinite(weight); })) {
    throw TreeError("line " + std::to_string(i) + " has a weight that is not finite");
  }
}

}  // namespace

MultilabelTree::MultilabelTree(WideTree tree, const Shortlist& shortlist)
    : tree_(std::move(tree)),
      shortlist_(shortlist),
      mixtures_(fresh_mixtures()),
      mass_(tree_.n_nodes(), 0.0) {}

MultilabelTree::MultilabelTree(WideTree tree, const Shortlist& shortlist,
                               std::span<const double> mass, std::span<const CountedLine> lines,
                               std::span<const float> mixtures, std::span<const PairLine> pairs,
                               std::span<const float> reranker_mixtures)
    : tree_(std::move(tree)),
      shortlist_(shortlist),
      rerankers_(pairs, reranker_mixtures, 0.0f,
                 static_cast<std::size_t>(CountedTable::shared_block) - 1) {
  if (mass.size() != tree_.n_nodes() + 1) throw TreeError("mass needs one value for every node");
  if (mixtures.size() != n_mixtures * n_mixed) throw TreeError("mixtures have the wrong size");
  if (!std::all_of(mixtures.begin(), mixtures.end(), [](float v) { return std::isfinite(v); }) ||
      !std::all_of(mass.begin(), mass.end(), [](double m) { return m >= 0 && m < 1e300; })) {
    throw TreeError("mixtures must be finite, masses finite and not negative");
  }
  mass_.assign(mass.begin(), mass.end() - 1);
  mass_of_rows_ = mass.back();
  for (std::size_t i = 0; i < mixtures.size(); ++i) {
    mixtures_[i / n_mixed][i % n_mixed] = mixtures[i];
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    check_line(lines[i], i, i == 0 ? 0 : lines[i - 1].key, tree_);
    table_.make_room(1);
    table_.put_back(lines[i]);
  }
}

void MultilabelTree::make_room(std::size_t n_labels, LabelId label, std::size_t n_lines) {
  std::size_t n_roots = 0;  // that may have to be put on top
  if (n_labels > 0) {
    const bool is_new = tree_.empty();
    double room = is_new ? 0.0 : static_cast<double>(tree_.at(tree_.root()).room);
    double level = 1;
    for (std::int32_t h = is_new ? 0 : tree_.at(tree_.root()).height; h > 0; --h) level *= 7;
    for (; room < static_cast<double>(n_labels); ++n_roots) {
      room += is_new && n_roots == 0 ? 7.0 : 6.0 * level;
      level *= 7;
    }
    const std::size_t n_nodes = n_labels * (tree_.nodes_per_label() + n_roots) + n_roots;
    tree_.reserve(n_nodes, label);
    labeltrees::make_room(mass_, n_nodes);
  }
  top_lines_.clear();
  if (n_roots > 0) {
    top_lines_ = table_.copies_of(top_block);
    const std::size_t n_more = n_roots * top_lines_.size();
    if (table_.would_share(n_lines + n_more)) top_lines_.clear();  // shared lines would be wrong
    n_lines += n_roots * top_lines_.size();
  }
  table_.make_room(n_lines);
}

void MultilabelTree::grow() noexcept {
  const double some = tree_.empty() ? 0.0 : mass(tree_.root());
  const bool is_first = tree_.empty();
  const NodeId root = tree_.grow();
  mass_.push_back(some);
  if (is_first) return;
  for (const CountedLine& top : top_lines_) {
    const std::uint32_t feature = CountedTable::feature_of(top.key);
    CountedLine& line = table_.obtain(CountedTable::key(block_of(root), feature));
    for (std::size_t s = 0; s < block_size; ++s) {
      const std::size_t from = s == 0 ? yes_slot : no_slot;
      line.weight[s] = top.weight[from];
      line.sum_code[s] = top.sum_code[from];
    }
  }
}

NodeId MultilabelTree::add_child(NodeId parent, LabelId label) noexcept {
  mass_.push_back(0);
  return tree_.add_child(parent, label);
}

void MultilabelTree::limit_bytes(std::size_t n_bytes) noexcept {
  rerankers_.table().limit_bytes(n_bytes / 4);
  table_.limit_bytes(n_bytes - n_bytes / 4);
}

}  // namespace labeltrees
