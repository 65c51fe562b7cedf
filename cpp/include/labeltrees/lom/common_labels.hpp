// The most frequent labels of a histogram.
#pragma once

#include <array>
#include <cstddef>

#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// The most frequent labels of a histogram, most frequent first; counts of 0 fill the remaining
// places. Exact, since counts only grow, and a label passes another only when it is counted.
class CommonLabels {
 public:
  static constexpr std::size_t size = 4;
  struct Common {
    LabelId label = none;
    float count = 0;
  };

  const Common& operator[](std::size_t i) const noexcept { return common_[i]; }
  // The label's count, or -1 if it is not among them.
  float count(LabelId label) const noexcept {
    float found = -1;
    for (const Common& one : common_) found = one.label == label ? one.count : found;
    return found;
  }
  // No label that is not among them has a larger count.
  float least() const noexcept { return common_[size - 1].count; }
  // Takes note of a label's count, which has grown or is new.
  void note(LabelId label, float count) noexcept {
    if (count <= least()) return;
    std::size_t at = 0;
    while (at + 1 < size && common_[at].label != label) ++at;
    for (; at > 0 && common_[at - 1].count < count; --at) common_[at] = common_[at - 1];
    common_[at] = {label, count};
  }

 private:
  std::array<Common, size> common_{};
};

}  // namespace labeltrees
