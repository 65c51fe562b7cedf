#include "labeltrees/binned_columns.hpp"

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

  // False if there is no room for another value. Value is neither 0 nor NaN.
  bool add(float value) {
    std::size_t slot = home(value);
    while (slots_[slot] != 0.0f && slots_[slot] != value) slot = (slot + 1) % size;
    if (slots_[slot] == value) return true;
    if (values_.size() == missing_bin) return false;
    slots_[slot] = value;
    values_.push_back(value);
    return true;
  }
  const std::vector<float>& values() const noexcept { return values_; }

  // After this, bin() of a value that was added is its place in the column's bins.
  void number(const Column& column) {
    for (std::size_t slot = 0; slot < size; ++slot) {
      if (slots_[slot] != 0.0f) bins_[slot] = bin_by_search(column, slots_[slot]);
    }
  }
  std::uint8_t bin(float value) const noexcept {
    std::size_t slot = home(value);
    while (slots_[slot] != value) slot = (slot + 1) % size;
    return bins_[slot];
  }

 private:
  static constexpr std::size_t size = 1024;
  static std::size_t home(float value) noexcept {
    return (std::bit_cast<std::uint32_t>(value) * 2654435761u) >> 22;
  }
  std::array<float, size> slots_;
  std::array<std::uint8_t, size> bins_;
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

// Bins one column's entries and sorts them by bin; entries are in order of rows and stay so.
void bin_column(std::span<const Entry> entries, int max_bins, Column& column,
                std::span<std::int32_t> rows, std::span<std::uint8_t> bins) {
  FewValues few;
  bool are_few = true;
  for (const Entry& entry : entries) {
    if (!std::isnan(entry.value) && !few.add(entry.value)) {
      are_few = false;
      break;
    }
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
  if (are_few) few.number(column);
  std::vector<std::uint8_t> bin_of(entries.size());
  std::array<std::uint32_t, missing_bin + 2> starts{};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const float value = entries[i].value;
    std::uint8_t bin = missing_bin;
    if (!std::isnan(value)) bin = are_few ? few.bin(value) : bin_by_search(column, value);
    bin_of[i] = bin;
    ++starts[bin + 1u];
  }
  for (std::size_t bin = 1; bin < starts.size(); ++bin) starts[bin] += starts[bin - 1];
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t place = starts[bin_of[i]]++;
    rows[place] = entries[i].row;
    bins[place] = bin_of[i];
  }
}

// The features that occur, in order.
std::vector<std::int32_t> features_of(const CsrView& X) {
  std::vector<std::int32_t> features(X.indices.begin(), X.indices.end());
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

// Where a feature's column is. A table if the features are dense enough, else a search.
class ColumnOf {
 public:
  explicit ColumnOf(const CsrView& X) {
    std::int32_t last = -1;
    for (const std::int32_t feature : X.indices) last = std::max(last, feature);
    if (static_cast<std::size_t>(last) + 1 > 8 * X.indices.size() + 4096) {
      features_ = features_of(X);
      return;
    }
    table_.assign(static_cast<std::size_t>(last) + 1, -1);
    for (const std::int32_t feature : X.indices) table_[static_cast<std::size_t>(feature)] = 0;
    for (std::size_t f = 0; f < table_.size(); ++f) {
      if (table_[f] < 0) continue;
      table_[f] = static_cast<std::int32_t>(features_.size());
      features_.push_back(static_cast<std::int32_t>(f));
    }
  }
  std::size_t operator()(std::int32_t feature) const {
    if (!table_.empty()) {
      return static_cast<std::size_t>(table_[static_cast<std::size_t>(feature)]);
    }
    const auto found = std::lower_bound(features_.begin(), features_.end(), feature);
    return static_cast<std::size_t>(found - features_.begin());
  }
  const std::vector<std::int32_t>& features() const noexcept { return features_; }

 private:
  std::vector<std::int32_t> features_, table_;
};

}  // namespace

BinnedColumns bin_columns(const CsrView& X, int max_bins, Workers& workers) {
  const ColumnOf column_of(X);
  const auto& features = column_of.features();
  std::vector<std::size_t> starts(features.size() + 1, 0);
  for (std::size_t e = 0; e < X.indices.size(); ++e) {
    if (X.values[e] != 0.0f) ++starts[column_of(X.indices[e]) + 1];
  }
  for (std::size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
  std::vector<Entry> entries(starts.back());
  std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
  for (std::size_t r = 0; r < X.n_rows(); ++r) {
    const SparseRow row = X.row(r);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row.values[i] == 0.0f) continue;
      entries[next[column_of(row.indices[i])]++] = {static_cast<std::int32_t>(r), row.values[i]};
    }
  }
  BinnedColumns binned;
  binned.rows.resize(entries.size());
  binned.bins.resize(entries.size());
  binned.columns.resize(features.size());
  workers.run(features.size(), [&](std::size_t c, std::size_t) {
    Column& column = binned.columns[c];
    column.feature = features[c];
    column.begin = starts[c];
    column.end = starts[c + 1];
    const std::size_t count = column.end - column.begin;
    bin_column(std::span(entries).subspan(column.begin, count), max_bins, column,
               std::span(binned.rows).subspan(column.begin, count),
               std::span(binned.bins).subspan(column.begin, count));
  });
  return binned;
}

}  // namespace labeltrees
