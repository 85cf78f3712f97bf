// All readers of untrusted bytes: one function each, for the fuzzer, for corrupted seeds and for
// bombs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace treadle::fuzz {

struct Reader {
  std::string_view name;
  /// Reads the bytes as far as possible. Must return for any bytes.
  void (*read)(std::string_view bytes);
  /// Small valid inputs.
  std::vector<std::string> (*seeds)();
};

/// Sorted by name.
std::span<const Reader> allReaders();
const Reader *findReader(std::string_view name);

/// Splits an input into parts, each prefixed with its length in two bytes; the last one may be
/// shorter.
std::vector<std::string_view> partsOf(std::string_view bytes);
std::string joinParts(const std::vector<std::string> &parts);

/// Writes the bytes to a file in this process's temporary folder and returns its path.
std::string writeTempFile(std::string_view bytes, std::string_view name);

std::span<const Reader> graphReaders();
std::span<const Reader> arrayReaders();
std::span<const Reader> mediaReaders();
std::span<const Reader> toolReaders();

} // namespace treadle::fuzz
