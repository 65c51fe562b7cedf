#include "labeltrees/tree/clustering.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "labeltrees/platform/attention.hpp"
#include "labeltrees/platform/hash.hpp"
#include "labeltrees/platform/index.hpp"
#include "labeltrees/platform/workers.hpp"
#include "labeltrees/rows/feature_ranks.hpp"

namespace labeltrees {
namespace {

constexpr double least_gain = 1e-4;  // stop when an iteration adds less to the mean cosine
constexpr int max_iterations = 50;

// The rows of every label in their order. Label l has rows[starts[l]] .. rows[starts[l + 1]].
struct RowLists {
  std::vector<std::size_t> starts;
  std::vector<std::size_t> rows;
};

RowLists rows_by_label(std::span<const LabelId> labels, std::span<const float> weights,
                       std::size_t n_labels) {
  const auto counts = [&](std::size_t r) { return weights.empty() || weights[r] > 0; };
  RowLists lists{std::vector<std::size_t>(n_labels + 1, 0), {}};
  for (std::size_t r = 0; r < labels.size(); ++r) {
    if (counts(r)) ++lists.starts[index(labels[r]) + 1];
  }
  std::partial_sum(lists.starts.begin(), lists.starts.end(), lists.starts.begin());
  lists.rows.resize(lists.starts.back());
  std::vector<std::size_t> next(lists.starts.begin(), lists.starts.end() - 1);
  for (std::size_t r = 0; r < labels.size(); ++r) {
    if (counts(r)) lists.rows[next[index(labels[r])]++] = r;
  }
  return lists;
}

double length_of(std::span<const float> values) {
  double square = 0;
  for (const float value : values) square += static_cast<double>(value) * value;
  return std::sqrt(square);
}

// Adds up the entries of equal feature, in their order, and appends them with length 1.
void append_normalised(std::vector<std::pair<std::int32_t, double>>& entries, Centroids& out) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::size_t n = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (n > 0 && entries[n - 1].first == entries[i].first) {
      entries[n - 1].second += entries[i].second;
    } else {
      entries[n++] = entries[i];
    }
  }
  double square = 0;
  for (std::size_t i = 0; i < n; ++i) square += entries[i].second * entries[i].second;
  const double length = std::sqrt(square);
  for (std::size_t i = 0; i < n && length > 0; ++i) {
    out.indices.push_back(entries[i].first);
    out.values.push_back(static_cast<float>(entries[i].second / length));
  }
  out.row_starts.push_back(static_cast<std::int64_t>(out.indices.size()));
}

// Rows whose feature ids have few gaps, in the same order, so that a centre may be dense regardless
// of the width of the data. The rows must outlive it.
class CompactRows {
 public:
  explicit CompactRows(const CsrView& rows) : rows_(rows) {
    const auto indices =
        rows.indices.first(static_cast<std::size_t>(rows.row_starts[rows.n_rows()]));
    const auto largest = std::max_element(indices.begin(), indices.end());
    width_ = largest == indices.end() ? 0 : index(*largest) + 1;
    if (width_ <= 2 * indices.size()) return;
    const FeatureRanks ranks(indices);
    width_ = ranks.size();
    numbered_.resize(indices.size());
    std::transform(indices.begin(), indices.end(), numbered_.begin(),
                   [&](std::int32_t feature) { return ranks.rank(feature); });
  }

  std::size_t width() const noexcept { return width_; }  // all features are below it
  CsrView view() const noexcept {
    return {rows_.row_starts, numbered_.empty() ? rows_.indices : numbered_, rows_.values};
  }

 private:
  CsrView rows_;
  std::size_t width_ = 0;
  std::vector<std::int32_t> numbered_;  // empty where they are as they were
};

class Bisector {
 public:
  // The features of the centroids are below width.
  Bisector(const CsrView& centroids, std::size_t width, std::span<const double> mass,
           const Clustering& options)
      : mass_(mass), options_(options), rows_(centroids) {
    sums_.assign(width, {});
    difference_.assign(width, 0.0f);
    met_.assign(width, 0);
    score_.assign(centroids.n_rows(), 0.0);
    side_.assign(centroids.n_rows(), 0);
  }

