// Trains the regressors of a label tree on a relevance matrix (XReg; Parabel with hinge loss).
#pragma once

#include <cstdint>
#include <span>
#include <string>
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
// The same in somebody else's memory, or in a mapped file.
struct TrainingRows {
  CsrView rows;
  std::span<const std::int32_t> names;
  bool is_mapped = false;

  TrainingRows(const PreparedRows& X) : rows(X.view()), names(X.names) {}
  TrainingRows(const CsrView& mapped, std::span<const std::int32_t> their_names)
      : rows(mapped), names(their_names), is_mapped(true) {}
};
// Rows of length 1 without their zeros. Rows are scaled one by one, so a part of the rows gives the
// same values as the whole.
OwnedRows unit_rows(const CsrView& X);
// Numbers the features of rows that unit_rows made.
PreparedRows number_features(OwnedRows&& unit);
PreparedRows prepare_rows(const CsrView& X);

// The outputs of the regressors for held-out rows, at the nodes that learned from them afterwards.
// Row h has margins of nodes[starts[h]] .. nodes[starts[h + 1]], increasing, each at offsets[i].
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
  bool mean_error;  // or cost / (2 rows of the node); twice the objective is eq. (13)
  int max_epochs;
  double tolerance;
  float least_weight;        // weights of at most this size are dropped
  float least_share;         // as are weights of at most this share of their regressor's largest
  double weights_per_entry;  // number of weights per entry of its rows that a node keeps, the
                             // largest
  std::uint64_t seed;
  std::size_t n_workers;
  std::size_t n_rows;       // Evaluates one node's children for many rows.
  std::string folder = {};  // where the rows of nodes are spilled; empty: nowhere
};

// Outputs of the regressors of a node's children for the held-out rows that reach it.
struct HeldNode {
  std::vector<std::int32_t> held;
  std::vector<float> margins;  // held x children
};

// Some nodes of a tree, trained.
struct TrainedNodes {
  std::vector<NodeId> nodes;         // increasing
  std::vector<NodeWeights> weights;  // of each node; features by their own numbers
  std::vector<HeldNode> held;        // of each node
  std::vector<float> biases, reach;  // of their children, one node after the other
};

struct TrainedRelevance {
  OwnedSiblingWeights weights;
  std::vector<float> reach;  // share of the rows that have a relevant label below each node
  HeldMargins held;
};

// nodes are inner nodes of the tree, increasing. Row l of by_label has the rows of X with a label l
// of the tree and their relevance in (0, 1], rows increasing. held[i] is the number of row i among
// all held-out rows, or none; they are numbered from 0 in order. With mx_n(i) the largest relevance
// of a label below node n (at the root 1), a node's child c learns z = mx_c / mx_n with weight s =
// mx_n from the rows with mx_n > 0. The product of z along a path is then the label's relevance
// (Theorem 4.1).
//
// Nodes are independent tasks. The result for a node depends neither on the number of workers nor
// on the nodes that it is trained with. X and by_label therefore need only the rows with a label
// below one of the nodes (if the root is among them, all rows), in their order.
TrainedNodes train_nodes(const LabelTree& tree, std::span<const NodeId> nodes,
                         const TrainingRows& X, const CsrView& by_label,
                         std::span<const std::int32_t> held, const RelevanceTraining& options);

// The nodes of a tree that have regressors.
std::vector<NodeId> inner_nodes(const LabelTree& tree);

// Joins parts that have every inner node of the tree once, in any order, and empties them; n_held
// rows are held out in all. Throws TreeError if they have not.
TrainedRelevance join_nodes(const LabelTree& tree, std::vector<TrainedNodes> parts,
                            std::size_t n_held);

// How much there is to train on: rows, features that occur, entries, and relevant labels of rows.
struct TrainingSize {
  std::size_t n_rows, n_features, n_entries, n_targets;
};
// An upper bound on the bytes that each worker needs in addition to the results.
std::size_t worker_bytes(const LabelTree& tree, const TrainingSize& size);

}  // namespace labeltrees
