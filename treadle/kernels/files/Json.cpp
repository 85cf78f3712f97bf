#include "treadle/kernels/files/Json.h"

#include <cctype>

namespace treadle::json {
namespace {

constexpr int maxDepth = 100; // as in protobuf

void appendUtf8(std::string &out, uint32_t code) {
  auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80)
    return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Expected<Value> whole() {
    Value value = TREADLE_TRY(parseValue());
    skipSpace();
    if (at != text.size())
      return Unexpected(error("characters after the value"));
    return value;
  }

private:
  Error error(std::string_view what) const {
    return invalidArgument("the JSON text has ", what, " at byte ", at);
  }

  void skipSpace() {
    while (at < text.size() && std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos)
      ++at;
  }

  bool consume(char c) {
    skipSpace();
    bool isFound = at < text.size() && text[at] == c;
    at += isFound;
    return isFound;
  }

  Expected<Value> parseValue() {
    skipSpace();
    if (at == text.size())
      return Unexpected(error("no value"));
    if (depth == maxDepth)
      return Unexpected(error("too deep a value"));
    char c = text[at];
    if (c == '{' || c == '[') {
      ++at;
      ++depth;
      Expected<Value> value = c == '{' ? parseObject() : parseList();
      --depth;
      return value;
    }
    if (c == '"' || c == '\'')
      return Value{.kind = Value::Kind::String, .text = TREADLE_TRY(parseString())};
    return parseWord();
  }

  /// Parses a number, true, false or null.
  Expected<Value> parseWord() {
    size_t begin = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) ||
                                std::string_view("+-._").find(text[at]) != std::string_view::npos))
      ++at;
    std::string word(text.substr(begin, at - begin));
    bool isNumber = !word.empty() && (std::isdigit(static_cast<unsigned char>(word[0])) ||
                                      (word[0] == '-' && word.size() > 1));
    if (isNumber)
      return Value{.kind = Value::Kind::Number, .text = word};
    if (word == "null")
      return Value();
    if (word == "true" || word == "false")
      return Value{.kind = Value::Kind::Bool, .text = word};
    at = begin;
    return Unexpected(error("no value"));
  }

  Expected<Value> parseList() {
    Value list{.kind = Value::Kind::List};
    while (!consume(']')) {
      list.items.push_back(TREADLE_TRY(parseValue()));
      if (!consume(',')) {
        if (!consume(']'))
          return Unexpected(error("no ',' or ']'"));
        break;
      }
    }
    return list;
  }

  Expected<Value> parseObject() {
    Value object{.kind = Value::Kind::Object};
    while (!consume('}')) {
      object.names.push_back(TREADLE_TRY(parseName()));
      if (!consume(':'))
        return Unexpected(error("no ':'"));
      object.items.push_back(TREADLE_TRY(parseValue()));
      if (!consume(',')) {
        if (!consume('}'))
          return Unexpected(error("no ',' or '}'"));
        break;
      }
    }
    return object;
  }

  Expected<std::string> parseName() {
    skipSpace();
    if (at < text.size() && (text[at] == '"' || text[at] == '\''))
      return parseString();
    size_t begin = at;
    auto isPart = [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
    };
    while (at < text.size() && isPart(text[at]))
      ++at;
    if (at == begin)
      return Unexpected(error("no name"));
    return std::string(text.substr(begin, at - begin));
  }

  Expected<std::string> parseString() {
    char quote = text[at++];
    std::string out;
    while (at < text.size() && text[at] != quote) {
      if (text[at] != '\\')
        out += text[at++];
      else if (++at == text.size() || !parseEscape(out))
        return Unexpected(error("an unknown escape"));
    }
    if (at == text.size())
      return Unexpected(error("a string without an end"));
    ++at;
    return out;
  }

  bool parseEscape(std::string &out) {
    constexpr std::string_view names = "bfnrt", meanings = "\b\f\n\r\t";
    char c = text[at++];
    if (c == 'u')
      return parseCode(out);
    if (size_t i = names.find(c); i != std::string_view::npos)
      out += meanings[i];
    else
      out += c;
    return std::isalnum(static_cast<unsigned char>(c)) == 0 ||
           names.find(c) != std::string_view::npos;
  }

  bool parseHex(uint32_t &code) {
    code = 0;
    if (text.size() - at < 4)
      return false;
    for (int i = 0; i < 4; ++i) {
      char c = text[at++];
      if (!std::isxdigit(static_cast<unsigned char>(c)))
        return false;
      auto digit = static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
      code = code * 16 + digit;
    }
    return true;
  }

  /// Parses a code point; those above 0xffff are surrogate pairs.
  bool parseCode(std::string &out) {
    uint32_t code, second;
    if (!parseHex(code) || (code >= 0xdc00 && code < 0xe000))
      return false;
    if (code >= 0xd800 && code < 0xdc00) {
      if (text.substr(at, 2) != "\\u")
        return false;
      at += 2;
      if (!parseHex(second) || second < 0xdc00 || second >= 0xe000)
        return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
    appendUtf8(out, code);
    return true;
  }

  std::string_view text;
  size_t at = 0;
  int depth = 0;
};

} // namespace

Expected<Value> parse(std::string_view text) { return Parser(text).whole(); }

} // namespace treadle::json
