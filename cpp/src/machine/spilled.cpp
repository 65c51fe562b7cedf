#include "labeltrees/machine/spilled.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define LABELTREES_HAS_MMAP
#endif

namespace labeltrees {
namespace {

constexpr std::size_t least_bytes = std::size_t{1} << 20;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

#ifdef LABELTREES_HAS_MMAP

MappedFile::MappedFile(const std::string& folder) {
  std::string path = folder + "/labeltrees-XXXXXX";
  file_ = ::mkstemp(path.data());
  if (file_ < 0) fail("no file can be made in the folder for spilled data");
  ::unlink(path.c_str());
}

MappedFile::~MappedFile() {
  if (start_ != nullptr) ::munmap(start_, n_bytes_);
  if (file_ >= 0) ::close(file_);
}

void MappedFile::grow(std::size_t n_bytes) {
  const std::size_t wanted = std::max({least_bytes, n_bytes, n_bytes_ + n_bytes_ / 2});
  const std::size_t rounded = (wanted + least_bytes - 1) / least_bytes * least_bytes;
#ifdef __linux__  // a full disk must be noticed here, not by a signal when a page is written
  if (const int error = ::posix_fallocate(file_, 0, static_cast<off_t>(rounded)); error != 0) {
    errno = error;
    fail("no room for spilled data");
  }
#else
  if (::ftruncate(file_, static_cast<off_t>(rounded)) != 0) fail("no room for spilled data");
#endif
  void* start = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (start == MAP_FAILED) fail("spilled data cannot be mapped");
  if (start_ != nullptr) ::munmap(start_, n_bytes_);
  start_ = start;
  n_bytes_ = rounded;
}

namespace {

void advise(const void* start, std::size_t n_bytes, int advice) noexcept {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(start) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(start) + n_bytes;
  if (n_bytes > 0) ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

void want_soon(const void* start, std::size_t n_bytes) noexcept {
  advise(start, n_bytes, MADV_WILLNEED);
}
void read_at_random(const void* start, std::size_t n_bytes) noexcept {
  advise(start, n_bytes, MADV_RANDOM);
}

#else

MappedFile::MappedFile(const std::string&) {
  errno = ENOSYS;
  fail("data cannot be spilled on this system");
}
MappedFile::~MappedFile() = default;
void MappedFile::grow(std::size_t) {}
void want_soon(const void*, std::size_t) noexcept {}
void read_at_random(const void*, std::size_t) noexcept {}

#endif

}  // namespace labeltrees
