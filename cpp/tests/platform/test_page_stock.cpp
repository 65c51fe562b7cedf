#include <algorithm>

#include "../check.hpp"
#include "labeltrees/platform/page_stock.hpp"

using namespace labeltrees;

namespace {

bool is_zero(const Pages& pages) {
  const char* const bytes = static_cast<const char*>(pages.start());
  return std::all_of(bytes, bytes + pages.size(), [](char byte) { return byte == 0; });
}

}  // namespace

TEST(a_stock_gives_zeroed_pages_of_the_requested_size_ordered_or_not) {
  for (const std::size_t n_bytes : {std::size_t{4096}, 2 * Pages::huge - 100, 3 * Pages::huge}) {
    PageStock stock;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < round; ++i) stock.order(n_bytes);
      stock.order(n_bytes + Pages::huge);
      for (int i = 0; i < 2; ++i) {
        const Pages pages = stock.take(n_bytes);
        CHECK(pages.size() == Pages::size_of(n_bytes) && pages.size() >= n_bytes);
        CHECK(is_zero(pages));
        static_cast<char*>(pages.start())[0] = 1;  // no other owner
      }
    }
  }
}

TEST(a_stock_can_be_stopped_at_any_time_and_continues_after_the_next_order) {
  PageStock stock;
  stock.stop();
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 5; ++i) stock.order(2 * Pages::huge);  // more than it keeps
    stock.stop();
    stock.stop();
    CHECK(is_zero(stock.take(2 * Pages::huge)));
  }
  stock.order(Pages::huge);  // ends while pages are being made ready
}
