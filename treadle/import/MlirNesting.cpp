#include "treadle/import/MlirNesting.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <vector>

using llvm::StringRef;

namespace treadle {
namespace {

constexpr uint64_t deepestBrackets = 256, deepestAliases = 4096;
constexpr uint64_t longestAffine = 4096; // size in bytes of a map or set
// Limits the expansion of aliases: this many bytes, or this many times the size of the text.
constexpr uint64_t alwaysAllowed = 64 << 20, maxTimes = 1000;

/// Reads tokens as far as needed to count nesting; the parser reports malformed text.
class NestingCheck {
public:
  explicit NestingCheck(StringRef text) : text(text) {}

  Expected<void> run() {
    while (at < text.size() && problem.empty())
      step();
    if (problem.empty())
      return {};
    size_t line = 1 + text.take_front(at).count('\n');
    return Unexpected(invalidArgument("line ", line, ": ", problem));
  }

private:
  /// The nesting depth and text size of an alias's value.
  struct AliasExtent {
    uint64_t depth = 0, size = 0;
  };

  void step() {
    char c = text[at];
    if (c == '"')
      skipString();
    else if (c == '/' && text.substr(at).starts_with("//"))
      at = std::min(text.find('\n', at), text.size());
    else if (c == '#' || c == '!')
      alias();
    else if (c == '-' && text.substr(at).starts_with("->"))
      at += 2;
    else if (c == '>' && text.substr(at).starts_with(">="))
      at += 2;
    else if (StringRef("([{<").contains(c))
      open(c);
    else if (StringRef(")]}>").contains(c))
      close(c);
    else if (llvm::isAlpha(c))
      word();
    else
      ++at;
    if (c == '\n' && brackets.empty())
      endDefinition();
    if (affineDepth != none && at - affineBegin > longestAffine)
      problem = "an affine map or set is implausibly long";
  }

  void skipString() {
    for (++at; at < text.size() && text[at] != '"'; ++at)
      at += text[at] == '\\';
    ++at;
  }

  StringRef takeName() {
    StringRef name = text.substr(at).take_while(
        [](char c) { return llvm::isAlnum(c) || StringRef("_$.-").contains(c); });
    at += name.size();
    return name;
  }

  void word() {
    StringRef name = takeName();
    bool isAffine = name == "affine_map" || name == "affine_set";
    if (isAffine && affineDepth == none && text.substr(at).starts_with("<")) {
      open('<');
      affineDepth = brackets.size();
      affineBegin = at;
    }
  }

  /// `#name` in a definition or use. Dialect names aren't aliases.
  void alias() {
    size_t begin = at++;
    StringRef name = text.slice(begin, at + takeName().size());
    StringRef rest = text.substr(at).ltrim(" \t");
    if (brackets.empty() && rest.starts_with("=") && !rest.starts_with("==")) {
      endDefinition();
      defined = name;
      definedAt = begin;
      return;
    }
    if (auto known = aliases.find(name); known != aliases.end())
      use(known->second);
  }

  void use(const AliasExtent &used) {
    extent.depth = std::max(extent.depth, brackets.size() + used.depth);
    extent.size += used.size;
    if (extent.depth > deepestAliases)
      problem = "aliases are nested too deep";
    if (!defined.empty() && extent.size > alwaysAllowed + maxTimes * text.size())
      problem = "its aliases expand to implausibly much text";
  }

  void endDefinition() {
    if (!defined.empty()) {
      extent.size += at - definedAt;
      aliases[defined] = extent;
    }
    defined = {};
    extent = {};
  }

  void open(char c) {
    ++at;
    brackets.push_back(c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : '>');
    extent.depth = std::max<uint64_t>(extent.depth, brackets.size());
    if (brackets.size() > deepestBrackets)
      problem = "brackets are nested too deep";
  }

  /// Discards unmatched brackets inside it, because a `<` may be an operator.
  void close(char c) {
    ++at;
    auto opened = std::find(brackets.rbegin(), brackets.rend(), c);
    bool isStray = c == '>' && (brackets.empty() || brackets.back() != '>');
    if (opened != brackets.rend() && !isStray)
      brackets.erase(opened.base() - 1, brackets.end());
    if (brackets.size() < affineDepth)
      affineDepth = none;
  }

  static constexpr size_t none = static_cast<size_t>(-1);
  StringRef text;
  size_t at = 0;
  std::vector<char> brackets;                 // the closing brackets of the open ones
  size_t affineDepth = none, affineBegin = 0; // the map or set around `at`
  llvm::StringMap<AliasExtent> aliases;
  StringRef defined; // the alias whose definition this is
  size_t definedAt = 0;
  AliasExtent extent;
  std::string problem;
};

} // namespace

Expected<void> checkMlirNesting(std::string_view text) { return NestingCheck(text).run(); }

} // namespace treadle
