// From what trees say to what comes true: logit q = a ln p - b ln(1 - p) + c + d ln m.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace labeltrees {

struct Calibration {
  double a, b, c, d;
};

// Replaces the probabilities p, as many of each row as of any other, by the calibrated ones; masses
// has one m for every row. O(p).
inline void calibrate(const Calibration& map, std::span<const double> masses, std::span<double> p) {
  constexpr double least_mass = 1e-15, most = 1 - 0x1p-53;
  const std::size_t width = masses.empty() ? 0 : p.size() / masses.size();
  for (std::size_t i = 0; i < width * masses.size(); ++i) {
    const double shift = map.c + map.d * std::log(std::max(masses[i / width], least_mass));
    double logit = map.a * std::log(p[i]) + shift;
    if (map.b != 0) logit -= map.b * std::log1p(-std::min(p[i], most));
    p[i] = 1 / (1 + std::exp(-logit));
  }
}

}  // namespace labeltrees
