#include "labeltrees/text/formats.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "labeltrees/platform/hash.hpp"
#include "labeltrees/platform/keyed_hash.hpp"
#include "labeltrees/text/decimal.hpp"

namespace labeltrees {
namespace {

static_assert(std::numeric_limits<float>::is_iec559, "a double too large for a float is infinity");

// What is left of one line.
struct Cursor {
  const char* at;
  const char* end;
  std::int64_t line;
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

void skip_blanks(Cursor& cursor) {
  while (cursor.at != cursor.end && is_blank(*cursor.at)) ++cursor.at;
}

const char* find_blank(const char* at, const char* end) {
  while (at != end && !is_blank(*at)) ++at;
  return at;
}

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// The start of a token in quotes, other bytes than printable ASCII as \xNN.
std::string quoted(std::string_view token) {
  constexpr std::size_t longest = 40;
  constexpr char hex[] = "0123456789abcdef";
  std::string text = "'";
  for (const char c : token.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return text + (token.size() > longest ? "...'" : "'");
}

// The token that starts at `begin`, for a message.
std::string quoted(const char* begin, const char* end) {
  return quoted(between(begin, find_blank(begin, end)));
}

bool parse_integer(std::string_view token, std::int64_t& value) {
  if (!token.empty() && token.front() == '+') {
    token.remove_prefix(1);
    if (!token.empty() && token.front() == '-') return false;
  }
  const char* const end = token.data() + token.size();
  const auto [at, error] = std::from_chars(token.data(), end, value);
  return error == std::errc{} && at == end;
}

bool parse_all(std::string_view token, double& value) {
  const char* const end = token.data() + token.size();
  return parse_decimal(token.data(), end, value) == end;
}

float finite_float(double value, std::int64_t line, std::int64_t feature) {
  const auto single = static_cast<float>(value);
  if (!std::isfinite(single)) {
    throw ParseError(
        line, "the value of feature " + std::to_string(feature) + " is not a finite 32-bit float");
  }
  return single;
}

// Sorts the entries of the row that starts at `begin`, and sums entries of one feature.
void sort_row(ParsedRows& rows, std::size_t begin, std::int64_t line) {
  auto& indices = rows.indices;
  const auto first = indices.begin() + static_cast<std::ptrdiff_t>(begin);
  if (std::adjacent_find(first, indices.end(), std::greater_equal<>()) == indices.end()) return;
  // Position in the low half makes the order of equal features, and so their sum, the file's.
  std::vector<std::uint64_t> keys(indices.size() - begin);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = std::uint64_t{static_cast<std::uint32_t>(indices[begin + i])} << 32 | i;
  }
  std::sort(keys.begin(), keys.end());
  const std::vector<float> values(rows.values.begin() + static_cast<std::ptrdiff_t>(begin),
                                  rows.values.end());
  std::size_t out = begin;
  for (std::size_t i = 0; i < keys.size();) {
    const std::uint64_t feature = keys[i] >> 32;
    double sum = 0;
    for (; i < keys.size() && keys[i] >> 32 == feature; ++i) sum += values[keys[i] & 0xffffffffu];
    indices[out] = static_cast<std::int32_t>(feature);
    rows.values[out++] = finite_float(sum, line, static_cast<std::int64_t>(feature));
  }
  indices.resize(out);
  rows.values.resize(out);
}

// Removes labels of the row that starts at `begin` which it has named before.
void drop_repeated_labels(std::vector<std::int64_t>& labels, std::size_t begin) {
  const auto first = labels.begin() + static_cast<std::ptrdiff_t>(begin);
  if (std::adjacent_find(first, labels.end(), std::greater_equal<>()) == labels.end()) return;
  std::unordered_set<std::int64_t, KeyedHash> seen;
  labels.erase(
      std::remove_if(first, labels.end(), [&](std::int64_t l) { return !seen.insert(l).second; }),
      labels.end());
}

void finish_row(ParsedRows& rows, std::int64_t line) {
  sort_row(rows, static_cast<std::size_t>(rows.row_starts.back()), line);
  drop_repeated_labels(rows.labels, static_cast<std::size_t>(rows.label_starts.back()));
  rows.row_starts.push_back(static_cast<std::int64_t>(rows.indices.size()));
  rows.label_starts.push_back(static_cast<std::int64_t>(rows.labels.size()));
  rows.lines.push_back(line);
}

// Calls parse_line(cursor, rows) on each line; it appends one row's entries and labels and
// returns true, or returns false for a line that is no row.
template <typename ParseLine>
ParsedRows parse_lines(const TextBlock& block, const ParseLine& parse_line) {
  ParsedRows rows;
  const char* const text = block.text.data();
  std::size_t begin = block.begin;
  std::int64_t line = block.first_line;
  while (begin < block.text.size() && rows.n_rows() < block.max_rows) {
    const void* newline = std::memchr(text + begin, '\n', block.text.size() - begin);
    const char* end = newline ? static_cast<const char*>(newline) : text + block.text.size();
    Cursor cursor{text + begin, end, line};
    if (end != cursor.at && end[-1] == '\r') --cursor.end;
    if (parse_line(cursor, rows)) finish_row(rows, line);
    begin = static_cast<std::size_t>(end - text) + (newline ? 1 : 0);
    ++line;
  }
  rows.end = begin;
  rows.next_line = line;
  return rows;
}

// "3,1,4" up to a blank or the end; nothing if a blank comes first.
void parse_integer_labels(Cursor& cursor, ParsedRows& rows) {
  const char* const end = find_blank(cursor.at, cursor.end);
  while (cursor.at != end) {
    const char* const comma = std::find(cursor.at, end, ',');
    std::int64_t label;
    if (!parse_integer(between(cursor.at, comma), label)) {
      throw ParseError(cursor.line, "the label " + quoted(between(cursor.at, comma)) +
                                        " is not a 64-bit integer");
    }
    rows.labels.push_back(label);
    cursor.at = comma;
    if (comma != end && ++cursor.at == end) {
      throw ParseError(cursor.line, "the list of labels ends with a comma");
    }
  }
}

[[noreturn]] void fail_at_feature(const Cursor& cursor, const char* token) {
  const std::string_view text = between(token, find_blank(token, cursor.end));
  if (text.starts_with("qid:")) {
    throw ParseError(cursor.line, "query ids (" + quoted(text) + ") are not supported");
  }
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon == 0 ||
      !std::all_of(text.begin(), text.begin() + colon, is_digit)) {
    throw ParseError(cursor.line, "expected feature:value, got " + quoted(text));
  }
  throw ParseError(cursor.line, "the value of " + quoted(text) + " is not a finite number");
}

// "feature:value feature:value ..." up to the end. first_feature is the id of column 0.
void parse_numbered_features(Cursor& cursor, std::uint64_t first_feature, std::uint64_t n_features,
                             ParsedRows& rows) {
  const char* at = cursor.at;
  const char* const end = cursor.end;
  while (true) {
    while (at != end && is_blank(*at)) ++at;
    if (at == end) break;
    const char* const token = at;
    std::uint64_t id = 0;
    while (at != end && is_digit(*at)) id = id * 10 + static_cast<std::uint64_t>(*at++ - '0');
    if (at == token || at == end || *at != ':') fail_at_feature(cursor, token);
    // 19 digits cannot wrap around 2^64; an id below first_feature wraps to a large column.
    const std::uint64_t column = id - first_feature;
    if (at - token > 19 || column >= n_features) {
      throw ParseError(cursor.line, "the feature of " + quoted(token, end) + " is not in [" +
                                        std::to_string(first_feature) + ", " +
                                        std::to_string(first_feature + n_features) + ")");
    }
    double value;
    at = parse_decimal(at + 1, end, value);
    if (at == nullptr || (at != end && !is_blank(*at))) fail_at_feature(cursor, token);
    const auto single = static_cast<float>(value);
    if (!std::isfinite(single)) fail_at_feature(cursor, token);
    rows.indices.push_back(static_cast<std::int32_t>(column));
    rows.values.push_back(single);
  }
  cursor.at = end;
}

// Labels of Vowpal Wabbit rows: integers, or names that are given numbers.
class LabelReader {
 public:
  explicit LabelReader(const VwOptions& options)
      : lists_(options.lists), kind_(options.label_kind) {}

