#include "labeltrees/self_terminating/branch.hpp"

#include <algorithm>
#include <limits>

#include "labeltrees/platform/elementary.hpp"

namespace labeltrees {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double relative_entropy(double p, double u, double weight) noexcept {
  return p > 0 ? p * elementary::log(p / (weight * u)) : 0.0;
}

}  // namespace

double distance(const Branch& branch) noexcept {
  // Both c and W u sum to W, so what is missing on one side is in excess on the other.
  double excess = 0.0;
  for (std::size_t i = 0; i < branch.counts.size(); ++i) {
    excess += std::max(0.0, branch.counts[i] - branch.weight * branch.prior[i]);
  }
  return 2.0 * excess;
}

Clip BranchSolver::solve(const Branch& branch, double penalty) {
  const double weight = branch.weight;
  if (distance(branch) <= penalty) return {weight, weight};
  if (criterion_ == Criterion::gini) {
    return {weight, weight, shift(branch, -1.0, penalty / 2), shift(branch, 1.0, penalty / 2)};
  }
  return {low_end(branch, penalty / 2), high_end(branch, penalty / 2)};
}

// The high with sum_i max(0, c_i - high u_i) = half, searched from the largest ratio downwards.
double BranchSolver::high_end(const Branch& branch, double half) {
  // Equal ones are ordered by label, so that every standard library adds them up in the same order.
  const auto below = [](const Ratio& a, const Ratio& b) {
    return a.value != b.value ? a.value < b.value : a.label > b.label;
  };
  heap_.clear();
  for (std::size_t i = 0; i < branch.counts.size(); ++i) {
    const double count = branch.counts[i], prior = branch.prior[i];
    if (count > branch.weight * prior) heap_.push_back({prior > 0 ? count / prior : infinity, i});
  }
  std::make_heap(heap_.begin(), heap_.end(), below);
  double mass = 0.0, prior = 0.0, end = infinity;
  while (!heap_.empty()) {
    const std::size_t top = heap_.front().label;
    std::pop_heap(heap_.begin(), heap_.end(), below);
    heap_.pop_back();
    mass += branch.counts[top];
    prior += branch.prior[top];
    if (prior <= 0) continue;
    end = (mass - half) / prior;
    if (heap_.empty() || end >= heap_.front().value) break;
  }
  return std::max(end, branch.weight);
}

// The low with sum_i max(0, low u_i - c_i) = half, searched from the smallest ratio, 0, upwards.
double BranchSolver::low_end(const Branch& branch, double half) {
  const auto above = [](const Ratio& a, const Ratio& b) {
    return a.value != b.value ? a.value > b.value : a.label > b.label;
  };
  heap_.clear();
  for (std::size_t i = 0; i < branch.counts.size(); ++i) {
    const double count = branch.counts[i], prior = branch.prior[i];
    if (count < branch.weight * prior) heap_.push_back({count / prior, i});
  }
  std::make_heap(heap_.begin(), heap_.end(), above);
  double mass = 0.0, prior = branch.rest, end = branch.weight;
  while (true) {
    if (prior > 0) {
      end = (mass + half) / prior;
      if (heap_.empty() || end <= heap_.front().value) break;
    }
    if (heap_.empty()) break;
    const std::size_t top = heap_.front().label;
    std::pop_heap(heap_.begin(), heap_.end(), above);
    heap_.pop_back();
    mass += branch.counts[top];
    prior += branch.prior[top];
  }
  return std::min(end, branch.weight);
}

// The shift with sum_i max(0, sign (c_i - W u_i) - shift) = half, searched from the largest move
// downwards.
double BranchSolver::shift(const Branch& branch, double sign, double half) {
  moves_.clear();
  for (std::size_t i = 0; i < branch.counts.size(); ++i) {
    const double move = sign * (branch.counts[i] - branch.weight * branch.prior[i]);
    if (move > 0) moves_.push_back(move);
  }
  std::make_heap(moves_.begin(), moves_.end());
  double sum = 0.0, n_passed = 0.0, end = 0.0;
  while (!moves_.empty()) {
    std::pop_heap(moves_.begin(), moves_.end());
    sum += moves_.back();
    moves_.pop_back();
    n_passed += 1.0;
    end = (sum - half) / n_passed;
    if (moves_.empty() || end >= moves_.front()) break;
  }
  return std::max(end, 0.0);
}

// Half the width of alpha: theta of eq. (3).
double BranchSolver::multiplier(const Branch& branch, const Clip& clip) const noexcept {
  if (clip.terminates()) return 0.0;
  if (criterion_ == Criterion::gini) return 0.5 * (clip.below + clip.above) / branch.weight;
  return clip.low > 0 ? 0.5 * elementary::log(clip.high / clip.low) : infinity;
}

std::pair<Clip, Clip> BranchSolver::solve_siblings(const Branch& left, const Branch& right,
                                                   double penalty) {
  const double far_left = distance(left), far_right = distance(right);
  if (far_left + far_right <= penalty) {
    return {Clip{left.weight, left.weight}, Clip{right.weight, right.weight}};
  }
  // The left's multiplier falls with its share of the penalty, the right's rises.
  double least = std::max(0.0, penalty - far_right), most = std::min(penalty, far_left);
  for (int i = 0; i < 100 && least < most; ++i) {
    const double share = least + (most - least) / 2;
    if (share == least || share == most) break;
    const bool left_steeper =
        multiplier(left, solve(left, share)) > multiplier(right, solve(right, penalty - share));
    (left_steeper ? least : most) = share;
  }
  return {solve(left, least), solve(right, penalty - least)};
}

double branch_gain(Criterion criterion, const Branch& branch, const Clip& clip) noexcept {
  if (clip.terminates()) return 0.0;
  const double weight = branch.weight;
  double gain = 0.0;
  if (criterion == Criterion::gini) {
    for (std::size_t i = 0; i < branch.counts.size(); ++i) {
      const double prior = branch.prior[i];
      const double moved = clip.apply(branch.counts[i], prior) - weight * prior;
      gain += moved * moved;
    }
    return gain / (2.0 * weight);
  }
  if (clip.low > 0) gain = branch.rest * clip.low * elementary::log(clip.low / weight);
  for (std::size_t i = 0; i < branch.counts.size(); ++i) {
    const double p = clip.apply(branch.counts[i], branch.prior[i]);
    gain += relative_entropy(p, branch.prior[i], weight);
  }
  return std::max(gain, 0.0);
}

}  // namespace labeltrees
