// A lock that many may share or one may have alone, and that starves neither.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stdexcept>

namespace labeltrees {

// The process was forked while another thread was changing what the lock guards. In the child that
// thread does not exist, so the change will never be whole.
struct LeftHalfDone : std::runtime_error {
  LeftHalfDone()
      : std::runtime_error(
            "this process was forked while a thread of its parent was changing the model: load it "
            "from a file, or fork when nobody learns.") {}
};

// A lock that alternates between shared and exclusive turns. A thread that arrives to share waits
// if another waits for exclusive use. All threads that wait to share come before the next exclusive
// one. For std::unique_lock and std::shared_lock. In a child of fork it is free, or throws
// LeftHalfDone on every use.
class TurnLock {
 public:
  TurnLock() noexcept;
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;

  void lock();
  void unlock();
  void lock_shared();
  void unlock_shared();
  // Returns whether a thread waits. The result may be outdated when it is returned.
  bool is_contended() const noexcept { return n_waiting_.load(std::memory_order_relaxed) != 0; }

 private:
  void recover_from_fork();
  void let_next_go();

  std::mutex mutex_;  // guards all below but the atomics
  std::condition_variable may_share_, may_be_alone_;
  std::size_t n_sharing_ = 0;
  std::size_t n_to_share_ = 0, n_to_be_alone_ = 0;  // waiting
  std::size_t phase_ = 0;  // how often those who waited to share were let in
  bool is_alone_ = false;
  std::atomic<std::size_t> n_waiting_{0};
  std::atomic<unsigned> n_forks_;  // of the process, when the lock was last known to be sound
  bool is_half_done_ = false;
};

}  // namespace labeltrees
