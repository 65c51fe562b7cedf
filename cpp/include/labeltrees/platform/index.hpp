// Ids are 32-bit and signed; arrays are indexed by std::size_t.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labeltrees {

// i >= 0
constexpr std::size_t index(std::int32_t i) noexcept { return static_cast<std::size_t>(i); }

}  // namespace labeltrees