  // Reorders labels so that the labels of the left side come first, and returns their number. The
  // left side has `left` of `parts` parts; each part keeps at least one label. Labels are in
  // increasing order on entry, and on each side on return.
  std::size_t bisect(std::span<LabelId> labels, std::size_t left, std::size_t parts,
                     std::uint64_t salt) {
    meet_features(labels);
    draw_centres(labels, salt);
    std::size_t n_left = 0;
    double cosine = -1;
    for (int i = 0; i < max_iterations; ++i) {
      look_up();
      n_left = assign(labels, left, parts);
      const double before = std::exchange(cosine, recentre(labels));
      if (cosine - before < least_gain) break;
    }
    std::stable_partition(labels.begin(), labels.end(),
                          [this](LabelId label) { return side_[index(label)] == 0; });
    return n_left;
  }

 private:
  // The features of these labels, in order; no others are read or written until the next call.
  void meet_features(std::span<const LabelId> labels) {
    features_.clear();
    for (const LabelId label : labels) {
      for (const std::int32_t f : rows_.row(index(label)).indices) {
        if (std::exchange(met_[index(f)], 1) == 0) features_.push_back(f);
      }
    }
    std::sort(features_.begin(), features_.end());
    for (const std::int32_t f : features_) met_[index(f)] = 0;
  }

  void draw_centres(std::span<const LabelId> labels, std::uint64_t salt) {
    const std::uint64_t n = labels.size(), seed = combine_hashes(options_.seed, salt);
    const std::uint64_t first = combine_hashes(seed, 0) % n;
    const std::uint64_t second = (first + 1 + combine_hashes(seed, 1) % (n - 1)) % n;
    for (const std::int32_t f : features_) difference_[index(f)] = 0;
    add(labels[first], 1.0f);
    add(labels[second], -1.0f);
  }

  void add(LabelId label, float sign) {
    const SparseRow row = rows_.row(index(label));
    for (std::size_t k = 0; k < row.size(); ++k) {
      difference_[index(row.indices[k])] += sign * row.values[k];
    }
  }

  // Sorts labels into the two sides by v . (c_0 - c_1); returns the size of the left one.
  std::size_t assign(std::span<const LabelId> labels, std::size_t left, std::size_t parts) {
    ranked_.assign(labels.begin(), labels.end());
    for (const LabelId label : labels) {
      const SparseRow row = rows_.row(index(label));
      double score = 0;
      for (std::size_t k = 0; k < row.size(); ++k) {
        score += static_cast<double>(row.values[k]) * difference_[index(row.indices[k])];
      }
      score_[index(label)] = score;
    }
    const auto before = [this](LabelId a, LabelId b) {
      const double sa = score_[index(a)], sb = score_[index(b)];
      return sa != sb ? sa > sb : a < b;
    };
    std::size_t n_left = labels.size() * left / parts;
    if (options_.by_mass) {
      std::sort(ranked_.begin(), ranked_.end(), before);
      n_left = share_of_mass(left, parts);
    } else {
      std::nth_element(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(n_left),
                       ranked_.end(), before);
    }
    for (std::size_t i = 0; i < ranked_.size(); ++i) side_[index(ranked_[i])] = i >= n_left;
    return n_left;
  }

  // How many of the ranked labels have left / parts of the mass, as nearly as can be; labels
  // without any mass are shared out by number.
  std::size_t share_of_mass(std::size_t left, std::size_t parts) const {
    double total = 0;
    for (const LabelId label : ranked_) total += mass_[index(label)];
    if (total == 0) return ranked_.size() * left / parts;
    const double target = total * static_cast<double>(left) / static_cast<double>(parts);
    const std::size_t last = ranked_.size() - (parts - left);
    std::size_t n = left;
    double sum = 0;
    for (std::size_t i = 0; i < left; ++i) sum += mass_[index(ranked_[i])];
    for (; n < last; ++n) {
      const double next = mass_[index(ranked_[n])];
      if (sum + next / 2 > target) break;  // adding more would end farther away
      sum += next;
    }
    return n;
  }

  // Makes each side's mean its centre; returns the mean cosine of labels and their centres.
  double recentre(std::span<const LabelId> labels) {
    for (const std::int32_t f : features_) sums_[index(f)] = {};
    for (const LabelId label : labels) {
      const SparseRow row = rows_.row(index(label));
      const std::size_t side = side_[index(label)];
      for (std::size_t k = 0; k < row.size(); ++k) {
        sums_[index(row.indices[k])][side] += static_cast<double>(row.values[k]);
      }
    }
    std::array<double, 2> square{};
    for (const std::int32_t f : features_) {
      for (const std::size_t s : {0u, 1u}) square[s] += sums_[index(f)][s] * sums_[index(f)][s];
    }
    const std::array<double, 2> length{std::sqrt(square[0]), std::sqrt(square[1])};
    for (const std::int32_t f : features_) {
      const std::array<double, 2>& sum = sums_[index(f)];
      const double c0 = length[0] > 0 ? sum[0] / length[0] : 0;
      const double c1 = length[1] > 0 ? sum[1] / length[1] : 0;
      difference_[index(f)] = static_cast<float>(c0 - c1);
    }
    return (length[0] + length[1]) / static_cast<double>(labels.size());
  }

