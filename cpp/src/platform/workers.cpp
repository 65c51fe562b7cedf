#include "labeltrees/platform/workers.hpp"

#include <chrono>
#include <utility>

#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/system.hpp"

namespace labeltrees {
namespace {

// Number of checks before a thread sleeps. Waking up takes longer than many tasks.
constexpr std::size_t looks = 4000;

}  // namespace

Workers::Workers(std::size_t n_workers) {
  if (n_workers <= std::thread::hardware_concurrency()) patience_ = looks;
  threads_.reserve(n_workers);
  for (std::size_t worker = 1; worker < n_workers; ++worker) {
    try {
      threads_.emplace_back([this, worker] { work(worker); });
    } catch (const std::exception&) {
      break;  // no memory or no thread; fewer threads give the same result, later
    }
  }
}

// Looks for a while whether it has happened; the caller has to make sure of it.
template <typename Happened>
void Workers::watch_for(Happened happened) const noexcept {
  for (std::size_t i = 0; i < patience_ && !happened(); ++i) system::pause();
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(std::size_t n_tasks, const std::function<void(std::size_t, std::size_t)>& task) {
  look_up();
  if (threads_.empty() || n_tasks < 2) {
    for (std::size_t number = 0; number < n_tasks; ++number) {
      task(number, 0);
      look_up();
    }
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    n_tasks_ = n_tasks;
    next_ = 0;
    n_busy_ = threads_.size();
    ++round_;
  }
  start_.notify_all();
  take_tasks(0);
  wait_for_others();
  has_failed_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Workers::take_tasks(std::size_t worker) {
  try {
    for (std::size_t number = next_++; number < n_tasks_ && !has_failed_; number = next_++) {
      look_up();
      (*task_)(number, worker);
    }
  } catch (...) {
    fail();
  }
}

// Called in a catch block. Stores the exception unless another came first.
void Workers::fail() noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::current_exception();
  has_failed_ = true;
}

void Workers::wait_for_others() {
  constexpr auto between_looks = std::chrono::milliseconds(50);
  const auto are_done = [this] { return n_busy_ == 0; };
  watch_for(are_done);
  std::unique_lock lock(mutex_);
  while (!done_.wait_for(lock, between_looks, are_done)) {
    lock.unlock();
    try {
      if (!has_failed_) look_up();
    } catch (...) {
      fail();
    }
    lock.lock();
  }
}

void Workers::work(std::size_t worker) {
  const Following following(has_failed_);
  std::size_t seen = 0;
  while (true) {
    watch_for([&] { return stopping_ || round_ != seen; });
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      seen = round_;
    }
    take_tasks(worker);
    const std::lock_guard lock(mutex_);
    if (--n_busy_ == 0) done_.notify_one();
  }
}

}  // namespace labeltrees
