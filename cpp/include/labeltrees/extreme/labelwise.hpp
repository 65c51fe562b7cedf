// Labelwise inference: the rows to which each label is most relevant (Algorithm 1 of the XReg
// paper's supplement), and an exact form of it.
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
  // A child is asked about the ceil(factor reach n_rows) rows likeliest to reach it (at least k).
  double factor;
  // Provably the k best rows: those that Algorithm 1 finds set a bar for every label, and a second
  // pass drops a row at a node only where it is below the bar of every label under it.
  bool exact;
  // Rows are ranked by their calibrated logits, which tell apart what rounds to the same
  // probability; without masses by p itself. calibration.a > 0, calibration.b >= 0.
  Calibration calibration;
  std::span<const double> masses;
  std::size_t n_workers;
};

// rows and p have labels.size() x k entries, best first, ties to the smaller row; labels increase.
// A label that is in no tree has rows none with 0, as has one with fewer than k rows. Depth-first,
// a node's weights unpacked once for all its rows, subtrees in parallel; several trees: the mean,
// with missing scores filled in, unless the forest does not and exact is not asked for. Scores that
// are filled in equal those of ForestQuery::label to the last bit.
void labelwise_top_rows(QueryPool& pool, const CsrView& X, std::span<const LabelId> labels,
                        const Labelwise& options, std::span<std::int64_t> rows,
                        std::span<double> p);

}  // namespace labeltrees
