#include "labeltrees/baselines/one_against_all.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "labeltrees/platform/index.hpp"

namespace labeltrees {
namespace {

// The distribution over all labels from their margins.
void normalise(std::span<const float> margins, Loss loss, std::span<double> p) {
  const double floor = least_share(margins.size());
  double sum = 0;
  for (std::size_t i = 0; i < margins.size(); ++i) {
    p[i] = std::max(floor, estimate(margins[i], loss));  // a margin that is no number: the floor
    sum += p[i];
  }
  for (std::size_t i = 0; i < margins.size(); ++i) p[i] /= sum;
}

class RowReader {
 public:
  std::span<const double> distribution(const OneAgainstAll& model, const SparseRow& row,
                                       const Reading& reading) {
    row_.assign(row, reading);
    margins_.resize(model.n_labels());
    p_.resize(model.n_labels());
    bank_margins(model.table(), model.bank(), row_, margins_);
    normalise(margins_, reading.loss, p_);
    return p_;
  }

 private:
  PreparedRow row_;
  std::vector<float> margins_;
  std::vector<double> p_;
};

void learn_rows(OneAgainstAll& model, const CsrView& X, std::span<const LabelId> labels,
                std::span<const float> weights, std::span<const std::int64_t> order,
                const Prediction& prediction, const Learning& options, LearningWatch* watch,
                bool predicts_scores) {
  PreparedRow row;
  BankTrainer trainer;
  std::vector<float> margins;
  std::vector<double> p;
  std::vector<std::uint8_t> targets;
  const std::size_t n = order.empty() ? X.n_rows() : order.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = order.empty() ? i : static_cast<std::size_t>(order[i]);
    const LabelId label = labels[r];
    row.assign(X.row(r), options.reading);
    const float weight = weights.empty() ? 1.0f : weights[r];
    const std::size_t n_before = model.n_labels();
    const bool is_new = label < 0 || index(label) >= n_before;
    const std::size_t n_labels = weight > 0 ? std::max(n_before, index(label) + 1) : n_before;
    margins.resize(n_labels);
    p.resize(n_before);
    if (weight > 0) {
      targets.assign(n_labels, 0);
      targets[index(label)] = 1;
      const Bank bank{model.bank().first_block, static_cast<std::uint32_t>(n_labels)};
      if (may_diverge(options.reading) &&
          !may_train(model.table(), bank, row, targets, weight, options, margins)) {
        throw Diverged(r);
      }
      trainer.make_room(model.table(), bank.n_blocks(), row);
      model.grow(n_labels);  // from here on nothing throws
      model.add_mass(label, weight);
      if (!trainer.train(model.table(), model.bank(), row, targets, weight, options, margins)) {
        throw Diverged(r);
      }
    } else {
      bank_margins(model.table(), model.bank(), row, margins);
    }
    // The prediction before this row.
    normalise(std::span(margins).first(n_before), options.reading.loss, p);
    if (!prediction.is_new.empty()) prediction.is_new[i] = is_new ? 1 : 0;
    if (!prediction.p_label.empty()) {
      const bool known = !is_new && weight > 0;
      const double score = known ? estimate(margins[index(label)], options.reading.loss) : 0.0;
      prediction.p_label[i] = known && !predicts_scores ? p[index(label)] : score;
    }
    if (!prediction.top.empty()) {
      const auto top = std::max_element(p.begin(), p.end());
      prediction.top[i] = p.empty() ? none : static_cast<LabelId>(top - p.begin());
      prediction.p_top[i] = p.empty() ? 0.0 : *top;
    }
    if (watch != nullptr) watch->learned(i + 1);
  }
}

}  // namespace

OneAgainstAll::OneAgainstAll(std::span<const double> mass, std::span<const std::uint64_t> keys,
                             std::span<const float> weights, std::span<const float> sums)
    : mass_(mass.begin(), mass.end()) {
  if (mass.size() > index(std::numeric_limits<LabelId>::max())) throw TreeError("too many labels");
  if (!std::all_of(mass.begin(), mass.end(), [](double value) { return value >= 0; })) {
    throw TreeError("masses must not be negative");
  }
  restore_lines(table_, keys, weights, sums, bank().n_blocks());
}

void OneAgainstAll::grow(std::size_t n_labels) {
  if (n_labels > mass_.size()) mass_.resize(n_labels, 0.0);
}

void learn(OneAgainstAll& model, const CsrView& X, std::span<const LabelId> labels,
           std::span<const float> weights, std::span<const std::int64_t> order,
           const Prediction& prediction, const Learning& options, LearningWatch* watch) {
  learn_rows(model, X, labels, weights, order, prediction, options, watch, false);
}

void learn_scored(OneAgainstAll& model, const CsrView& X, std::span<const LabelId> labels,
                  std::span<const float> weights, std::span<const std::int64_t> order,
                  const Prediction& prediction, const Learning& options, LearningWatch* watch) {
  learn_rows(model, X, labels, weights, order, prediction, options, watch, true);
}

void label_scores(const OneAgainstAll& model, const CsrView& X, std::span<const LabelId> labels,
                  const Reading& reading, std::span<double> scores) {
  PreparedRow row;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    scores[r] = 0;
    if (labels[r] < 0 || index(labels[r]) >= model.n_labels()) continue;
    row.assign(X.row(r), reading);
    const std::size_t block = index(labels[r]) / block_size;
    const Margins margins = block_margins(
        model.table(), model.bank().first_block + static_cast<std::uint32_t>(block), row);
    scores[r] = estimate(margins[index(labels[r]) % block_size], reading.loss);
  }
}

void label_probabilities(const OneAgainstAll& model, const CsrView& X,
                         std::span<const LabelId> labels, const Reading& reading,
                         std::span<double> p) {
  RowReader reader;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const bool known = labels[r] >= 0 && index(labels[r]) < model.n_labels();
    p[r] = known ? reader.distribution(model, X.row(r), reading)[index(labels[r])] : 0.0;
  }
}

void top_labels(const OneAgainstAll& model, const CsrView& X, std::size_t k, const Reading& reading,
                std::span<LabelId> labels, std::span<double> p) {
  RowReader reader;
  std::vector<LabelId> ranked(model.n_labels());
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const std::span<const double> all = reader.distribution(model, X.row(r), reading);
    std::iota(ranked.begin(), ranked.end(), 0);
    const std::size_t n = std::min(k, ranked.size());
    std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(n), ranked.end(),
                      [&](LabelId a, LabelId b) {
                        const double pa = all[index(a)], pb = all[index(b)];
                        return pa != pb ? pa > pb : a < b;
                      });
    for (std::size_t i = 0; i < k; ++i) {
      labels[r * k + i] = i < n ? ranked[i] : none;
      p[r * k + i] = i < n ? all[index(ranked[i])] : 0.0;
    }
  }
}

void all_probabilities(const OneAgainstAll& model, const CsrView& X, std::size_t n_columns,
                       const Reading& reading, std::span<double> p) {
  RowReader reader;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const std::span<const double> all = reader.distribution(model, X.row(r), reading);
    const std::span<double> out = p.subspan(r * n_columns, n_columns);
    std::fill(out.begin(), out.end(), 0.0);
    std::copy_n(all.begin(), std::min(n_columns, all.size()), out.begin());
  }
}

}  // namespace labeltrees
