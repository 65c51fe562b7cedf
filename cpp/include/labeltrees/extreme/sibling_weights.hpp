// The weights of a tree's regressors, laid out for asking: siblings together, few bytes a weight.
//
// The regressors of a node's children are named by the node, their parent. A row holds the weights
// that one feature has in them: columns (which child) and values (halves). Rows are sorted by
// feature, then parent: the rows of a feature are a short sorted list of the nodes that it speaks
// in, so that a node finds those of a query's features by a few steps of binary search in memory
// that stays in the cache. Three bytes a weight and eight a row; mapped from a file as they are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/platform/half.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

inline constexpr std::size_t max_children = 256;  // a column is one byte

struct SiblingWeights {
  std::span<const std::int32_t> features;       // increasing: the features that have rows
  std::span<const std::uint32_t> feature_rows;  // feature i has rows [i] .. [i + 1]
  std::span<const std::int32_t> row_parents;    // increasing within a feature
  std::span<const std::uint32_t> row_starts;    // row r has weights [r] .. [r + 1]
  std::span<const std::uint8_t> columns;        // increasing within a row
  std::span<const std::uint16_t> values;        // halves
  std::span<const float> biases;                // of every node; that of the root is not used

  // Throws TreeError unless every number points inside the arrays and the tree, whatever the arrays
  // hold; but columns are only looked at where rows end. O(rows).
  void validate(const LabelTree& tree) const;
};

// The same, in memory of its own.
struct OwnedSiblingWeights {
  std::vector<std::int32_t> features;
  std::vector<std::uint32_t> feature_rows;
  std::vector<std::int32_t> row_parents;
  std::vector<std::uint32_t> row_starts;
  std::vector<std::uint8_t> columns;
  std::vector<std::uint16_t> values;
  std::vector<float> biases;
};

// What training makes of one node: the rows of its children, features in any order, each once.
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
