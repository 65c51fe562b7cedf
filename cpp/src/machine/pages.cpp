#include "labeltrees/machine/pages.hpp"

#include <cstdint>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace labeltrees {
namespace {

constexpr std::align_val_t line_alignment{64};

bool comes_from_system(std::size_t n_bytes) noexcept {
#if defined(__linux__)
  return n_bytes >= Pages::huge;
#else
  (void)n_bytes;
  return false;
#endif
}

#if defined(__linux__)
// Maps a multiple of huge pages that starts at one.
void* map(std::size_t n_bytes) {
  const std::size_t asked = n_bytes + Pages::huge;
  void* mapped = mmap(nullptr, asked, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const auto at = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t start = (at + Pages::huge - 1) / Pages::huge * Pages::huge;
  char* const first = static_cast<char*>(mapped) + (start - at);
  if (start != at) munmap(mapped, start - at);
  const std::size_t after = asked - (start - at) - n_bytes;
  if (after != 0) munmap(first + n_bytes, after);
  (void)madvise(first, n_bytes, MADV_HUGEPAGE);
  return first;
}
#endif

}  // namespace

std::size_t Pages::size_of(std::size_t n_bytes) noexcept {
  return comes_from_system(n_bytes) ? (n_bytes + huge - 1) / huge * huge : n_bytes;
}

void Pages::touch(std::size_t begin, std::size_t end) noexcept {
  constexpr std::size_t smallest_page = 4096;
  auto* const bytes = static_cast<volatile char*>(start_);
  for (std::size_t at = begin; at < end; at += smallest_page) bytes[at] = 0;
}

Pages::Pages(std::size_t n_bytes) : n_bytes_(size_of(n_bytes)) {
#if defined(__linux__)
  if (comes_from_system(n_bytes)) {
    start_ = map(n_bytes_);
    return;
  }
#endif
  start_ = ::operator new(n_bytes, line_alignment);
  std::memset(start_, 0, n_bytes);
}

Pages::~Pages() {
  if (start_ == nullptr) return;
#if defined(__linux__)
  if (comes_from_system(n_bytes_)) {
    munmap(start_, n_bytes_);
    return;
  }
#endif
  ::operator delete(start_, line_alignment);
}

}  // namespace labeltrees
