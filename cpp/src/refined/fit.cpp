#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/elementary.hpp"
#include "labeltrees/platform/hash.hpp"
#include "labeltrees/refined/refined_trees.hpp"

namespace labeltrees {
namespace {

constexpr double prior = 1.0;  // pulls the weights of trees and rerankers towards 1
// Multiple of the least loss above which more passes will not help.
constexpr double hopeless = 1.01;
constexpr std::size_t n_to_hold = 5;  // one row in n_to_hold is held out
// With `resume`, 1 / part_again of the best number of passes follow over all rows.
constexpr std::size_t part_again = 4;

// How much trees and rerankers are trusted, and the mean loss of held-out rows with it.
struct Trust {
  double of_trees = 1, of_rerankers = 1;
  double loss = 0;
};

// Held-out rows as the mixture sees them: the estimates of trees and rerankers for candidates.
class HeldRows {
 public:
  void clear() noexcept {
    rows_.clear();
    estimates_.clear();
  }
  // truth: the place of the row's label among the candidates, or their number.
  void begin_row(std::size_t n_candidates, std::size_t truth, double rest, double weight) {
    rows_.push_back({estimates_.size(), n_candidates, truth, rest, weight});
  }
  void add(double log_p, double margin) { estimates_.push_back({log_p, margin}); }
  std::size_t size() const noexcept { return rows_.size(); }

  // The best trust in both; in trees alone where rerankers would be trusted less than not at all.
  Trust choose() const {
    Trust both = descend({1, 1, 0}, true);
    return both.of_rerankers < 0 ? descend({1, 0, 0}, false) : both;
  }

 private:
  struct Row {
    std::size_t first, n, truth;
    double rest, weight;
  };
  struct Estimates {
    double log_p, margin;
  };
  // Loss, its gradient and second derivatives, by trees and rerankers.
  struct Slopes {
    double loss = 0, g0 = 0, g1 = 0, h00 = 0, h01 = 0, h11 = 0;
  };

  Slopes slopes(double v0, double v1) const {
    Slopes sum;
    double weights = 0;
    for (const Row& row : rows_) {
      double z = row.rest, m0 = 0, m1 = 0, s00 = 0, s01 = 0, s11 = 0, of_truth = 0;
      for (std::size_t i = 0; i < row.n; ++i) {
        const auto [log_p, margin] = estimates_[row.first + i];
        const double m = std::clamp(v0 * log_p + v1 * margin, -40.0, 40.0);
        const double e = elementary::exp(m);
        z += e;
        m0 += e * log_p;
        m1 += e * margin;
        s00 += e * log_p * log_p;
        s01 += e * log_p * margin;
        s11 += e * margin * margin;
        if (i == row.truth) {
          of_truth = m;
          sum.g0 -= row.weight * log_p;
          sum.g1 -= row.weight * margin;
        }
      }
      m0 /= z;
      m1 /= z;
      // For a truth outside, log q is log p - log Z, and p does not depend on the weights.
      sum.loss += row.weight * (elementary::log(z) - of_truth);
      sum.g0 += row.weight * m0;
      sum.g1 += row.weight * m1;
      sum.h00 += row.weight * (s00 / z - m0 * m0);
      sum.h01 += row.weight * (s01 / z - m0 * m1);
      sum.h11 += row.weight * (s11 / z - m1 * m1);
      weights += row.weight;
    }
    sum.loss += prior / 2 * ((v0 - 1) * (v0 - 1) + (v1 - 1) * (v1 - 1));
    sum.g0 += prior * (v0 - 1);
    sum.g1 += prior * (v1 - 1);
    sum.h00 += prior;
    sum.h11 += prior;
    sum.loss /= std::max(weights, 1e-300);
    return sum;
  }

  // Newton's steps, halved until they help; the loss is convex.
  Trust descend(Trust at, bool with_rerankers) const {
    Slopes now = slopes(at.of_trees, at.of_rerankers);
    for (int step = 0; step < 20; ++step) {
      double d0 = now.g0 / now.h00, d1 = 0;
      if (with_rerankers) {
        const double det = now.h00 * now.h11 - now.h01 * now.h01;
        if (!(det > 0)) break;
        d0 = (now.h11 * now.g0 - now.h01 * now.g1) / det;
        d1 = (now.h00 * now.g1 - now.h01 * now.g0) / det;
      }
      double share = 1;
      Slopes next = slopes(at.of_trees - d0, at.of_rerankers - d1);
      while (!(next.loss <= now.loss) && share > 1e-3) {
        share /= 2;
        next = slopes(at.of_trees - share * d0, at.of_rerankers - share * d1);
      }
      if (!(next.loss < now.loss)) break;
      at.of_trees -= share * d0;
      at.of_rerankers -= share * d1;
      const bool is_done = now.loss - next.loss < 1e-7;
      now = next;
      if (is_done) break;
    }
    at.loss = now.loss;
    return at;
  }

