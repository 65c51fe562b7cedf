// Columns of mean 0 and deviation 1: running moments of the rows, and rows scaled by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/rows/csr.hpp"

namespace labeltrees {

// Mean and deviation of every column of the rows seen so far, by their weights (Welford, West):
//   W' = W + w,  mean' = mean + (w / W') (x - mean),
//   squares' = squares + w (x - mean) (x - mean').
// Rows are processed one after the other, so the same rows give the same bits regardless of how
// they are cut into parts.
struct Moments {
  double total = 0;  // W, the summed weight
  std::vector<double> mean;
  std::vector<double> squares;  // the weighted squared deviations from the mean; >= 0
  std::size_t n_features() const noexcept { return mean.size(); }
};

// Adds rows to the moments; rows of weight 0 are skipped. weights: one per row, or empty if all are
// 1. Features are below n_features. O(rows * n_features).
void observe(Moments& moments, const CsrView& X, std::span<const float> weights);

// All entries of (x - mean) / deviation, by row: 0 in a column that has been constant so far, and
// within +-standard_limit. Preconditions and cost as above.
inline constexpr double standard_limit = 1e9;
std::vector<float> standardize(const Moments& moments, const CsrView& X);
// The same for a stream: each row is scaled by the moments of the rows before it, then observed.
std::vector<float> standardize_and_observe(Moments& moments, const CsrView& X,
                                           std::span<const float> weights);

}  // namespace labeltrees
