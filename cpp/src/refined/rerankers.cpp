#include "labeltrees/refined/rerankers.hpp"

#include <algorithm>
#include <cmath>

#include "labeltrees/platform/elementary.hpp"

namespace labeltrees {
namespace {

constexpr float mixing_rate = 0.002f;
constexpr float input_limit = 8.0f;
constexpr float m_limit = 40.0f;   // e^m stays a float64 that Z can hold
constexpr double least_p = 1e-12;  // below it, log p_trees is cut off
constexpr std::size_t margin_input = n_vote_classes, trees_input = n_vote_classes + 1;

}  // namespace

// Initial weights, before data shows the value of the inputs: trees in full, rerankers at half.
Rerankers::Rerankers() {
  Mixture fresh;
  fresh.fill(0.05f);
  fresh[margin_input] = 0.5f;
  fresh[trees_input] = 1.0f;
  mixtures_.fill(fresh);
}

void Rerankers::trust(float of_trees, float of_rerankers) noexcept {
  for (Mixture& mixture : mixtures_) {
    mixture[trees_input] = of_trees;
    mixture[margin_input] = of_rerankers;
  }
}

Rerankers::Rerankers(std::span<const PairLine> lines, std::span<const float> mixtures, float scale,
                     std::size_t n_labels)
    : scale_(scale) {
  if (!std::isfinite(scale) || scale < 0) throw TreeError("the rows' scale is out of range");
  const auto finite = [](float value) { return std::isfinite(value); };
  if (mixtures.size() != n_mixtures * n_mixed) throw TreeError("mixtures have the wrong size");
  if (!std::all_of(mixtures.begin(), mixtures.end(), finite)) {
    throw TreeError("mixtures must be finite");
  }
  for (std::size_t i = 0; i < mixtures.size(); ++i) {
    mixtures_[i / n_mixed][i % n_mixed] = mixtures[i];
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::uint32_t block = PairTable::block_of(lines[i].key);
    const bool is_label = block == PairTable::shared_block || (block > 0 && block <= n_labels);
    if ((i > 0 && lines[i].key <= lines[i - 1].key) || !is_label) {
      throw TreeError("pair " + std::to_string(i) + " is out of order or names no label");
    }
    if (!finite(lines[i].weight)) {
      throw TreeError("pair " + std::to_string(i) + " has a weight that is not finite");
    }
    table_.make_room(1);
    table_.put_back(lines[i]);
  }
}

void Refiner::name_lines(LabelId label, const PreparedRow& row) {
  for (const std::uint32_t feature : row.features) keys_.push_back(Rerankers::key(label, feature));
}

void Refiner::expect(const Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal) {
  keys_.clear();
  for (const Candidate& candidate : proposal.candidates) name_lines(candidate.label, row);
  homes_.resize(keys_.size());
  lines_.resize(keys_.size());
  rerankers.table().guess_all(keys_, homes_, lines_);
}

void Refiner::expect(const Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
                     LabelId truth) {
  keys_.clear();
  for (const Candidate& candidate : proposal.candidates) name_lines(candidate.label, row);
  if (proposal.find(truth) == proposal.candidates.size()) name_lines(truth, row);
  homes_.resize(keys_.size());
  lines_.resize(keys_.size());
  rerankers.table().guess_all<true>(keys_, homes_, lines_);
}

void Refiner::make_room(Rerankers& rerankers, const PreparedRow& row, std::size_t n_candidates) {
  reserve(n_candidates, row.size());
  rerankers.table().make_room(row.size(), (n_candidates + 1) * row.size());
}

void Refiner::reserve(std::size_t n_candidates, std::size_t n_features) {
  const std::size_t n = n_candidates + 1;  // and the truth
  outputs_.reserve(n);
  own_.reserve(n);
  keys_.reserve(n * n_features);
  homes_.reserve(n * n_features);
  lines_.reserve(n * n_features);
  guessed_.reserve(n_features);
}

void Refiner::evaluate_reranker(const PairTable& table, std::size_t i, const PreparedRow& row,
                                const Reading& reading) noexcept {
  Output& output = outputs_[i];
  const std::span<const PairLine*> lines = lines_of(i, row);
  std::size_t n_guessed = 0;
  for (std::size_t j = 0; j < lines.size(); ++j) {  // does not branch on unpredictable values
    guessed_[n_guessed] = j;
    n_guessed += lines[j] != nullptr;
  }
  output.inputs.fill(0);
  float margin = 0;
  for (const std::size_t j : std::span(guessed_).first(n_guessed)) {
    lines[j] = table.find(keys_[i * row.size() + j], lines[j]);
    if (lines[j] == nullptr) continue;
    const float x = row.values[j];
    margin += x * lines[j]->weight;
    if (!reading.mixing) continue;
    const Vote vote = vote_of(lines[j]->counts);
    output.inputs[vote.trust] += x * vote.log_odds;
  }
  output.margin = output.inputs[margin_input] = margin;
}

void Refiner::evaluate(const Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
                       const Reading& reading) {
  const std::vector<Candidate>& candidates = proposal.candidates;
  outputs_.resize(candidates.size());
  guessed_.resize(row.size());
  z_ = proposal.rest;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    evaluate_reranker(rerankers.table(), i, row, reading);
    Output& output = outputs_[i];
    const double p_trees = std::max(candidates[i].p_trees, least_p);
    output.inputs[trees_input] = static_cast<float>(elementary::log(p_trees));
    const float m = mixed(rerankers.mixture(candidates[i].mass), output.inputs);
    output.m = m > -m_limit ? std::min(m, m_limit) : -m_limit;  // also if m is NaN
    output.e = elementary::exp(static_cast<double>(output.m));
    z_ += output.e;
  }
  if (candidates.empty()) z_ = 1;
}

