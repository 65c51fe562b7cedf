// Labelwise inference finds the rows to which each label is most relevant (Algorithm 1 of the XReg
// paper's supplement, and an exact form of it).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/extreme/calibration.hpp"
#include "labeltrees/extreme/search.hpp"
#include "labeltrees/rows/csr.hpp"

namespace labeltrees {

struct Labelwise {
  std::size_t k;
  // A child is evaluated for the ceil(factor reach n_rows) rows most likely to reach it (at least
  // k).
  double factor;
  // Provably the k best rows. The rows that Algorithm 1 finds set a bar for every label. A second
  // pass drops a row at a node only where it is below the bar of every label under it.
  bool exact;
  // Rows are ranked by their calibrated logits, which distinguish rows whose probabilities round to
  // the same number. Without masses they are ranked by p. calibration.a > 0, calibration.b >= 0.
  Calibration calibration;
  std::span<const double> masses;
  std::size_t n_workers;
};

// rows and p have labels.size() x k entries, best first, ties to the smaller row; labels increase.
// A label that is in no tree has rows none with 0, as has one with fewer than k rows. The search is
// depth-first. A node's weights are unpacked once for all its rows, and subtrees run in parallel.
// With several trees the mean is used. Missing scores are filled in, unless the forest does not and
// exact is false. They equal the scores of ForestQuery::label to the last bit.
void labelwise_top_rows(QueryPool& pool, const CsrView& X, std::span<const LabelId> labels,
                        const Labelwise& options, std::span<std::int64_t> rows,
                        std::span<double> p);

}  // namespace labeltrees
