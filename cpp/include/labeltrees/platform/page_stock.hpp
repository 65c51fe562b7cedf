// Pages that another thread makes ready before they are needed.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "labeltrees/platform/pages.hpp"

namespace labeltrees {

// Fresh memory costs more than the work done in it: the system clears it page by page at the first
// touch, and a virtual machine may have to ask its host for it. A stock has that done meanwhile.
// Threads: any number may order; while one takes or stops, none else calls anything.
class PageStock {
 public:
  PageStock();
  ~PageStock() { stop(); }
  PageStock(const PageStock&) = delete;
  PageStock& operator=(const PageStock&) = delete;

  // Begins to make pages of this size ready; does nothing if enough are in stock, or if no thread
  // can be had.
  void order(std::size_t n_bytes) noexcept;
  // Pages of this size, as ready as they are. Throws std::bad_alloc.
  Pages take(std::size_t n_bytes);
  // Ends the other thread, if there is one, in the time of one huge page. The next order begins
  // another, which goes on with what was ordered before.
  void stop() noexcept;

 private:
  static constexpr std::size_t most = 3;

  void make_ready() noexcept;

  std::mutex mutex_;                 // guards all below but the atomic
  std::vector<std::size_t> orders_;  // has room for the most there can be, as has the next
  std::vector<Pages> ready_;
  std::size_t at_work_ = 0;  // size of the pages that are being made ready
  bool is_busy_ = false;     // the thread will look at the orders again
  std::thread maker_;
  std::atomic<bool> is_stopped_{false};
};

}  // namespace labeltrees
