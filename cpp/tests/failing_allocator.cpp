#include "failing_allocator.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__)
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace labeltrees::tests {
namespace {

std::atomic<bool> is_active{false}, fails_for_good{false};
std::atomic<long> n_requested{0}, first_to_fail{-1};

bool is_to_fail() noexcept {
  if (!is_active) return false;
  const long n = n_requested++;
  return first_to_fail >= 0 && (fails_for_good ? n >= first_to_fail : n == first_to_fail);
}

void* allocate_or_null(std::size_t n_bytes) noexcept {
  return is_to_fail() ? nullptr : std::malloc(n_bytes == 0 ? 1 : n_bytes);
}

void* allocate_aligned_or_null(std::size_t n_bytes, std::size_t alignment) noexcept {
  if (is_to_fail()) return nullptr;
#if defined(_WIN32)
  return _aligned_malloc(n_bytes, alignment);
#else
  alignment = std::max(alignment, alignof(std::max_align_t));
  return std::aligned_alloc(alignment, (n_bytes + alignment - 1) / alignment * alignment);
#endif
}

void free_aligned(void* memory) noexcept {
#if defined(_WIN32)
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

void* not_null(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

FailingAllocator::FailingAllocator(long n, bool for_good) noexcept {
  n_requested = 0;
  first_to_fail = n;
  fails_for_good = for_good;
  is_active = true;
}

FailingAllocator::~FailingAllocator() { is_active = false; }

long FailingAllocator::n_allocations() const noexcept { return n_requested; }

}  // namespace labeltrees::tests

#if !defined(__SANITIZE_THREAD__)  // which has its allocator and mmap
using labeltrees::tests::allocate_aligned_or_null;
using labeltrees::tests::allocate_or_null;
using labeltrees::tests::free_aligned;
using labeltrees::tests::not_null;
using std::align_val_t, std::nothrow_t, std::size_t;

void* operator new(size_t n) { return not_null(allocate_or_null(n)); }
void* operator new[](size_t n) { return not_null(allocate_or_null(n)); }
void* operator new(size_t n, align_val_t alignment) {
  return not_null(allocate_aligned_or_null(n, static_cast<size_t>(alignment)));
}
void* operator new[](size_t n, align_val_t alignment) {
  return not_null(allocate_aligned_or_null(n, static_cast<size_t>(alignment)));
}
void* operator new(size_t n, const nothrow_t&) noexcept { return allocate_or_null(n); }
void* operator new[](size_t n, const nothrow_t&) noexcept { return allocate_or_null(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, align_val_t) noexcept { free_aligned(p); }
void operator delete[](void* p, align_val_t) noexcept { free_aligned(p); }
void operator delete(void* p, size_t, align_val_t) noexcept { free_aligned(p); }
void operator delete[](void* p, size_t, align_val_t) noexcept { free_aligned(p); }

#if defined(__linux__)
extern "C" void* mmap(void* at, std::size_t n_bytes, int protection, int flags, int file,
                      off_t offset) noexcept {
  if (labeltrees::tests::is_to_fail()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, n_bytes, protection, flags, file, offset));
}
#endif
#endif
