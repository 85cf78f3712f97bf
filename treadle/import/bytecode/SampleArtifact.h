// Writes small portable artifacts, for tests: also some that no writer would make.
#pragma once

#include "treadle/import/bytecode/Layout.h"

#include <algorithm>
#include <string>
#include <vector>

namespace treadle::bytecode {

/// A number as files have it.
inline std::string varint(uint64_t value) {
  constexpr uint64_t mostInEight = uint64_t{1} << 56;
  unsigned more = 0; // bytes behind the first
  while (more < 8 && value >= uint64_t{1} << 7 * (more + 1))
    ++more;
  bool isWhole = value >= mostInEight;
  uint64_t bits = isWhole ? value : (value << 1 | 1) << more;
  std::string bytes(isWhole ? 1 : 0, '\0');
  for (unsigned i = 0; i < (isWhole ? 8 : more + 1); ++i)
    bytes += static_cast<char>(bits >> 8 * i);
  return bytes;
}

inline std::string varints(std::initializer_list<uint64_t> values) {
  std::string bytes;
  for (uint64_t value : values)
    bytes += varint(value);
  return bytes;
}

/// The tables of a file, and its operations, which a test appends to `ir`. Each `add` gives the
/// index.
class Artifact {
public:
  explicit Artifact(uint64_t version = Newest) : version(version) {}

  uint64_t addString(const std::string &text) { return add(strings, text); }
  uint64_t addAttribute(const std::string &dialect, const std::string &bytes) {
    return add(attributes, varint(addDialect(dialect)) + varint(1) + entry(bytes), bytes);
  }
  uint64_t addType(const std::string &dialect, const std::string &bytes) {
    return add(types, varint(addDialect(dialect)) + varint(1) + entry(bytes), bytes);
  }
  uint64_t addOp(const std::string &dialect, const std::string &name) {
    uint64_t text = addString(name);
    return add(ops, varint(addDialect(dialect)) + varint(1) +
                        varint(version >= NativeProperties ? text << 1 | 1 : text));
  }
  /// Attributes of an op of VHLO by name, sorted: its parts, and what stands for them.
  std::pair<uint8_t, std::string> fields(std::vector<std::pair<std::string, uint64_t>> named);

  std::string bytes() const;

  std::string producer = "StableHLO_v1.20.0", ir;
  const uint64_t version;

private:
  struct Entry {
    std::string head, bytes;
  };
  static uint64_t add(std::vector<std::string> &table, const std::string &item);
  static uint64_t add(std::vector<Entry> &table, const std::string &head,
                      const std::string &bytes) {
    table.push_back({head, bytes});
    return table.size() - 1;
  }
  uint64_t addDialect(const std::string &name) { return add(dialects, name); }
  static std::string entry(const std::string &bytes) { return varint(bytes.size() << 1 | 1); }
  static std::string section(uint8_t kind, const std::string &content) {
    return static_cast<char>(kind) + varint(content.size()) + content;
  }
  std::string dialectTable(std::vector<std::string> &names) const;

  std::vector<std::string> strings, dialects, ops, properties;
  std::vector<Entry> attributes, types;
};

/// (x: tensor<4xf32>) -> tensor<f32>: the sum of x + [1, 2, 3, 4]. With parts of all kinds.
std::string sampleArtifact(uint64_t version = Newest);
/// The same as text.
extern const char *const sampleText;

} // namespace treadle::bytecode
