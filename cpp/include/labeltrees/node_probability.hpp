// From a sparse row to node probabilities: the one place where a regressor is evaluated.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
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

// The lines of a row's features in one block, nullptr where there is none.
using BlockLines = std::vector<const CountedLine*>;
void find_lines(const CountedTable& table, std::uint32_t block, const PreparedRow& row,
                BlockLines& lines);

// What a node says of a row.
struct NodeOpinion {
  float margin;    // w . x
  Mixture inputs;  // what the log-odds are mixed of; not filled without mixing
  float log_odds;  // of right against left, before sharpening
  float estimate;  // in [0, 1]: the sigmoid of log_odds, or the margin clipped for squared loss
  double p_node;   // after sharpening, and kept away from 0 and 1: what learning and queries use
};

// Features are summed in order, so the result depends on nothing but row, weights and counts.
// O(nnz). lines: those of the row in the node's block.
NodeOpinion ask_node(const ConditionalTree& model, NodeId node,
                     std::span<const CountedLine* const> lines, const PreparedRow& row,
                     const Reading& reading) noexcept;

// The class of trust of a feature that was seen left and right so often (not both 0).
std::size_t vote_class(std::uint8_t left, std::uint8_t right) noexcept;
// log((right + c) / (left + c)), the vote of counts.
float vote(std::uint8_t left, std::uint8_t right) noexcept;

// Counts one more example on a side. Evidence against it fades by half, and no count passes 60, so
// that what was learned long ago can be unlearned.
inline void count_example(std::uint8_t& same, std::uint8_t& other) noexcept {
  constexpr std::uint8_t count_limit = 60;
  if (same >= count_limit) {
    same /= 2;
    other /= 2;
  }
  ++same;
  if (other > 2) other = static_cast<std::uint8_t>(1 + other / 2);
}

inline float sigmoid(float log_odds) noexcept { return 1.0f / (1.0f + std::exp(-log_odds)); }

// The loss's derivative by the margin of a regressor whose target is 1 (right) or 0.
inline float slope(float margin, bool right, Loss loss) noexcept {
  return (loss == Loss::squared ? margin : sigmoid(margin)) - (right ? 1.0f : 0.0f);
}
// Added to AdaGrad's sums, to keep their square root away from 0 where a gradient is 0.
inline constexpr float adagrad_floor = 1e-12f;

// One gradient step of the regressor at a slot; slope: of the loss by the margin, times the weight.
void step_lines(std::span<CountedLine* const> lines, const PreparedRow& row, std::size_t slot,
                float slope, const Learning& options) noexcept;

// The sigmoid, or the margin clipped to [0, 1] for squared loss.
inline double estimate(float margin, Loss loss) noexcept {
  if (loss == Loss::logistic) return 1.0 / (1.0 + std::exp(-static_cast<double>(margin)));
  return std::clamp(static_cast<double>(margin), 0.0, 1.0);
}

}  // namespace labeltrees
