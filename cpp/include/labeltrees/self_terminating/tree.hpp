// The self-terminating tree, a decision tree with a label distribution at every node.
//
// A node's distribution is its parent's, moved by the branch solver for log loss. Labels without
// mass in a branch all shrink by one factor. A node therefore keeps this factor and the
// probabilities of all other labels, so even with thousands of labels a node stores only those that
// occurred in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/rows/csr.hpp"
#include "labeltrees/self_terminating/split_search.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// Arrays over nodes; node 0 is the root, a child's id is larger than its parent's, the right
// child's id is one more than the left's. Inner nodes send x[feature] <= threshold left; a NaN goes
// where missing_left shows.
struct SelfTerminatingTree {
  std::vector<double> root;           // the root's distribution, over all labels
  std::vector<NodeId> left;           // none for a leaf
  std::vector<std::int32_t> feature;  // none for a leaf
  std::vector<float> threshold;
  std::vector<std::uint8_t> missing_left;
  std::vector<double> gain;          // decrease of the penalised risk by the split; 0 for a leaf
  std::vector<double> weight;        // of the examples that reached the node
  std::vector<double> factor;        // p = factor * the parent's p, except for the labels listed:
  std::vector<std::int64_t> starts;  // node's labels are starts[node] .. starts[node + 1],
  std::vector<LabelId> labels;       // increasing,
  std::vector<double> p;             // with these probabilities
  std::vector<NodeId> parent;        // follows from left, see link()

  std::size_t n_nodes() const noexcept { return left.size(); }
  std::size_t n_labels() const noexcept { return root.size(); }
  // Fills parent; throws TreeError with the reason if the arrays do not describe a tree over
  // n_features features. O(nodes + listed).
  void link(std::int32_t n_features);
  // Throws TreeError if a node's distribution does not sum to 1; for linked trees that were not
  // grown here. O(nodes + labels + listed).
  void check_sums() const;
};

// A label's p where its branch has none of it: factor p, not below the least positive number if
// both are above 0.
double shrink(double p, double factor) noexcept;

struct Growing {
  std::vector<double> penalties;  // of a node at depth 0, 1, ...; the last for all deeper ones
  double weight_power;            // see Penalty
  double min_gain;                // a split must decrease the criterion's penalised risk by this
  Norm norm;
  Criterion criterion;    // of splits; distributions are always by entropy
  bool split_terminated;  // else terminated branches are leaves
  std::size_t n_workers;
  std::vector<std::int32_t> categorical = {};  // features with a branch for every value; l1 only
};

// Grows a tree from the root distribution down. A branch that terminates has its parent's
// distribution; a node stops when no split decreases the penalised risk. The result for a node
// depends only on its rows, so neither the order of growing nor n_workers matters. Targets belong
// to the data's rows; root > 0 for every label they have. O(entries) per level for the bounds; see
// SplitSearch for the rest.
SelfTerminatingTree grow(const BinnedColumns& data, const Targets& targets,
                         std::span<const double> root, const Growing& options);

// The node at which each row ends. O(depth log nnz) a row. Values may be NaN.
std::vector<NodeId> find_leaves(const SelfTerminatingTree& tree, const CsrView& X);

// A node's distribution, over all labels. O(n_labels depth).
void distribution_at(const SelfTerminatingTree& tree, NodeId node, std::span<double> p);

// One entry of distribution_at, to the same bit. O(depth log labels).
double probability_at(const SelfTerminatingTree& tree, NodeId node, LabelId label);

// The labels.size() most likely labels of a node, most likely first, ties in order of labels.
// O(n_labels (depth + log k)).
void top_labels_at(const SelfTerminatingTree& tree, NodeId node, std::span<LabelId> labels,
                   std::span<double> p);

}  // namespace labeltrees
