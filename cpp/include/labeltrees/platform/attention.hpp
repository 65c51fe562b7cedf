// Long work checks for interruption from time to time, so that a waiting caller can end it.
#pragma once

#include <atomic>
#include <chrono>

namespace labeltrees {

// What it throws ends the work.
using Attention = void (*)();

// While there is one, look_up calls `attention` on this thread, but not more often than this.
class Attentive {
 public:
  explicit Attentive(Attention attention,
                     std::chrono::milliseconds pause = std::chrono::milliseconds(100)) noexcept;
  ~Attentive();
  Attentive(const Attentive&) = delete;
  Attentive& operator=(const Attentive&) = delete;

 private:
  Attention before_;
  std::chrono::milliseconds pause_before_;
};

// Thrown by look_up on a thread if the work has failed on another thread, which reports the
// failure.
struct Abandoned {};

// While there is one, look_up throws Abandoned on this thread once the flag is set.
class Following {
 public:
  explicit Following(const std::atomic<bool>& is_over) noexcept;
  ~Following();
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

 private:
  const std::atomic<bool>* before_;
};

// To be called every few milliseconds at most, where nothing is half done that outlives the work.
// Costs tens of nanoseconds.
void look_up();

}  // namespace labeltrees
