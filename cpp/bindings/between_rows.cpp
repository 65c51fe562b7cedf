#include "between_rows.hpp"

#include <algorithm>
#include <exception>

namespace labeltrees::bindings {
namespace {

constexpr auto look_every = std::chrono::milliseconds(1);
constexpr auto turn = std::chrono::milliseconds(5);
constexpr auto hear_every = std::chrono::milliseconds(100);
constexpr std::size_t longest_stride = 1024;

}  // namespace

void BetweenRows::look() {
  const Clock::time_point now = Clock::now();
  const bool was_soon = now - last_look_ < look_every;
  stride_ =
      was_soon ? std::min(2 * stride_, longest_stride) : std::max(stride_ / 2, std::size_t{1});
  n_to_look_ = stride_;
  last_look_ = now;
  if (now - last_heard_ >= hear_every) {
    hear();
  } else if (now - last_turn_ >= turn && alone_.mutex()->is_contended()) {
    alone_.unlock();
    alone_.lock();
    last_turn_ = Clock::now();
  }
}

// A handler may do anything, even query the model, so the model must be unlocked meanwhile.
void BetweenRows::hear() {
  std::exception_ptr raised;
  alone_.unlock();
  try {
    hear_signals();
  } catch (...) {
    raised = std::current_exception();
  }
  alone_.lock();
  last_heard_ = last_turn_ = Clock::now();
  if (raised) std::rethrow_exception(raised);
}

}  // namespace labeltrees::bindings
