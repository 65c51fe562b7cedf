#include "labeltrees/split_search.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace labeltrees {
namespace {

constexpr int whole = 0, weighted = 1, spread = 2;  // kinds of targets

std::size_t at(std::int32_t i) noexcept { return static_cast<std::size_t>(i); }

// Rounding must not prune: bounds and gains are sums of up to millions of terms.
float safe(double bound) noexcept { return static_cast<float>(bound * (1.0 + 1e-6)); }

double chord(double free, double end, double penalty) noexcept {
  return end > penalty ? free * (1.0 - penalty / end) : 0.0;
}

void raise(std::atomic<float>& best, float value) noexcept {
  float seen = best.load(std::memory_order_relaxed);
  while (seen < value && !best.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

double Penalty::of(double weight) const noexcept {
  if (power == 0.0) return factor;
  return factor * (power == 0.5 ? std::sqrt(weight) : std::pow(weight, power));
}

bool Split::better_than(const Split& other) const noexcept {
  const float ours = static_cast<float>(gain), theirs = static_cast<float>(other.gain);
  if (ours != theirs) return ours > theirs;
  if (column != other.column)
    return other.column == none || (column != none && column < other.column);
  if (cut != other.cut) return cut < other.cut;
  return missing_left < other.missing_left;
}

Entropy::Entropy(std::size_t n_counts) : table_(n_counts, 0.0) {
  for (std::size_t count = 2; count < n_counts; ++count) {
    const double x = static_cast<double>(count);
    table_[count] = x * std::log(x);
  }
}

double Entropy::operator()(double count) const noexcept {
  if (!table_.empty()) return table_[static_cast<std::size_t>(count)];
  return count > 0 ? count * std::log(count) : 0.0;
}

SplitSearch::SplitSearch(const BinnedColumns& data, const Targets& targets, const Entropy& entropy,
                         std::size_t n_labels, Norm norm)
    : data_(data),
      targets_(targets),
      entropy_(entropy),
      n_labels_(n_labels),
      norm_(norm),
      near_count_(n_labels, 0.0),
      added_(n_labels, 0.0),
      near_labels_(n_labels + 1),
      added_labels_(n_labels + 1) {}

Split SplitSearch::run(const NodeStatistics& node, const Segment& segment, const Penalty& penalty,
                       std::atomic<float>& best) {
  if (!targets_.starts.empty()) return sweep<spread>(node, segment, penalty, best);
  if (!targets_.masses.empty()) return sweep<weighted>(node, segment, penalty, best);
  return sweep<whole>(node, segment, penalty, best);
}

// Moves mass of one label from the far to the near side.
void SplitSearch::move(const NodeStatistics& node, LabelId label, double mass) {
  const std::size_t l = at(label);
  const double before = near_count_[l], after = before + mass, total = node.count[l];
  near_labels_[n_near_] = label;
  n_near_ += before == 0.0;
  near_entropy_ += entropy_(after) - entropy_(before);
  // Weights that do not add up exactly must not leave a crumb below zero.
  far_entropy_ += entropy_(std::max(total - after, 0.0)) - entropy_(std::max(total - before, 0.0));
  near_log_prior_ += mass * node.log_prior[l];
  near_excess_ += mass * (1.0 - node.prior[l]);
  near_weight_ += mass;
  near_count_[l] = after;
}

// Moves a bin's rows from the far to the near side.
template <int kind>
void SplitSearch::add_bin(const NodeStatistics& node, std::size_t begin, std::size_t end) {
  near_rows_ += end - begin;
  if (kind != spread && end - begin < 4) {
    for (std::size_t e = begin; e < end; ++e) {
      const std::size_t r = at(data_.rows[e]);
      move(node, targets_.labels[r], kind == whole ? 1.0 : targets_.masses[r]);
    }
    return;
  }
  // Written always and kept if new: a branch here would be mispredicted most of the time.
  std::size_t n_added = 0;
  double* const added = added_.data();
  LabelId* const added_labels = added_labels_.data();
  const auto add = [&](LabelId label, double mass) {
    double& sum = added[at(label)];
    added_labels[n_added] = label;
    n_added += sum == 0.0;
    sum += mass;
  };
  for (std::size_t e = begin; e < end; ++e) {
    const std::size_t r = at(data_.rows[e]);
    if constexpr (kind == spread) {
      const auto last = static_cast<std::size_t>(targets_.starts[r + 1]);
      for (auto i = static_cast<std::size_t>(targets_.starts[r]); i < last; ++i) {
        add(targets_.labels[i], targets_.masses[i]);
      }
    } else {
      add(targets_.labels[r], kind == whole ? 1.0 : targets_.masses[r]);
    }
  }
  for (std::size_t i = 0; i < n_added; ++i) {
    move(node, added_labels[i], added[at(added_labels[i])]);
    added[at(added_labels[i])] = 0.0;
  }
}

void SplitSearch::clear() {
  for (std::size_t i = 0; i < n_near_; ++i) near_count_[at(near_labels_[i])] = 0.0;
  n_near_ = 0;
  near_weight_ = near_entropy_ = far_entropy_ = near_log_prior_ = near_excess_ = 0.0;
  near_rows_ = 0;
}

// Zeros are not stored. So cuts among negative values grow the near side from the left, those among
// positive values from the right, and the zeros stay on the far side.
template <int kind>
Split SplitSearch::sweep(const NodeStatistics& node, const Segment& segment, const Penalty& penalty,
                         std::atomic<float>& best) {
  const std::uint8_t* bins = data_.bins.data();
  const int zero = data_.columns[at(segment.column)].zero_bin;
  std::size_t present_end = segment.end;
  while (present_end > segment.begin && bins[present_end - 1] == missing_bin) --present_end;
  const std::size_t middle = static_cast<std::size_t>(
      std::lower_bound(bins + segment.begin, bins + present_end, zero) - bins);
  const bool any_missing = present_end < segment.end;
  Split found;
  for (int with_missing = 0; with_missing <= (any_missing ? 1 : 0); ++with_missing) {
    clear();
    if (with_missing) {
      add_bin<kind>(node, present_end, segment.end);
      offer(node, {0.0, segment.column, -1, true}, penalty, found, best);
    }
    for (std::size_t e = segment.begin; e < middle;) {
      const int bin = bins[e];
      std::size_t end = e;
      while (end < middle && bins[end] == bin) ++end;
      add_bin<kind>(node, e, end);
      offer(node, {0.0, segment.column, bin, with_missing == 1}, penalty, found, best);
      e = end;
    }
    clear();
    if (with_missing) add_bin<kind>(node, present_end, segment.end);
    for (std::size_t e = present_end; e > middle;) {
      const int bin = bins[e - 1];
      std::size_t begin = e;
      while (begin > middle && bins[begin - 1] == bin) --begin;
      add_bin<kind>(node, begin, e);
      offer(node, {0.0, segment.column, bin - 1, any_missing && with_missing == 0}, penalty, found,
            best);
      e = begin;
    }
  }
  clear();
  return found;
}

void SplitSearch::offer(const NodeStatistics& node, const Split& candidate, const Penalty& penalty,
                        Split& found, std::atomic<float>& best) {
  if (near_rows_ == node.n_rows) return;
  const float to_beat =
      std::max(best.load(std::memory_order_relaxed), static_cast<float>(found.gain));
  Split offered = candidate;
  offered.gain = penalised_gain(node, penalty, to_beat);
  if (offered.gain > 0 && offered.better_than(found)) {
    found = offered;
    raise(best, static_cast<float>(found.gain));
  }
}

// The branch with one side's labels; its arrays are valid until the next call for that side.
Branch SplitSearch::gather(const NodeStatistics& node, bool near) {
  auto& counts = counts_[near ? 0 : 1];
  auto& priors = priors_[near ? 0 : 1];
  counts.clear();
  priors.clear();
  double listed = 0.0;
  const std::span<const LabelId> labels =
      near ? std::span<const LabelId>(near_labels_).first(n_near_) : node.labels;
  for (const LabelId label : labels) {
    const std::size_t l = at(label);
    const double count = near ? near_count_[l] : node.count[l] - near_count_[l];
    if (count <= 1e-12 * node.count[l]) continue;
    counts.push_back(count);
    priors.push_back(node.prior[l]);
    listed += node.prior[l];
  }
  const double rest = counts.size() == n_labels_ ? 0.0 : std::max(1.0 - listed, 0.0);
  return {counts, priors, near ? near_weight_ : node.weight - near_weight_, rest};
}

// 0 if it is sure to be less than to_beat. Looks closer only as long as it may be more.
double SplitSearch::penalised_gain(const NodeStatistics& node, const Penalty& penalty,
                                   float to_beat) {
  const double far_weight = node.weight - near_weight_;
  if (!(near_weight_ > 0 && far_weight > 1e-12 * node.weight)) return 0.0;
  const double near_free = near_entropy_ - entropy_(near_weight_) - near_log_prior_;
  const double far_free =
      node.entropy + far_entropy_ - entropy_(far_weight) - (node.log_prior_sum - near_log_prior_);
  const bool joint = norm_ == Norm::linf;
  const double near_penalty = penalty.of(joint ? node.weight : near_weight_);
  const double far_penalty = joint ? near_penalty : penalty.of(far_weight);
  // The gain is convex in the penalty, and 0 from the distance on: it lies below the chord.
  const auto hopeless = [&](double near_end, double far_end) {
    const double bound =
        joint ? chord(near_free + far_free, near_end + far_end, near_penalty)
              : chord(near_free, near_end, near_penalty) + chord(far_free, far_end, far_penalty);
    return bound <= 0 || safe(bound) < to_beat;
  };
  // c_i - W_b u_i <= c_i (1 - u_i) on either side, and the sides' differences sum to the node's.
  double far_end = 2.0 * std::max(node.excess - near_excess_, 0.0);
  double near_end = std::min(2.0 * near_excess_, node.distance + far_end);
  if (hopeless(near_end, std::min(far_end, node.distance + near_end))) return 0.0;
  const Branch near = gather(node, true);
  near_end = distance(near);
  if (hopeless(near_end, std::min(far_end, node.distance + near_end))) return 0.0;
  const Branch far = gather(node, false);
  far_end = distance(far);
  if (hopeless(near_end, far_end)) return 0.0;
  Clip near_clip, far_clip;
  if (joint) {
    std::tie(near_clip, far_clip) = solver_.solve_siblings(near, far, near_penalty);
  } else {
    near_clip = solver_.solve(near, near_penalty);
    far_clip = solver_.solve(far, far_penalty);
  }
  return branch_gain(near, near_clip) + branch_gain(far, far_clip);
}

}  // namespace labeltrees
