// A label tree from data: labels with similar examples share a subtree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/rows/csr.hpp"
#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// Sparse rows that own their memory, one per label, of Euclidean length 1 or empty.
struct Centroids {
  std::vector<std::int64_t> row_starts{0};
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  CsrView view() const noexcept { return {row_starts, indices, values}; }
};

struct Clustering {
  std::int32_t arity;
  std::uint64_t seed;
  // The parts of a node get equal shares of its mass instead of equal numbers of labels.
  bool by_mass;
  std::int32_t max_leaf;  // a node with at most this number of labels has them all as its children
  std::size_t n_workers;
};

// Row l = normalise(sum of weights[r] x_r / |x_r| over the rows r of label l); empty if label l has
// no row, or only empty ones. labels[r] < n_labels; weights may be empty (all 1), rows of weight 0
// are passed over (their label may be none). O(nnz log nnz) time, O(nnz) memory.
Centroids label_centroids(const CsrView& X, std::span<const LabelId> labels,
                          std::span<const float> weights, std::size_t n_labels);

// Row l = normalise(sum of y_il x_i over the entries i of row l of by_label), the features of X
// below n_features. O(nnz) time for all labels together, O(n_features) memory a worker.
Centroids relevance_centroids(const CsrView& X, std::size_t n_features, const CsrView& by_label,
                              std::size_t n_workers);

// Balanced spherical k-means, from the root down, over labels 0 .. centroids.n_rows() - 1.
//
// Labels are bisected. Two labels, drawn from the seed, are the first centres. The half with the
// largest v . (c_0 - c_1) goes left, ties to the smaller label, and each side's mean becomes its
// centre. This is repeated until the mean cosine sum_j |sum of side j| / n gains less than 1e-4, at
// most 50 times. A node of arity a consists of a - 1 such bisections whose sides have labels in
// proportion to their parts. Without by_mass every part therefore has at most ceil(n / a) of n
// labels, and the depth is ceil(log_a n).
//
// mass: of each label, >= 0; read only with by_mass. Empty centroids score 0 and fill the middle.
// O(nnz) a level and iteration, O(nnz) memory and O(features) a worker. The tree does not depend on
// the number of workers.
LabelTree kmeans_tree(const CsrView& centroids, std::span<const double> mass,
                      const Clustering& options);

// A part of the same tree: the labels below a node, in the order in which kmeans_tree puts them.
// They are 0 .. centroids.n_rows() - 1, increasing as in the whole. Only the first n_levels below
// the node are divided, so labels below the last of them are in increasing order.
//
// shape: any tree of kmeans_tree over the same number of labels as the whole, with the same arity
// and max_leaf. Without by_mass its nodes depend on no other argument, not even on the centroids.
// Throws TreeError if a node that is divided has other children.
std::vector<LabelId> kmeans_order(const CsrView& centroids, const LabelTree& shape, NodeId node,
                                  std::size_t n_levels, const Clustering& options);

}  // namespace labeltrees
