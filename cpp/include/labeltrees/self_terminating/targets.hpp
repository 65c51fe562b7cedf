// The targets that a tree learns to predict: labels, weighted labels or distributions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "labeltrees/tree/label_tree.hpp"

namespace labeltrees {

// Row r has mass masses[i] of label labels[i] for i in starts[r] .. starts[r + 1]; masses > 0. If
// starts is empty, row r has the one label labels[r], and mass 1 if masses is empty, too.
struct Targets {
  std::span<const std::int64_t> starts;
  std::span<const LabelId> labels;
  std::span<const double> masses;
};

// One label of mass 1 a row, one of any mass, or several.
enum class TargetKind { whole, weighted, spread };

// Calls visit(label, mass) for each of a row's targets.
template <TargetKind kind, typename Visit>
void for_targets(const Targets& targets, std::size_t row, Visit visit) {
  if constexpr (kind == TargetKind::spread) {
    const auto last = static_cast<std::size_t>(targets.starts[row + 1]);
    for (auto i = static_cast<std::size_t>(targets.starts[row]); i < last; ++i) {
      visit(targets.labels[i], targets.masses[i]);
    }
  } else {
    visit(targets.labels[row], kind == TargetKind::whole ? 1.0 : targets.masses[row]);
  }
}

}  // namespace labeltrees
