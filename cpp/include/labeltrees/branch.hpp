// The branch problem of self-terminating trees: how far a child's label distribution moves from
// its parent's (Goldman and Singer, eqs. 2 to 4).
//
// A branch has weight W, label weights c (sum W) and the parent's distribution u as its prior. The
// posterior p minimises W KL(p || u) subject to sum_i |c_i - W p_i| <= penalty, the dual of
// minimising -sum_i c_i log p_i + penalty max_i |alpha_i| over p_i ~ u_i exp(alpha_i). Its solution
// is W p_i = min(max(c_i, low u_i), high u_i): the two ends are found independently of each other.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace labeltrees {

// The labels not listed have weight 0 in the branch, and prior `rest` together.
struct Branch {
  std::span<const double> counts;  // >= 0
  std::span<const double> prior;   // >= 0; with rest it sums to 1
  double weight;                   // the sum of counts, > 0
  double rest;                     // >= 0
};

// Weights stay between low u_i and high u_i. low = high = weight: the branch terminates, p = u.
struct Clip {
  double low;
  double high;
  double apply(double count, double prior) const noexcept {
    const double floor = low * prior, ceiling = high * prior;
    return count < floor ? floor : count > ceiling ? ceiling : count;
  }
};

// sum_i |c_i - W u_i|: a branch terminates if and only if this is at most the penalty. O(listed).
double distance(const Branch& branch) noexcept;

// Keeps its memory between calls. One thread at a time.
class BranchSolver {
 public:
  // Exact also for ties and zeros; penalty >= 0. A label with prior 0 keeps p = 0, which is
  // feasible only if such labels have at most half the penalty together: the caller sees to it.
  // O(listed) to heapify, then O(log listed) for every label that is clipped.
  Clip solve(const Branch& branch, double penalty);

  // The joint problem of two siblings under penalty * max(|alpha_left|, |alpha_right|), that is
  // with the sum of both distances at most the penalty: neither or both terminate. Finds how they
  // share the penalty by bisection: their multipliers agree, or the one with the smaller needs no
  // share. 100 times the cost of solve.
  std::pair<Clip, Clip> solve_siblings(const Branch& left, const Branch& right, double penalty);

 private:
  struct Ratio {
    double value;  // counts / prior
    std::size_t label;
  };
  double high_end(const Branch& branch, double half);
  double low_end(const Branch& branch, double half);
  std::vector<Ratio> heap_;
};

// W KL(p || u): by duality the decrease of the penalised risk. O(listed).
double branch_gain(const Branch& branch, const Clip& clip) noexcept;

}  // namespace labeltrees