  LabelKind kind() const { return kind_; }

  void read(std::string_view token, std::int64_t line, ParsedRows& rows) {
    pieces_.clear();
    split(token);
    const bool integers = all_integers();
    if (lists_ == LabelLists::of_integers && pieces_.size() > 1 && !integers) pieces_ = {token};
    if (kind_ == LabelKind::unknown) kind_ = integers ? LabelKind::integers : LabelKind::names;
    for (const std::string_view piece : pieces_) append(piece, line, rows);
  }

 private:
  void split(std::string_view token) {
    while (lists_ != LabelLists::never) {
      const std::size_t comma = token.find(',');
      if (comma == token.npos) break;
      pieces_.push_back(token.substr(0, comma));
      token.remove_prefix(comma + 1);
    }
    pieces_.push_back(token);
  }

  bool all_integers() const {
    std::int64_t ignored;
    return std::all_of(pieces_.begin(), pieces_.end(),
                       [&](std::string_view piece) { return parse_integer(piece, ignored); });
  }

  void append(std::string_view piece, std::int64_t line, ParsedRows& rows) {
    if (piece.empty()) throw ParseError(line, "a label in the list is empty");
    std::int64_t label;
    if (kind_ == LabelKind::integers) {
      if (!parse_integer(piece, label)) {
        throw ParseError(line, "the label " + quoted(piece) +
                                   " is not a 64-bit integer, as the first label of the file is");
      }
    } else {
      const auto next = static_cast<std::int64_t>(rows.label_names.size());
      const auto [entry, is_new] = numbers_.emplace(piece, next);
      if (is_new) rows.label_names.emplace_back(piece);
      label = entry->second;
    }
    rows.labels.push_back(label);
  }

