// Calibrates tree scores to relevance and to probability, with logit q = a ln p - b ln(1 - p) + c +
// d ln m.
#pragma once

#include <algorithm>
#include <span>

#include "labeltrees/platform/elementary.hpp"

namespace labeltrees {

struct Calibration {
  double a, b, c, d;
};

// What a row's mass adds to its logits.
inline double logit_shift(const Calibration& map, double mass) {
  constexpr double least_mass = 1e-15;
  return map.c + map.d * elementary::log(std::max(mass, least_mass));
}

// logit q, which grows with p: finite at p = 1, -inf at p = 0.
inline double calibrated_logit(const Calibration& map, double p, double shift) {
  constexpr double most = 1 - 0x1p-53;
  double logit = map.a * elementary::log(p) + shift;
  if (map.b != 0) logit -= map.b * elementary::log1p(-std::min(p, most));
  return logit;
}

// Replaces the probabilities p, as many of each row as of any other, by the calibrated ones; masses
// has one m for every row. O(p).
inline void calibrate(const Calibration& map, std::span<const double> masses, std::span<double> p) {
  const std::size_t width = masses.empty() ? 0 : p.size() / masses.size();
  for (std::size_t i = 0; i < width * masses.size(); ++i) {
    const double shift = logit_shift(map, masses[i / width]);
    p[i] = 1 / (1 + elementary::exp(-calibrated_logit(map, p[i], shift)));
  }
}

}  // namespace labeltrees
