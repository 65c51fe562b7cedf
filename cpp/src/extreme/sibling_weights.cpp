#include "labeltrees/extreme/sibling_weights.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "labeltrees/platform/index.hpp"
#include "labeltrees/rows/feature_ranks.hpp"

namespace labeltrees {
namespace {

void need(bool fits, const char* what) {
  if (!fits) throw TreeError(what);
}

}  // namespace

void SiblingWeights::validate(const LabelTree& tree) const {
  // Every index is checked before it is used, because a file may contain anything.
  need(feature_rows.size() == features.size() + 1 && row_starts.size() == row_parents.size() + 1 &&
           columns.size() == values.size() && biases.size() == tree.n_nodes(),
       "the weights' arrays do not fit together");
  need(feature_rows[0] == 0 && feature_rows.back() == row_parents.size() && row_starts[0] == 0 &&
           row_starts.back() == columns.size(),
       "the weights' rows do not fill their arrays");
  bool good = true;
  for (std::size_t i = 0; i < features.size(); ++i) {
    good &= features[i] > (i == 0 ? -1 : features[i - 1]) && feature_rows[i] <= feature_rows[i + 1];
  }
  need(good, "the weights' features do not increase");
  need(std::is_sorted(row_starts.begin(), row_starts.end()), "the weights' rows do not follow");
  std::vector<std::int32_t> n_columns(tree.n_nodes());
  for (std::size_t node = 0; node < n_columns.size(); ++node) {
    n_columns[node] = tree.n_children(static_cast<NodeId>(node));
  }
  for (std::size_t r = 0; r < row_parents.size(); ++r) {
    const auto parent = static_cast<std::size_t>(row_parents[r]);  // below 0 is past all nodes
    need(parent < n_columns.size() && row_starts[r] < row_starts[r + 1] &&
             row_starts[r + 1] - row_starts[r] <= static_cast<std::uint32_t>(n_columns[parent]) &&
             columns[row_starts[r + 1] - 1] < n_columns[parent],
         "a row of weights has no place in the tree");
  }
}

void check_weight_count(std::size_t n_weights) {
  if (n_weights > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("a tree holds at most 2^32 - 1 weights; raise min_weight");
  }
}

OwnedSiblingWeights join_weights(std::vector<NodeWeights>& nodes, std::vector<float> biases) {
  OwnedSiblingWeights joined;
  joined.biases = std::move(biases);
  std::vector<std::span<const std::int32_t>> features;
  for (const NodeWeights& siblings : nodes) features.emplace_back(siblings.features);
  const FeatureRanks ranks(features);
  std::vector<std::uint32_t> n_rows(ranks.size() + 1, 0), n_weights(ranks.size() + 1, 0);
  std::size_t total = 0;
  for (const NodeWeights& siblings : nodes) total += siblings.values.size();
  check_weight_count(total);
  for (const NodeWeights& siblings : nodes) {
    for (std::size_t r = 0; r < siblings.features.size(); ++r) {
      const std::size_t f = index(ranks.rank(siblings.features[r]));
      ++n_rows[f + 1];
      n_weights[f + 1] += siblings.row_starts[r + 1] - siblings.row_starts[r];
    }
  }
  joined.features = ranks.names();
  for (std::size_t f = 0; f < ranks.size(); ++f) {
    joined.feature_rows.push_back(n_rows[f]);
    n_rows[f + 1] += n_rows[f];
    n_weights[f + 1] += n_weights[f];
  }
  joined.feature_rows.push_back(n_rows.back());
  joined.row_parents.resize(n_rows.back());
  joined.row_starts.resize(n_rows.back() + std::size_t{1});
  joined.row_starts.back() = n_weights.back();
  joined.columns.resize(total);
  joined.values.resize(total);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    NodeWeights& siblings = nodes[node];
    for (std::size_t r = 0; r < siblings.features.size(); ++r) {
      const std::size_t f = index(ranks.rank(siblings.features[r]));
      const std::uint32_t row = n_rows[f]++, begin = siblings.row_starts[r];
      const std::uint32_t count = siblings.row_starts[r + 1] - begin, to = n_weights[f];
      joined.row_parents[row] = static_cast<std::int32_t>(node);
      joined.row_starts[row] = to;
      std::copy_n(siblings.columns.begin() + begin, count, joined.columns.begin() + to);
      std::copy_n(siblings.values.begin() + begin, count, joined.values.begin() + to);
      n_weights[f] += count;
    }
    siblings = {};
  }
  return joined;
}

}  // namespace labeltrees