  LabelLists lists_;
  LabelKind kind_;
  std::vector<std::string_view> pieces_;
  std::unordered_map<std::string_view, std::int64_t, KeyedHash> numbers_;  // views of the block
};

// "label importance 'tag" before the first bar. Text that touches the bar is a tag, quoted or not.
void parse_vw_head(std::string_view head, std::int64_t line, LabelReader& labels,
                   ParsedRows& rows) {
  std::vector<std::string_view> tokens;
  const char* const end = head.data() + head.size();
  for (Cursor cursor{head.data(), end, line};;) {
    skip_blanks(cursor);
    if (cursor.at == end) break;
    const char* const token = cursor.at;
    cursor.at = find_blank(token, end);
    tokens.push_back(between(token, cursor.at));
  }
  if (!tokens.empty() && tokens.back().front() == '\'') {
    tokens.pop_back();
  } else if (!tokens.empty() && !is_blank(head.back())) {
    if (tokens.size() == 1) {
      throw ParseError(
          line,
          quoted(tokens[0]) + " touches the bar: put a blank after a label, or a ' before a tag");
    }
    tokens.pop_back();
  }
  if (tokens.size() > 2) {
    throw ParseError(
        line, "expected label, importance and 'tag before the bar, got also " + quoted(tokens[2]));
  }
  double weight = 1;
  if (tokens.size() == 2 && (!parse_all(tokens[1], weight) || !(weight >= 0) ||
                             !std::isfinite(static_cast<float>(weight)))) {
    throw ParseError(line, "the importance " + quoted(tokens[1]) + " is not a finite number >= 0");
  }
  rows.weights.push_back(static_cast<float>(weight));
  if (!tokens.empty()) labels.read(tokens[0], line, rows);
}

// The end of a name or value in a namespace.
const char* find_stop(const char* at, const char* end) {
  while (at != end && !is_blank(*at) && *at != '|') ++at;
  return at;
}

// Splits "name:value"; without a colon the value is 1.
std::string_view parse_pair(std::string_view token, std::int64_t line, double& value) {
  value = 1;
  const std::size_t colon = token.find(':');
  if (colon == token.npos) return token;
  if (!parse_all(token.substr(colon + 1), value) || !std::isfinite(static_cast<float>(value))) {
    throw ParseError(line, "the value of " + quoted(token) + " is not a finite number");
  }
  return token.substr(0, colon);
}

// "|namespace:scale feature:value ..." up to the next bar or the end.
void parse_namespace(Cursor& cursor, ParsedRows& rows) {
  const char* const name = ++cursor.at;
  cursor.at = find_stop(name, cursor.end);
  double scale;
  const std::uint64_t space = hash_bytes(parse_pair(between(name, cursor.at), cursor.line, scale));
  while (true) {
    skip_blanks(cursor);
    if (cursor.at == cursor.end || *cursor.at == '|') return;
    const char* const token = cursor.at;
    cursor.at = find_stop(token, cursor.end);
    double value;
    const auto feature = parse_pair(between(token, cursor.at), cursor.line, value);
    if (feature.empty()) {
      throw ParseError(cursor.line, "the feature of " + quoted(token, cursor.end) + " has no name");
    }
    const std::int32_t index = feature_of_hash(combine_hashes(space, hash_bytes(feature)));
    rows.indices.push_back(index);
    rows.values.push_back(finite_float(value * scale, cursor.line, index));
  }
}

}  // namespace

ParsedRows parse_xc(const TextBlock& block, const XcOptions& options) {
  const auto parse_line = [&](Cursor& cursor, ParsedRows& rows) {
    const std::size_t first_label = rows.labels.size();
    parse_integer_labels(cursor, rows);
    for (std::size_t i = first_label; i < rows.labels.size(); ++i) {
      if (rows.labels[i] < 0 || rows.labels[i] >= options.n_labels) {
        throw ParseError(cursor.line, "the label " + std::to_string(rows.labels[i]) +
                                          " is not in [0, " + std::to_string(options.n_labels) +
                                          ")");
      }
    }
    parse_numbered_features(cursor, 0, static_cast<std::uint64_t>(options.n_features), rows);
    return true;
  };
  ParsedRows rows = parse_lines(block, parse_line);
  rows.label_kind = LabelKind::integers;
  return rows;
}

ParsedRows parse_svmlight(const TextBlock& block, const SvmlightOptions& options) {
  const auto parse_line = [&](Cursor& cursor, ParsedRows& rows) {
    cursor.end = std::find(cursor.at, cursor.end, '#');
    if (std::all_of(cursor.at, cursor.end, is_blank)) return false;
    parse_integer_labels(cursor, rows);
    parse_numbered_features(cursor, options.zero_based ? 0 : 1,
                            static_cast<std::uint64_t>(options.n_features), rows);
    return true;
  };
  ParsedRows rows = parse_lines(block, parse_line);
  rows.label_kind = LabelKind::integers;
  return rows;
}

ParsedRows parse_vw(const TextBlock& block, const VwOptions& options) {
  LabelReader labels(options);
  const auto parse_line = [&](Cursor& cursor, ParsedRows& rows) {
    if (std::all_of(cursor.at, cursor.end, is_blank)) return false;
    const char* const bar = std::find(cursor.at, cursor.end, '|');
    if (bar == cursor.end) {
      throw ParseError(cursor.line, "there is no | between labels and features");
    }
    parse_vw_head(between(cursor.at, bar), cursor.line, labels, rows);
    cursor.at = bar;
    while (cursor.at != cursor.end) parse_namespace(cursor, rows);
    return true;
  };
  ParsedRows rows = parse_lines(block, parse_line);
  rows.label_kind = labels.kind();
  return rows;
}

ParsedRows gather_rows(std::span<const std::int64_t> row_starts,
                       std::span<const std::int64_t> indices, std::span<const double> values,
                       std::span<const std::int64_t> lines, std::int64_t n_features) {
  if (row_starts.size() != lines.size() + 1 || indices.size() != values.size() ||
      row_starts.front() != 0 || row_starts.back() != static_cast<std::int64_t>(values.size()) ||
      !std::is_sorted(row_starts.begin(), row_starts.end())) {
    throw std::invalid_argument("row_starts, indices, values and lines do not fit together");
  }
  ParsedRows rows;
  rows.indices.reserve(indices.size());
  rows.values.reserve(indices.size());
  for (std::size_t row = 0; row < lines.size(); ++row) {
    for (auto i = static_cast<std::size_t>(row_starts[row]);
         i < static_cast<std::size_t>(row_starts[row + 1]); ++i) {
      if (indices[i] < 0 || indices[i] >= n_features) {
        throw ParseError(lines[row], "the feature " + std::to_string(indices[i]) +
                                         " is not in [0, " + std::to_string(n_features) + ")");
      }
      rows.indices.push_back(static_cast<std::int32_t>(indices[i]));
      rows.values.push_back(finite_float(values[i], lines[row], indices[i]));
    }
    finish_row(rows, lines[row]);
  }
  return rows;
}

std::vector<std::int64_t> hash_names(std::span<const std::string_view> names) {
  const std::uint64_t space = hash_bytes({});
  std::vector<std::int64_t> features;
  features.reserve(names.size());
  for (const std::string_view name : names) {
    features.push_back(feature_of_hash(combine_hashes(space, hash_bytes(name))));
  }
  return features;
}

}  // namespace labeltrees
