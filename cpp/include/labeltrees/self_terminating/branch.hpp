// The branch problem of self-terminating trees: how far a child's label distribution moves from its
// parent's (Goldman and Singer, eqs. 2 to 4).
//
// A branch has weight W, label weights c (sum W) and the parent's distribution u as its prior. The
// posterior p minimises W D(p, u) subject to sum_i |c_i - W p_i| <= penalty, where D is
//   entropy: KL(p || u), the dual of minimising -sum_i c_i log p_i + penalty max_i |alpha_i| over
//            p_i ~ u_i exp(alpha_i). Then W p_i = c_i, kept between low u_i and high u_i;
//   gini:    sum_i (p_i - u_i)^2 / 2, the dual of the same with half the squared error of
//            p_i = u_i + alpha_i - mean(alpha). Then W p_i = c_i, kept between W u_i - a and
//            W u_i + b.
// In both p lies between c / W and u, and the two ends are found independently of each other.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace labeltrees {

// The loss whose penalised risk a tree decreases; without a penalty, the growing criterion of that
// name.
enum class Criterion { entropy, gini };

// The labels not listed have weight 0 in the branch, and prior `rest` together: 0 for gini.
struct Branch {
  std::span<const double> counts;  // >= 0
  std::span<const double> prior;   // >= 0; with rest it sums to 1
  double weight;                   // the sum of counts, > 0
  double rest;                     // >= 0
};

// Weights stay between low u_i - below and high u_i + above; gini has low = high = weight, entropy
// below = above = 0.
struct Clip {
  double low;
  double high;
  double below = 0.0;
  double above = 0.0;
  double floor(double prior) const noexcept { return low * prior - below; }
  double apply(double count, double prior) const noexcept {
    const double least = floor(prior), most = high * prior + above;
    return count < least ? least : count > most ? most : count;
  }
  // p = u
  bool terminates() const noexcept { return low == high && below == 0.0 && above == 0.0; }
};

// sum_i |c_i - W u_i|: a branch terminates if and only if this is at most the penalty. O(listed).
double distance(const Branch& branch) noexcept;

// Keeps its memory between calls. One thread at a time.
class BranchSolver {
 public:
  explicit BranchSolver(Criterion criterion = Criterion::entropy) : criterion_(criterion) {}

  // Exact also for ties and zeros; penalty >= 0. With entropy a label with prior 0 keeps p = 0.
  // This is feasible only if such labels have at most half the penalty together, which the caller
  // must ensure. O(listed) to heapify, then O(log listed) for every label that is clipped.
  Clip solve(const Branch& branch, double penalty);

  // The joint problem of two siblings under penalty * max(|alpha_left|, |alpha_right|). The sum of
  // both distances is at most the penalty, so neither or both terminate. Finds how they share the
  // penalty by bisection, until their multipliers agree or the one with the smaller needs no share.
  // 100 times the cost of solve.
  std::pair<Clip, Clip> solve_siblings(const Branch& left, const Branch& right, double penalty);

 private:
  struct Ratio {
    double value;  // counts / prior
    std::size_t label;
  };
  double high_end(const Branch& branch, double half);
  double low_end(const Branch& branch, double half);
  double shift(const Branch& branch, double sign, double half);
  double multiplier(const Branch& branch, const Clip& clip) const noexcept;

  Criterion criterion_;
  std::vector<Ratio> heap_;
  std::vector<double> moves_;
};

// W D(p, u), by duality the decrease of the penalised risk. O(listed).
double branch_gain(Criterion criterion, const Branch& branch, const Clip& clip) noexcept;

}  // namespace labeltrees
