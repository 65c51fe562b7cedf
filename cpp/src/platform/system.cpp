#if defined(_WIN32)
#define _CRT_RAND_S  // before any header, because the first one that includes stdlib.h decides
#endif
#include "labeltrees/platform/system.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>

#if defined(__unix__) || defined(__APPLE__)
#define LABELTREES_POSIX
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#elif defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>
#endif

#if defined(__SSE2__) || defined(_M_X64)
#define LABELTREES_SSE2
#include <emmintrin.h>
#endif

namespace labeltrees::system {
namespace {

[[noreturn]] void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

}  // namespace

#if defined(LABELTREES_POSIX)

bool has_pages() noexcept { return true; }

void* map_pages(std::size_t n_bytes, std::size_t alignment) {
#if defined(MAP_NORESERVE)
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
  const std::size_t n_mapped = n_bytes + alignment;
  void* const mapped = mmap(nullptr, n_mapped, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const auto at = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t start = (at + alignment - 1) / alignment * alignment;
  char* const first = static_cast<char*>(mapped) + (start - at);
  if (start != at) munmap(mapped, start - at);
  const std::size_t after = n_mapped - (start - at) - n_bytes;
  if (after != 0) munmap(first + n_bytes, after);
#if defined(MADV_HUGEPAGE)
  (void)madvise(first, n_bytes, MADV_HUGEPAGE);
#endif
  return first;
}

void unmap_pages(void* start, std::size_t n_bytes) noexcept { munmap(start, n_bytes); }

int open_unnamed_file(const std::string& folder) {
#if defined(O_TMPFILE)
  // Such a file never has a name, so that a signal cannot leave it behind. Some file systems do not
  // support it.
  const int unnamed = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (unnamed >= 0) return unnamed;
#endif
  std::string path = folder + "/labeltrees-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) fail(errno, "no file can be made in the folder for spilled data");
  unlink(path.c_str());
  return file;
}

void* map_file(int file, std::size_t n_bytes) {
  const auto length = static_cast<off_t>(n_bytes);
#if defined(__linux__)  // a full disk must be noticed here, not by a signal when a page is written
  const int error = posix_fallocate(file, 0, length);
#else
  const int error = ftruncate(file, length) == 0 ? 0 : errno;
#endif
  if (error != 0) fail(error, "no room for spilled data");
  void* const start = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (start == MAP_FAILED) fail(errno, "spilled data cannot be mapped");
  return start;
}

void unmap_file(void* start, std::size_t n_bytes) noexcept { munmap(start, n_bytes); }

void close_file(int file) noexcept { close(file); }

namespace {

void advise(const void* start, std::size_t n_bytes, int advice) noexcept {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(start) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(start) + n_bytes;
  if (n_bytes > 0) (void)madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

void read_soon(const void* start, std::size_t n_bytes) noexcept {
  advise(start, n_bytes, MADV_WILLNEED);
}

void read_at_random(const void* start, std::size_t n_bytes) noexcept {
  advise(start, n_bytes, MADV_RANDOM);
}

bool notice_fork(void (*noticed)()) noexcept {
  return pthread_atfork(nullptr, nullptr, noticed) == 0;
}

// Not std::random_device, because within the C++ library it would require the newest C library.
bool draw_random(std::uint64_t& number) noexcept { return getentropy(&number, sizeof number) == 0; }

#elif defined(_WIN32)

bool has_pages() noexcept { return true; }

// There are no huge pages without a privilege, so nothing depends on where the range starts; an
// address of the right alignment is looked for, and another thread may be quicker.
void* map_pages(std::size_t n_bytes, std::size_t alignment) {
  constexpr int most_tries = 8;
  for (int i = 0; i < most_tries; ++i) {
    void* const free = VirtualAlloc(nullptr, n_bytes + alignment, MEM_RESERVE, PAGE_NOACCESS);
    if (free == nullptr) break;
    const auto at = reinterpret_cast<std::uintptr_t>(free);
    const std::uintptr_t start = (at + alignment - 1) / alignment * alignment;
    VirtualFree(free, 0, MEM_RELEASE);
    void* const mapped = VirtualAlloc(reinterpret_cast<void*>(start), n_bytes,
                                      MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (mapped != nullptr) return mapped;
  }
  throw std::bad_alloc();
}

void unmap_pages(void* start, std::size_t) noexcept { VirtualFree(start, 0, MEM_RELEASE); }

bool notice_fork(void (*)()) noexcept { return true; }

bool draw_random(std::uint64_t& number) noexcept {
  unsigned int low = 0, high = 0;
  if (rand_s(&low) != 0 || rand_s(&high) != 0) return false;
  number = (std::uint64_t{high} << 32) | low;
  return true;
}

#else

bool has_pages() noexcept { return false; }
void* map_pages(std::size_t, std::size_t) { throw std::bad_alloc(); }
void unmap_pages(void*, std::size_t) noexcept {}
bool notice_fork(void (*)()) noexcept { return true; }
bool draw_random(std::uint64_t&) noexcept { return false; }

#endif

#if !defined(LABELTREES_POSIX)

int open_unnamed_file(const std::string&) { fail(ENOSYS, "data cannot be spilled on this system"); }
void* map_file(int, std::size_t) { fail(ENOSYS, "data cannot be spilled on this system"); }
void unmap_file(void*, std::size_t) noexcept {}
void close_file(int) noexcept {}
void read_soon(const void*, std::size_t) noexcept {}
void read_at_random(const void*, std::size_t) noexcept {}

#endif

void pause() noexcept {
#if defined(LABELTREES_SSE2)
  _mm_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
  __asm__ __volatile__("yield");
#endif
}

}  // namespace labeltrees::system
