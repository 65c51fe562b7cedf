// Queries to a LOMtree. A row's prediction is the distribution of the leaf it reaches
// (node_distribution.hpp). All queries are const and single-threaded, and agree to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/lom/tree.hpp"
#include "labeltrees/online/prepared_row.hpp"

namespace labeltrees {

// The leaf that a row ends in; appends the nodes from the root to it to path. O(depth nnz).
NodeId leaf_of_row(const LomTree& model, const PreparedRow& row,
                   std::vector<NodeId>* path = nullptr);
// leaves[r] for every row of X.
void leaves_of_rows(const LomTree& model, const CsrView& X, const Reading& reading,
                    std::span<NodeId> leaves);

// The queries of conditional/search.hpp. A leaf that several rows reach is evaluated once.
void label_probabilities(const LomTree& model, const CsrView& X, std::span<const LabelId> labels,
                         const Reading& reading, std::span<double> p);
void top_labels(const LomTree& model, const CsrView& X, std::size_t k, const Reading& reading,
                std::span<LabelId> labels, std::span<double> p);
void all_probabilities(const LomTree& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p);
// Rows in compressed form, with every label whose probability is >= threshold in (0, 1]. All empty
// if there are more than max_entries.
struct LomAbove {
  std::vector<std::int64_t> starts;
  std::vector<LabelId> labels;
  std::vector<double> p;
};
LomAbove labels_above(const LomTree& model, const CsrView& X, double threshold,
                      std::size_t max_entries, const Reading& reading);
// One label a row, at the place uniforms[r] in [0, 1) of its distribution.
void sample_labels(const LomTree& model, const CsrView& X, std::span<const double> uniforms,
                   const Reading& reading, std::span<LabelId> labels);

// The path of one row: its inner nodes from the root down, each with its margin and the weights of
// the row's features (weights: row-major, one row a node), and the leaf at the end.
struct LomRoute {
  std::vector<NodeId> nodes;
  std::vector<float> margins;
  std::vector<std::uint32_t> features;
  std::vector<float> values, weights;
};
LomRoute report_route(const LomTree& model, const SparseRow& row, const Reading& reading);

}  // namespace labeltrees
