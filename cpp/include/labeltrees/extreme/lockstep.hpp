// All one-against-rest regressors of a node trained in lockstep by dual coordinate descent.
//
// Child c of a node learns weights w_c and a bias b_c (the weight of a constant feature 1) by
//   min 1/2 |w_c|^2 + 1/2 b_c^2 + cost sum_i s_i loss(m_ic, z_ic),   m_ic = w_c . x_i + b_c
// logistic: loss = log(1 + e^m) - z m, for soft targets z in [0, 1]: the Kullback-Leibler
//   divergence of eq. (13) up to a constant. One dual variable a row, beta = cost s (z - p) at the
//   optimum, and w = sum_i beta_i x_i throughout.
// hinge: loss = max(0, 1 - y m)^2 with y = 1 where z > 0, else -1 (Parabel).
//
// Siblings share their rows, so one pass over a row's features computes the margins of all of them
// and a second one moves all their weights, 16 children to a vector.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/rows/csr.hpp"

namespace labeltrees {

enum class NodeLoss : std::uint8_t { logistic, hinge };

struct NodeProblem {
  CsrView rows;  // features in [0, n_features), the constant left out
  std::size_t n_features = 0;
  std::size_t n_children = 0;
  std::span<const float> weights;  // s of every row, > 0
  // Row r has targets target_starts[r] .. target_starts[r + 1]: child and z in (0, 1]; other
  // children have z = 0.
  std::span<const std::int64_t> target_starts;
  std::span<const std::int32_t> target_children;
  std::span<const float> targets;
  // The last rows are held out. Their margins are stored before they are learned as well.
  std::size_t n_held = 0;
  bool is_mapped = false;  // the rows lie in a mapped file
};

struct LockstepOptions {
  NodeLoss loss;
  float cost;
  int max_epochs;
  // Stop when the duality gap is below this share of the objective of zero weights.
  double tolerance;
  std::uint64_t seed;  // of the orders in which rows are visited
};

// Siblings are trained in panels of at most this many.
inline constexpr std::size_t max_panel = 64;
// The columns of each panel: consecutive, nearly equal, the padded width a multiple of 16.
std::vector<std::size_t> panel_starts(std::size_t n_children);
std::size_t padded_width(std::size_t n_children) noexcept;

class LockstepSolver {
 public:
  // Trains children first .. last - 1 of a problem, last - first <= max_panel. Every child gets the
  // same result as if it were trained alone. O(epochs nnz(rows) (last - first)) time.
  void solve(const NodeProblem& problem, std::size_t first, std::size_t last,
             const LockstepOptions& options);

  // Weights of the panel solved last. Row f holds the weights of feature f, row n_features the
  // biases.
  std::size_t width() const noexcept { return width_; }
  const float* weights_of(std::size_t feature) const noexcept { return &w_[feature * width_]; }
  // The margins of held-out row h before it was learned.
  const float* held_margins(std::size_t h) const noexcept { return &held_[h * width_]; }
  int epochs() const noexcept { return epochs_; }
  // Bound on the duality gap of all children of the panel, and their objective at zero weights.
  double gap() const noexcept { return gap_; }
  double objective_at_zero() const noexcept { return at_zero_; }

 private:
  void learn(const NodeProblem& problem, std::size_t n_rows, int max_epochs,
             const LockstepOptions& options);

  std::size_t width_ = 0;
  std::vector<float> w_, dual_, held_, square_;
  std::vector<std::int32_t> panel_child_;
  std::vector<std::uint32_t> order_;
  int epochs_ = 0;
  double gap_ = 0, at_zero_ = 0;
};

}  // namespace labeltrees
