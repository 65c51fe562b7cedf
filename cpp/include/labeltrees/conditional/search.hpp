// Queries to a conditional probability tree. All are const, and agree to the last bit on a label's
// probability: the product of node probabilities from the root down.
#pragma once

#include <algorithm>
#include <span>

#include "labeltrees/conditional/node_probability.hpp"
#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/platform/workers.hpp"

namespace labeltrees {

// The k most likely labels of a row, most likely first, by best-first search. It is exact, because
// a path's probability never grows on the way down. Writes min(k, n_labels) labels and returns how
// many. About O(k depth nnz) where the likely labels stand out; at worst O(n_labels nnz).
class TopSearch {
 public:
  std::size_t run(const ConditionalTree& model, const PreparedRow& row, const Reading& reading,
                  std::span<Found> answers);

 private:
  struct Candidate {
    double p_path;
    NodeId node;
    std::int32_t lines;  // index of its block's lines, or none if not looked up yet
  };
  static bool comes_later(const Candidate& a, const Candidate& b) noexcept;
  std::vector<Candidate> heap_;
  std::vector<BlockLines> lines_;
};

// Calls answer(rows, first) for parts of X that threads share out; every part has many rows.
template <typename Answer>
void share_rows(const CsrView& X, std::size_t n_threads, const Answer& answer) {
  constexpr std::size_t part = 256;
  if (n_threads < 2 || X.n_rows() <= part) return answer(X, 0);
  Workers workers(std::min(n_threads, (X.n_rows() + part - 1) / part));
  workers.run((X.n_rows() + part - 1) / part, [&](std::size_t number, std::size_t) {
    const std::size_t first = number * part, n = std::min(part, X.n_rows() - first);
    answer({X.row_starts.subspan(first, n + 1), X.indices, X.values}, first);
  });
}

// p[r] = probability of labels[r] given row r; 0 for a label without a leaf. O(depth nnz) a row.
void label_probabilities(const ConditionalTree& model, const CsrView& X,
                         std::span<const LabelId> labels, const Reading& reading,
                         std::span<double> p, std::size_t n_threads);

// Row-major (n_rows, k): the k most likely labels of every row; needs k <= n_labels.
void top_labels(const ConditionalTree& model, const CsrView& X, std::size_t k,
                const Reading& reading, std::span<LabelId> labels, std::span<double> p,
                std::size_t n_threads);

// Row-major (n_rows, n_columns): the probability of every label id below n_columns. O(n nnz) a row.
void all_probabilities(const ConditionalTree& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p);

}  // namespace labeltrees
