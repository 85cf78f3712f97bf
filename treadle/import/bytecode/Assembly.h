// Writes MLIR bytecode files from their parts.
#pragma once

#include "treadle/import/bytecode/Layout.h"

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace treadle::bytecode {

/// Encodes a number as a varint.
std::string varint(uint64_t value);
/// Encodes a signed number with the sign in the lowest bit.
std::string signedVarint(int64_t value);
std::string varints(std::initializer_list<uint64_t> values);

/// The tables of a file and its operations, which the writer appends to `ir`. Each `add` returns
/// the index of the entry, which is shared by equal entries.
class Assembly {
public:
  explicit Assembly(uint64_t version = Newest) : version(version) {}

  uint64_t addString(const std::string &text) { return strings.add(text); }
  uint64_t addAttribute(const std::string &dialect, const std::string &bytes) {
    return addEntry(attributes, dialect, bytes);
  }
  /// Adds an attribute in the syntax of MLIR's parser.
  uint64_t addAttributeText(const std::string &dialect, const std::string &text) {
    return addEntry(attributes, dialect, text + '\0', /*isEncoded=*/false);
  }
  uint64_t addType(const std::string &dialect, const std::string &bytes) {
    return addEntry(types, dialect, bytes);
  }
  uint64_t addOp(const std::string &dialect, const std::string &name);
  /// Adds an op's properties (fields without names), for versions that have them.
  uint64_t addProperties(const std::string &bytes) {
    return properties.add(varint(bytes.size()) + bytes);
  }
  /// Adds the attributes of a VHLO op, sorted by name; returns the flag and the bytes by which the
  /// op refers to them.
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
  /// Attributes or types: entries of the offset table, and their bytes.
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

/// Encodes a section: kind, length, content.
std::string sectionBytes(Section::Kind kind, const std::string &content);

} // namespace treadle::bytecode
