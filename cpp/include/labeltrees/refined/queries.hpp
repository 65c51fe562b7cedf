// Queries to refined trees. All are const, and agree to the last bit on a label's probability. Each
// finds the row's candidates once and applies the formula of rerankers.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/conditional/queries.hpp"
#include "labeltrees/refined/refined_trees.hpp"

namespace labeltrees {

// p[r] = probability of labels[r] given row r; 0 for a label without a leaf. O(search) a row.
void label_probabilities(const RefinedTrees& model, const CsrView& X,
                         std::span<const LabelId> labels, const Reading& reading,
                         std::span<double> p, std::size_t n_threads);

// Finds the k most likely labels of every row, most likely first, row-major (n_rows, k); needs k <=
// n_labels. The result is exact. If the candidates do not prove it (a label outside them has at
// most most_outside / Z), more and more of the trees' most likely labels are evaluated until they
// do. Labels with equal probabilities come in the order of their ids, unless some of them were not
// needed.
void top_labels(const RefinedTrees& model, const CsrView& X, std::size_t k, const Reading& reading,
                std::span<LabelId> labels, std::span<double> p, std::size_t n_threads);

// The same for the labels that a beam of that width finds in addition to the candidates.
// certified[r] is 1 iff no other label can be more likely. k <= beam_width, k <= n_labels.
void beam_labels(const RefinedTrees& model, const CsrView& X, std::size_t k, std::size_t beam_width,
                 const Reading& reading, std::span<LabelId> labels, std::span<double> p,
                 std::span<std::uint8_t> certified);

// Computes the probability of every label id below n_columns, row-major (n_rows, n_columns).
// O(n_trees n nnz) a row.
void all_probabilities(const RefinedTrees& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p);

// As for one tree. Finds every label with q * scale >= threshold, with that product. Returns false
// if there are more than max_entries.
bool labels_above(const RefinedTrees& model, const CsrView& X, double threshold, double scale,
                  std::size_t max_entries, const Reading& reading, SparseLabels& answer);

// As for one tree. Draws by inversion of uniforms[r] in [0, 1), candidates first.
void sample_labels(const RefinedTrees& model, const CsrView& X, std::span<const double> uniforms,
                   const Reading& reading, std::span<LabelId> labels);

// As for one tree.
void top_rows(const RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
              std::size_t k, const Reading& reading, std::span<std::int64_t> rows,
              std::span<double> p);

// What becomes of a label's probability after the trees.
struct RefinementReport {
  double p_trees;
  double q;
  bool is_candidate;
  float m;                     // of a candidate: its refined log-probability, up to log Z
  float of_trees;              // log p_trees, weighed
  std::vector<float> weights;  // what one unit of each feature of the row adds to m
};
// The report for one row; the label must have a leaf.
RefinementReport report_refinement(const RefinedTrees& model, const SparseRow& row, LabelId label,
                                   const Reading& reading);

}  // namespace labeltrees
