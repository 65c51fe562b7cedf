#include "labeltrees/platform/turn_lock.hpp"

#include <new>

#include "labeltrees/platform/system.hpp"

namespace labeltrees {
namespace {

// Counts how many forks lie between the first process and this one.
std::atomic<unsigned> n_forks{0};

const bool is_fork_noticed = system::notice_fork([] { ++n_forks; });

}  // namespace

TurnLock::TurnLock() noexcept : n_forks_(n_forks.load()) {}

void TurnLock::lock() {
  recover_from_fork();
  std::unique_lock held(mutex_);
  ++n_to_be_alone_;
  ++n_waiting_;
  may_be_alone_.wait(held, [this] { return !is_alone_ && n_sharing_ == 0; });
  --n_waiting_;
  --n_to_be_alone_;
  is_alone_ = true;
}

void TurnLock::unlock() {
  const std::lock_guard held(mutex_);
  is_alone_ = false;
  let_next_go();
}

void TurnLock::lock_shared() {
  recover_from_fork();
  std::unique_lock held(mutex_);
  if (!is_alone_ && n_to_be_alone_ == 0) {
    ++n_sharing_;
    return;
  }
  ++n_to_share_;
  ++n_waiting_;
  const std::size_t came_in = phase_;
  may_share_.wait(held, [&] { return phase_ != came_in; });  // let_next_go has counted it
  --n_waiting_;
}

void TurnLock::unlock_shared() {
  const std::lock_guard held(mutex_);
  if (--n_sharing_ == 0 && n_to_be_alone_ != 0) may_be_alone_.notify_one();
}

// After a turn alone.
void TurnLock::let_next_go() {
  if (n_to_share_ == 0) {
    may_be_alone_.notify_one();
    return;
  }
  n_sharing_ += n_to_share_;
  n_to_share_ = 0;
  ++phase_;
  may_share_.notify_all();
}

// Threads that held the lock or waited for it in the parent do not exist in the child.
void TurnLock::recover_from_fork() {
  if (n_forks_.load(std::memory_order_acquire) != n_forks.load(std::memory_order_relaxed)) {
    static std::mutex one_at_a_time;
    const std::lock_guard held(one_at_a_time);
    if (n_forks_ != n_forks) {
      new (&mutex_) std::mutex;
      new (&may_share_) std::condition_variable;
      new (&may_be_alone_) std::condition_variable;
      n_sharing_ = n_to_share_ = n_to_be_alone_ = 0;
      n_waiting_ = 0;
      is_half_done_ |= is_alone_;
      is_alone_ = false;
      n_forks_.store(n_forks, std::memory_order_release);
    }
  }
  if (is_half_done_) throw LeftHalfDone();
}

}  // namespace labeltrees
