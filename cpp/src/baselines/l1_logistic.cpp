#include "labeltrees/baselines/l1_logistic.hpp"

#include <algorithm>
#include <cmath>

#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/platform/index.hpp"

namespace labeltrees {
namespace {

constexpr double least_curvature = 1e-12;

// Twice phi(r) of the header; at least 1.
double slack(double r) {
  if (r < 1e-3) return 1 + r / 3 + r * r / 12;
  if (r > 50) return 1e18;  // the other bound is smaller
  return 2 * (elementary::exp(r) - r - 1) / (r * r);
}

// The minimiser of slope d + curvature d^2 / 2 + |w + d|.
double newton(double w, double slope, double curvature) {
  if (slope + 1 <= curvature * w) return -(slope + 1) / curvature;
  if (slope - 1 >= curvature * w) return -(slope - 1) / curvature;
  return -w;
}

// How far a coordinate is from its optimality condition.
double violation(double w, double slope) {
  if (w > 0) return std::fabs(slope + 1);
  if (w < 0) return std::fabs(slope - 1);
  return std::max(0.0, std::fabs(slope) - 1);
}

}  // namespace

void L1Logistic::gather(const CsrView& X, std::span<const std::int32_t> rows) {
  features_.clear();
  for (const std::int32_t row : rows) {
    for (const std::int32_t feature : X.row(index(row)).indices) {
      std::int32_t& local = local_[index(feature)];
      if (local < 0) {
        local = 0;
        features_.push_back(feature);
      }
    }
  }
  std::sort(features_.begin(), features_.end());
  for (std::size_t f = 0; f < features_.size(); ++f) {
    local_[index(features_[f])] = static_cast<std::int32_t>(f);
  }
  const std::size_t n_columns = features_.size() + 1;
  starts_.assign(n_columns + 1, 0);
  for (const std::int32_t row : rows) {
    for (const std::int32_t feature : X.row(index(row)).indices) {
      ++starts_[index(local_[index(feature)]) + 1];
    }
  }
  starts_[n_columns] = rows.size();
  for (std::size_t c = 0; c < n_columns; ++c) starts_[c + 1] += starts_[c];
  entry_rows_.resize(starts_.back());
  entry_values_.resize(starts_.back());
  std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const SparseRow x = X.row(index(rows[r]));
    for (std::size_t k = 0; k <= x.size(); ++k) {
      const bool is_bias = k == x.size();
      const std::size_t column = is_bias ? n_columns - 1 : index(local_[index(x.indices[k])]);
      entry_rows_[next[column]] = static_cast<std::int32_t>(r);
      entry_values_[next[column]++] = is_bias ? 1.0f : x.values[k];
    }
  }
  for (const std::int32_t feature : features_) local_[index(feature)] = -1;
}

void L1Logistic::solve(const CsrView& X, std::span<const std::int32_t> rows,
                       std::span<const std::int8_t> signs, std::span<const double> costs,
                       double tolerance, int max_passes) {
  gather(X, rows);
  signs_ = signs;
  costs_ = costs;
  const std::size_t n_columns = features_.size() + 1;
  largest_.assign(n_columns, 0);
  most_curvature_.assign(n_columns, 0);
  for (std::size_t c = 0; c < n_columns; ++c) {
    for (std::size_t e = starts_[c]; e < starts_[c + 1]; ++e) {
      const double x = entry_values_[e];
      largest_[c] = std::max(largest_[c], std::fabs(x));
      most_curvature_[c] += costs[index(entry_rows_[e])] * x * x / 4;
    }
  }
  weights_.assign(n_columns, 0);
  active_.assign(n_columns, 1);
  margins_.assign(rows.size(), 0);
  misses_.assign(rows.size(), 0.5);
  // Columns that moved are passed over until they rest, then all are looked at again.
  for (int n = 0; n < max_passes; ++n) {
    if (pass(false, tolerance) <= tolerance) return;
    while (++n < max_passes && pass(true, tolerance) > tolerance) look_up();
    look_up();
  }
}

double L1Logistic::pass(bool only_active, double tolerance) {
  double worst = 0;
  for (std::size_t c = 0; c < weights_.size(); ++c) {
    if (only_active && active_[c] == 0) continue;
    const double here = step(c);
    active_[c] = weights_[c] != 0 || here > tolerance ? 1 : 0;
    worst = std::max(worst, here);
  }
  return worst;
}

double L1Logistic::step(std::size_t column) {
  double slope = 0, curvature = 0;
  for (std::size_t e = starts_[column]; e < starts_[column + 1]; ++e) {
    const std::size_t r = index(entry_rows_[e]);
    const double x = entry_values_[e], miss = misses_[r], weighted = costs_[r] * miss * x;
    slope -= weighted * signs_[r];
    curvature += weighted * x * (1 - miss);
  }
  const double w = weights_[column], here = violation(w, slope);
  if (here == 0) return 0;
  curvature = std::max(curvature, least_curvature);
  const double reach = largest_[column] * std::fabs(newton(w, slope, curvature));
  const double bound = std::max(most_curvature_[column], least_curvature);
  const double distance = newton(w, slope, std::min(curvature * slack(reach), bound));
  if (distance != 0) move(column, distance);
  return here;
}

void L1Logistic::move(std::size_t column, double distance) {
  weights_[column] += distance;
  for (std::size_t e = starts_[column]; e < starts_[column + 1]; ++e) {
    const std::size_t r = index(entry_rows_[e]);
    margins_[r] += signs_[r] * distance * entry_values_[e];
    misses_[r] = 1 / (1 + elementary::exp(margins_[r]));
  }
}

}  // namespace labeltrees
