// Memory that is zero until written and costs nothing until touched.
#pragma once

#include <cstddef>
#include <utility>

namespace labeltrees {

// A range of zeroed memory, aligned to a cache line. Large ranges come from the system page by
// page, in huge pages if available. Random access over gigabytes then needs far less address
// translation.
class Pages {
 public:
  static constexpr std::size_t huge = std::size_t{1} << 21;

  Pages() = default;
  // Throws std::bad_alloc.
  explicit Pages(std::size_t n_bytes);
  ~Pages();
  Pages(Pages&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), n_bytes_(std::exchange(other.n_bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(n_bytes_, other.n_bytes_);
    return *this;
  }

  void* start() const noexcept { return start_; }
  std::size_t size() const noexcept { return n_bytes_; }
  // The size in bytes of a range for which this many bytes were requested.
  static std::size_t size_of(std::size_t n_bytes) noexcept;
  // Makes the system provide bytes begin .. end now. They must not have been written yet.
  void touch(std::size_t begin, std::size_t end) noexcept;

 private:
  void* start_ = nullptr;
  std::size_t n_bytes_ = 0;
};

}  // namespace labeltrees
