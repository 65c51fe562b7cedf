#include "labeltrees/platform/attention.hpp"

#include <utility>

namespace labeltrees {
namespace {

using Clock = std::chrono::steady_clock;
thread_local Attention attention = nullptr;
thread_local std::chrono::milliseconds pause_between_looks{0};
thread_local Clock::time_point next_look;
thread_local const std::atomic<bool>* is_over = nullptr;

}  // namespace

Attentive::Attentive(Attention called, std::chrono::milliseconds pause) noexcept
    : before_(std::exchange(attention, called)),
      pause_before_(std::exchange(pause_between_looks, pause)) {
  next_look = Clock::now() + pause;
}

Attentive::~Attentive() {
  attention = before_;
  pause_between_looks = pause_before_;
  next_look = Clock::now() + pause_before_;
}

Following::Following(const std::atomic<bool>& flag) noexcept
    : before_(std::exchange(is_over, &flag)) {}

Following::~Following() { is_over = before_; }

void look_up() {
  if (is_over != nullptr && *is_over) throw Abandoned();
  if (attention == nullptr || Clock::now() < next_look) return;
  attention();
  next_look = Clock::now() + pause_between_looks;
}

}  // namespace labeltrees
