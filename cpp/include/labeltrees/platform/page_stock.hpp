// Pages that another thread makes ready before they are needed.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "labeltrees/platform/pages.hpp"

namespace labeltrees {

// Touching new memory for the first time costs more than the work done in it. The system clears it
// page by page, and a virtual machine may have to request it from its host. A stock prepares pages
// on another thread. Threads: any number may order; while one takes or stops, no other thread may
// call any function.
class PageStock {
 public:
  PageStock();
  ~PageStock() { stop(); }
  PageStock(const PageStock&) = delete;
  PageStock& operator=(const PageStock&) = delete;

  // Begins to make pages of this size ready; does nothing if enough are in stock, or if no thread
  // can be had.
  void order(std::size_t n_bytes) noexcept;
  // Returns pages of this size, prepared as far as possible. Throws std::bad_alloc.
  Pages take(std::size_t n_bytes);
  // Ends the other thread, if there is one, in the time of one huge page. The next order starts
  // another thread, which continues with earlier orders.
  void stop() noexcept;

 private:
  static constexpr std::size_t most = 3;

  void make_ready() noexcept;

  std::mutex mutex_;                 // guards all below but the atomic
  std::vector<std::size_t> orders_;  // has capacity for the maximum number of orders, as has the
                                     // next
  std::vector<Pages> ready_;
  std::size_t at_work_ = 0;  // size in bytes of the pages that are being prepared
  bool is_busy_ = false;     // the thread will look at the orders again
  std::thread maker_;
  std::atomic<bool> is_stopped_{false};
};

}  // namespace labeltrees