std::size_t Refiner::best() const noexcept {
  std::size_t best = 0;
  for (std::size_t i = 1; i < outputs_.size(); ++i) {
    if (outputs_[i].e > outputs_[best].e) best = i;
  }
  return best;
}

void Refiner::update(Rerankers& rerankers, const PreparedRow& row, const Proposal& proposal,
                     const Candidate& truth, float weight, const Learning& options) noexcept {
  const std::vector<Candidate>& candidates = proposal.candidates;
  const std::size_t n = candidates.size(), at = proposal.find(truth.label);
  const bool is_outside = at == n;
  if (!options.again) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto error = static_cast<float>(q(i)) - (i == at ? 1.0f : 0.0f);
      Mixture& mixture = rerankers.mixture(candidates[i].mass);
      for (std::size_t u = 0; u < n_mixed; ++u) {
        const float input = std::clamp(outputs_[i].inputs[u], -input_limit, input_limit);
        mixture[u] -= mixing_rate * std::min(weight, 1.0f) * error * input;
      }
    }
  }
  if (is_outside) {
    outputs_.emplace_back();  // its e is 0, so that it is not the best of the candidates
    evaluate_reranker(rerankers.table(), n, row, options.reading);
  }
  double z = std::max(0.0, proposal.rest - (is_outside ? truth.p_trees : 0.0));
  own_.resize(outputs_.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const double p_trees = i < n ? candidates[i].p_trees : truth.p_trees;
    own_[i] = own_output(p_trees, outputs_[i].margin);
    z += own_[i];
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const double own = z > 0 ? own_[i] / z : 0.0;
    const auto slope = static_cast<float>(own - (i == at ? 1.0 : 0.0));
    if (!matters(slope, options)) continue;
    update_reranker(rerankers, i, row, i == at, weight * slope, options);
  }
}

void Refiner::update_reranker(Rerankers& rerankers, std::size_t i, const PreparedRow& row,
                              bool is_truth, float slope, const Learning& options) noexcept {
  const bool counts = options.reading.mixing && !options.again;
  const std::span<const PairLine*> lines = lines_of(i, row);
  for (std::size_t j = 0; j < lines.size(); ++j) {
    PairLine& line = rerankers.table().obtain(keys_[i * row.size() + j], lines[j]);
    step_pair(line, slope * row.values[j], options);
    if (counts && row.features[j] != bias_feature) {
      line.counts = count_example(line.counts, is_truth == (row.values[j] > 0));
    }
  }
}

Refiner::Reasons Refiner::reasons(const Rerankers& rerankers, std::size_t i,
                                  const Proposal& proposal) const {
  const Mixture& mixture = rerankers.mixture(proposal.candidates[i].mass);
  Reasons reasons{outputs_[i].m, mixture[trees_input] * outputs_[i].inputs[trees_input], {}};
  const std::size_t n_features = lines_.size() / outputs_.size();
  for (std::size_t j = 0; j < n_features; ++j) {
    const PairLine* line = lines_[i * n_features + j];
    if (line == nullptr) {
      reasons.weights.push_back(0);
      continue;
    }
    const Vote vote = vote_of(line->counts);
    reasons.weights.push_back(mixture[margin_input] * line->weight +
                              mixture[vote.trust] * vote.log_odds);
  }
  return reasons;
}

}  // namespace labeltrees
