// Logistic regression with an l1 penalty, by coordinate descent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/rows/csr.hpp"

namespace labeltrees {

// Minimises |w|_1 + |b| + sum_i cost_i log(1 + exp(-sign_i (w x_i + b))) over some rows of X.
//
// A coordinate's step is Newton's, with a second derivative large enough that the objective cannot
// rise, so nothing is searched for. Along a coordinate the loss f satisfies |f'''| <= m f'' with m
// the largest |x_ij| (generalised self-concordance), hence
//   f(w + d) <= f(w) + f' d + f'' d^2 phi(m |d|),  phi(r) = (e^r - r - 1) / r^2,
// and also f'' <= sum_i cost_i x_ij^2 / 4 everywhere. A larger second derivative makes a shorter
// step, for which the bound holds all the more.
//
// Keeps its memory between problems. Not for several threads at a time.
class L1Logistic {
 public:
  explicit L1Logistic(std::size_t n_features) : local_(n_features, -1) {}

  // Row i of the problem is rows[i] of X, whose features are below n_features. signs are 1 or -1.
  // Ends when no coordinate is farther than `tolerance` from its optimality condition, in units of
  // the penalty, or after max_passes. Each pass costs O(nnz of the rows).
  void solve(const CsrView& X, std::span<const std::int32_t> rows,
             std::span<const std::int8_t> signs, std::span<const double> costs, double tolerance,
             int max_passes);

  // The features of the last problem that some row has, in increasing order, and their weights.
  const std::vector<std::int32_t>& features() const noexcept { return features_; }
  std::span<const double> weights() const noexcept {
    return std::span(weights_).first(features_.size());
  }
  double bias() const noexcept { return weights_.back(); }

 private:
  void gather(const CsrView& X, std::span<const std::int32_t> rows);
  double pass(bool only_active, double tolerance);
  double step(std::size_t column);
  void move(std::size_t column, double distance);

  std::vector<std::int32_t> local_;  // the place of a feature among features_; -1 between problems
  std::vector<std::int32_t> features_;
  // By column, the last of which is the bias. Entries, and a bound on their second derivative.
  std::vector<std::size_t> starts_;
  std::vector<std::int32_t> entry_rows_;
  std::vector<float> entry_values_;
  std::vector<double> largest_, most_curvature_, weights_;
  std::vector<std::uint8_t> active_;
  // By row. Margin times sign, the probability of the other sign, and the arguments of solve.
  std::vector<double> margins_, misses_;
  std::span<const std::int8_t> signs_;
  std::span<const double> costs_;
};

}  // namespace labeltrees
