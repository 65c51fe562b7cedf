// Makes allocations fail on purpose. It replaces operator new of this program, and on Linux the
// mmap behind Pages.
#pragma once

#include <new>

#include "labeltrees/platform/pages.hpp"

namespace labeltrees::tests {

// While there is one, the n-th allocation from now fails, counting from 0 and over all threads; if
// it is `for_good`, so do all after it.
class FailingAllocator {
 public:
  explicit FailingAllocator(long n, bool for_good = false) noexcept;
  ~FailingAllocator();
  FailingAllocator(const FailingAllocator&) = delete;
  FailingAllocator& operator=(const FailingAllocator&) = delete;

  // Number of allocations requested since; more than n if one has failed.
  long n_allocations() const noexcept;
};

// How many allocations a call makes.
template <typename Call>
long count_allocations(Call call) {
  const FailingAllocator none_fails(-1);
  call();
  return none_fails.n_allocations();
}

// Whether a call runs out of memory where its n-th allocation fails. What else it throws is the
// caller's.
template <typename Call>
bool runs_out_of_memory(long n, bool for_good, Call call) {
  const FailingAllocator failing(n, for_good);
  try {
    call();
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

// Whether Pages of the system's fail here too, and not operator new alone: it is tried.
inline bool pages_can_fail() {
  return runs_out_of_memory(0, true, [] { const Pages pages(Pages::huge); });
}

}  // namespace labeltrees::tests
