#include "labeltrees/python_source/tokens.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "labeltrees/python_source/word_characters.hpp"
#include "lexemes.hpp"

namespace labeltrees {
namespace {

constexpr std::int64_t tab_width = 8;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

// What str.strip() removes.
bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

bool starts_comment(std::string_view line) {
  while (!line.empty()) {
    const DecodedCharacter character = decode_utf8(line);
    if (!is_white_space(character.value)) return character.value == '#';
    line.remove_prefix(character.n_bytes);
  }
  return false;
}

std::string with_unix_newlines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text.push_back(source[i]);
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      text.push_back('\n');
    }
  }
  return text;
}

bool ends_in_backslash(std::string_view line) { return line.ends_with("\\\n"); }

class Tokeniser {
 public:
  Tokeniser(std::string_view source, SourceEnd end, TokenTable& table, std::vector<TokenId>& tokens)
      : rest_(source), end_(end), table_(table), tokens_(tokens) {}

  TokeniseOutcome run() {
    while (next_line()) {
      if (in_string_) {
        if (!resume_string()) continue;
      } else if (n_open_ == 0 && !continued_) {
        const LineStart start = start_statement();
        if (start == LineStart::bad_dedent) return TokeniseOutcome::bad_dedent;
        if (start == LineStart::blank) continue;
      } else {
        continued_ = false;
      }
      scan_line();
    }
    return end_ == SourceEnd::of_file ? finish_file() : TokeniseOutcome::complete;
  }

 private:
  enum class LineStart { statement, blank, bad_dedent };

