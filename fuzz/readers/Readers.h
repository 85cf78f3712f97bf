// Everything that reads bytes which anybody may have written: one function each, for the fuzzer,
// for damaged seeds and for bombs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace treadle::fuzz {

struct Reader {
  std::string_view name;
  /// Reads the bytes as far as they go. Whatever they are, it comes back.
  void (*read)(std::string_view bytes);
  /// Small good inputs.
  std::vector<std::string> (*seeds)();
};

/// By name.
std::span<const Reader> allReaders();
const Reader *findReader(std::string_view name);

/// Parts of one input, each with two bytes for its length in front; the last one may be shorter.
std::vector<std::string_view> partsOf(std::string_view bytes);
std::string joinParts(const std::vector<std::string> &parts);

/// A file with these bytes in this process's folder of temporary files; its path.
std::string fileOf(std::string_view bytes, std::string_view name);

std::span<const Reader> graphReaders();
std::span<const Reader> arrayReaders();
std::span<const Reader> mediaReaders();
std::span<const Reader> toolReaders();

} // namespace treadle::fuzz
