// Trains the regressors of a label tree on a relevance matrix (XReg; Parabel with hinge loss).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/extreme/lockstep.hpp"
#include "labeltrees/extreme/sibling_weights.hpp"
#include "labeltrees/rows/csr.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// Rows of length 1 (or empty), their features numbered without gaps; names[f] is feature f's own
// number. Zeros are left out.
struct PreparedRows {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  std::vector<std::int32_t> names;
  CsrView view() const noexcept { return {starts, indices, values}; }
};
PreparedRows prepare_rows(const CsrView& X);

// What the regressors said of held-out rows at the nodes that learned from them afterwards: row h
// has margins of nodes[starts[h]] .. nodes[starts[h + 1]], increasing, each at offsets[i].
struct HeldMargins {
  std::vector<std::int64_t> starts{0};
  std::vector<NodeId> nodes;
  std::vector<std::int64_t> offsets;
  std::vector<float> margins;
};

struct RelevanceTraining {
  NodeLoss loss;
  float cost;  // of a node: cost (n_rows / sum of s over the node's rows)^cost_power
  float cost_power;
  bool mean_error;  // or cost / (2 rows of the node): twice the objective is eq. (13)
  int max_epochs;
  double tolerance;
  float least_weight;        // weights of at most this size are dropped
  float least_share;         // and those of at most this share of their regressor's largest
  double weights_per_entry;  // a node keeps so many weights per entry of its rows, the largest
  std::uint64_t seed;
  std::size_t n_workers;
};

struct TrainedRelevance {
  OwnedSiblingWeights weights;
  std::vector<float> reach;  // share of the rows that have a relevant label below each node
  HeldMargins held;
};

// by_label: row l has the rows of X with a label l of the tree and their relevance in (0, 1], rows
// increasing. held[i]: which held-out row row i is, or none; held rows are numbered from 0 in
// order. With mx_n(i) the largest relevance of a label below node n (at the root 1), a node's child
// c learns z = mx_c / mx_n with weight s = mx_n from the rows with mx_n > 0, so that the product of
// z along a path is the label's relevance (Theorem 4.1). Nodes are independent tasks: the result
// does not depend on the number of workers.
TrainedRelevance train_relevance(const LabelTree& tree, const PreparedRows& X,
                                 const CsrView& by_label, std::span<const std::int32_t> held,
                                 const RelevanceTraining& options);

// An upper bound on the bytes that each worker needs besides the results.
std::size_t worker_bytes(const LabelTree& tree, const PreparedRows& X, const CsrView& by_label);

}  // namespace labeltrees
