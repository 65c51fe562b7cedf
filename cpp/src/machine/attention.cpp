#include "labeltrees/machine/attention.hpp"

#include <chrono>
#include <utility>

namespace labeltrees {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto pause_between_looks = std::chrono::milliseconds(100);

thread_local Attention attention = nullptr;
thread_local Clock::time_point next_look;
thread_local const std::atomic<bool>* is_over = nullptr;

}  // namespace

Attentive::Attentive(Attention called) noexcept : before_(std::exchange(attention, called)) {
  next_look = Clock::now() + pause_between_looks;
}

Attentive::~Attentive() { attention = before_; }

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
