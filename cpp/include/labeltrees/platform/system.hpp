// Functions of the operating system that the core uses. Only the source file of this header depends
// on the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace labeltrees::system {

// Whether map_pages can be used; where not, memory comes from operator new.
bool has_pages() noexcept;

// n_bytes of zeroed memory that costs little until it is touched, in huge pages if the system has
// them. n_bytes and the start are multiples of `alignment`, a power of two and a multiple of the
// system's page size. Throws std::bad_alloc.
void* map_pages(std::size_t n_bytes, std::size_t alignment);

// Gives back all of what map_pages returned.
void unmap_pages(void* start, std::size_t n_bytes) noexcept;

// A new file in a folder that has no name, so that it is gone when it is closed; a number to call
// it by. Throws std::system_error if there can be none.
int open_unnamed_file(const std::string& folder);

// Makes the file so long and maps all of it; what is in it stays. Throws std::system_error if the
// disk is full.
void* map_file(int file, std::size_t n_bytes);

// Gives back what map_file returned.
void unmap_file(void* start, std::size_t n_bytes) noexcept;

void close_file(int file) noexcept;

// Advises the system that these bytes of a mapped file are read soon, so that it reads many places
// at the same time. Does nothing where this is not supported.
void read_soon(const void* start, std::size_t n_bytes) noexcept;

// And that what is read next is seldom what follows.
void read_at_random(const void* start, std::size_t n_bytes) noexcept;

// Calls `noticed` in every later child of fork, before fork returns there. Does nothing where
// processes are not forked. Returns false if children cannot be notified.
bool notice_fork(void (*noticed)()) noexcept;

// Fills `number` from the system's source of randomness; false where there is none now.
bool draw_random(std::uint64_t& number) noexcept;

// Tells the processor that this thread looks at something again and again.
void pause() noexcept;

}  // namespace labeltrees::system
