#include "labeltrees/machine/keyed_hash.hpp"

#include <chrono>
#include <exception>
#include <random>

#include "labeltrees/machine/hash.hpp"

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
    try {
      std::random_device device;
      state = combine_hashes(state, (std::uint64_t{device()} << 32) ^ device());
    } catch (const std::exception&) {
      state = combine_hashes(state, 1);
    }
    return state;
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
