#include "labeltrees/platform/pages.hpp"

#include <cstring>
#include <new>

#include "labeltrees/platform/system.hpp"

namespace labeltrees {
namespace {

constexpr std::align_val_t line_alignment{64};

bool comes_from_system(std::size_t n_bytes) noexcept {
  return system::has_pages() && n_bytes >= Pages::huge;
}

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
  if (comes_from_system(n_bytes)) {
    start_ = system::map_pages(n_bytes_, huge);
    return;
  }
  start_ = ::operator new(n_bytes, line_alignment);
  std::memset(start_, 0, n_bytes);
}

Pages::~Pages() {
  if (start_ == nullptr) return;
  if (comes_from_system(n_bytes_)) {
    system::unmap_pages(start_, n_bytes_);
    return;
  }
  ::operator delete(start_, line_alignment);
}

}  // namespace labeltrees
