#include <cmath>
#include <limits>
#include <random>

#include "../check.hpp"
#include "labeltrees/self_terminating/branch.hpp"

using namespace labeltrees;

namespace {

bool near(double a, double b) { return std::abs(a - b) < 1e-12; }

}  // namespace

TEST(a_branch_by_hand) {
  const std::vector<double> counts{8, 2, 0}, prior{0.4, 0.3, 0.3};
  const Branch branch{counts, prior, 10.0, 0.0};
  CHECK(near(distance(branch), 8.0));
  const Clip clip = BranchSolver().solve(branch, 2.0);
  CHECK(near(clip.high, 17.5) && near(clip.low, 10.0 / 3));
  CHECK(near(clip.apply(8, 0.4), 7.0) && near(clip.apply(2, 0.3), 2.0));
  const double gain = 7 * std::log(1.75) + 2 * std::log(2.0 / 3) + std::log(1.0 / 3);
  CHECK(near(branch_gain(Criterion::entropy, branch, clip), gain));
}

TEST(labels_left_out_count_like_labels_of_weight_zero) {
  const std::vector<double> counts{8, 2, 0, 0}, prior{0.4, 0.3, 0.1, 0.2};
  const Branch all{counts, prior, 10.0, 0.0};
  const Branch some{std::span(counts).first(2), std::span(prior).first(2), 10.0, 0.3};
  BranchSolver solver;
  for (const double penalty : {0.0, 0.5, 3.0, 7.9, 8.1}) {
    const Clip a = solver.solve(all, penalty), b = solver.solve(some, penalty);
    CHECK(near(a.low, b.low) && near(a.high, b.high));
    CHECK(near(branch_gain(Criterion::entropy, all, a), branch_gain(Criterion::entropy, some, b)));
  }
}

TEST(a_branch_terminates_at_its_distance) {
  const std::vector<double> counts{6, 2}, prior{0.5, 0.5};
  const Branch branch{counts, prior, 8.0, 0.0};
  BranchSolver solver;
  const Clip at = solver.solve(branch, 4.0);
  CHECK(at.low == at.high && branch_gain(Criterion::entropy, branch, at) == 0.0);
  const Clip below = solver.solve(branch, std::nextafter(4.0, 0.0));
  CHECK(below.low <= 8.0 && below.high >= 8.0);
  const Clip never = solver.solve(branch, std::numeric_limits<double>::infinity());
  CHECK(never.low == never.high);
}

TEST(siblings_terminate_together_and_share_one_multiplier) {
  const std::vector<double> left{9, 1, 5}, right{4, 5, 6}, prior{0.4, 0.3, 0.3};
  const Branch a{left, prior, 15.0, 0.0}, b{right, prior, 15.0, 0.0};
  BranchSolver solver;
  const double sum = distance(a) + distance(b);
  const auto [c, d] = solver.solve_siblings(a, b, 0.6 * sum);
  CHECK(c.low < c.high && d.low < d.high);
  CHECK(std::abs(c.high / c.low - d.high / d.low) < 1e-6);
  const auto [e, f] = solver.solve_siblings(a, b, sum);
  CHECK(e.low == e.high && f.low == f.high);
}

TEST(random_branches_keep_to_their_penalty) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> small(0, 4);
  BranchSolver solver;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> counts(6), prior(6);
    double weight = 0, total = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      weight += counts[i] = small(random);
      total += prior[i] = small(random) + 1;
    }
    if (weight == 0) continue;
    for (double& u : prior) u /= total;
    const Branch branch{counts, prior, weight, 0.0};
    const double penalty = 0.25 * small(random);
    const Clip clip = solver.solve(branch, penalty);
    if (clip.low == clip.high) continue;
    double sum = 0, moved = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      const double p = clip.apply(counts[i], prior[i]);
      sum += p;
      moved += std::abs(p - counts[i]);
    }
    CHECK(std::abs(sum - weight) < 1e-9 && std::abs(moved - penalty) < 1e-9);
  }
}
