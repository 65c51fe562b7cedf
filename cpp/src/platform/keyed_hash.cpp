#include "labeltrees/platform/keyed_hash.hpp"

#include <chrono>

#include "labeltrees/platform/hash.hpp"
#include "labeltrees/platform/system.hpp"

namespace labeltrees {
namespace {

// From the system's source of randomness; what else differs between processes helps where it has
// none.
HashSecret draw_secret() noexcept {
  HashSecret secret{};
  std::uint64_t state =
      combine_hashes(static_cast<std::uint64_t>(
                         std::chrono::high_resolution_clock::now().time_since_epoch().count()),
                     reinterpret_cast<std::uintptr_t>(&secret));
  const auto draw = [&state] {
    std::uint64_t drawn = 1;
    (void)system::draw_random(drawn);
    return state = combine_hashes(state, drawn);
  };
  secret.offset = draw();
  secret.factor = draw() | 1;
  secret.second_offset = draw();
  secret.second_factor = draw() | 1;
  return secret;
}

}  // namespace

const HashSecret process_secret = draw_secret();

}  // namespace labeltrees
