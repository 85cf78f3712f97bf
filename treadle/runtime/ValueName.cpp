#include "treadle/runtime/ValueName.h"

#include <charconv>
#include <optional>

namespace treadle {

static std::optional<IterationSelector> parseSelector(std::string_view text) {
  if (text == "last")
    return IterationSelector{IterationSelector::Last, 0};
  if (text == "*")
    return IterationSelector{IterationSelector::All, 0};
  int64_t k;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), k);
  if (error != std::errc() || end != text.data() + text.size() || k < 0)
    return std::nullopt;
  return IterationSelector{IterationSelector::At, k};
}

Expected<ValueName> parseValueName(std::string_view text) {
  ValueName name;
  std::string_view rest = text;
  size_t at = rest.find('@');
  std::string_view selectors = at == std::string_view::npos ? "" : rest.substr(at);
  rest = rest.substr(0, at);
  while (!selectors.empty()) {
    size_t end = selectors.find_first_of("@,", 1);
    std::string_view one = selectors.substr(1, end == std::string_view::npos ? end : end - 1);
    std::optional<IterationSelector> selector = parseSelector(one);
    if (!selector)
      return Unexpected(invalidArgument("'", text, "': iteration '", one,
                                        "' is not a number from 0, 'last' or '*'"));
    name.iterations.push_back(*selector);
    selectors = end == std::string_view::npos ? "" : selectors.substr(end);
  }
  if (size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
    std::string_view number = rest.substr(colon + 1);
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), name.output);
    if (error != std::errc() || end != number.data() + number.size() || name.output < 0)
      return Unexpected(
          invalidArgument("'", text, "': expected an output number after the colon, as in 'x:0'"));
    rest = rest.substr(0, colon);
  }
  if (rest.empty())
    return Unexpected(invalidArgument("'", text, "' has no node name; expected a name like 'x:0'"));
  name.node = std::string(rest);
  return name;
}

std::string nodeOf(std::string_view valueName) {
  return std::string(valueName.substr(0, valueName.find(':')));
}

std::string withOutput(std::string_view valueName) {
  return std::string(valueName) + (valueName.find(':') == valueName.npos ? ":0" : "");
}

} // namespace treadle
