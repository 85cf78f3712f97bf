#include "treadle/import/OldSpelling.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

using llvm::StringRef;

namespace treadle {
namespace {

/// Returns the current name of an std operation whose other syntax is unchanged.
StringRef currentName(StringRef name) {
  static const llvm::StringMap<StringRef> names = {
      {"func", "func.func"},          {"br", "cf.br"},
      {"cond_br", "cf.cond_br"},      {"switch", "cf.switch"},
      {"assert", "cf.assert"},        {"return", "func.return"},
      {"call", "func.call"},          {"call_indirect", "func.call_indirect"},
      {"constant", "arith.constant"}, {"addi", "arith.addi"},
      {"addf", "arith.addf"},         {"subi", "arith.subi"},
      {"subf", "arith.subf"},         {"muli", "arith.muli"},
      {"mulf", "arith.mulf"},         {"divf", "arith.divf"},
      {"divi_signed", "arith.divsi"}, {"remi_signed", "arith.remsi"},
      {"cmpi", "arith.cmpi"},         {"cmpf", "arith.cmpf"},
      {"and", "arith.andi"},          {"or", "arith.ori"},
      {"xor", "arith.xori"},          {"select", "arith.select"},
      {"negf", "arith.negf"},         {"index_cast", "arith.index_cast"},
      {"sitofp", "arith.sitofp"},     {"fptosi", "arith.fptosi"},
      {"trunci", "arith.trunci"},     {"dim", "tensor.dim"},
  };
  auto it = names.find(name);
  return it == names.end() ? StringRef() : it->second;
}

/// Scans a text word by word, skipping strings and comments.
class SpellingUpdater {
public:
  explicit SpellingUpdater(StringRef text) : text(text) {}

  std::string run() {
    while (at < text.size())
      step();
    return result + text.substr(copied).str();
  }

private:
  void step() {
    char c = text[at];
    if (c == '"')
      string();
    else if (c == '/' && text.substr(at).starts_with("//"))
      at = std::min(text.find('\n', at), text.size());
    else if (llvm::isAlpha(c))
      word();
    else if (StringRef("%@#!^").contains(c))
      beginsOp = false, ++at, takeWord();
    else if (c == ')')
      ++at, endTypes();
    else
      symbol(c);
  }

  StringRef takeWord() {
    StringRef word = text.substr(at).take_while(
        [](char c) { return llvm::isAlnum(c) || StringRef("_$.-").contains(c); });
    at += word.size();
    return word;
  }

  /// `"std.br"(...)` is the generic form.
  void string() {
    size_t begin = at;
    for (++at; at < text.size() && text[at] != '"'; ++at)
      at += text[at] == '\\';
    StringRef name = text.slice(begin + 1, std::min(at, text.size()));
    at = std::min(at + 1, text.size());
    if (beginsOp && name.consume_front("std.") && text.substr(at).starts_with("("))
      replace(begin, "\"" + newName(name) + "\"");
    isGeneric = beginsOp;
    beginsOp = false;
  }

  /// Documentation omits the results of operations without results: `"tf.Yield"(%x) :
  /// (tensor<f32>)`.
  void endTypes() {
    StringRef line = text.take_front(at);
    line = line.substr(line.rfind('\n') + 1);
    size_t open = line.rfind(" : (");
    bool isList = isGeneric && open != StringRef::npos && line.count('(') == line.count(')') &&
                  !line.substr(open).contains("->");
    StringRef rest = text.substr(at).ltrim(" \t");
    if (!isList || !rest.starts_with("\n") || rest.ltrim().starts_with("->"))
      return;
    result += text.slice(copied, at).str() + " -> ()";
    copied = at;
  }

  void word() {
    size_t begin = at;
    StringRef name = takeWord();
    if (beginsOp && isOld(name))
      replace(begin, newName(name));
    beginsOp = false;
  }

  bool isOld(StringRef &name) const {
    if (name.consume_front("std."))
      return !currentName(name).empty();
    if (name == "builtin.func")
      return name.consume_front("builtin.");
    // Ops of func need no dialect prefix in a function.
    StringRef today = currentName(name), rest = text.substr(at).ltrim(" \t");
    bool isAttribute = rest.starts_with("=");
    if (today.empty() || isAttribute || (today.starts_with("func.") && name != "func"))
      return false;
    if (name == "func")
      return rest.starts_with("@") || rest.starts_with("private ") || rest.starts_with("public ") ||
             rest.starts_with("nested ");
    return text.substr(at).starts_with(" ") && (name != "constant" || !rest.starts_with("@"));
  }

  static std::string newName(StringRef name) {
    StringRef today = currentName(name);
    return today.empty() ? ("std." + name).str() : today.str();
  }

  void replace(size_t begin, const std::string &name) {
    result += text.slice(copied, begin);
    result += name;
    copied = at;
  }

  /// An operation begins a line, or follows `=`, a brace or the colon of a label.
  void symbol(char c) {
    ++at;
    isGeneric &= c != '\n';
    if (StringRef("\n={}").contains(c))
      beginsOp = true;
    else if (!llvm::isSpace(c))
      beginsOp = false;
  }

  StringRef text;
  size_t at = 0, copied = 0;
  bool beginsOp = true;
  bool isGeneric = false; // whether the line has an operation in the generic form
  std::string result;
};

} // namespace

std::string withCurrentSpelling(std::string_view text) { return SpellingUpdater(text).run(); }

} // namespace treadle
