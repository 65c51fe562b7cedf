#include "labeltrees/platform/spilled.hpp"

#include <algorithm>

#include "labeltrees/platform/system.hpp"

namespace labeltrees {
namespace {

constexpr std::size_t least_bytes = std::size_t{1} << 20;

}  // namespace

MappedFile::MappedFile(const std::string& folder) : file_(system::open_unnamed_file(folder)) {}

MappedFile::~MappedFile() {
  if (start_ != nullptr) system::unmap_file(start_, n_bytes_);
  if (file_ >= 0) system::close_file(file_);
}

void MappedFile::grow(std::size_t n_bytes) {
  const std::size_t needed = std::max({least_bytes, n_bytes, n_bytes_ + n_bytes_ / 2});
  const std::size_t rounded = (needed + least_bytes - 1) / least_bytes * least_bytes;
  void* const start = system::map_file(file_, rounded);
  if (start_ != nullptr) system::unmap_file(start_, n_bytes_);
  start_ = start;
  n_bytes_ = rounded;
}

}  // namespace labeltrees
