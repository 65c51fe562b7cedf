#include "labeltrees/platform/page_stock.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace labeltrees {

PageStock::PageStock() {
  orders_.reserve(most);
  ready_.reserve(most + 1);  // one may be at work while the rest are ordered
}

void PageStock::order(std::size_t n_bytes) noexcept {
  const std::lock_guard alone(mutex_);
  if (orders_.size() + ready_.size() < most) orders_.push_back(n_bytes);
  if (is_busy_ || orders_.empty()) return;
  if (maker_.joinable()) maker_.join();  // it is about to end
  is_busy_ = true;
  try {
    maker_ = std::thread([this] { make_ready(); });
  } catch (const std::exception&) {
    orders_.clear();
    is_busy_ = false;
  }
}

Pages PageStock::take(std::size_t n_bytes) {
  const std::size_t size = Pages::size_of(n_bytes);
  std::unique_lock alone(mutex_);
  const auto find = [&] {
    return std::find_if(ready_.begin(), ready_.end(),
                        [&](const Pages& pages) { return pages.size() == size; });
  };
  auto found = find();
  if (found == ready_.end() && at_work_ == size) {
    alone.unlock();
    stop();
    alone.lock();
    found = find();
  }
  if (found != ready_.end()) {
    Pages pages = std::move(*found);
    ready_.erase(found);
    return pages;
  }
  // Too late for an order of this size that has not been begun.
  if (const auto late = std::find(orders_.begin(), orders_.end(), n_bytes); late != orders_.end()) {
    orders_.erase(late);
  }
  return Pages(n_bytes);
}

void PageStock::stop() noexcept {
  is_stopped_ = true;
  if (maker_.joinable()) maker_.join();
  is_stopped_ = false;
}

void PageStock::make_ready() noexcept {
  std::unique_lock alone(mutex_);
  while (!orders_.empty() && !is_stopped_) {
    const std::size_t n_bytes = orders_.back();
    orders_.pop_back();
    at_work_ = Pages::size_of(n_bytes);
    alone.unlock();
    Pages pages;
    try {
      pages = Pages(n_bytes);
      for (std::size_t at = 0; at < pages.size() && !is_stopped_; at += Pages::huge) {
        pages.touch(at, std::min(at + Pages::huge, pages.size()));
      }
    } catch (const std::exception&) {  // the thread that needs the pages gets the error
    }
    alone.lock();
    at_work_ = 0;
    if (pages.size() != 0) ready_.push_back(std::move(pages));
  }
  is_busy_ = false;
}

}  // namespace labeltrees
