// Chooses where a label that has not been seen before joins a conditional probability tree.
#pragma once

#include <vector>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/tree.hpp"

namespace labeltrees {

// The outputs of regressors on a new label's way down: P(right) of each node, from the root.
struct HeardOutput {
  NodeId node;
  double p_right;
};
using HeardOutputs = std::vector<HeardOutput>;

class Placement {
 public:
  Placement(const ConditionalTree& model, const ConditionalLearning& options)
      : model_(model), options_(options) {}

  // The leaf that a new label will share a parent with: rule (5), or coin tosses. The tree must
  // have a label. O(depth nnz).
  NodeId of_new(LabelId label, const PreparedRow& row) {
    heard_.clear();
    return of_new(label, row, heard_);
  }

  // The same in the current tree. It reuses the outputs of its nodes for the row before, as long as
  // the path is the same, and appends new outputs. O(depth) if no regressor has to be evaluated.
  NodeId of_new(LabelId label, const PreparedRow& row, HeardOutputs& heard);

 private:
  double objective(NodeId node, double p_right) const;
  double size_of(NodeId node) const;
  NodeId within(double bound, std::int32_t depth, NodeId preferred, NodeId other) const;
  bool toss(LabelId label, std::int32_t depth) const;

  const ConditionalTree& model_;
  const ConditionalLearning& options_;
  BlockLines lines_;
  HeardOutputs heard_;
};

}  // namespace labeltrees
