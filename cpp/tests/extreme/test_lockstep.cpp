#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

#include "../../src/extreme/lockstep_kernels.hpp"
#include "../check.hpp"
#include "labeltrees/extreme/lockstep.hpp"
#include "labeltrees/extreme/sibling_weights.hpp"
#include "labeltrees/platform/half.hpp"

// The kernels as a compiler without vectors gets them.
#define LABELTREES_PLAIN_LANES
namespace labeltrees::plain {
#include "../../src/extreme/lockstep_kernels.inc"
}
#undef LABELTREES_PLAIN_LANES

using namespace labeltrees;

TEST(every_half_survives_the_way_to_float_and_back) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if ((half & 0x7c00u) == 0x7c00u) continue;  // infinities and NaN are never stored
    CHECK(float_to_half(half_to_float(half)) == half);
  }
  CHECK(half_to_float(float_to_half(1.0f)) == 1.0f);
  CHECK(half_to_float(float_to_half(1e9f)) == 65504.0f);
  CHECK(half_to_float(float_to_half(-1e9f)) == -65504.0f);
  CHECK(half_to_float(float_to_half(1.0f + 0x1p-11f)) == 1.0f);  // ties to even
  CHECK(half_to_float(float_to_half(0x1p-24f)) == 0x1p-24f);
}

TEST(more_weights_than_can_be_numbered_are_refused) {
  check_weight_count(0xffffffffu);
  CHECK_THROWS((check_weight_count(std::size_t{0x100000000u}), 0), std::length_error);
}

TEST(panels_cover_all_children_once) {
  for (std::size_t n = 1; n <= 256; ++n) {
    const std::vector<std::size_t> starts = panel_starts(n);
    CHECK(starts.front() == 0 && starts.back() == n);
    for (std::size_t p = 0; p + 1 < starts.size(); ++p) {
      CHECK(starts[p] < starts[p + 1] && starts[p + 1] - starts[p] <= max_panel);
      CHECK(starts[p] % 16 == 0);
    }
  }
}

TEST(sigmoids_are_right_and_the_same_for_every_instruction_set) {
  std::vector<float> margins;
  for (int i = -800; i < 800; ++i) margins.push_back(static_cast<float>(i) / 16.0f);
  std::vector<float> portable = margins, chosen = margins, lane_by_lane = margins;
  portable::kernels.sigmoids(portable.data(), portable.size());
  lockstep_kernels().sigmoids(chosen.data(), chosen.size());
  plain::kernels.sigmoids(lane_by_lane.data(), lane_by_lane.size());
  CHECK(std::memcmp(portable.data(), chosen.data(), 4 * portable.size()) == 0);
  CHECK(std::memcmp(portable.data(), lane_by_lane.data(), 4 * portable.size()) == 0);
  for (std::size_t i = 0; i < margins.size(); ++i) {
    const double exact =
        1 / (1 + std::exp(-std::clamp(static_cast<double>(margins[i]), -40.0, 40.0)));
    CHECK(std::fabs(static_cast<double>(portable[i]) - exact) <= 1e-6 * exact);
  }
}

TEST(epochs_are_the_same_for_every_instruction_set) {
  std::mt19937 random(3);
  const auto uniform = [&] { return static_cast<float>(random() % 1000) / 1000.0f; };
  const std::size_t n_rows = 50, n_features = 20, width = 48;
  std::vector<std::int64_t> starts{0}, target_starts{0};
  std::vector<std::int32_t> features, children;
  std::vector<float> values, targets, weights, square;
  std::vector<std::uint32_t> order;
  for (std::uint32_t r = 0; r < n_rows; ++r) {
    float sum = 1;
    for (std::int32_t f = 0; f < 20; ++f) {
      if (random() % 3 != 0) continue;
      features.push_back(f);
      values.push_back(uniform());
      sum += values.back() * values.back();
    }
    starts.push_back(static_cast<std::int64_t>(features.size()));
    children.push_back(static_cast<std::int32_t>(random() % width));
    targets.push_back(uniform());
    target_starts.push_back(static_cast<std::int64_t>(targets.size()));
    weights.push_back(0.1f + uniform());
    square.push_back(sum);
    order.push_back(r);
  }
  for (const auto& [hinge, cost] :
       {std::pair{false, 3.0f}, {true, 3.0f}, {false, 1e6f}, {true, 1e6f}}) {
    const LockstepKernels* const sets[] = {&portable::kernels, &lockstep_kernels(),
                                           &plain::kernels};
    std::vector<float> w[3];
    double gap[3];
    for (int set = 0; set < 3; ++set) {
      w[set].assign((n_features + 1) * width, 0.0f);
      std::vector<float> dual(n_rows * width, 0.0f);
      const LockstepEpoch epoch{
          starts.data(),  features.data(), values.data(),        order.data(),
          n_rows,         n_features,      target_starts.data(), children.data(),
          targets.data(), weights.data(),  square.data(),        cost,
          1e-4f,          500.0f,          w[set].data(),        dual.data(),
          width};
      const LockstepKernels& kernels = *sets[set];
      for (int i = 0; i < 4; ++i) {
        gap[set] = hinge ? kernels.hinge_epoch(epoch) : kernels.logistic_epoch(epoch);
      }
    }
    CHECK(w[0] == w[1] && w[0] == w[2]);
    CHECK(gap[0] == gap[1] && gap[0] == gap[2] && gap[0] > 0);
    CHECK(std::ranges::any_of(w[0], [](float weight) { return weight > 0.5f; }));
  }
}
