// Internal to the view: interned strings and columns of numbers, as bytes.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace treadle::view {

/// Interned strings. 0 is the empty string.
class Strings {
public:
  Strings() { number(""); }
  /// Returns the index of a string. Invalid UTF-8 is replaced with U+FFFD.
  uint32_t number(llvm::StringRef text);
  std::string_view operator[](uint32_t number) const;

  std::string bytes;
  std::vector<uint32_t> ends;

private:
  llvm::StringMap<uint32_t> known;
};

/// Writes the format that Scene.h describes.
class ColumnFile {
public:
  template <typename T> void add(llvm::StringRef name, const std::vector<T> &values) {
    constexpr const char *type = sizeof(T) == 1 ? "u8" : std::is_signed_v<T> ? "i32" : "u32";
    static_assert(sizeof(T) == 1 || sizeof(T) == 4);
    add(name, type, values.size(), values.data(), values.size() * sizeof(T));
  }
  void add(const Strings &strings);

  /// `members` writes the other members of the header.
  std::string finish(llvm::function_ref<void(llvm::json::OStream &)> members) const;

private:
  struct Column {
    std::string name;
    const char *type;
    size_t begin, length;
  };
  void add(llvm::StringRef name, const char *type, size_t length, const void *data, size_t size);

  std::vector<Column> columns;
  std::string body;
};

/// Returns the text as valid UTF-8 for JSON.
std::string validText(llvm::StringRef text);

} // namespace treadle::view
