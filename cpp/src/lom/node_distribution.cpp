#include "labeltrees/lom/node_distribution.hpp"

#include <algorithm>
#include <utility>

#include "labeltrees/platform/index.hpp"

namespace labeltrees {
namespace {

// The share of the label totals in every distribution, so that no path is so long that a label's
// probability vanishes.
constexpr double base_share = 1e-6;

// A bound is computed in other steps than the number it bounds. This margin exceeds the rounding.
constexpr double slack = 1 + 1e-9;

// kappa: weight of the parent's distribution, in examples.
double backed_off(double count, double p_parent, const LomNode& node, double kappa) noexcept {
  return node.n_labels == 0 ? p_parent : (count + kappa * p_parent) / (node.weight + kappa);
}

// The more likely first, then by label.
bool comes_before(const Found& a, const Found& b) noexcept {
  return a.p_label != b.p_label ? a.p_label > b.p_label : a.label < b.label;
}

}  // namespace

void NodeDistribution::assign(const LomTree& model, NodeId node) {
  nodes_.clear();
  for (; node != none; node = model.node(node).parent) nodes_.push_back(node);
  std::reverse(nodes_.begin(), nodes_.end());
  assign(model, nodes_);
}

void NodeDistribution::assign(const LomTree& model, std::span<const NodeId> path) {
  model_ = &model;
  path_.clear();
  for (const NodeId id : path) {
    const LomNode& here = model.node(id);
    path_.push_back({&here, model.kappa(here), 0, 0, 0, 0});
  }
  is_weighed_ = false;
}

double NodeDistribution::probability(LabelId label) const noexcept {
  const double total = model_->total(label);
  if (total == 0) return 0;
  return through_path(total, [&](std::size_t i) { return model_->count(*path_[i].node, label); });
}

// The probability at the end of the path for a label with this total. count(i): its count in the
// path's i-th histogram.
template <typename Count>
double NodeDistribution::through_path(double total, Count count) const noexcept {
  const double base = total / model_->total_weight();
  double p = base;
  for (std::size_t i = 0; i < path_.size(); ++i) {
    p = backed_off(count(i), p, *path_[i].node, path_[i].kappa);
  }
  return std::min(1.0, (1 - base_share) * p + base_share * base);
}

void NodeDistribution::weigh_steps() {
  if (is_weighed_) return;
  is_weighed_ = true;
  const double most = model_->total(model_->top_total()) / model_->total_weight();
  double bound = most;
  for (Step& step : path_) {
    bound = std::min(1.0, backed_off(step.node->common[0].count, bound, *step.node, step.kappa));
    step.bound = bound;
  }
  double passed = 1;
  for (std::size_t i = path_.size(); i-- > 0;) {
    Step& step = path_[i];
    step.passed = passed;
    if (step.node->n_labels == 0) continue;
    step.share = passed / (step.node->weight + step.kappa);
    passed = step.share * step.kappa;
  }
  base_ = {most, passed};
  double rest = 0;
  for (Step& step : path_) {
    step.rest_above = rest;
    rest += step.share * step.node->common.least();
  }
}

// Whether a label is below the floor for sure of which no more than p is in the path's histograms
// from the i-th down.
bool NodeDistribution::is_below(double p, std::size_t i, double floor) const noexcept {
  p += i == 0 ? base_.passed * base_.most : path_[i - 1].passed * path_[i - 1].bound;
  return ((1 - base_share) * p + base_share * base_.most) * slack < floor;
}

// As probability, or -1 if that is below the floor. Reads the path from the bottom up, starting
// with the counts of frequent labels, and stops when the label cannot reach the floor.
double NodeDistribution::probability_above(LabelId label, double floor) {
  counts_.resize(path_.size());
  double p = 0;  // at most
  for (std::size_t i = path_.size(); i-- > 0;) {
    const CommonLabels& common = path_[i].node->common;
    counts_[i] = common.least() == 0 ? std::max(common.count(label), 0.0f) : common.count(label);
    p += path_[i].share * (counts_[i] < 0 ? common.least() : counts_[i]);
    if (is_below(p, i, floor)) return -1;
  }
  most_.resize(path_.size());  // in the histograms above
  double above = 0;
  for (std::size_t i = 0; i < path_.size(); ++i) {
    most_[i] = above;
    above += path_[i].share * (counts_[i] < 0 ? path_[i].node->common.least() : counts_[i]);
  }
  p = 0;
  for (std::size_t i = path_.size(); i-- > 0;) {
    const bool is_known = counts_[i] >= 0;
    if (!is_known) counts_[i] = model_->count(*path_[i].node, label);
    p += path_[i].share * counts_[i];
    if (!is_known && is_below(p + most_[i], 0, floor)) return -1;
  }
  return through_path(model_->total(label), [&](std::size_t i) { return counts_[i]; });
}

// Offers the most frequent labels of the path's nodes from the bottom up; true if every label that
// was not offered is below floor().
template <typename Floor, typename Offer>
bool NodeDistribution::visit_common(Floor floor, Offer offer) const {
  double rest = 0;  // of a label not offered, at most, in the histograms looked at
  for (std::size_t i = path_.size(); i-- > 0;) {
    const CommonLabels& common = path_[i].node->common;
    for (std::size_t j = 0; j < CommonLabels::size && common[j].count > 0; ++j) {
      offer(common[j].label);
    }
    rest += path_[i].share * common.least();
    if (is_below(rest, i, floor())) return true;
  }
  return false;
}

// Offers labels to take(label, p), each once, until every other is below floor().
template <typename Floor, typename Take>
void NodeDistribution::visit_likely(Floor floor, Take take) {
  if (model_->n_labels() == 0) return;
  weigh_steps();
  if (seen_.size() < model_->masses().size()) seen_.resize(model_->masses().size(), 0);
  if (++query_ == 0) {  // the numbers have all been used
    std::fill(seen_.begin(), seen_.end(), 0);
    query_ = 1;
  }
  const auto offer = [&](LabelId label) {
    if (seen_[index(label)] == query_) return;
    seen_[index(label)] = query_;
    const double p = probability_above(label, floor());
    if (p >= 0) take(label, p);
  };
  if (visit_common(floor, offer)) return;
  for (std::size_t i = path_.size(); i-- > 0;) {
    model_->for_labels(*path_[i].node, offer);
    if (is_below(0, i, floor()) || is_below(path_[i].rest_above, 0, floor())) return;
  }
  const double n = model_->total_weight();
  for (const LabelId label : by_total()) {
    const double base = model_->total(label) / n;
    if (((1 - base_share) * base_.passed * base + base_share * base) * slack < floor()) return;
    offer(label);
  }
}

const std::vector<LabelId>& NodeDistribution::by_total() {
  if (by_total_weight_ == model_->total_weight()) return by_total_;
  by_total_weight_ = model_->total_weight();
  const std::vector<double>& totals = model_->masses();
  by_total_.clear();
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (totals[i] > 0) by_total_.push_back(static_cast<LabelId>(i));
  }
  std::stable_sort(by_total_.begin(), by_total_.end(),
                   [&](LabelId a, LabelId b) { return totals[index(a)] > totals[index(b)]; });
  return by_total_;
}

