#include "labeltrees/rows/standardize.hpp"

#include <algorithm>
#include <cmath>

namespace labeltrees {
namespace {

// One row after the other with its zeros.
class WholeRow {
 public:
  explicit WholeRow(std::size_t n_features) : values_(n_features) {}
  std::span<const double> read(const SparseRow& row) noexcept {
    std::fill(values_.begin(), values_.end(), 0.0);
    for (std::size_t k = 0; k < row.size(); ++k) {
      values_[static_cast<std::size_t>(row.indices[k])] = double{row.values[k]};
    }
    return values_;
  }

 private:
  std::vector<double> values_;
};

void observe_row(Moments& moments, std::span<const double> x, double weight) noexcept {
  if (!(weight > 0)) return;
  moments.total += weight;
  const double share = weight / moments.total;
  double* const mean = moments.mean.data();
  double* const squares = moments.squares.data();
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double before = x[j] - mean[j];
    mean[j] += share * before;
    squares[j] += weight * before * (x[j] - mean[j]);
  }
}

void standardize_row(const Moments& moments, std::span<const double> x, float* out) noexcept {
  const double* const mean = moments.mean.data();
  const double* const squares = moments.squares.data();
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double deviation = std::sqrt(squares[j] / moments.total);
    const double z = (x[j] - mean[j]) / deviation;
    const double limited = std::min(std::max(z, -standard_limit), standard_limit);
    out[j] = deviation > 0 ? static_cast<float>(limited) : 0.0f;
  }
}

double weight_of(std::span<const float> weights, std::size_t r) noexcept {
  return weights.empty() ? 1.0 : double{weights[r]};
}

}  // namespace

void observe(Moments& moments, const CsrView& X, std::span<const float> weights) {
  WholeRow row(moments.n_features());
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    observe_row(moments, row.read(X.row(r)), weight_of(weights, r));
  }
}

std::vector<float> standardize(const Moments& moments, const CsrView& X) {
  const std::size_t n_features = moments.n_features();
  WholeRow row(n_features);
  std::vector<float> values(X.n_rows() * n_features);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    standardize_row(moments, row.read(X.row(r)), values.data() + r * n_features);
  }
  return values;
}

std::vector<float> standardize_and_observe(Moments& moments, const CsrView& X,
                                           std::span<const float> weights) {
  const std::size_t n_features = moments.n_features();
  WholeRow row(n_features);
  std::vector<float> values(X.n_rows() * n_features);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const std::span<const double> x = row.read(X.row(r));
    standardize_row(moments, x, values.data() + r * n_features);
    observe_row(moments, x, weight_of(weights, r));
  }
  return values;
}

}  // namespace labeltrees
