#include <algorithm>
#include <cmath>

#include "labeltrees/extreme/search.hpp"
#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/platform/index.hpp"
#include "lockstep_kernels.hpp"

namespace labeltrees {
namespace {

// Sends for the cache lines of n numbers, at most 16 of them.
template <typename T>
void prefetch([[maybe_unused]] const T* first, [[maybe_unused]] std::size_t n) noexcept {
#if defined(__GNUC__)
  constexpr std::size_t per_line = 64 / sizeof(T);
  for (std::size_t i = 0; i < std::min(n, 16 * per_line); i += per_line) {
    __builtin_prefetch(first + i);
  }
#endif
}

// As std::lower_bound, with a step that needs no branch prediction.
const std::int32_t* first_not_below(const std::int32_t* at, const std::int32_t* end,
                                    std::int32_t value) noexcept {
  auto n = static_cast<std::size_t>(end - at);
  while (n > 0) {
    const std::size_t half = (n + 1) / 2;
    at += half * static_cast<std::size_t>(at[half - 1] < value);
    n -= half;
  }
  return at;
}

}  // namespace

TreeQuery::TreeQuery(const RelevanceTree& tree, const RelevanceForest& forest)
    : tree_(tree), loss_(forest.loss), inner_power_(forest.inner_power) {
  computed_in_.assign(tree.tree->n_nodes(), 0);
  place_.assign(tree.tree->n_nodes(), 0);
}

void TreeQuery::start(const SparseRow& row, std::int32_t held) {
  held_ = held;
  used_ = 0;
  if (++query_ == 0) {  // the counter wrapped, so all stored numbers are cleared
    std::fill(computed_in_.begin(), computed_in_.end(), 0u);
    query_ = 1;
  }
  double square = 0;
  for (const float value : row.values) square += static_cast<double>(value) * value;
  const double length = std::sqrt(square);
  features_.clear();
  const auto known = tree_.weights.features;
  auto from = known.begin();
  for (std::size_t k = 0; k < row.size(); ++k) {
    from = std::lower_bound(from, known.end(), row.indices[k]);
    if (from == known.end()) break;
    if (*from != row.indices[k] || row.values[k] == 0.0f) continue;
    const auto f = static_cast<std::size_t>(from - known.begin());
    const std::uint32_t begin = tree_.weights.feature_rows[f];
    const std::uint32_t end = tree_.weights.feature_rows[f + 1];
    prefetch(&tree_.weights.row_parents[begin], end - begin);
    const double value = static_cast<double>(row.values[k]) / length;
    features_.push_back({begin, end, static_cast<float>(value), static_cast<std::uint32_t>(k)});
  }
}

const float* TreeQuery::held_margins(NodeId node) const {
  if (held_ == none || tree_.held == nullptr) return nullptr;
  const HeldMargins& held = *tree_.held;
  const auto begin = held.nodes.begin() + held.starts[index(held_)];
  const auto end = held.nodes.begin() + held.starts[index(held_) + 1];
  const auto at = std::lower_bound(begin, end, node);
  if (at == end || *at != node) return nullptr;
  return &held.margins[static_cast<std::size_t>(
      held.offsets[static_cast<std::size_t>(at - held.nodes.begin())])];
}

// A feature's rows are sorted by parent, as the nodes are, so one walk finds the rows of all of
// them. Weights lie far apart in memory. Therefore all rows are found and prefetched before the
// first is read.
void TreeQuery::add_margins(std::span<const Pending> nodes) {
  const SiblingWeights& weights = tree_.weights;
  const std::int32_t* row_parents = weights.row_parents.data();
  hits_.clear();
  for (const Feature& feature : features_) {
    const std::int32_t* at = row_parents + feature.begin;
    const std::int32_t* end = row_parents + feature.end;
    for (const Pending& pending : nodes) {
      at = first_not_below(at, end, pending.node);
      if (at == end) break;
      if (*at != pending.node) continue;
      const auto row = static_cast<std::uint32_t>(at - row_parents);
      prefetch(&weights.row_starts[row], 1);
      hits_.push_back({row, 0, pending.place, feature.value});
    }
  }
  for (Hit& hit : hits_) {
    hit.end = weights.row_starts[hit.begin + std::size_t{1}];
    hit.begin = weights.row_starts[hit.begin];
    prefetch(&weights.columns[hit.begin], hit.end - hit.begin);
    prefetch(&weights.values[hit.begin], hit.end - hit.begin);
  }
  for (const Hit& hit : hits_) {
    float* margins = &pool_[hit.place];
    for (std::uint32_t i = hit.begin; i < hit.end; ++i) {
      margins[weights.columns[i]] += hit.value * half_to_float(weights.values[i]);
    }
  }
}

void answer_margins(const LabelTree& tree, NodeId node, NodeLoss loss, double inner_power,
                    float* margins) {
  const std::int32_t n = tree.n_children(node);
  if (loss == NodeLoss::logistic) {
    lockstep_kernels().sigmoids(margins, padded_width(index(n)));
  } else {
    for (std::int32_t c = 0; c < n; ++c) {
      const float slack = std::max(0.0f, 1.0f - margins[c]);
      margins[c] = elementary::exp(-slack * slack);
    }
  }
  if (inner_power == 1.0) return;
  const auto power = static_cast<float>(inner_power);
  for (std::int32_t c = 0; c < n; ++c) {
    if (!tree.is_leaf(tree.first_child(node) + c)) margins[c] = elementary::pow(margins[c], power);
  }
}

void TreeQuery::prepare(std::span<const NodeId> nodes) {
  const LabelTree& tree = *tree_.tree;
  pending_.clear();
  for (const NodeId node : nodes) {
    if (computed_in_[index(node)] == query_) continue;
    computed_in_[index(node)] = query_;
    place_[index(node)] = static_cast<std::uint32_t>(used_);
    used_ += padded_width(index(tree.n_children(node)));
    // Columns are bytes, so even a damaged one ends in the pool.
    if (pool_.size() < used_ + max_children) pool_.resize(2 * (used_ + max_children));
    pending_.push_back({node, place_[index(node)]});
  }
  for (const Pending& pending : pending_) {
    const std::size_t n = index(tree.n_children(pending.node));
    float* margins = &pool_[pending.place];
    std::copy_n(&tree_.weights.biases[index(tree.first_child(pending.node))], n, margins);
    std::fill(margins + n, margins + padded_width(n), 0.0f);
  }
  add_margins(pending_);
  for (const Pending& pending : pending_) {
    const std::size_t n = index(tree.n_children(pending.node));
    if (const float* held = held_margins(pending.node)) std::copy_n(held, n, &pool_[pending.place]);
    answer_margins(tree, pending.node, loss_, inner_power_, &pool_[pending.place]);
  }
}

const float* TreeQuery::children(NodeId node) {
  if (computed_in_[index(node)] != query_) prepare({&node, 1});
  return &pool_[place_[index(node)]];
}

double TreeQuery::label(LabelId label) {
  std::array<NodeId, max_depth> path;
  std::size_t depth = path_to(label, path);
  if (depth == 0) return 0.0;
  double p = 1.0;
  for (NodeId parent = 0; depth > 0; parent = path[depth]) {
    const NodeId child = path[--depth];
    p *= static_cast<double>(children(parent)[child - tree_.tree->first_child(parent)]);
  }
  return p;
}

double TreeQuery::known(LabelId label) const {
  std::array<NodeId, max_depth> path;
  std::size_t depth = path_to(label, path);
  if (depth == 0) return 0.0;
  double p = 1.0;
  for (NodeId parent = 0; depth > 0; parent = path[depth]) {
    if (computed_in_[index(parent)] != query_) return p;
    const NodeId child = path[--depth];
    const float* answers = &pool_[place_[index(parent)]];
    p *= static_cast<double>(answers[child - tree_.tree->first_child(parent)]);
  }
  return p;
}

// The nodes from the label's leaf up to below the root; none if the label is not in the tree.
std::size_t TreeQuery::path_to(LabelId label, std::array<NodeId, max_depth>& path) const {
  std::size_t depth = 0;
  NodeId node = tree_.tree->leaf_of(label);
  for (; node > 0; node = tree_.tree->parent(node)) path[depth++] = node;
  return depth;
}

void TreeQuery::add_path(LabelId label, std::vector<NodeId>& nodes) const {
  NodeId node = tree_.tree->leaf_of(label);
  while (node > 0) {
    node = tree_.tree->parent(node);
    if (computed_in_[index(node)] != query_) nodes.push_back(node);
  }
}

float TreeQuery::margin(NodeId node, std::int32_t child, std::vector<float>* parts) {
  float total = tree_.weights.biases[index(tree_.tree->first_child(node) + child)];
  const SiblingWeights& weights = tree_.weights;
  for (const Feature& feature : features_) {
    const auto begin = weights.row_parents.begin() + feature.begin;
    const auto end = weights.row_parents.begin() + feature.end;
    const auto at = std::lower_bound(begin, end, node);
    if (at == end || *at != node) continue;
    const auto r = static_cast<std::size_t>(at - weights.row_parents.begin());
    for (std::uint32_t i = weights.row_starts[r]; i < weights.row_starts[r + 1]; ++i) {
      if (weights.columns[i] != child) continue;
      const float weight = half_to_float(weights.values[i]);
      (*parts)[feature.entry] = weight;
      total += feature.value * weight;
    }
  }
  return total;
}

}  // namespace labeltrees
