// Input that the fuzzers share. The first bytes of an input choose options; the rest is the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace labeltrees::fuzz {

// Ends the process, as a sanitizer does, with what was found to be wrong.
inline void need(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "NOT SO: %s\n", what);
  std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

  // The next choice, 0 at the end.
  unsigned choose(unsigned n) noexcept {
    if (left_ == 0) return 0;
    --left_;
    return *at_++ % n;
  }
  // The rest, in memory of just this size, so that a sanitizer sees every byte read past its end.
  std::string_view text() {
    copy_ = std::make_unique<char[]>(left_);
    for (std::size_t i = 0; i < left_; ++i) copy_[i] = static_cast<char>(at_[i]);
    return {copy_.get(), left_};
  }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
  std::unique_ptr<char[]> copy_;
};

}  // namespace labeltrees::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
