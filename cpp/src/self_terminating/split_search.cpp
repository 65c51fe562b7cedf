#include "labeltrees/self_terminating/split_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/platform/index.hpp"

namespace labeltrees {
namespace {

constexpr std::size_t most_noted = 100'000;  // masses kept until settle()

// Rounding must not prune. Bounds and gains are sums of up to millions of terms.
float safe(double bound) noexcept { return static_cast<float>(bound * (1.0 + 1e-6)); }

double chord(double free, double end, double penalty) noexcept {
  return end > penalty ? free * (1.0 - penalty / end) : 0.0;
}

float least_to_beat(const Split& found, const std::atomic<float>& best) noexcept {
  return std::max(best.load(std::memory_order_relaxed), static_cast<float>(found.gain));
}

void raise(std::atomic<float>& best, float value) noexcept {
  float seen = best.load(std::memory_order_relaxed);
  while (seen < value && !best.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

double Penalty::of(double weight) const noexcept {
  if (power == 0.0) return factor;
  return factor * (power == 0.5 ? std::sqrt(weight) : elementary::pow(weight, power));
}

bool Split::better_than(const Split& other) const noexcept {
  const float ours = static_cast<float>(gain), theirs = static_cast<float>(other.gain);
  if (ours != theirs) return ours > theirs;
  if (column != other.column)
    return other.column == none || (column != none && column < other.column);
  if (cut != other.cut) return cut < other.cut;
  return missing_left < other.missing_left;
}

Phi::Phi(Criterion criterion, std::size_t n_counts)
    : criterion_(criterion), table_(criterion == Criterion::entropy ? n_counts : 0, 0.0) {
  for (std::size_t count = 2; count < table_.size(); ++count) {
    const double x = static_cast<double>(count);
    table_[count] = x * elementary::log(x);
  }
}

double Phi::operator()(double count) const noexcept {
  if (!table_.empty()) return table_[static_cast<std::size_t>(count)];
  if (criterion_ == Criterion::gini) return 0.5 * count * count;
  return count > 0 ? count * elementary::log(count) : 0.0;
}

SplitSearch::SplitSearch(const BinnedColumns& data, const Targets& targets, const Phi& phi,
                         std::size_t n_labels, Criterion criterion, Norm norm)
    : data_(data),
      targets_(targets),
      phi_(phi),
      n_labels_(n_labels),
      criterion_(criterion),
      norm_(norm),
      near_(n_labels),
      added_(n_labels, 0.0),
      near_labels_(n_labels + 1),
      added_labels_(n_labels + 1),
      solver_(criterion) {}

void SplitSearch::run(const NodeStatistics& node, std::span<const Segment> segments,
                      const Penalty& penalty, std::span<Split> found,
                      std::span<std::uint8_t> constant, std::atomic<float>& best) {
  std::array<std::size_t, columns_at_once> dense, place;
  std::size_t n_dense = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::size_t column = index(segments[i].column);
    if (data_.columns[column].dense) {
      cells_[n_dense].shape(data_.columns[column].lows.size(), node.count.size());
      place[n_dense] = i;
      dense[n_dense++] = column;
    } else {
      search_entries(node, segments[i], penalty, found[i], best);
    }
  }
  if (n_dense == 0) return;
  fill_cells(data_, std::span(dense).first(n_dense), targets_, node.rows, node.places, cells_);
  for (std::size_t i = 0; i < n_dense; ++i) {
    constant[place[i]] = !sweep_cells(node, dense[i], cells_[i], penalty, found[place[i]], best);
    cells_[i].clear();
  }
}

void SplitSearch::search_entries(const NodeStatistics& node, const Segment& segment,
                                 const Penalty& penalty, Split& found, std::atomic<float>& best) {
  if (!targets_.starts.empty()) {
    sweep_entries<TargetKind::spread>(node, segment, penalty, found, best);
  } else if (!targets_.masses.empty()) {
    sweep_entries<TargetKind::weighted>(node, segment, penalty, found, best);
  } else {
    sweep_entries<TargetKind::whole>(node, segment, penalty, found, best);
  }
}

// Moves mass of one label from the far to the near side.
inline void SplitSearch::move(const NodeStatistics& node, LabelId label, double mass, Sums& sums) {
  const std::size_t l = index(label);
  Near& near = near_[l];
  const double after = near.count + mass;
  near_labels_[n_near_] = label;
  n_near_ += near.count == 0.0;
  const double near_phi = phi_(after);
  const double far_phi = phi_(std::max(node.count[l] - after, 0.0)) - node.phi_of[l];
  sums.phi += near_phi - near.phi;
  sums.far_phi += far_phi - near.far_phi;
  sums.link += mass * node.link[l];
  sums.excess += mass * (1.0 - node.prior[l]);
  sums.weight += mass;
  near = {after, near_phi, far_phi};
}

void SplitSearch::clear() {
  for (std::size_t i = 0; i < n_near_; ++i) near_[index(near_labels_[i])] = {};
  n_near_ = 0;
}

// W D(q, u), the gain without penalty, of a branch with these sums.
double SplitSearch::free_gain(const NodeStatistics& node, double weight, double phi,
                              double link) const {
  if (criterion_ == Criterion::gini) return phi / weight - link + weight * node.half_square;
  return phi - phi_(weight) - link;
}

// Sets what a candidate's near side has made of it; false if it is sure to gain less than to_beat.
inline bool SplitSearch::weigh(const NodeStatistics& node, const Sums& near, const Penalty& penalty,
                               float to_beat, Candidate& candidate) const {
  const double far_weight = node.weight - near.weight;
  if (!(near.weight > 0 && far_weight > 1e-12 * node.weight)) return false;
  const double near_free = free_gain(node, near.weight, near.phi, near.link);
  const double far_free =
      free_gain(node, far_weight, node.phi + near.far_phi, node.link_sum - near.link);
  if (safe(near_free + far_free) < to_beat) return false;
  candidate.near_weight = near.weight;
  candidate.near_free = near_free;
  candidate.far_free = far_free;
  candidate.near_excess = near.excess;
  // c_i - W_b u_i <= c_i (1 - u_i) on either side, and the sides' differences sum to the node's.
  const double far_end = 2.0 * std::max(node.excess - near.excess, 0.0);
  const double near_end = std::min(2.0 * near.excess, node.distance + far_end);
  candidate.bound =
      bound(candidate, node, penalty, near_end, std::min(far_end, node.distance + near_end));
  return candidate.bound > 0 && safe(candidate.bound) >= to_beat;
}

// The gain is convex in the penalty, and 0 above the distance, so it lies below the chord.
double SplitSearch::bound(const Candidate& candidate, const NodeStatistics& node,
                          const Penalty& penalty, double near_end, double far_end) const {
  if (norm_ == Norm::linf) {
    return chord(candidate.near_free + candidate.far_free, near_end + far_end,
                 penalty.of(node.weight));
  }
  return chord(candidate.near_free, near_end, penalty.of(candidate.near_weight)) +
         chord(candidate.far_free, far_end, penalty.of(node.weight - candidate.near_weight));
}

void SplitSearch::offer(const NodeStatistics& node, const Candidate& candidate,
                        const Penalty& penalty, Split& found, std::atomic<float>& best) {
  Split offered = candidate.split;
  offered.gain = penalised_gain(node, candidate, penalty, least_to_beat(found, best));
  if (offered.gain > 0 && offered.better_than(found)) {
    found = offered;
    raise(best, static_cast<float>(found.gain));
  }
}

// The branch with one side's labels; its arrays are valid until the next call for that side.
Branch SplitSearch::gather(const NodeStatistics& node, double near_weight, bool near) {
  auto& counts = counts_[near ? 0 : 1];
  auto& priors = priors_[near ? 0 : 1];
  const bool all = criterion_ == Criterion::gini;
  const std::size_t n_listed = near && !all ? n_near_ : node.count.size();
  counts.resize(n_listed);
  priors.resize(n_listed);
  std::size_t n = 0;
  double listed = 0.0;
  for (std::size_t i = 0; i < n_listed; ++i) {
    const std::size_t l = near && !all ? index(near_labels_[i]) : i;
    const double count = near ? near_[l].count : node.count[l] - near_[l].count;
    const bool some = count > 1e-12 * node.count[l];
    counts[n] = some ? count : 0.0;
    priors[n] = node.prior[l];
    n += all || some;
    listed += some ? node.prior[l] : 0.0;
  }
  const double rest = all || n == n_labels_ ? 0.0 : std::max(1.0 - listed, 0.0);
  return {std::span(counts).first(n), std::span(priors).first(n),
          near ? near_weight : node.weight - near_weight, rest};
}

// 0 if it is sure to be less than to_beat. Looks closer only as long as it may be more.
double SplitSearch::penalised_gain(const NodeStatistics& node, const Candidate& candidate,
                                   const Penalty& penalty, float to_beat) {
  const auto hopeless = [&](double near_end, double far_end) {
    const double most = bound(candidate, node, penalty, near_end, far_end);
    return most <= 0 || safe(most) < to_beat;
  };
  const Branch near = gather(node, candidate.near_weight, true);
  const double near_end = distance(near);
  double far_end = 2.0 * std::max(node.excess - candidate.near_excess, 0.0);
  if (hopeless(near_end, std::min(far_end, node.distance + near_end))) return 0.0;
  const Branch far = gather(node, candidate.near_weight, false);
  far_end = distance(far);
  if (hopeless(near_end, far_end)) return 0.0;
  Clip near_clip, far_clip;
  if (norm_ == Norm::linf) {
    std::tie(near_clip, far_clip) = solver_.solve_siblings(near, far, penalty.of(node.weight));
  } else {
    near_clip = solver_.solve(near, penalty.of(near.weight));
    const double far_most = chord(candidate.far_free, far_end, penalty.of(far.weight));
    const double near_gain = branch_gain(criterion_, near, near_clip);
    if (safe(near_gain + far_most) < to_beat) return 0.0;
    far_clip = solver_.solve(far, penalty.of(far.weight));
    return near_gain + branch_gain(criterion_, far, far_clip);
  }
  return branch_gain(criterion_, near, near_clip) + branch_gain(criterion_, far, far_clip);
}

// Moves a bin's rows from the far to the near side.
template <TargetKind kind>
void SplitSearch::add_bin(const NodeStatistics& node, std::size_t begin, std::size_t end,
                          Sums& sums) {
  if (kind != TargetKind::spread && end - begin < 4) {
    for (std::size_t e = begin; e < end; ++e) {
      for_targets<kind>(targets_, index(data_.rows[e]),
                        [&](LabelId label, double mass) { move(node, label, mass, sums); });
    }
    return;
  }
  // Always written, and kept if new. A branch here would be mispredicted most of the time.
  std::size_t n_added = 0;
  double* const added = added_.data();
  LabelId* const added_labels = added_labels_.data();
  for (std::size_t e = begin; e < end; ++e) {
    for_targets<kind>(targets_, index(data_.rows[e]), [&](LabelId label, double mass) {
      double& sum = added[index(label)];
      added_labels[n_added] = label;
      n_added += sum == 0.0;
      sum += mass;
    });
  }
  for (std::size_t i = 0; i < n_added; ++i) {
    move(node, added_labels[i], added[index(added_labels[i])], sums);
    added[index(added_labels[i])] = 0.0;
  }
}

// Zeros are not stored. So cuts among negative values grow the near side from the left, those among
// positive values from the right, and the zeros stay on the far side.
template <TargetKind kind>
void SplitSearch::sweep_entries(const NodeStatistics& node, const Segment& segment,
                                const Penalty& penalty, Split& found, std::atomic<float>& best) {
  const std::uint8_t* bins = data_.bins.data();
  const int zero = data_.columns[index(segment.column)].zero_bin;
  std::size_t present_end = segment.end;
  while (present_end > segment.begin && bins[present_end - 1] == missing_bin) --present_end;
  const std::size_t middle = static_cast<std::size_t>(
      std::lower_bound(bins + segment.begin, bins + present_end, zero) - bins);
  const bool any_missing = present_end < segment.end;
  std::size_t near_rows = 0;
  Sums sums;
  const auto restart = [&] {
    clear();
    near_rows = 0;
    sums = {};
  };
  const auto add = [&](std::size_t begin, std::size_t end) {
    near_rows += end - begin;
    add_bin<kind>(node, begin, end, sums);
  };
  const auto cut = [&](std::int32_t bin, bool missing_left) {
    if (near_rows == node.rows.size()) return;
    Candidate candidate;
    if (!weigh(node, sums, penalty, least_to_beat(found, best), candidate)) return;
    candidate.split = {0.0, segment.column, bin, missing_left};
    offer(node, candidate, penalty, found, best);
  };
  for (int with_missing = 0; with_missing <= (any_missing ? 1 : 0); ++with_missing) {
    restart();
    if (with_missing) {
      add(present_end, segment.end);
      cut(-1, true);
    }
    for (std::size_t e = segment.begin; e < middle;) {
      const int bin = bins[e];
      std::size_t end = e;
      while (end < middle && bins[end] == bin) ++end;
      add(e, end);
      cut(bin, with_missing == 1);
      e = end;
    }
    restart();
    if (with_missing) add(present_end, segment.end);
    for (std::size_t e = present_end; e > middle;) {
      const int bin = bins[e - 1];
      std::size_t begin = e;
      while (begin > middle && bins[begin - 1] == bin) --begin;
      add(begin, e);
      cut(bin - 1, any_missing && with_missing == 0);
      e = begin;
    }
  }
  clear();
}

// Weighs the cuts from left to right; the near side is the left one, with the missing values or
// without.
void SplitSearch::note_cuts(const NodeStatistics& node, std::size_t column, const Cells& cells,
                            bool missing_left, const Penalty& penalty, Split& found,
                            float to_beat) {
  Sums sums;
  Candidate candidate;
  candidate.found = &found;
  const auto weigh_cut = [&](std::int32_t cut) {
    if (!weigh(node, sums, penalty, to_beat, candidate)) return;
    candidate.split = {0.0, static_cast<std::int32_t>(column), cut, missing_left};
    note(candidate);
  };
  const auto add = [&](std::size_t bin) {
    Sums moved = sums;  // stays in registers
    cells.for_labels(bin, [&](LabelId label, double mass) { move(node, label, mass, moved); });
    sums = moved;
  };
  if (missing_left) {
    add(cells.n_bins());
    weigh_cut(-1);
  }
  const std::size_t n_present = cells.bins().size() - cells.any_missing();
  for (const std::uint32_t bin : cells.bins().first(n_present - 1)) {
    add(bin);
    weigh_cut(static_cast<std::int32_t>(bin));
  }
  clear();
}

void SplitSearch::note(Candidate& candidate) {
  candidate.begin = noted_.size();
  for (std::size_t i = 0; i < n_near_; ++i) {
    noted_.push_back({near_labels_[i], near_[index(near_labels_[i])].count});
  }
  candidate.end = noted_.size();
  candidates_.push_back(candidate);
}

void SplitSearch::offer_noted(const NodeStatistics& node, const Candidate& candidate,
                              const Penalty& penalty, std::atomic<float>& best) {
  for (std::size_t i = candidate.begin; i < candidate.end; ++i) {
    near_labels_[n_near_++] = noted_[i].label;
    near_[index(noted_[i].label)].count = noted_[i].mass;
  }
  offer(node, candidate, penalty, *candidate.found, best);
  clear();
}

void SplitSearch::settle(const NodeStatistics& node, const Penalty& penalty,
                         std::atomic<float>& best) {
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return a.bound != b.bound ? a.bound > b.bound : b.split.better_than(a.split);
  });
  for (const Candidate& candidate : candidates_) {
    if (candidate.bound <= 0 || safe(candidate.bound) < best.load(std::memory_order_relaxed)) break;
    offer_noted(node, candidate, penalty, best);
  }
  candidates_.clear();
  noted_.clear();
  highest_bound_ = 0.0;
}

// False if the column is the same in all the node's rows.
bool SplitSearch::sweep_cells(const NodeStatistics& node, std::size_t column, const Cells& cells,
                              const Penalty& penalty, Split& found, std::atomic<float>& best) {
  if (cells.bins().size() < 2) return false;
  const std::size_t first = candidates_.size();
  const float to_beat = best.load(std::memory_order_relaxed);
  note_cuts(node, column, cells, false, penalty, found, to_beat);
  if (cells.any_missing()) note_cuts(node, column, cells, true, penalty, found, to_beat);
  offer_record(node, first, penalty, best);
  if (noted_.size() > most_noted) settle(node, penalty, best);
  return true;
}

// The most promising of the candidates from `first` on is evaluated at once if it is more promising
// than all before. Its gain is likely to rule out most of the following candidates.
void SplitSearch::offer_record(const NodeStatistics& node, std::size_t first,
                               const Penalty& penalty, std::atomic<float>& best) {
  std::size_t top = first;
  for (std::size_t i = first; i < candidates_.size(); ++i) {
    if (candidates_[i].bound > candidates_[top].bound) top = i;
  }
  if (top == candidates_.size() || candidates_[top].bound <= highest_bound_) return;
  highest_bound_ = candidates_[top].bound;
  offer_noted(node, candidates_[top], penalty, best);
  candidates_[top].bound = 0.0;  // done
}

}  // namespace labeltrees
