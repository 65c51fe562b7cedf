// One linear classifier for every label against all other rows, all labels on the same rows.
//
// Label l has y_il = 1 for its rows and -1 for all others, and learns w_l and b_l by
//   ridge (DiSMEC):  min 1/2 |w|^2 + 1/2 b^2 + cost sum_i loss(y_il, m_il)
//   lasso (ProXML):  min |w|_1 + cost sum_i max(0, 1 - y_il m_il)^2,  b not penalised
// with margins m_il = w_l . x_i + b_l. Labels are dealt to threads in panels of at most max_panel;
// the result does not depend on the number of threads, and a label's on others of its panel only in
// how many passes are made.
#pragma once

#include <cstdint>
#include <vector>

#include "labeltrees/extreme/lockstep.hpp"
#include "labeltrees/rows/csr.hpp"

namespace labeltrees {

struct OneVsRestProblem {
  CsrView rows;  // features in [0, n_features), increasing in a row
  std::size_t n_features = 0;
  CsrView labels;  // labels of every row, values in (0, 1]
  std::size_t n_labels = 0;
};

// Weights (feature, label, value), by feature and then by label.
struct OneVsRestWeights {
  std::vector<std::int64_t> starts;  // of the features
  std::vector<std::int32_t> labels;
  std::vector<float> values;
  std::vector<float> biases;  // of the labels
  std::vector<double> gaps;   // by panel; bound on the gap over the objective at zero weights
  std::vector<std::int32_t> epochs;  // of the panels
};

struct RidgeOptions {
  NodeLoss loss;
  float cost;
  int max_epochs;
  double tolerance;    // of the duality gap, as a share of the objective at zero weights
  float least_weight;  // weights up to this are dropped
  std::uint64_t seed;
};

struct LassoOptions {
  float cost;
  int max_epochs;
  double tolerance;  // of the violated optimality, summed over features, as a share of that at zero
};

// Dual coordinate descent in lockstep. O(epochs nnz(rows) n_labels) time, and
// O((n_rows + n_features) max_panel) floats for each worker.
OneVsRestWeights train_ridge(const OneVsRestProblem& problem, const RidgeOptions& options,
                             std::size_t n_workers);

// Coordinate descent on the weights, feature by feature, all labels of a panel together. A step
// minimises the loss's quadratic upper bound in that weight, so the objective never grows.
// Same time and memory.
OneVsRestWeights train_lasso(const OneVsRestProblem& problem, const LassoOptions& options,
                             std::size_t n_workers);

}  // namespace labeltrees
