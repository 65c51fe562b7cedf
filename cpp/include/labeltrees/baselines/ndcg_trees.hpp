// FastXML's trees. Nodes are split so that both sides rank their rows' labels well by nDCG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/rows/csr.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// All trees in one set of arrays. A parent's number is smaller than its children's.
struct NdcgTrees {
  std::vector<NodeId> roots;
  std::vector<NodeId> left;  // the child of rows with w x + b <= 0, the other is the next; or none
  std::vector<std::int64_t> weight_starts{0};  // by node; offsets of its separator
  std::vector<std::int32_t> features;
  std::vector<float> weights;
  std::vector<float> biases;
  std::vector<std::int64_t> label_starts{0};  // by leaf; offsets of its rows' mean relevance
  std::vector<LabelId> labels;
  std::vector<float> relevances;

  std::size_t n_nodes() const noexcept { return left.size(); }
  // Throws TreeError unless the arrays fit together and every way down ends.
  void check(std::size_t n_features, std::size_t n_labels) const;
};

struct NdcgTreeOptions {
  std::size_t n_trees = 50;
  std::size_t max_leaf = 10;      // maximum number of rows of a leaf
  std::size_t leaf_labels = 100;  // maximum number of labels kept in a leaf, the most relevant ones
  double cost = 1;                // C_delta of both sides together; each has half of it
  double tolerance = 0.05;        // of the separators, see L1Logistic
  int max_passes = 100;
  std::uint64_t seed = 0;
  std::size_t n_workers = 1;
};

// Grows trees over rows X with relevance Y > 0, both checked; features of X are below n_features,
// labels of Y below n_labels. The trees are the same for any number of workers.
//
// A node's rows get random signs. Two steps alternate until no sign changes. Each side ranks the
// labels by the sum of y_il / N_i over its rows, N_i = sum_{j <= |y_i|} 1 / log2(1 + j). Each row
// then goes to the side with the larger sum_l y_il / log2(1 + rank(l)); a tie keeps its side.
// L1Logistic learns a separator of the signs, and its sign decides where a row goes. A node with at
// most max_leaf rows, or whose separator leaves one side empty, is a leaf. O(n_trees depth (nnz(X)
// passes + nnz(Y) turns)).
NdcgTrees grow_ndcg_trees(const CsrView& X, std::size_t n_features, const CsrView& Y,
                          std::size_t n_labels, const NdcgTreeOptions& options);

// The leaf of every row in every tree, (n_rows, n_trees). O(depth weights of a node) for each.
void ndcg_leaves(const NdcgTrees& trees, const CsrView& X, std::size_t n_features,
                 std::size_t n_workers, std::span<NodeId> leaves);

}  // namespace labeltrees