  std::span<const double> mass_;
  const Clustering& options_;
  CsrView rows_;
  std::vector<std::array<double, 2>> sums_;  // of each feature over the two sides
  std::vector<float> difference_;            // of the two centres, by feature
  std::vector<double> score_;                // of each label
  std::vector<std::uint8_t> side_;           // of each label
  std::vector<LabelId> ranked_;
  std::vector<std::int32_t> features_;
  std::vector<std::uint8_t> met_;  // all 0 between calls
};

// Cuts labels into parts one after the other in place; writes where each part ends.
void cut(Bisector& bisector, std::span<LabelId> labels, std::size_t parts, std::uint64_t salt,
         std::size_t begin, std::vector<std::size_t>& ends) {
  if (parts == 1) {
    ends.push_back(begin + labels.size());
    return;
  }
  const std::size_t left = parts / 2;
  // There is no choice where every part gets one label.
  const std::size_t n = labels.size() == parts ? left : bisector.bisect(labels, left, parts, salt);
  cut(bisector, labels.first(n), left, combine_hashes(salt, 1), begin, ends);
  cut(bisector, labels.subspan(n), parts - left, combine_hashes(salt, 2), begin + n, ends);
}

// Writes where the part of each child of a node ends.
void divide(Bisector& bisector, std::span<LabelId> labels, const Clustering& options,
            std::uint64_t salt, std::size_t begin, std::vector<std::size_t>& ends) {
  const std::size_t n = labels.size();
  const bool all_apart = n <= index(options.max_leaf);
  cut(bisector, labels, all_apart ? n : std::min(n, index(options.arity)), salt, begin, ends);
}

TreeError another_shape(NodeId node) {
  return TreeError("node " + std::to_string(node) +
                   " has other children than this arity and max_leaf give it");
}

// The sum of rows with one entry per feature met, features in order.
class RowSum {
 public:
  explicit RowSum(std::size_t n_features) : sum_(n_features, 0.0), met_(n_features, 0) {}

  void add(const SparseRow& row, double weight) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::size_t f = index(row.indices[k]);
      if (std::exchange(met_[f], 1) == 0) features_.push_back(row.indices[k]);
      sum_[f] += weight * static_cast<double>(row.values[k]);
    }
  }

  // Appends the sum with length 1, and starts again from nothing.
  void append_to(Centroids& out) {
    std::sort(features_.begin(), features_.end());
    double square = 0;
    for (const std::int32_t f : features_) square += sum_[index(f)] * sum_[index(f)];
    const double length = std::sqrt(square);
    for (const std::int32_t f : features_) {
      if (length > 0) {
        out.indices.push_back(f);
        out.values.push_back(static_cast<float>(sum_[index(f)] / length));
      }
      sum_[index(f)] = 0;
      met_[index(f)] = 0;
    }
    features_.clear();
    out.row_starts.push_back(static_cast<std::int64_t>(out.indices.size()));
  }

 private:
  std::vector<double> sum_;
  std::vector<std::uint8_t> met_;
  std::vector<std::int32_t> features_;
};

}  // namespace

Centroids relevance_centroids(const CsrView& X, std::size_t n_features, const CsrView& by_label,
                              std::size_t n_workers) {
  constexpr std::size_t block = 256;
  const std::size_t n_labels = by_label.n_rows(), n_blocks = (n_labels + block - 1) / block;
  Workers workers(n_workers);
  std::vector<RowSum> sums(workers.size(), RowSum(n_features));
  std::vector<Centroids> parts(n_blocks);
  workers.run(n_blocks, [&](std::size_t task, std::size_t worker) {
    for (std::size_t l = task * block; l < std::min(n_labels, (task + 1) * block); ++l) {
      const SparseRow entries = by_label.row(l);
      for (std::size_t k = 0; k < entries.size(); ++k) {
        sums[worker].add(X.row(index(entries.indices[k])), static_cast<double>(entries.values[k]));
      }
      sums[worker].append_to(parts[task]);
    }
  });
  Centroids all;
  for (Centroids& part : parts) {
    const auto offset = static_cast<std::int64_t>(all.indices.size());
    for (std::size_t i = 1; i < part.row_starts.size(); ++i) {
      all.row_starts.push_back(offset + part.row_starts[i]);
    }
    all.indices.insert(all.indices.end(), part.indices.begin(), part.indices.end());
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
    part = {};
  }
  return all;
}

