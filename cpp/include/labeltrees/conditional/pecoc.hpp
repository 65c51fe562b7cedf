// Probabilistic error-correcting output codes: n probabilities from k - 1 binary regressors, where
// k is n rounded up to a power of two (section 3.2.1 of the paper; columns past n are dummies).
//
// The code C is the k x k Hadamard matrix: C(i, s) = 1 iff i & s has an even number of ones. The
// regressor of row i estimates P(C(i, s) = 1 | x), where s is the column of the true outcome. Row 0
// is all ones and needs no regressor. Outcome j has column k - 1 - j. With two outcomes the
// regressor therefore estimates the probability of the second, as a node of the conditional
// probability tree does.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "labeltrees/online/regression.hpp"

namespace labeltrees {

inline std::size_t code_size(std::size_t n_outcomes) noexcept { return std::bit_ceil(n_outcomes); }

inline bool code_bit(std::size_t row, std::size_t column) noexcept {
  return std::popcount(row & column) % 2 == 0;
}

// targets[i - 1] = C(i, column of the outcome) for rows i = 1 .. k - 1; targets has k - 1 entries.
void code_targets(std::size_t outcome, std::span<std::uint8_t> targets) noexcept;

// Eq. (4) for all columns at once. In: outputs[i] = r_i(x), outputs[0] is not read. Out: outputs[s]
// = pecoc(s | x) = (1/k) sum_i (2 C(i, s) - 1) (2 r_i - 1) with r_0 = 1. They sum to 1 but may lie
// outside [0, 1]. A fast Walsh-Hadamard transform: O(k log k). k must be a power of two.
void decode(std::span<double> outputs) noexcept;

// Replaces p by the nearest point (Euclid) of {p_j >= floor, sum p_j = 1}; floor <= 1 / n. A truth
// in that set comes no farther. O(n log n); sorted is scratch memory.
void project_on_simplex(std::span<double> p, double floor, std::vector<double>& sorted);

// From the margins of k - 1 regressors to the probabilities of p.size() outcomes, each at least
// least_share, summing to 1.
class PecocDecoder {
 public:
  // Allocates the memory that run needs for this number of regressors.
  void reserve(std::size_t n_regressors);
  void run(std::span<const float> margins, Loss loss, std::span<double> p);

 private:
  std::vector<double> answers_, sorted_;
};

}  // namespace labeltrees
