#include "labeltrees/self_terminating/categories.hpp"

#include <algorithm>
#include <limits>

#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/index.hpp"

namespace labeltrees {

std::vector<Category> categories_of(const BinnedColumns& data,
                                    std::span<const std::int32_t> features) {
  std::vector<Category> found;
  for (std::size_t c = 0; c < data.columns.size(); ++c) {
    const Column& column = data.columns[c];
    if (std::find(features.begin(), features.end(), column.feature) == features.end()) continue;
    Category category{&column, static_cast<std::int32_t>(c), {}};
    const auto begin = static_cast<std::ptrdiff_t>(column.begin);
    if (column.dense) {
      category.bins.assign(
          data.dense_bins.begin() + begin,
          data.dense_bins.begin() + begin + static_cast<std::ptrdiff_t>(data.n_rows));
    } else {
      category.bins.assign(data.n_rows, static_cast<std::uint8_t>(column.zero_bin));
      for (std::size_t e = column.begin; e < column.end; ++e) {
        const std::uint8_t bin = data.bins[e];
        category.bins[index(data.rows[e])] = bin == missing_bin ? column.missing() : bin;
      }
    }
    found.push_back(std::move(category));
  }
  return found;
}

std::vector<Piece> pieces_of(const Category& category, std::span<const std::uint8_t> bins) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<Piece> pieces;
  if (!bins.empty() && bins.back() == category.missing()) {
    pieces.push_back({-infinity, category.missing()});
    bins = bins.first(bins.size() - 1);
  }
  float next = -infinity;  // where the values begin that the node has not
  for (const std::uint8_t bin : bins) {
    const float value = category.column->lows[bin];
    if (next < value - 0.5f) pieces.push_back({next, -1});
    pieces.push_back({value - 0.5f, bin});
    next = value + 0.5f;
  }
  pieces.push_back({next, -1});
  return pieces;
}

CategorySplit CategorySearch::best(const NodeStatistics& node, std::span<const Category> categories,
                                   const Targets& targets, std::size_t n_labels,
                                   const Penalty& penalty) {
  CategorySplit winner;
  for (const Category& category : categories) {
    look_up();
    const double found = gain(node, category, targets, n_labels, penalty);
    // Compared as floats, so that rounding decides no comparison.
    if (static_cast<float>(found) > static_cast<float>(winner.gain)) winner = {found, &category};
  }
  return winner;
}

double CategorySearch::gain(const NodeStatistics& node, const Category& category,
                            const Targets& targets, std::size_t n_labels, const Penalty& penalty) {
  const std::size_t n_bins = category.column->lows.size() + 1, n_places = node.count.size();
  masses_.assign(n_bins * n_places, 0.0);
  is_used_.assign(n_bins, 0);
  for (const std::int32_t row : node.rows) {
    const std::size_t bin = category.bins[index(row)];
    is_used_[bin] = 1;
    const auto add = [&](LabelId place, double mass) {
      masses_[bin * n_places + index(place)] += mass;
    };
    if (!targets.starts.empty()) {
      for_targets<TargetKind::spread>(targets, index(row), add);
    } else if (!targets.masses.empty()) {
      for_targets<TargetKind::weighted>(targets, index(row), add);
    } else {
      for_targets<TargetKind::whole>(targets, index(row), add);
    }
  }
  if (std::count(is_used_.begin(), is_used_.end(), 1) < 2) return 0.0;
  double sum = 0.0;
  for (std::size_t bin = 0; bin < n_bins; ++bin) {
    if (!is_used_[bin]) continue;
    sum += branch(node, std::span(masses_).subspan(bin * n_places, n_places), n_labels, penalty);
  }
  return sum;
}

// By gini the node's last label stands for all that it has not; by entropy these are not listed.
double CategorySearch::branch(const NodeStatistics& node, std::span<const double> masses,
                              std::size_t n_labels, const Penalty& penalty) {
  const bool all = criterion_ == Criterion::gini;
  counts_.clear();
  priors_.clear();
  double weight = 0.0, listed = 0.0;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    if (!all && masses[i] <= 0) continue;
    counts_.push_back(masses[i]);
    priors_.push_back(node.prior[i]);
    weight += masses[i];
    listed += node.prior[i];
  }
  const double rest = all || counts_.size() == n_labels ? 0.0 : std::max(1.0 - listed, 0.0);
  const Branch branch{counts_, priors_, weight, rest};
  return branch_gain(criterion_, branch, solver_.solve(branch, penalty.of(weight)));
}

}  // namespace labeltrees
