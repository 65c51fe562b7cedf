// Python source code to tokens, exactly as the `tokenize` module of CPython 3.11 splits it.
#pragma once

#include <string_view>
#include <vector>

#include "labeltrees/python_source/token_table.hpp"

namespace labeltrees {

// Why a source is not tokens; all but complete mean "skip this file".
enum class TokeniseOutcome {
  complete,
  not_utf8,
  open_string,     // the text ends in a string over several lines
  open_statement,  // the text ends within brackets, or after a backslash
  bad_dedent,      // a line's indentation matches no line around it
};

const char* describe(TokeniseOutcome outcome) noexcept;

enum class SourceEnd {
  of_file,   // the last line and the open blocks end here
  of_typed,  // more text follows: no construct is closed, and no open construct is an error
};

// Appends the tokens of a UTF-8 source to tokens. Names and operators are themselves; numbers,
// strings (with their prefix: an f-string is one token), ends of logical lines, indents and
// dedents are marks; comments, blank lines and characters no token starts with give nothing.
// \r\n and \r count as \n, as in a file read in text mode. A byte order mark gives nothing.
//
// On any outcome but complete, tokens is as before; the table may have new entries. With
// SourceEnd::of_typed the only such outcome is not_utf8: an unfinished string gives nothing, a
// dedent to no known column goes to the nearest one to the left, and white space that ends the
// text is the indentation of the line to come (nothing if the text ends in a line's end).
//
// O(length) for every input. Throws only when memory runs out.
TokeniseOutcome tokenise_python(std::string_view source, SourceEnd end, TokenTable& table,
                                std::vector<TokenId>& tokens);

}  // namespace labeltrees
