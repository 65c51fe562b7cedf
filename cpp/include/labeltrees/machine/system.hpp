// What the core asks of the operating system. Its source is the only one that knows which it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labeltrees::system {

// Whether map_pages can be used; where not, memory comes from operator new.
bool has_pages() noexcept;

// n_bytes of zeroed memory that costs little until it is touched, in huge pages if the system has
// them. n_bytes and the start are multiples of `alignment`, a power of two and itself a multiple of
// the system's pages. Throws std::bad_alloc.
void* map_pages(std::size_t n_bytes, std::size_t alignment);

// Gives back all of what map_pages returned.
void unmap_pages(void* start, std::size_t n_bytes) noexcept;

// Calls `noticed` in every later child of fork, before fork returns there; does nothing where
// processes are not forked. Returns whether the child will be told, or never is.
bool notice_fork(void (*noticed)()) noexcept;

// Fills `number` from the system's source of randomness; false where there is none now.
bool draw_random(std::uint64_t& number) noexcept;

// Tells the processor that this thread looks at something again and again.
void pause() noexcept;

}  // namespace labeltrees::system