  std::vector<Row> rows_;
  std::vector<Estimates> estimates_;
};

// The rerankers' weights while rows are gone over again and again, in the table where they end up.
class WeightsInTable {
 public:
  WeightsInTable(Rerankers& rerankers, std::size_t, std::size_t) : table_(rerankers.table()) {}

  // Makes ready for the rerankers of a row's candidates.
  void start(const PreparedRow& row, std::span<const Candidate> candidates) {
    table_.make_room(1, candidates.size() * row.size());
    keys_.clear();
    for (const Candidate& candidate : candidates) {
      for (const std::uint32_t feature : row.features) {
        keys_.push_back(Rerankers::key(candidate.label, feature));
      }
    }
    homes_.resize(keys_.size());
    lines_.resize(keys_.size());
    const PairTable& table = table_;
    table.guess_all(keys_, homes_, lines_);
    for (std::size_t i = 0; i < keys_.size(); ++i) lines_[i] = table.find(keys_[i], lines_[i]);
  }
  // The output of the reranker of candidate c for the row.
  float margin(std::size_t c, const PreparedRow& row) const noexcept {
    const PairLine* const* lines = lines_.data() + c * row.size();
    float margin = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (lines[j] != nullptr) margin += row.values[j] * lines[j]->weight;
    }
    return margin;
  }
  void step(std::size_t c, const PreparedRow& row, float slope, const Learning& options) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::size_t i = c * row.size() + j;
      step_pair(table_.obtain(keys_[i], lines_[i]), slope * row.values[j], options);
    }
  }
  void finish() const noexcept {}

 private:
  PairTable& table_;
  std::vector<std::uint64_t> keys_;
  std::vector<PairTable::Home> homes_;
  std::vector<const PairLine*> lines_;
};

// The same in an array by label and feature, where that is not too large: far quicker.
class WeightsInArray {
 public:
  // Label ids are below n_labels, features below n_features.
  WeightsInArray(Rerankers& rerankers, std::size_t n_labels, std::size_t n_features)
      : table_(rerankers.table()),
        n_columns_(n_features + 1),
        weights_(n_labels * n_columns_),
        sums_(weights_.size()) {}
  static bool fits(std::size_t n_labels, std::size_t n_features) noexcept {
    constexpr std::size_t most = std::size_t{1} << 24;  // 128 MiB
    return n_features < most / n_labels;
  }

  void start(const PreparedRow& row, std::span<const Candidate> candidates) {
    columns_.clear();  // the last is the constant feature's
    for (const std::uint32_t feature : row.features) {
      columns_.push_back(std::min(feature, static_cast<std::uint32_t>(n_columns_ - 1)));
    }
    is_whole_ = columns_.size() == n_columns_;  // column j is the row's entry j
    of_candidates_.clear();
    for (const Candidate& candidate : candidates) {
      of_candidates_.push_back(static_cast<std::size_t>(candidate.label) * n_columns_);
    }
  }
  float margin(std::size_t c, const PreparedRow& row) const noexcept {
    const float* const weights = weights_.data() + of_candidates_[c];
    const std::uint32_t* const columns = columns_.data();
    const float* const values = row.values.data();
    float margin = 0;
    for (std::size_t j = 0; j < row.size(); ++j) margin += values[j] * weights[columns[j]];
    return margin;
  }
  void step(std::size_t c, const PreparedRow& row, float slope, const Learning& options) noexcept {
    float* const weights = weights_.data() + of_candidates_[c];
    float* const sums = sums_.data() + of_candidates_[c];
    const std::uint32_t* const columns = columns_.data();
    const float* const values = row.values.data();
    const std::size_t n = row.size();
    const Learning how = options;  // a copy, so that writing weights cannot change it
    if (is_whole_) {               // several columns at a time
      for (std::size_t j = 0; j < n; ++j) step_weight(weights[j], sums[j], slope * values[j], how);
      return;
    }
    for (std::size_t j = 0; j < n; ++j) {
      step_weight(weights[columns[j]], sums[columns[j]], slope * values[j], how);
    }
  }
  // Puts the weights into the table.
  void finish() {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0 && sums_[i] == 0) continue;
      const std::size_t column = i % n_columns_;
      const auto feature = static_cast<std::uint32_t>(column);
      table_.make_room(1);
      PairLine& line = table_.obtain(Rerankers::key(
          static_cast<LabelId>(i / n_columns_), column == n_columns_ - 1 ? bias_feature : feature));
      line.weight = weights_[i];
      line.sum_code = encode_sum(sums_[i]);
    }
  }

 private:
  PairTable& table_;
  std::size_t n_columns_;
  std::vector<float> weights_, sums_;   // by label and column
  std::vector<std::uint32_t> columns_;  // of the row's features
  bool is_whole_ = false;
  std::vector<std::size_t> of_candidates_;  // where their columns begin
};

