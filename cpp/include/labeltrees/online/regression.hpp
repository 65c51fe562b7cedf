// How online regressors read rows and learn, and the losses they learn by.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "labeltrees/platform/elementary.hpp"

namespace labeltrees {

enum class Loss { logistic, squared };
enum class Optimizer { adagrad, sgd };

// How rows are read; learning and every query must agree on it.
struct Reading {
  Loss loss;
  bool normalize;   // scale rows to Euclidean length 1
  float bias;       // value of a constant feature added to every row; 0 for none
  bool mixing;      // mix the regressor's margin with votes of counts; logistic loss only
  float sharpness;  // factor of a mixed log-odds
  float scale = 1;  // of rows that keep their length
};

// What every regressor has to know.
struct Learning {
  Reading reading;
  Optimizer optimizer;
  float learning_rate;
  // The rows have been learned before. State that would take them for new evidence is left
  // unchanged.
  bool again;
};

// Learning from `row` would have made a weight grow past all measure; rows before it were learned.
class Diverged : public std::runtime_error {
 public:
  explicit Diverged(std::size_t row)
      : std::runtime_error("the weights grew without bound at row " + std::to_string(row)),
        row_(row) {}
  [[nodiscard]] std::size_t row() const noexcept { return row_; }

 private:
  std::size_t row_;
};

// Every conditional probability stays this far from 0 and 1, so that log loss is finite.
inline constexpr double probability_floor = 1e-6;

inline float sigmoid(float log_odds) noexcept { return 1.0f / (1.0f + elementary::exp(-log_odds)); }

// The sigmoid, or the margin clipped to [0, 1] for squared loss.
inline double estimate(float margin, Loss loss) noexcept {
  if (loss == Loss::logistic) return 1.0 / (1.0 + elementary::exp(-static_cast<double>(margin)));
  return std::clamp(static_cast<double>(margin), 0.0, 1.0);
}

// The loss's derivative by the margin of a regressor whose target is 1 (right) or 0.
inline float slope(float margin, bool right, Loss loss) noexcept {
  return (loss == Loss::squared ? margin : sigmoid(margin)) - (right ? 1.0f : 0.0f);
}

// Whether steps may grow without bound. The others' are at most learning_rate times the row's
// weight times the bias or 1, too little for any number of rows to pass float's range.
inline bool may_diverge(const Reading& reading) noexcept {
  return reading.loss == Loss::squared || !reading.normalize;
}

// Returns whether a regressor may make a step of this slope for a row whose largest value is
// `largest`. Only learning that diverges exceeds so large a limit. No sum of steps within the
// limit, or of their squares, exceeds the range of float. False if the slope is not a number.
inline bool may_step(float slope, float largest, Optimizer optimizer,
                     float learning_rate) noexcept {
  constexpr float limit = 1e18f;
  const float rate = optimizer == Optimizer::sgd ? std::max(learning_rate, 1.0f) : 1.0f;
  return rate * std::max(std::abs(slope), 1.0f) * largest <= limit && std::isfinite(slope);
}

// Added to AdaGrad's sums, to keep their square root away from 0 where a gradient is 0.
inline constexpr float adagrad_floor = 1e-12f;

}  // namespace labeltrees
