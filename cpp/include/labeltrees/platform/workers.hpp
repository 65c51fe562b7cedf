// A few threads that share out numbered tasks; started once, used many times.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace labeltrees {

class Workers {
 public:
  // n_workers >= 1 includes the calling thread, so one worker starts no thread.
  explicit Workers(std::size_t n_workers);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  std::size_t size() const noexcept { return threads_.size() + 1; }

  // Calls task(number, worker) for every number below n_tasks, in any order, worker < size(), and
  // returns when all are done. The first exception thrown is thrown again here; tasks not begun by
  // then are left out, and others end when they look_up. The caller looks up meanwhile.
  void run(std::size_t n_tasks, const std::function<void(std::size_t, std::size_t)>& task);

 private:
  void work(std::size_t worker);
  void take_tasks(std::size_t worker);
  void wait_for_others();
  void fail() noexcept;
  template <typename Happened>
  void watch_for(Happened happened) const noexcept;

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(std::size_t, std::size_t)>* task_ = nullptr;
  std::size_t n_tasks_ = 0;
  std::atomic<std::size_t> next_{0}, round_{0}, n_busy_{0};
  std::exception_ptr failure_;
  std::atomic<bool> has_failed_{false}, stopping_{false};
  std::size_t patience_ = 0;
};

}  // namespace labeltrees
