// Parser of shape signatures (Signature.h).
#include "treadle/shapes/Signature.h"

#include <charconv>

namespace treadle {
namespace {

using Item = Signature::Item;
using Operand = Signature::Operand;

bool isSmall(char c) { return c >= 'a' && c <= 'z'; }
bool isCapital(char c) { return c >= 'A' && c <= 'Z'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The unread part of the text, and whether it was valid so far.
class SignatureReader {
public:
  explicit SignatureReader(std::string_view text) : text(text) {}

  bool failed = false;

  bool isAtEnd() {
    skipSpace();
    return text.empty();
  }
  char peek() {
    skipSpace();
    return text.empty() ? '\0' : text.front();
  }
  bool consume(char c) {
    if (peek() != c || text.empty())
      return false;
    text.remove_prefix(1);
    return true;
  }
  void expect(char c) { failed |= !consume(c); }

  int64_t number() {
    int64_t value = 0;
    skipSpace();
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    failed |= error != std::errc();
    text.remove_prefix(end - text.data());
    return value;
  }

  /// Reads an attribute name in braces.
  std::string_view key() {
    expect('{');
    size_t end = text.find('}');
    failed |= end == std::string_view::npos || end == 0;
    if (failed)
      return {};
    std::string_view out = text.substr(0, end);
    text.remove_prefix(end + 1);
    return out;
  }

  char letter() {
    char c = text.front();
    text.remove_prefix(1);
    return c;
  }

  const char *at() const { return text.data(); }

private:
  void skipSpace() {
    while (!text.empty() && text.front() == ' ')
      text.remove_prefix(1);
  }

  std::string_view text;
};

Item parseItem(SignatureReader &in) {
  char c = in.peek();
  if (in.consume('?'))
    return {};
  if (in.consume('$')) {
    Item out{Item::Input, in.number()};
    if (in.consume('.'))
      out.element = in.number();
    return out;
  }
  if (c == '{') {
    Item out{Item::Attribute};
    out.key = in.key();
    return out;
  }
  if (isDigit(c)) {
    Item out{Item::Number, in.number()};
    if (isSmall(in.peek())) {
      out.kind = Item::Letter;
      out.letter = in.letter();
    }
    return out;
  }
  in.failed |= !isSmall(c) && !isCapital(c);
  if (in.failed)
    return {};
  Item out{isSmall(c) ? Item::Letter : Item::Sequence, 1};
  out.letter = in.letter();
  return out;
}

Operand parseOperand(SignatureReader &in) {
  Operand out;
  const char *start = (in.peek(), in.at());
  if (in.consume('*')) {
    out.kind = Operand::Any;
  } else if (in.consume('=')) {
    out.kind = Operand::FromInput;
    out.input = in.number();
  } else if (in.peek() == '{') {
    out.kind = Operand::FromAttribute;
    out.key = in.key();
  } else if (in.consume('[')) {
    out.kind = Operand::Pattern;
    if (!in.consume(']')) {
      do
        out.items.push_back(parseItem(in));
      while (!in.failed && in.consume(','));
      in.expect(']');
    }
  } else {
    out.kind = Operand::Pattern;
    in.failed |= !isCapital(in.peek());
    if (!in.failed)
      out.items.push_back(parseItem(in));
  }
  out.text = std::string_view(start, in.at() - start);
  if (!in.failed && in.consume(':'))
    out.held = std::make_shared<Operand>(parseOperand(in));
  out.isRepeated = in.consume('+');
  return out;
}

// Whether there is at most one variadic operand; with two, the end of the first would be ambiguous.
bool isUnambiguous(const std::vector<Operand> &operands, bool isInput) {
  for (size_t i = 0; i < operands.size(); ++i) {
    int sequences = 0;
    for (const Item &item : operands[i].items)
      sequences += item.kind == Item::Sequence;
    if ((isInput && sequences > 1) || (operands[i].isRepeated && i + 1 != operands.size()))
      return false;
  }
  return true;
}

} // namespace

std::optional<Signature> Signature::parse(std::string_view text) {
  SignatureReader in(text);
  Signature out;
  if (in.peek() != '-')
    do
      out.inputs.push_back(parseOperand(in));
    while (!in.failed && in.consume(','));
  in.expect('-');
  in.expect('>');
  if (!in.failed && !in.isAtEnd())
    do
      out.outputs.push_back(parseOperand(in));
    while (!in.failed && in.consume(','));
  if (in.failed || !in.isAtEnd() || !isUnambiguous(out.inputs, true) ||
      !isUnambiguous(out.outputs, false))
    return std::nullopt;
  return out;
}

bool Signature::fits(const std::vector<Operand> &operands, size_t count) {
  bool isList = !operands.empty() && operands.back().isRepeated;
  return isList ? count + 1 >= operands.size() : count == operands.size();
}

} // namespace treadle
