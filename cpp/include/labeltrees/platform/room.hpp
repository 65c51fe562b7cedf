// Reserves memory before changes are made, so that no change fails halfway.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace labeltrees {

// Reserves capacity for n more elements, so that adding them does not throw. Amortised O(1) an
// element.
template <typename Element>
void make_room(std::vector<Element>& vector, std::size_t n) {
  const std::size_t needed = vector.size() + n;
  if (needed > vector.capacity()) vector.reserve(std::max(needed, 2 * vector.capacity()));
}

// Reserves capacity for n elements in all.
template <typename Element>
void make_room_in_all(std::vector<Element>& vector, std::size_t n) {
  if (n > vector.size()) make_room(vector, n - vector.size());
}

}  // namespace labeltrees
