// Arrays that grow in memory, or in a file that the system caches in memory as far as it fits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace labeltrees {

// A file without a name in a folder, mapped into memory. It is deleted when the last mapping ends.
class MappedFile {
 public:
  MappedFile() = default;
  // Throws std::system_error if there can be no file.
  explicit MappedFile(const std::string& folder);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept
      : file_(std::exchange(other.file_, -1)),
        start_(std::exchange(other.start_, nullptr)),
        n_bytes_(std::exchange(other.n_bytes_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(start_, other.start_);
    std::swap(n_bytes_, other.n_bytes_);
    return *this;
  }

  // Makes the file at least so long; what is in it stays, where it is may change. Throws
  // std::system_error if the disk is full.
  void grow(std::size_t n_bytes);
  void* start() const noexcept { return start_; }
  std::size_t size() const noexcept { return n_bytes_; }

 private:
  int file_ = -1;
  void* start_ = nullptr;
  std::size_t n_bytes_ = 0;
};

// A vector of numbers, in memory or, if it is given a folder, in a file there.
template <typename T>
class SpilledVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SpilledVector() = default;
  explicit SpilledVector(const std::string& folder) {
    if (!folder.empty()) file_ = MappedFile(folder), is_mapped_ = true;
  }

  bool is_mapped() const noexcept { return is_mapped_; }
  std::size_t size() const noexcept { return is_mapped_ ? n_ : memory_.size(); }
  const T* data() const noexcept {
    return is_mapped_ ? static_cast<const T*>(file_.start()) : memory_.data();
  }
  std::span<const T> view() const noexcept { return {data(), size()}; }
  void clear() noexcept {
    memory_.clear();
    n_ = 0;
  }
  void push_back(T value) {
    if (is_mapped_) {
      append({&value, 1});
    } else {
      memory_.push_back(value);
    }
  }
  void append(std::span<const T> values) {
    if (!is_mapped_) {
      memory_.insert(memory_.end(), values.begin(), values.end());
      return;
    }
    const std::size_t needed = (n_ + values.size()) * sizeof(T);
    if (needed > file_.size()) file_.grow(needed);
    if (!values.empty())
      std::memcpy(static_cast<T*>(file_.start()) + n_, values.data(), values.size_bytes());
    n_ += values.size();
  }

 private:
  std::vector<T> memory_;
  MappedFile file_;
  std::size_t n_ = 0;
  bool is_mapped_ = false;
};

}  // namespace labeltrees
