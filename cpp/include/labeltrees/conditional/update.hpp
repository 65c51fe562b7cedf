// One step of a node's regressor, counts and mixture.
#pragma once

#include <span>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/platform/workers.hpp"

namespace labeltrees {

// Updates the regressor in a slot of a row's lines, for an example that went right or left. output:
// its output before. mixture: the mixture that output was computed with. O(nnz).
void update_node(std::span<CountedLine* const> lines, std::size_t slot, const PreparedRow& row,
                 const NodeOutput& output, bool right, float weight, Mixture& mixture,
                 const Learning& options) noexcept;

// Returns whether all regressors above a leaf may learn the row. Changes nothing. lines: scratch
// memory. O(depth nnz).
bool may_update_path(const ConditionalTree& model, NodeId leaf, const PreparedRow& row,
                     float weight, const Learning& options, BlockLines& lines);

// A model that learns the same batches of rows as a tree, at the same time.
class BatchCompanion {
 public:
  // rows[i] is the i-th row of the batch, and the begin + i-th of the order. The tree has learned
  // all batches before. It may throw; then no row is learned.
  virtual void read(std::size_t begin, std::span<const PreparedRow* const> rows,
                    Workers& workers) = 0;
  // Learns the rows that were read, while the tree learns them too. It must not read the tree.
  virtual void learn() noexcept = 0;

 protected:
  ~BatchCompanion() = default;
};

// Learns the rows in batches, with options.n_threads > 1 threads; see learn.
void learn_in_batches(ConditionalTree& model, const CsrView& X, std::span<const LabelId> labels,
                      std::span<const float> weights, std::span<const std::int64_t> order,
                      const Prediction& prediction, const ConditionalLearning& options,
                      LearningWatch* watch, BatchCompanion* companion = nullptr);

}  // namespace labeltrees
