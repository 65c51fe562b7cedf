// Queries to a probabilistic label tree. All are const, and agree to the last bit on a label's
// probability. It is the product of eta from the root down, refined where the label is a candidate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/conditional/queries.hpp"
#include "labeltrees/multilabel/marginals.hpp"
#include "labeltrees/multilabel/tree.hpp"

namespace labeltrees {

// p[r] = probability of labels[r] given row r; 0 for a label without a leaf. O(search) a row.
void label_probabilities(const MultilabelTree& model, const CsrView& X,
                         std::span<const LabelId> labels, const Reading& reading,
                         std::span<double> p, std::size_t n_threads);

// Finds the k most likely labels of every row, most likely first, row-major (n_rows, k); needs k <=
// n_labels. The result is exact. If the candidates do not prove it, the tree is searched best first
// until it is proved.
void top_labels(const MultilabelTree& model, const CsrView& X, std::size_t k,
                const Reading& reading, std::span<LabelId> labels, std::span<double> p,
                std::size_t n_threads);

// Computes the probability of every label id below n_columns, row-major (n_rows, n_columns). O(n
// nnz) a row.
void all_probabilities(const MultilabelTree& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p);

// Every label with probability >= threshold; false if there are more than max_entries.
bool labels_above(const MultilabelTree& model, const CsrView& X, double threshold,
                  std::size_t max_entries, const Reading& reading, SparseLabels& answer);

// A random set of labels for every row, with p = 1. Each label is in it with its probability. From
// the root down, every child of a drawn node is drawn with probability eta, and candidates are
// drawn separately. seeds[r] decides the draw of row r.
void sample_label_sets(const MultilabelTree& model, const CsrView& X,
                       std::span<const std::uint64_t> seeds, const Reading& reading,
                       SparseLabels& answer);

// The sum of all labels' probabilities, which is the expected number of labels. It is too small by
// at most `tolerance`, because subtrees whose labels together have less are left out.
void expected_labels(const MultilabelTree& model, const CsrView& X, double tolerance,
                     const Reading& reading, std::span<double> n);

// Finds the rows that give each label its largest probabilities, most likely first, row-major
// (n_labels, k). Of equals the first is taken. Labels have leaves, k <= n_rows.
void top_rows(const MultilabelTree& model, const CsrView& X, std::span<const LabelId> labels,
              std::size_t k, const Reading& reading, std::span<std::int64_t> rows,
              std::span<double> p);

// Why a label has its probability for a row.
struct MultilabelReport {
  double p_root;                // P(the row has any label)
  std::vector<NodeId> nodes;    // from below the root to the label's leaf
  std::vector<double> eta;      // of each
  std::vector<float> log_odds;  // of each, sharpened
  std::vector<float> weights;   // row-major; the effect of one unit of each feature on the margin
  std::vector<std::uint32_t> features;
  std::vector<float> values;
  double p_tree, q;
  bool is_candidate;
  float refined_log_odds, of_tree;      // of a candidate
  std::vector<float> reranker_weights;  // what one unit of each feature adds
};
MultilabelReport report_marginal(const MultilabelTree& model, const SparseRow& row, LabelId label,
                                 const Reading& reading);

}  // namespace labeltrees
