// Memory first, changes after: what has room for its changes does not fail halfway.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace labeltrees {

// Makes room for n more elements, so that adding them does not throw. Amortised O(1) an element.
template <typename Element>
void make_room(std::vector<Element>& vector, std::size_t n) {
  const std::size_t needed = vector.size() + n;
  if (needed > vector.capacity()) vector.reserve(std::max(needed, 2 * vector.capacity()));
}

// Makes room for n elements in all.
template <typename Element>
void make_room_in_all(std::vector<Element>& vector, std::size_t n) {
  if (n > vector.size()) make_room(vector, n - vector.size());
}

}  // namespace labeltrees
