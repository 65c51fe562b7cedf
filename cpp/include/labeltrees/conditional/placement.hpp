// Where a label not seen before joins a conditional probability tree.
#pragma once

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/tree.hpp"

namespace labeltrees {

class Placement {
 public:
  Placement(const ConditionalTree& model, const ConditionalLearning& options)
      : model_(model), options_(options) {}

  // The leaf that a new label will share a parent with: rule (5), or coin tosses. The tree must
  // have a label. O(depth nnz).
  NodeId of_new(LabelId label, const PreparedRow& row);

 private:
  double objective(NodeId node, const PreparedRow& row) const;
  double size_of(NodeId node) const;
  NodeId within(double bound, std::int32_t depth, NodeId preferred, NodeId other) const;
  bool toss(LabelId label, std::int32_t depth) const;

  const ConditionalTree& model_;
  const ConditionalLearning& options_;
  BlockLines lines_;
};

}  // namespace labeltrees
