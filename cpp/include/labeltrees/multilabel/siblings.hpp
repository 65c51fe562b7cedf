// The outputs of the regressors of a node's places for a row, and one step of each.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/multilabel/tree.hpp"

namespace labeltrees {

// The output of one regressor for a row: log-odds = trust . (margin, balance) with mixing, else the
// margin.
struct SiblingOutput {
  float margin;    // w . x
  float balance;   // log-odds of "yes" among the rows that it has learned
  float log_odds;  // before sharpening
  double p_node;   // after sharpening, and kept away from 0 and 1
};

struct SiblingOutputs {
  std::array<SiblingOutput, block_size> of;
};

// The places of the trust in the margin and in the balance within a mixture; its other places are
// not used.
inline constexpr std::size_t margin_trust = n_vote_classes, balance_trust = n_vote_classes + 1;

// The pasts of a node's places, where right means "a label below is relevant". Free places have
// seen no label. For the top block see MultilabelTree.
using SiblingPasts = std::array<NodePast, block_size>;
SiblingPasts pasts_below(const MultilabelTree& model, NodeId node) noexcept;
SiblingPasts pasts_of_top(const MultilabelTree& model) noexcept;

// Fills the first n outputs. Places that have seen about as many rows with a label share a mixture.
// lines: the row's lines in the node's block, nullptr where there is none. values: one for each
// line. O(n nnz).
void evaluate_siblings(std::span<const CountedLine* const> lines, std::span<const float> values,
                       std::size_t n, const SiblingPasts& pasts, const Mixtures& mixtures,
                       const Reading& reading, SiblingOutputs& output) noexcept;

// A number for each of the seven places.
using SiblingNumbers = std::array<float, block_size>;

// Updates all seven regressors towards their targets in [0, 1]; regressors of weight 0 do not
// learn. output: their outputs before. Regressors from n_mixing on do not update mixtures. O(nnz).
void update_siblings(std::span<CountedLine* const> lines, const PreparedRow& row,
                     const SiblingOutputs& output, const SiblingNumbers& targets,
                     const SiblingNumbers& weights, const SiblingPasts& pasts, std::size_t n_mixing,
                     Mixtures& mixtures, const Learning& options) noexcept;

}  // namespace labeltrees
