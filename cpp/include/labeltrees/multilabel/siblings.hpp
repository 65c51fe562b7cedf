// What the regressors of a node's places say of a row, and one step of each.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/multilabel/tree.hpp"

namespace labeltrees {

// Of seven regressors; `right` of their counts and pasts means "a label below is relevant".
struct SiblingOpinions {
  std::array<NodeOpinion, block_size> of;
};

// The pasts of a node's places; free places have seen no label. Of the top block: see
// MultilabelTree.
using SiblingPasts = std::array<NodePast, block_size>;
SiblingPasts pasts_below(const MultilabelTree& model, NodeId node) noexcept;
SiblingPasts pasts_of_top(const MultilabelTree& model) noexcept;

// Fills the first n opinions, each as ask_slot does of its place. Places that have seen about as
// many rows with a label share a mixture. lines: of the row in the node's block, nullptr where
// there is none; values: of each line. O(n nnz).
void ask_siblings(std::span<const CountedLine* const> lines, std::span<const float> values,
                  std::size_t n, const SiblingPasts& pasts, const Mixtures& mixtures,
                  const Reading& reading, SiblingOpinions& said) noexcept;

// A number for each of the seven places.
using SiblingNumbers = std::array<float, block_size>;

// Teaches all seven regressors their targets in [0, 1]; those of weight 0 learn nothing. said: what
// they answered before. Those from n_mixing on do not teach mixtures. O(nnz).
void teach_siblings(std::span<CountedLine* const> lines, const PreparedRow& row,
                    const SiblingOpinions& said, const SiblingNumbers& targets,
                    const SiblingNumbers& weights, const SiblingPasts& pasts, std::size_t n_mixing,
                    Mixtures& mixtures, const Learning& options) noexcept;

}  // namespace labeltrees
