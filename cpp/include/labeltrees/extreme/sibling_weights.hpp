// The weights of a tree's regressors, laid out for queries: siblings together, few bytes a weight.
//
// The regressors of a node's children are stored under the node, their parent. A row holds the
// weights of one feature in them: columns (which child) and values (halves). Rows are sorted by
// feature, then parent. The rows of a feature are therefore a short sorted list of nodes. A query
// finds the rows of its features at a node by a few steps of binary search, in memory that stays in
// the cache. Three bytes a weight and eight a row; files are mapped without conversion.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/platform/half.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

inline constexpr std::size_t max_children = 256;  // a column is one byte

struct SiblingWeights {
  std::span<const std::int32_t> features;       // increasing; the features that have rows
  std::span<const std::uint32_t> feature_rows;  // feature i has rows [i] .. [i + 1]
  std::span<const std::int32_t> row_parents;    // increasing within a feature
  std::span<const std::uint32_t> row_starts;    // row r has weights [r] .. [r + 1]
  std::span<const std::uint8_t> columns;        // increasing within a row
  std::span<const std::uint16_t> values;        // halves
  std::span<const float> biases;                // by node; the root's is not used

  // Throws TreeError unless every number points inside the arrays and the tree, for any contents of
  // the arrays. Of the columns only the ends of rows are checked. O(rows).
  void validate(const LabelTree& tree) const;
};

// The same, but it owns its memory.
struct OwnedSiblingWeights {
  std::vector<std::int32_t> features;
  std::vector<std::uint32_t> feature_rows;
  std::vector<std::int32_t> row_parents;
  std::vector<std::uint32_t> row_starts;
  std::vector<std::uint8_t> columns;
  std::vector<std::uint16_t> values;
  std::vector<float> biases;
};

// The result of training one node: the rows of its children, features in any order, each once.
struct NodeWeights {
  std::vector<std::int32_t> features;
  std::vector<std::uint32_t> row_starts{0};
  std::vector<std::uint8_t> columns;
  std::vector<std::uint16_t> values;
};

// Sorts the weights of nodes 0, 1, ... (empty for leaves) into one, by feature. Empties the nodes.
// O(weights + largest feature / 64).
OwnedSiblingWeights join_weights(std::vector<NodeWeights>& nodes, std::vector<float> biases);

// Throws std::length_error for more weights than 32-bit places can number.
void check_weight_count(std::size_t n_weights);

}  // namespace labeltrees
