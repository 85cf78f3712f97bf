#include "treadle/runtime/Modes.h"
#include "treadle/runtime/Denormals.h"

#include <span>
#include <utility>

namespace treadle {

template <typename Mode>
static Expected<Mode> parseMode(std::string_view text, std::string_view what,
                                std::span<const std::pair<std::string_view, Mode>> words) {
  std::string expected;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].first == text)
      return words[i].second;
    expected += str(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", "'", words[i].first, "'");
  }
  return Unexpected(invalidArgument(what, " is '", text, "', expected ", expected));
}

Expected<Tier> parseTier(std::string_view text) {
  static constexpr std::pair<std::string_view, Tier> words[] = {
      {"auto", Tier::Auto}, {"interpret", Tier::Interpret}, {"jit", Tier::Jit}};
  return parseMode<Tier>(text, "tier", words);
}

Expected<LoopOverlap> parseLoopOverlap(std::string_view text) {
  static constexpr std::pair<std::string_view, LoopOverlap> words[] = {
      {"auto", LoopOverlap::Auto}, {"on", LoopOverlap::On}, {"off", LoopOverlap::Off}};
  return parseMode<LoopOverlap>(text, "loop overlap", words);
}

Expected<Denormals> parseDenormals(std::string_view text) {
  static constexpr std::pair<std::string_view, Denormals> words[] = {{"flush", Denormals::Flush},
                                                                     {"keep", Denormals::Keep}};
  return parseMode<Denormals>(text, "denormals", words);
}

} // namespace treadle