Centroids label_centroids(const CsrView& X, std::span<const LabelId> labels,
                          std::span<const float> weights, std::size_t n_labels) {
  const RowLists lists = rows_by_label(labels, weights, n_labels);
  Centroids centroids;
  std::vector<std::pair<std::int32_t, double>> entries;
  for (std::size_t label = 0; label < n_labels; ++label) {
    entries.clear();
    for (std::size_t i = lists.starts[label]; i < lists.starts[label + 1]; ++i) {
      const SparseRow row = X.row(lists.rows[i]);
      const double length = length_of(row.values);
      if (length == 0) continue;
      const double weight = weights.empty() ? 1.0 : static_cast<double>(weights[lists.rows[i]]);
      for (std::size_t k = 0; k < row.size(); ++k) {
        if (row.values[k] == 0.0f) continue;
        entries.emplace_back(row.indices[k], static_cast<double>(row.values[k]) * weight / length);
      }
    }
    append_normalised(entries, centroids);
  }
  return centroids;
}

LabelTree kmeans_tree(const CsrView& centroids, std::span<const double> mass,
                      const Clustering& options) {
  if (options.arity < 2) throw TreeError("arity must be at least 2");
  std::vector<LabelId> order(centroids.n_rows());
  std::iota(order.begin(), order.end(), 0);
  std::vector<NodeId> parent;
  std::vector<LabelId> label;
  std::vector<std::pair<std::size_t, std::size_t>> range;  // of each node, in order of its id
  if (!order.empty()) {
    parent.push_back(none);
    range.emplace_back(0, order.size());
  }
  const CompactRows rows(centroids);
  Workers workers(options.n_workers);
  const Bisector first(rows.view(), rows.width(), mass, options);
  std::vector<Bisector> bisectors(workers.size(), first);
  std::vector<std::vector<std::size_t>> ends;
  for (std::size_t level = 0; level < range.size();) {  // the nodes of a level side by side
    const std::size_t n = range.size() - level;
    ends.assign(n, {});
    workers.run(n, [&](std::size_t task, std::size_t worker) {
      const std::size_t node = level + task;
      const auto [begin, end] = range[node];
      if (end - begin == 1) return;
      divide(bisectors[worker], std::span(order).subspan(begin, end - begin), options, node, begin,
             ends[task]);
    });
    for (std::size_t task = 0; task < n; ++task) {
      std::size_t from = range[level + task].first;
      label.push_back(ends[task].empty() ? order[from] : none);
      for (const std::size_t to : ends[task]) {
        parent.push_back(static_cast<NodeId>(level + task));
        range.emplace_back(from, to);
        from = to;
      }
    }
    level += n;
  }
  return LabelTree::restore(parent, label);
}

std::vector<LabelId> kmeans_order(const CsrView& centroids, const LabelTree& shape, NodeId node,
                                  std::size_t n_levels, const Clustering& options) {
  if (options.by_mass) throw TreeError("by_mass has no order without a tree");
  std::vector<LabelId> order(centroids.n_rows());
  std::iota(order.begin(), order.end(), 0);
  const CompactRows rows(centroids);
  Bisector bisector(rows.view(), rows.width(), {}, options);
  std::vector<std::size_t> ends;
  std::vector<std::pair<NodeId, std::size_t>> level{{node, 0}}, below;  // and where labels begin
  for (; n_levels > 0 && !level.empty(); --n_levels) {
    below.clear();
    for (const auto& [parent, begin] : level) {
      if (shape.is_leaf(parent)) continue;
      const auto n = index(shape.n_leaves(parent));
      ends.clear();
      divide(bisector, std::span(order).subspan(begin, n), options,
             static_cast<std::uint64_t>(parent), begin, ends);
      std::size_t from = begin;
      auto end = ends.begin();
      for (std::int32_t i = 0; i < shape.n_children(parent); ++i) {
        below.emplace_back(shape.first_child(parent) + i, from);
        from += index(shape.n_leaves(below.back().first));
        if (end == ends.end() || *end++ != from) throw another_shape(parent);
      }
      if (end != ends.end()) throw another_shape(parent);
    }
    level.swap(below);
  }
  return order;
}

}  // namespace labeltrees
