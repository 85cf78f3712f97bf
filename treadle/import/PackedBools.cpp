#include "treadle/import/PackedBools.h"

#include "llvm/ADT/StringExtras.h"

#include <cstdint>

using llvm::StringRef;

namespace treadle {

/// Returns the number of elements of a type such as `tensor<2x3xi1>`; 0 for other types and for
/// more than `most` elements.
static uint64_t numBools(StringRef type, uint64_t most) {
  if (!type.consume_front("tensor<"))
    return 0;
  uint64_t count = 1, size = 0;
  while (!type.consumeInteger(10, size)) {
    if (!type.consume_front("x") || size > most)
      return 0;
    count *= size;
    if (count > most)
      return 0;
  }
  return type.starts_with("i1>") ? count : 0;
}

/// Packs the hex digits of bytes that are 0 or 1 into hex digits of bits, lowest bit first.
static std::string packed(StringRef digits) {
  std::string bytes(((digits.size() / 2) + 7) / 8, '\0');
  for (size_t i = 0; i < digits.size() / 2; ++i)
    if (digits[2 * i + 1] != '0')
      bytes[i / 8] = static_cast<char>(bytes[i / 8] | (1 << (i % 8)));
  return llvm::toHex(bytes);
}

std::string withPackedBools(std::string_view text) {
  constexpr StringRef begin = "dense<\"0x", middle = "\"> : ";
  std::string result;
  StringRef rest(text);
  for (size_t at; (at = rest.find(begin)) != StringRef::npos;) {
    at += begin.size();
    result += rest.take_front(at);
    rest = rest.drop_front(at);
    StringRef digits = rest.take_while(llvm::isHexDigit);
    rest = rest.drop_front(digits.size());
    uint64_t count = digits.size() / 2;
    bool isBytes = count > 1 && rest.starts_with(middle) &&
                   numBools(rest.drop_front(middle.size()), count) == count;
    result += isBytes ? packed(digits) : digits.str();
  }
  result += rest;
  return result;
}

} // namespace treadle
