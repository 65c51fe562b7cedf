#include "labeltrees/conditional/pecoc.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "labeltrees/online/regressor_bank.hpp"

namespace labeltrees {

void code_targets(std::size_t outcome, std::span<std::uint8_t> targets) noexcept {
  const std::size_t column = targets.size() - outcome;  // k - 1 - outcome
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = code_bit(i + 1, column) ? 1 : 0;
}

void decode(std::span<double> outputs) noexcept {
  const std::size_t k = outputs.size();
  for (double& answer : outputs) answer = 2 * answer - 1;
  outputs[0] = 1;
  for (std::size_t half = 1; half < k; half *= 2) {
    for (std::size_t start = 0; start < k; start += 2 * half) {
      for (std::size_t i = start; i < start + half; ++i) {
        const double a = outputs[i], b = outputs[i + half];
        outputs[i] = a + b;
        outputs[i + half] = a - b;
      }
    }
  }
  for (double& answer : outputs) answer /= static_cast<double>(k);
}

void project_on_simplex(std::span<double> p, double floor, std::vector<double>& sorted) {
  // p_j = floor + max(q_j - shift, 0); the shift follows from the largest q_j, those above it.
  sorted.assign(p.begin(), p.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const double mass = 1 - floor * static_cast<double>(p.size());
  double sum = 0, shift = 0;
  for (std::size_t j = 0; j < sorted.size(); ++j) {
    sum += sorted[j];
    const double now = (sum - mass) / static_cast<double>(j + 1);
    if (j > 0 && sorted[j] <= now) break;
    shift = now;
  }
  for (double& value : p) value = floor + std::max(value - shift, 0.0);
}

namespace {

// A margin that is not a number comes from extreme weights and values, and carries no information.
double answer(float margin, Loss loss) noexcept {
  return std::isnan(margin) ? 0.5 : estimate(margin, loss);
}

}  // namespace

void PecocDecoder::reserve(std::size_t n_regressors) {
  answers_.reserve(n_regressors + 1);
  sorted_.reserve(n_regressors + 1);
}

void PecocDecoder::run(std::span<const float> margins, Loss loss, std::span<double> p) {
  const std::size_t n = p.size(), k = margins.size() + 1;
  if (n == 1) {
    p[0] = 1;
    return;
  }
  const double floor = least_share(n);
  if (n == 2) {  // the conditional probability tree's node, to the last bit
    p[1] = std::min(std::max(floor, answer(margins[0], loss)), 1.0 - floor);
    p[0] = 1.0 - p[1];
    return;
  }
  answers_.resize(k);
  for (std::size_t i = 1; i < k; ++i) answers_[i] = answer(margins[i - 1], loss);
  decode(answers_);
  for (std::size_t j = 0; j < n; ++j) p[j] = answers_[k - 1 - j];
  project_on_simplex(p, floor, sorted_);
}

}  // namespace labeltrees