std::size_t NodeDistribution::top(std::span<Found> answers) {
  std::size_t n = 0;
  visit_likely([&] { return n < answers.size() ? -1.0 : answers.front().p_label; },
               [&](LabelId label, double p) {
                 const Found found{label, p};
                 if (n < answers.size()) {
                   answers[n++] = found;
                   std::push_heap(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(n),
                                  comes_before);
                 } else if (comes_before(found, answers.front())) {
                   std::pop_heap(answers.begin(), answers.end(), comes_before);
                   answers.back() = found;
                   std::push_heap(answers.begin(), answers.end(), comes_before);
                 }
               });
  std::sort(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(n), comes_before);
  return n;
}

void NodeDistribution::above(double threshold, std::size_t max_found, std::vector<Found>& answers) {
  answers.clear();
  visit_likely([&] { return answers.size() > max_found ? 2.0 : threshold; },
               [&](LabelId label, double p) {
                 if (p >= threshold) answers.push_back({label, p});
               });
  std::sort(answers.begin(), answers.end(),
            [](const Found& a, const Found& b) { return a.label < b.label; });
}

void NodeDistribution::all(std::span<double> p) const {
  const double n = model_->total_weight();
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double total = model_->total(static_cast<LabelId>(i));
    p[i] = total == 0 ? 0.0 : total / n;
  }
  std::vector<std::pair<LabelId, double>> seen;
  for (const Step& step : path_) {
    const LomNode* here = step.node;
    seen.clear();
    model_->for_labels(*here, [&](LabelId label) {
      if (index(label) < p.size()) seen.emplace_back(label, p[index(label)]);
    });
    for (double& value : p) value = backed_off(0, value, *here, step.kappa);
    for (const auto& [label, before] : seen) {
      p[index(label)] = backed_off(model_->count(*here, label), before, *here, step.kappa);
    }
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double total = model_->total(static_cast<LabelId>(i));
    p[i] = total == 0 ? 0.0 : std::min(1.0, (1 - base_share) * p[i] + base_share * (total / n));
  }
}

LabelId NodeDistribution::draw(double u) {
  std::vector<LabelId> labels;
  const bool from_base = u < base_share;
  u = from_base ? u / base_share : (u - base_share) / (1 - base_share);
  for (std::size_t i = from_base ? 0 : path_.size(); i-- > 0;) {
    const LomNode& here = *path_[i].node;
    const double kappa = path_[i].kappa;
    if (here.n_labels == 0) continue;
    double place = u * (here.weight + kappa);
    labels.clear();
    model_->for_labels(here, [&](LabelId label) { labels.push_back(label); });
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    for (const LabelId label : labels) {
      const double count = model_->count(here, label);
      if (place < count) return label;
      place -= count;
    }
    if (kappa == 0 && !labels.empty()) return labels.back();
    if (kappa == 0) continue;
    u = std::min(place / kappa, 1 - 1e-16);
  }
  double place = u * model_->total_weight();
  const std::vector<double>& totals = model_->masses();
  LabelId last = none;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (totals[i] == 0) continue;
    last = static_cast<LabelId>(i);
    if (place < totals[i]) return last;
    place -= totals[i];
  }
  return last;
}

}  // namespace labeltrees