template <typename Weights>
class RerankerFit {
 public:
  RerankerFit(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
              std::span<const float> weights, const Proposals& proposals, const Learning& options,
              std::size_t n_ids, std::size_t n_features)
      : model_(model),
        X_(X),
        labels_(labels),
        weights_(weights),
        proposals_(proposals),
        options_(options),
        n_labels_(model.tree().n_labels()),
        pairs_(model.rerankers(), n_ids, n_features) {
    options_.reading = model.rerankers().reading(options.reading);
    options_.again = true;
  }

  // Trains rerankers on the rows whose label is among their candidates.
  void learn(std::span<const std::int64_t> order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i % 256 == 0) look_up();
      const auto r = static_cast<std::size_t>(order[i]);
      if (start(r) && truth_ < candidates_.size()) update(weight_of(r));
    }
  }

  Trust try_on(std::span<const std::int64_t> order) {
    held_.clear();
    for (const std::int64_t r : order) {
      if (!start(static_cast<std::size_t>(r))) continue;
      held_.begin_row(candidates_.size(), truth_, rest_,
                      double{weight_of(static_cast<std::size_t>(r))});
      for (std::size_t c = 0; c < candidates_.size(); ++c) {
        held_.add(elementary::log(std::max(candidates_[c].p_trees, 1e-12)), double{margins_[c]});
      }
    }
    return held_.choose();
  }

  void finish() { pairs_.finish(); }

 private:
  float weight_of(std::size_t r) const noexcept { return weights_.empty() ? 1.0f : weights_[r]; }

  // Reads a row, its proposals, and the outputs of its rerankers. Returns false if the row cannot
  // be learned.
  bool start(std::size_t r) {
    const std::size_t k = model_.n_candidates();
    candidates_.clear();
    double mass = 0;
    for (std::size_t c = r * k; c < (r + 1) * k && proposals_.candidates[c] != none; ++c) {
      candidates_.push_back({proposals_.candidates[c], proposals_.p_trees[c], 0});
      mass += proposals_.p_trees[c];
    }
    if (candidates_.empty() || !(weight_of(r) > 0)) return false;
    rest_ = candidates_.size() == n_labels_ ? 0 : std::max(0.0, 1.0 - mass);
    row_.assign(X_.row(r), options_.reading);
    if (may_diverge(options_.reading) &&
        !may_step(weight_of(r), row_.largest(), options_.optimizer, options_.learning_rate)) {
      throw Diverged(r);
    }
    pairs_.start(row_, candidates_);
    truth_ = candidates_.size();
    margins_.resize(candidates_.size());
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      if (candidates_[c].label == labels_[r]) truth_ = c;
      margins_[c] = pairs_.margin(c, row_);
    }
    return true;
  }

  // One step of the rerankers of the row that was started.
  void update(float weight) {
    double z = rest_;
    own_.resize(candidates_.size());
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      own_[c] = own_output(candidates_[c].p_trees, margins_[c]);
      z += own_[c];
    }
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      const auto slope = static_cast<float>(own_[c] / z - (c == truth_ ? 1.0 : 0.0));
      if (!matters(slope, options_)) continue;
      pairs_.step(c, row_, weight * slope, options_);
    }
  }

  RefinedTrees& model_;
  const CsrView& X_;
  std::span<const LabelId> labels_;
  std::span<const float> weights_;
  const Proposals& proposals_;
  Learning options_;
  std::size_t n_labels_;
  Weights pairs_;
  PreparedRow row_;
  std::vector<Candidate> candidates_;
  std::size_t truth_ = 0;  // its place among them, or their number
  double rest_ = 0;
  std::vector<float> margins_;
  std::vector<double> own_;
  HeldRows held_;
};

