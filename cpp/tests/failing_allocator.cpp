#include "failing_allocator.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace labeltrees::tests {
namespace {

std::atomic<bool> is_active{false}, fails_for_good{false};
std::atomic<long> n_asked{0}, first_to_fail{-1};

bool is_to_fail() noexcept {
  if (!is_active) return false;
  const long n = n_asked++;
  return first_to_fail >= 0 && (fails_for_good ? n >= first_to_fail : n == first_to_fail);
}

void* allocate_or_null(std::size_t n_bytes, std::size_t alignment) noexcept {
  if (is_to_fail()) return nullptr;
  const std::size_t rounded = (n_bytes + alignment - 1) / alignment * alignment;
  return alignment <= alignof(std::max_align_t) ? std::malloc(n_bytes == 0 ? 1 : n_bytes)
                                                : std::aligned_alloc(alignment, rounded);
}

void* allocate(std::size_t n_bytes, std::size_t alignment) {
  void* const memory = allocate_or_null(n_bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

FailingAllocator::FailingAllocator(long n, bool for_good) noexcept {
  n_asked = 0;
  first_to_fail = n;
  fails_for_good = for_good;
  is_active = true;
}

FailingAllocator::~FailingAllocator() { is_active = false; }

long FailingAllocator::n_allocations() const noexcept { return n_asked; }

}  // namespace labeltrees::tests

#if !defined(__SANITIZE_THREAD__)  // which has an operator new and an mmap of its own
void* operator new(std::size_t n) { return labeltrees::tests::allocate(n, 1); }
void* operator new[](std::size_t n) { return labeltrees::tests::allocate(n, 1); }
void* operator new(std::size_t n, std::align_val_t alignment) {
  return labeltrees::tests::allocate(n, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t n, std::align_val_t alignment) {
  return labeltrees::tests::allocate(n, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return labeltrees::tests::allocate_or_null(n, 1);
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return labeltrees::tests::allocate_or_null(n, 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

#if defined(__linux__)
extern "C" void* mmap(void* at, std::size_t n_bytes, int protection, int flags, int file,
                      off_t offset) noexcept {
  if (labeltrees::tests::is_to_fail()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, n_bytes, protection, flags, file, offset));
}
#endif
#endif
