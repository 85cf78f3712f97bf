// Puts a file of MLIR's bytecode together from its parts.
#pragma once

#include "treadle/import/bytecode/Layout.h"

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace treadle::bytecode {

/// A number as files have it.
std::string varint(uint64_t value);
/// The same with the sign in the lowest bit.
std::string signedVarint(int64_t value);
std::string varints(std::initializer_list<uint64_t> values);

/// The tables of a file, and its operations, which whoever writes it appends to `ir`. Each `add`
/// gives the index of what it adds, which is that of an equal one where there is one.
class Assembly {
public:
  explicit Assembly(uint64_t version = Newest) : version(version) {}

  uint64_t addString(const std::string &text) { return strings.add(text); }
  uint64_t addAttribute(const std::string &dialect, const std::string &bytes) {
    return addEntry(attributes, dialect, bytes);
  }
  /// An attribute as MLIR's parser reads it.
  uint64_t addAttributeText(const std::string &dialect, const std::string &text) {
    return addEntry(attributes, dialect, text + '\0', /*isEncoded=*/false);
  }
  uint64_t addType(const std::string &dialect, const std::string &bytes) {
    return addEntry(types, dialect, bytes);
  }
  uint64_t addOp(const std::string &dialect, const std::string &name);
  /// What an op has as fields without names; for versions that have them.
  uint64_t addProperties(const std::string &bytes) {
    return properties.add(varint(bytes.size()) + bytes);
  }
  /// Attributes of an op of VHLO by name, sorted: its parts, and what stands for them.
  std::pair<uint8_t, std::string>
  fields(const std::vector<std::pair<std::string, uint64_t>> &named);

  std::string bytes() const;

  std::string producer = "StableHLO_v1.20.0", ir;
  const uint64_t version;

private:
  struct Table {
    uint64_t add(const std::string &item);
    std::vector<std::string> items;
    llvm::StringMap<uint64_t> places;
  };
  /// Attributes or types: heads for the table of offsets, and their bytes.
  struct Entry {
    uint64_t dialect;
    std::string bytes;
    bool isEncoded;
  };
  struct EntryTable {
    Table keys;
    std::vector<Entry> entries;
  };
  uint64_t addEntry(EntryTable &table, const std::string &dialect, const std::string &bytes,
                    bool isEncoded = true);
  static void writeEntries(const EntryTable &table, std::string &offsets, std::string &content);
  std::string dialectTable(Table &names) const;

  Table strings, dialects, properties;
  EntryTable ops, attributes, types;
};

/// A part with its length in front.
std::string sectionBytes(Section::Kind kind, const std::string &content);

} // namespace treadle::bytecode
