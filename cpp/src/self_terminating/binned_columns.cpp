#include "labeltrees/self_terminating/binned_columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace labeltrees {
namespace {

struct Entry {
  std::int32_t row;
  float value;
};

std::uint8_t bin_by_search(const Column& column, float value) noexcept {
  const auto found = std::lower_bound(column.highs.begin(), column.highs.end(), value);
  return static_cast<std::uint8_t>(found - column.highs.begin());
}

// The distinct values of a column, as long as they are few.
class FewValues {
 public:
  FewValues() { slots_.fill(0.0f); }

  // The value's slot; -1 if there is no space for another value. Value is neither 0 nor NaN.
  int add(float value) {
    std::size_t slot = (std::bit_cast<std::uint32_t>(value) * 2654435761u) >> 22;
    while (slots_[slot] != value) {
      if (slots_[slot] == 0.0f) return add_new(value, slot);
      slot = (slot + 1) % size;
    }
    return static_cast<int>(slot);
  }
  const std::vector<float>& values() const noexcept { return values_; }

  // The bin of every slot in use.
  std::array<std::uint8_t, 1024> bins(const Column& column) const {
    std::array<std::uint8_t, size> bins{};
    for (std::size_t slot = 0; slot < size; ++slot) {
      if (slots_[slot] != 0.0f) bins[slot] = bin_by_search(column, slots_[slot]);
    }
    return bins;
  }

 private:
  int add_new(float value, std::size_t slot) {
    if (values_.size() == missing_bin) return -1;
    slots_[slot] = value;
    values_.push_back(value);
    return static_cast<int>(slot);
  }

  static constexpr std::size_t size = 1024;
  std::array<float, size> slots_;
  std::vector<float> values_;
};

// Appends at most max_bins bins over sorted values of one sign; equal values share a bin.
void append_bins(std::span<const float> sorted, int max_bins, Column& column) {
  std::size_t begin = 0;
  for (int left = max_bins; begin < sorted.size(); --left) {
    const std::size_t share = (sorted.size() - begin) / static_cast<std::size_t>(std::max(left, 1));
    std::size_t end = left <= 1 ? sorted.size() : begin + std::max<std::size_t>(share, 1);
    while (end < sorted.size() && sorted[end] == sorted[end - 1]) ++end;
    column.lows.push_back(sorted[begin]);
    column.highs.push_back(sorted[end - 1]);
    begin = end;
  }
}

void choose_bins(std::vector<float>& values, int max_bins, Column& column) {
  std::sort(values.begin(), values.end());
  const auto middle = std::lower_bound(values.begin(), values.end(), 0.0f) - values.begin();
  const std::span all(values);
  const auto negative = all.first(static_cast<std::size_t>(middle));
  const auto positive = all.subspan(static_cast<std::size_t>(middle));
  const int room = max_bins - 1;
  int below = room;
  if (!positive.empty() && !all.empty()) {
    const double share = static_cast<double>(negative.size()) / static_cast<double>(all.size());
    below =
        std::clamp(static_cast<int>(std::lround(share * room)), negative.empty() ? 0 : 1, room - 1);
  }
  append_bins(negative, below, column);
  column.zero_bin = static_cast<int>(column.lows.size());
  column.lows.push_back(0.0f);
  column.highs.push_back(0.0f);
  append_bins(positive, room - below, column);
}

// Chooses a column's bins and returns the one of every entry.
std::vector<std::uint8_t> bin_entries(std::span<const Entry> entries, int max_bins,
                                      Column& column) {
  std::vector<std::uint8_t> bins(entries.size(), missing_bin);
  std::vector<std::uint16_t> slots(entries.size());
  FewValues few;
  bool are_few = true;
  for (std::size_t i = 0; i < entries.size() && are_few; ++i) {
    if (std::isnan(entries[i].value)) continue;
    const int slot = few.add(entries[i].value);
    are_few = slot >= 0;
    slots[i] = static_cast<std::uint16_t>(slot);
  }
  std::vector<float> values;
  if (are_few) {
    values = few.values();
  } else {
    for (const Entry& entry : entries) {
      if (!std::isnan(entry.value)) values.push_back(entry.value);
    }
  }
  choose_bins(values, max_bins, column);
  const auto slot_bins = few.bins(column);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const float value = entries[i].value;
    if (std::isnan(value)) continue;
    bins[i] = are_few ? slot_bins[slots[i]] : bin_by_search(column, value);
  }
  return bins;
}

// Entries are in order of rows and stay so within a bin.
void sort_by_bin(std::span<const Entry> entries, std::span<const std::uint8_t> entry_bins,
                 std::span<std::int32_t> rows, std::span<std::uint8_t> bins) {
  std::array<std::uint32_t, missing_bin + 2> starts{};
  for (const std::uint8_t bin : entry_bins) ++starts[bin + 1u];
  for (std::size_t bin = 1; bin < starts.size(); ++bin) starts[bin] += starts[bin - 1];
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t place = starts[entry_bins[i]]++;
    rows[place] = entries[i].row;
    bins[place] = entry_bins[i];
  }
}

