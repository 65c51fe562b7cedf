#include "labeltrees/self_terminating/partition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "labeltrees/platform/index.hpp"

namespace labeltrees {
namespace {

// below <= threshold < above
float between(float below, float above) {
  if (std::isinf(below) || std::isinf(above)) return below;  // one side has only missing values
  const float middle = static_cast<float>((static_cast<double>(below) + above) / 2);
  return middle < above ? middle : below;
}

void make_room(Partition::Spare& spare, std::size_t size) {
  if (spare.rows.size() >= size) return;
  spare.rows.resize(size);
  spare.bins.resize(size);
}

}  // namespace

Partition::Partition(const BinnedColumns& data)
    : data_(data), rows_(data.n_rows), goes_left_(data.n_rows) {
  std::iota(rows_.begin(), rows_.end(), 0);
}

Part Partition::all() const {
  Part part{0, rows_.size(), {}};
  for (std::size_t c = 0; c < data_.columns.size(); ++c) {
    const Column& column = data_.columns[c];
    if (column.begin < column.end) {
      part.segments.push_back({static_cast<std::int32_t>(c), column.begin, column.end});
    }
  }
  return part;
}

// Sets goes_left_ of the part's rows and returns which bins they have.
Partition::Bins Partition::mark_rows(const Part& part, const Split& split) {
  const Column& column = data_.columns[index(split.column)];
  const int missing = column.dense ? column.missing() : missing_bin;
  Bins has{}, is_left{};
  for (int bin = 0; bin <= missing_bin; ++bin) {
    is_left[static_cast<std::size_t>(bin)] = bin == missing ? split.missing_left : bin <= split.cut;
  }
  const auto mark = [&](std::int32_t row, std::uint8_t bin) {
    goes_left_[index(row)] = is_left[bin];
    has[bin] = 1;
  };
  if (column.dense) {
    for (const std::int32_t row : rows(part))
      mark(row, data_.dense_bins[column.begin + index(row)]);
    return has;
  }
  const bool zero_left = column.zero_bin <= split.cut;
  for (const std::int32_t row : rows(part)) goes_left_[index(row)] = zero_left;
  const auto found = std::find_if(part.segments.begin(), part.segments.end(),
                                  [&](const Segment& s) { return s.column == split.column; });
  for (std::size_t e = found->begin; e < found->end; ++e) mark(data_.rows[e], data_.bins[e]);
  if (found->end - found->begin < part.n_rows()) has[index(column.zero_bin)] = 1;
  return has;
}

Partition::Cut Partition::divide_rows(const Part& part, const Split& split, Spare& spare) {
  const Bins has = mark_rows(part, split);
  const Column& column = data_.columns[index(split.column)];
  const int n_bins = static_cast<int>(column.lows.size());
  // The bins next to the cut, among the node's own.
  int below = split.cut, above = split.cut + 1;
  while (below >= 0 && !has[index(below)]) --below;
  while (above < n_bins && !has[index(above)]) ++above;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float low = below < 0 ? -infinity : column.highs[index(below)];
  const float high = above >= n_bins ? infinity : column.lows[index(above)];
  const bool missing_seen = has[column.dense ? column.missing() : missing_bin];
  return {move_rows(part, spare), between(low, high), missing_seen};
}

std::size_t Partition::move_rows(const Part& part, Spare& spare) {
  make_room(spare, part.n_rows());
  std::size_t n_left = part.begin, n_right = 0;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    const std::int32_t row = rows_[i];
    const bool left = goes_left_[index(row)];
    rows_[n_left] = row;  // at or before the place it is read from
    spare.rows[n_right] = row;
    n_left += left;
    n_right += !left;
  }
  std::copy_n(spare.rows.begin(), n_right, rows_.begin() + static_cast<std::ptrdiff_t>(n_left));
  return n_left;
}

void Partition::divide_columns(const Part& part, Part& left, Part& right, Spare& spare) {
  for (const Segment& segment : part.segments) {
    if (data_.columns[index(segment.column)].dense) {
      left.segments.push_back(segment);
      right.segments.push_back(segment);
      continue;
    }
    make_room(spare, segment.end - segment.begin);
    std::size_t n_left = segment.begin, n_right = 0;
    for (std::size_t e = segment.begin; e < segment.end; ++e) {
      const std::int32_t row = data_.rows[e];
      const std::uint8_t bin = data_.bins[e];
      const bool goes_left = goes_left_[index(row)];
      data_.rows[n_left] = row;
      data_.bins[n_left] = bin;
      spare.rows[n_right] = row;
      spare.bins[n_right] = bin;
      n_left += goes_left;
      n_right += !goes_left;
    }
    const auto place = static_cast<std::ptrdiff_t>(n_left);
    std::copy_n(spare.rows.begin(), n_right, data_.rows.begin() + place);
    std::copy_n(spare.bins.begin(), n_right, data_.bins.begin() + place);
    keep(left, {segment.column, segment.begin, n_left});
    keep(right, {segment.column, n_left, segment.end});
  }
}

// A column that is the same in all the node's rows can split nothing.
void Partition::keep(Part& part, const Segment& segment) const {
  if (segment.begin == segment.end) return;
  const bool same = data_.bins[segment.begin] == data_.bins[segment.end - 1];
  if (same && segment.end - segment.begin == part.n_rows()) return;
  part.segments.push_back(segment);
}

}  // namespace labeltrees
