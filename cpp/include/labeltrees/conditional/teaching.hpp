// One step of a node's regressor, counts and mixture.
#pragma once

#include <span>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/tree.hpp"

namespace labeltrees {

// Teaches the regressor in a slot of a row's lines that the example went right or left. said: what
// it answered before. mixture: the one it answered with. O(nnz).
void teach_node(std::span<CountedLine* const> lines, std::size_t slot, const PreparedRow& row,
                const NodeOpinion& said, bool right, float weight, Mixture& mixture,
                const Learning& options) noexcept;

// Whether all regressors above a leaf may learn the row. Changes nothing. lines: scratch memory.
// O(depth nnz).
bool may_teach_path(const ConditionalTree& model, NodeId leaf, const PreparedRow& row, float weight,
                    const Learning& options, BlockLines& lines);

// Learns the rows in batches, with options.n_threads > 1 threads; see learn.
void learn_in_batches(ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
                      std::span<const float> weights, std::span<const std::int64_t> order,
                      const Foresight& foresight, const ConditionalLearning& options,
                      LearningWatch* watch);

}  // namespace labeltrees
