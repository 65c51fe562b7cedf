#include "labeltrees/lom/back_off.hpp"

#include <algorithm>
#include <cmath>

#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {
namespace {

// Number of rows that an initial trust of one half counts as.
constexpr double prior_rows = 2;

// Bounds on saved trust. No number of rows that can be learned leads beyond them.
constexpr double least_trust = 1e-60, most_rows = 1e60;

// The power of two below x, from 0 to limit - 1.
std::size_t power(double x, std::size_t limit) noexcept {
  return x < 1 ? 0 : std::min(static_cast<std::size_t>(std::ilogb(x)), limit - 1);
}

}  // namespace

BackOff::BackOff() {
  reached_.fill(prior_rows);
  drawn_.fill(prior_rows / 2);
}

BackOff::BackOff(std::span<const double> reached, std::span<const double> drawn) {
  if (reached.size() != n_classes || drawn.size() != n_classes) {
    throw TreeError("back-off needs two numbers for every class of nodes");
  }
  std::copy(reached.begin(), reached.end(), reached_.begin());
  std::copy(drawn.begin(), drawn.end(), drawn_.begin());
  for (std::size_t c = 0; c < n_classes; ++c) {
    // So far from 0 that the back-off it makes is finite.
    if (!(drawn_[c] > least_trust * reached_[c] && drawn_[c] < reached_[c] &&
          reached_[c] < most_rows)) {
      throw TreeError("no trust of a class of nodes is 0 or 1");
    }
  }
}

std::size_t BackOff::class_of(bool is_leaf, double n, std::uint32_t n_labels) noexcept {
  const std::size_t repeats = power(2 * n / n_labels, n_repeats);
  return ((is_leaf ? n_sizes : 0) + power(n, n_sizes)) * n_repeats + repeats;
}

}  // namespace labeltrees
