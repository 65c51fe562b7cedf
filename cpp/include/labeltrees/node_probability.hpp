// From a sparse row to node probabilities: the one place where a regressor is evaluated.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "labeltrees/conditional_tree.hpp"

namespace labeltrees {

// Every conditional probability stays this far from 0 and 1, so that log loss is finite.
inline constexpr double probability_floor = 1e-6;
// The constant feature; no real feature has this index.
inline constexpr std::uint32_t bias_feature = 0xffffffffu;

// A row as the regressors see it: scaled, with the constant feature at the end.
struct PreparedRow {
  std::vector<std::uint32_t> features;
  std::vector<float> values;
  std::size_t size() const noexcept { return features.size(); }

  void assign(const SparseRow& row, const Reading& reading);
};

using Margins = std::array<float, block_size + 1>;  // the last is not used

// w . x for the seven regressors of a block. Features are summed in order, so the result depends
// on nothing but the row and the weights. O(nnz).
Margins block_margins(const WeightTable& table, std::uint32_t block, const PreparedRow& row);

// The regressor's estimate in [0, 1], not yet kept away from the ends.
inline double estimate(float margin, Loss loss) noexcept {
  if (loss == Loss::logistic) return 1.0 / (1.0 + std::exp(-static_cast<double>(margin)));
  return std::fmin(std::fmax(static_cast<double>(margin), 0.0), 1.0);
}

// p_node as learning and every query use it: P(right of node | at node), away from 0 and 1.
inline double node_probability(const ConditionalTree& /*model*/, NodeId /*node*/, float margin,
                               Loss loss) noexcept {
  return std::fmin(std::fmax(estimate(margin, loss), probability_floor), 1.0 - probability_floor);
}

}  // namespace labeltrees
