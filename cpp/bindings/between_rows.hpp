// Work that is done between two rows that are learned.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

#include "interpreter.hpp"
#include "labeltrees/online/learning_watch.hpp"
#include "labeltrees/platform/turn_lock.hpp"

namespace labeltrees::bindings {

// How far a call of learn has come, for the caller to see even if it fails.
struct Progress {
  std::size_t n_rows = 0;
};

// Lets those who wait for the model have their turn, and signals be handled.
class BetweenRows final : public LearningWatch {
 public:
  BetweenRows(std::unique_lock<TurnLock>& alone, Progress& progress)
      : alone_(alone), progress_(progress) {}

  void learned(std::size_t n_rows) override {
    progress_.n_rows = n_rows;
    if (--n_to_look_ == 0) look();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void look();
  void hear();

  std::unique_lock<TurnLock>& alone_;
  Progress& progress_;
  std::size_t stride_ = 1;  // rows between looks at the clock
  std::size_t n_to_look_ = 1;
  Clock::time_point last_look_ = Clock::now(), last_turn_ = last_look_, last_heard_ = last_look_;
};

}  // namespace labeltrees::bindings