  void emit(TokenMark mark) { tokens_.push_back(id_of(mark)); }
  void emit(std::size_t begin, std::size_t end) {
    tokens_.push_back(table_.intern(line_.substr(begin, end - begin)));
  }

  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t newline = rest_.find('\n');
    line_ = rest_.substr(0, newline == npos ? npos : newline + 1);
    rest_.remove_prefix(line_.size());
    at_ = 0;
    unclosed_single_ = unclosed_double_ = false;
    return true;
  }

  LineStart start_statement() {
    std::int64_t column = 0;
    for (; at_ < line_.size() && is_blank(line_[at_]); ++at_) {
      if (line_[at_] == ' ') ++column;
      if (line_[at_] == '\t') column = (column / tab_width + 1) * tab_width;
      if (line_[at_] == '\f') column = 0;
    }
    if (at_ == line_.size()) {  // white space ends the text
      ends_blank_ = true;
      if (end_ == SourceEnd::of_typed) set_indentation(column);
      return LineStart::blank;
    }
    if (line_[at_] == '#' || line_[at_] == '\n') return LineStart::blank;
    return set_indentation(column) ? LineStart::statement : LineStart::bad_dedent;
  }

  bool set_indentation(std::int64_t column) {
    if (column > indents_.back()) {
      indents_.push_back(column);
      emit(TokenMark::indent);
      return true;
    }
    const bool known = std::binary_search(indents_.begin(), indents_.end(), column);
    if (!known && end_ == SourceEnd::of_file) return false;
    while (column < indents_.back()) {
      indents_.pop_back();
      emit(TokenMark::dedent);
    }
    return true;
  }

  // Whether the string ended, so that the rest of the line is to be scanned.
  bool resume_string() {
    const std::size_t end = string_end(line_, 0, quote_, triple_);
    if (end != npos) {
      emit(TokenMark::string);
      in_string_ = needs_backslash_ = false;
      at_ = end;
      return true;
    }
    // tokenize leaves needs_backslash_ set here, so that it holds for the next long string too.
    if (needs_backslash_ && !ends_in_backslash(line_)) in_string_ = false;
    return false;
  }

  void scan_line() {
    while (at_ < line_.size()) {
      const char c = line_[at_];
      if (is_blank(c)) {
        ++at_;
      } else if (c == '\n') {
        if (n_open_ <= 0) emit(TokenMark::newline);
        ++at_;
      } else if (c == '#') {
        at_ = line_.ends_with('\n') ? line_.size() - 1 : line_.size();
      } else if (c == '\\') {
        if (at_ + 1 < line_.size() && line_[at_ + 1] == '\n') {
          continued_ = true;
          ++at_;
        }
        ++at_;
      } else if (is_digit(c) || (c == '.' && at_ + 1 < line_.size() && is_digit(line_[at_ + 1]))) {
        emit(TokenMark::number);
        at_ = number_end(line_, at_);
      } else if (!scan_string()) {
        scan_word_or_operator();
      }
    }
  }

  // False, and nothing done, if no string starts here.
  bool scan_string() {
    const std::size_t quote = string_quote(line_, at_);
    if (quote == npos) return false;
    quote_ = line_[quote];
    triple_ = line_.size() - quote >= 3 && line_[quote + 1] == quote_ && line_[quote + 2] == quote_;
    // A later quote of the same kind was, to the failed search, behind a backslash; so a search
    // from there takes the same way and fails too. Remembering it keeps the time linear.
    bool& unclosed = quote_ == '"' ? unclosed_double_ : unclosed_single_;
    if (!triple_ && unclosed) return false;
    const std::size_t end = string_end(line_, quote + (triple_ ? 3 : 1), quote_, triple_);
    if (end != npos) {
      emit(TokenMark::string);
      at_ = end;
      return true;
    }
    if (!triple_ && !continues_from(quote + 1)) {
      unclosed = true;
      return false;
    }
    in_string_ = true;
    if (!triple_) needs_backslash_ = true;
    at_ = line_.size();
    return true;
  }

  // Returns whether the search for a string's end that failed from `at` met a backslash that ends
  // the line. An even number of backslashes before it form pairs.
  bool continues_from(std::size_t at) const {
    if (!ends_in_backslash(line_)) return false;
    std::size_t first = line_.size() - 1;
    while (first > at && line_[first - 1] == '\\') --first;
    return (line_.size() - 1 - first) % 2 == 1;
  }

  void scan_word_or_operator() {
    std::size_t end = word_end(line_, at_);
    if (end == at_) {
      end = operator_end(line_, at_);
      if (end == at_) {  // no token starts with this character
        at_ += decode_utf8(line_.substr(at_)).n_bytes;
        return;
      }
      const char c = line_[at_];
      if (c == '(' || c == '[' || c == '{') ++n_open_;
      if (c == ')' || c == ']' || c == '}') --n_open_;
    }
    emit(at_, end);
    at_ = end;
  }

  TokeniseOutcome finish_file() {
    if (in_string_) return TokeniseOutcome::open_string;
    if (n_open_ != 0 || continued_) return TokeniseOutcome::open_statement;
    const bool unended = !line_.empty() && !line_.ends_with('\n') && !ends_blank_;
    if (unended && !starts_comment(line_)) emit(TokenMark::newline);
    tokens_.insert(tokens_.end(), indents_.size() - 1, id_of(TokenMark::dedent));
    return TokeniseOutcome::complete;
  }

  std::string_view rest_;
  SourceEnd end_;
  TokenTable& table_;
  std::vector<TokenId>& tokens_;

  std::string_view line_;  // with its newline, which only the last may lack
  std::size_t at_ = 0;
  std::vector<std::int64_t> indents_{0};
  std::int64_t n_open_ = 0;  // brackets; below 0 once too many were closed
  bool continued_ = false;   // the line before ended in a backslash
  bool ends_blank_ = false;
  bool in_string_ = false, triple_ = false, needs_backslash_ = false;
  char quote_ = '"';
  bool unclosed_single_ = false, unclosed_double_ = false;
};

}  // namespace

const char* describe(TokeniseOutcome outcome) noexcept {
  switch (outcome) {
    case TokeniseOutcome::complete:
      return "complete";
    case TokeniseOutcome::not_utf8:
      return "not UTF-8";
    case TokeniseOutcome::open_string:
      return "a string is not closed";
    case TokeniseOutcome::open_statement:
      return "a bracket or continued line is not closed";
    case TokeniseOutcome::bad_dedent:
      return "a dedent matches no outer indentation";
  }
  return "unknown";
}

TokeniseOutcome tokenise_python(std::string_view source, SourceEnd end, TokenTable& table,
                                std::vector<TokenId>& tokens) {
  if (!is_utf8(source)) return TokeniseOutcome::not_utf8;
  std::string normalised;
  if (source.find('\r') != npos) {
    normalised = with_unix_newlines(source);
    source = normalised;
  }
  const std::size_t n_before = tokens.size();
  const TokeniseOutcome outcome = Tokeniser(source, end, table, tokens).run();
  if (outcome != TokeniseOutcome::complete) tokens.resize(n_before);
  return outcome;
}

}  // namespace labeltrees
