// How online regressors read rows and learn, and the losses they learn by.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

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
};

// What every regressor has to know.
struct Learning {
  Reading reading;
  Optimizer optimizer;
  float learning_rate;
  // The rows have been learned before: what would take them for new evidence stays as it is.
  bool again;
};

// A regressor's value stopped being finite while learning from `row`; rows before it were learned.
class Diverged : public std::runtime_error {
 public:
  explicit Diverged(std::size_t row)
      : std::runtime_error("the weights grew without bound at row " + std::to_string(row)) {}
};

// Every conditional probability stays this far from 0 and 1, so that log loss is finite.
inline constexpr double probability_floor = 1e-6;

inline float sigmoid(float log_odds) noexcept { return 1.0f / (1.0f + std::exp(-log_odds)); }

// The sigmoid, or the margin clipped to [0, 1] for squared loss.
inline double estimate(float margin, Loss loss) noexcept {
  if (loss == Loss::logistic) return 1.0 / (1.0 + std::exp(-static_cast<double>(margin)));
  return std::clamp(static_cast<double>(margin), 0.0, 1.0);
}

// The loss's derivative by the margin of a regressor whose target is 1 (right) or 0.
inline float slope(float margin, bool right, Loss loss) noexcept {
  return (loss == Loss::squared ? margin : sigmoid(margin)) - (right ? 1.0f : 0.0f);
}

// Added to AdaGrad's sums, to keep their square root away from 0 where a gradient is 0.
inline constexpr float adagrad_floor = 1e-12f;

}  // namespace labeltrees