// The features that are not zero everywhere, in order.
std::vector<std::int32_t> features_of(const CsrView& X) {
  std::vector<std::int32_t> features;
  for (std::size_t e = 0; e < X.indices.size(); ++e) {
    if (X.values[e] != 0.0f) features.push_back(X.indices[e]);
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

// The place of a feature's column, and the number of its entries that are not 0. Uses a table if
// the features are dense enough, else a search.
class ColumnOf {
 public:
  explicit ColumnOf(const CsrView& X) {
    std::int32_t last = -1;
    for (const std::int32_t feature : X.indices) last = std::max(last, feature);
    if (static_cast<std::size_t>(last) + 1 > 8 * X.indices.size() + 4096) {
      features_ = features_of(X);
      sizes_.assign(features_.size(), 0);
      for (std::size_t e = 0; e < X.indices.size(); ++e) {
        if (X.values[e] != 0.0f) ++sizes_[(*this)(X.indices[e])];
      }
      return;
    }
    std::vector<std::int32_t> counts(static_cast<std::size_t>(last) + 1, 0);
    for (std::size_t e = 0; e < X.indices.size(); ++e) {
      counts[static_cast<std::size_t>(X.indices[e])] += X.values[e] != 0.0f;
    }
    table_.resize(counts.size());
    for (std::size_t f = 0; f < counts.size(); ++f) {
      table_[f] = static_cast<std::int32_t>(features_.size());
      if (counts[f] == 0) continue;
      features_.push_back(static_cast<std::int32_t>(f));
      sizes_.push_back(static_cast<std::size_t>(counts[f]));
    }
  }
  // For a feature that is not zero everywhere.
  std::size_t operator()(std::int32_t feature) const {
    if (!table_.empty()) {
      return static_cast<std::size_t>(table_[static_cast<std::size_t>(feature)]);
    }
    const auto found = std::lower_bound(features_.begin(), features_.end(), feature);
    return static_cast<std::size_t>(found - features_.begin());
  }
  const std::vector<std::int32_t>& features() const noexcept { return features_; }
  const std::vector<std::size_t>& sizes() const noexcept { return sizes_; }

 private:
  std::vector<std::int32_t> features_, table_;
  std::vector<std::size_t> sizes_;
};

// Returns whether every row stores exactly these features, so that the place in the row is the
// column. Comparing numbers of entries is not enough, because a row may store zeros of features
// that are left out.
bool stores_all(const CsrView& X, std::span<const std::int32_t> features) {
  if (X.indices.size() != features.size() * X.n_rows()) return false;
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const auto stored = X.row(r).indices;
    if (!std::equal(stored.begin(), stored.end(), features.begin(), features.end())) return false;
  }
  return true;
}

}  // namespace

BinnedColumns bin_columns(const CsrView& X, int max_bins, Workers& workers) {
  const ColumnOf column_of(X);
  const auto& features = column_of.features();
  std::vector<std::size_t> starts(features.size() + 1, 0);
  for (std::size_t c = 0; c < features.size(); ++c)
    starts[c + 1] = starts[c] + column_of.sizes()[c];
  std::vector<Entry> entries(starts.back());
  std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
  const bool all = stores_all(X, features);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const SparseRow row = X.row(r);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row.values[i] == 0.0f) continue;
      const std::size_t c = all ? i : column_of(row.indices[i]);
      entries[next[c]++] = {static_cast<std::int32_t>(r), row.values[i]};
    }
  }
  BinnedColumns binned;
  binned.n_rows = X.n_rows();
  std::size_t n_sparse = 0, n_dense = 0;
  for (std::size_t c = 0; c < features.size(); ++c) {
    const std::size_t count = starts[c + 1] - starts[c];
    const bool dense = 3 * count >= X.n_rows();
    std::size_t& used = dense ? n_dense : n_sparse;
    const std::size_t begin = used;
    used += dense ? X.n_rows() : count;
    binned.columns.push_back({features[c], dense, begin, used, 0, {}, {}});
  }
  binned.rows.resize(n_sparse);
  binned.bins.resize(n_sparse);
  binned.dense_bins.resize(n_dense);
  workers.run(features.size(), [&](std::size_t c, std::size_t) {
    Column& column = binned.columns[c];
    const auto own = std::span(entries).subspan(starts[c], starts[c + 1] - starts[c]);
    const auto bins = bin_entries(own, max_bins, column);
    if (!column.dense) {
      sort_by_bin(own, bins, std::span(binned.rows).subspan(column.begin, own.size()),
                  std::span(binned.bins).subspan(column.begin, own.size()));
      return;
    }
    std::uint8_t* const place = binned.dense_bins.data() + column.begin;
    std::fill_n(place, X.n_rows(), static_cast<std::uint8_t>(column.zero_bin));
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool is_missing = bins[i] == missing_bin;
      place[static_cast<std::size_t>(own[i].row)] = is_missing ? column.missing() : bins[i];
    }
  });
  return binned;
}

}  // namespace labeltrees
