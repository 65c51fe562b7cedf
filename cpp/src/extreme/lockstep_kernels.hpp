// The inner loops of lockstep training and of scoring, compiled once for each instruction set.
//
// Children never mix and nothing is fused, so every set gives the same bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace labeltrees {

// One pass of dual coordinate descent over rows order[0] .. order[n_rows - 1].
struct LockstepEpoch {
  const std::int64_t* starts;
  const std::int32_t* features;
  const float* values;
  const std::uint32_t* order;
  std::size_t n_rows;
  std::size_t n_features;
  const std::int64_t* target_starts;
  const std::int32_t* target_children;  // counted from the panel's first; others are outside it
  const float* targets;
  const float* weights;
  const float* square;  // |x|^2 + 1 of every row
  float cost;
  // Steps of a dual variable that are smaller than this share of its row's cost, or of largest_cost
  // where the row's is larger, are not made.
  float least_step;
  float largest_cost;
  float* w;     // (n_features + 1) x width
  float* dual;  // n_rows x width
  std::size_t width;
};

struct LockstepKernels {
  // Return a bound on the duality gap, each row's part taken when it was visited.
  double (*logistic_epoch)(const LockstepEpoch&);
  double (*hinge_epoch)(const LockstepEpoch&);
  // The margins of one row.
  void (*margins)(const LockstepEpoch&, std::size_t row, float* out);
  // margins[i] becomes 1 / (1 + e^-margins[i]) for i < n, n a multiple of 16.
  void (*sigmoids)(float* margins, std::size_t n);
};

namespace portable {
extern const LockstepKernels kernels;
}
#ifdef LABELTREES_X86
namespace avx2 {
extern const LockstepKernels kernels;
}
namespace avx512 {
extern const LockstepKernels kernels;
}
#endif

// Those of the best instruction set this machine has.
const LockstepKernels& lockstep_kernels();

}  // namespace labeltrees
