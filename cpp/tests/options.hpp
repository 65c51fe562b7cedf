// The options that tests start from, because the core has no defaults.
#pragma once

#include "labeltrees/conditional/tree.hpp"
#include "labeltrees/lom/tree.hpp"
#include "labeltrees/online/regression.hpp"

namespace labeltrees::tests {

inline constexpr Reading reading{
    .loss = Loss::logistic, .normalize = true, .bias = 1.0f, .mixing = false, .sharpness = 1.0f};

inline constexpr Learning learning{
    .reading = reading, .optimizer = Optimizer::adagrad, .learning_rate = 1.0f, .again = false};

inline constexpr ConditionalLearning conditional_learning{
    learning, Insertion::objective, Balance::examples, 0.6, 0, 1};

inline constexpr LomLearning lom_learning{learning, PartitionLoss::hinge, 0, 1, 4, false};

}  // namespace labeltrees::tests