// The scale that makes rows of length 1 on average, and keeps the ratios of their lengths. 0 if
// that is not a number; rows are then read as the trees read them.
float common_scale(const CsrView& X, std::span<const float> weights) {
  double square = 0;
  std::size_t n = 0;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    if (!weights.empty() && !(weights[r] > 0)) continue;
    for (const float value : X.row(r).values) square += static_cast<double>(value) * value;
    ++n;
  }
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(n) / square));
  return std::isnormal(scale) ? scale : 0.0f;
}

void shuffle(std::span<std::int64_t> order, std::uint64_t seed) {
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[combine_hashes(seed, i) % i]);
  }
}

// As fit_rerankers, for fresh rerankers. all: the order of all rows.
template <typename Weights>
RerankerChoice fit_with(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                        std::span<const float> weights, std::vector<std::int64_t> all,
                        const Proposals& proposals, std::uint64_t seed, const Learning& options,
                        const RerankerPasses& passes, std::size_t n_ids, std::size_t n_features) {
  const std::size_t n_held = all.size() / n_to_hold;
  const auto start = [&] {
    return RerankerFit<Weights>(model, X, labels, weights, proposals, options, n_ids, n_features);
  };
  Trust best;
  std::size_t best_passes = 0;
  const auto conclude = [&](RerankerFit<Weights>& fit) -> RerankerChoice {
    fit.finish();
    model.rerankers().trust(static_cast<float>(best.of_trees),
                            static_cast<float>(best.of_rerankers));
    return {best_passes, best.of_trees, best.of_rerankers};
  };
  {
    RerankerFit<Weights> fit = start();
    std::size_t n_tried = 0;
    std::vector<std::int64_t> seen(all.begin(), all.end() - static_cast<std::ptrdiff_t>(n_held));
    const std::span<const std::int64_t> held = std::span(all).last(n_held);
    for (std::size_t pass = 1; pass <= passes.most; ++pass) {
      if (pass > 1) shuffle(seen, combine_hashes(seed, pass));
      fit.learn(seen);
      if (!std::has_single_bit(pass)) continue;
      const Trust trust = fit.try_on(held);
      n_tried = pass;
      if (best_passes == 0 || trust.loss < best.loss) {
        best = trust;
        best_passes = pass;
      } else if (!passes.patient && trust.loss > hopeless * best.loss) {
        break;
      }
    }
    if (passes.resume && best_passes == n_tried && best_passes >= part_again) {
      for (std::size_t pass = 1; pass <= best_passes / part_again; ++pass) {
        shuffle(all, combine_hashes(seed, best_passes + pass));
        fit.learn(all);
      }
      return conclude(fit);
    }
  }
  model.forget_rerankers();
  RerankerFit<Weights> fit = start();
  for (std::size_t pass = 1; pass <= best_passes; ++pass) {
    if (pass > 1) shuffle(all, combine_hashes(seed, pass));
    fit.learn(all);
  }
  return conclude(fit);
}

}  // namespace

RerankerChoice fit_rerankers(RefinedTrees& model, const CsrView& X, std::span<const LabelId> labels,
                             std::span<const float> weights, std::span<const std::int64_t> order,
                             const Proposals& proposals, std::uint64_t seed,
                             const Learning& options, const RerankerPasses& passes) {
  std::vector<std::int64_t> all(order.begin(), order.end());
  if (order.empty()) {
    all.resize(X.n_rows());
    std::iota(all.begin(), all.end(), 0);
  }
  model.forget_rerankers();
  if (options.reading.normalize) model.rerankers().set_scale(common_scale(X, weights));
  if (all.size() < n_to_hold || model.tree().n_labels() < 3) return {0, 1, 0.5};
  const auto past = [](const auto& ids) {
    std::int32_t most = -1;
    for (const std::int32_t id : ids) most = std::max(most, id);
    return static_cast<std::size_t>(most) + 1;
  };
  const std::size_t n_ids = past(model.tree().labels()), n_features = past(X.indices);
  const auto fit = WeightsInArray::fits(n_ids, n_features) ? &fit_with<WeightsInArray>
                                                           : &fit_with<WeightsInTable>;
  return fit(model, X, labels, weights, std::move(all), proposals, seed, options, passes, n_ids,
             n_features);
}

}  // namespace labeltrees
