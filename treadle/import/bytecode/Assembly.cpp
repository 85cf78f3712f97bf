#include "treadle/import/bytecode/Assembly.h"

#include "llvm/ADT/STLExtras.h"

using namespace treadle;
using namespace treadle::bytecode;

std::string bytecode::varint(uint64_t value) {
  constexpr uint64_t maxInEight = uint64_t{1} << 56;
  unsigned more = 0; // bytes after the first
  while (more < 8 && value >= uint64_t{1} << 7 * (more + 1))
    ++more;
  bool isWhole = value >= maxInEight;
  uint64_t bits = isWhole ? value : (value << 1 | 1) << more;
  std::string bytes(isWhole ? 1 : 0, '\0');
  for (unsigned i = 0; i < (isWhole ? 8 : more + 1); ++i)
    bytes += static_cast<char>(bits >> 8 * i);
  return bytes;
}

std::string bytecode::signedVarint(int64_t value) {
  auto bits = static_cast<uint64_t>(value);
  return varint(value < 0 ? ~(bits << 1) : bits << 1);
}

std::string bytecode::varints(std::initializer_list<uint64_t> values) {
  std::string bytes;
  for (uint64_t value : values)
    bytes += varint(value);
  return bytes;
}

std::string bytecode::sectionBytes(Section::Kind kind, const std::string &content) {
  return static_cast<char>(kind) + varint(content.size()) + content;
}

uint64_t Assembly::Table::add(const std::string &item) {
  auto [place, isNew] = places.try_emplace(item, items.size());
  if (isNew)
    items.push_back(item);
  return place->second;
}

uint64_t Assembly::addEntry(EntryTable &table, const std::string &dialect, const std::string &bytes,
                            bool isEncoded) {
  uint64_t number = dialects.add(dialect);
  uint64_t place = table.keys.add(varint(number << 1 | (isEncoded ? 1 : 0)) + bytes);
  if (place == table.entries.size())
    table.entries.push_back({number, bytes, isEncoded});
  return place;
}

uint64_t Assembly::addOp(const std::string &dialect, const std::string &name) {
  constexpr uint64_t isRegistered = 1;
  uint64_t text = addString(name);
  uint64_t entry = version >= NativeProperties ? text << 1 | isRegistered : text;
  return addEntry(ops, dialect, varint(entry));
}

std::pair<uint8_t, std::string>
Assembly::fields(const std::vector<std::pair<std::string, uint64_t>> &named) {
  constexpr uint8_t isDictionary = 1, isFields = 64;
  std::string content;
  if (version >= NativeProperties) {
    for (const auto &[name, value] : named)
      content += varint(value);
    return {isFields, varint(addProperties(content))};
  }
  content = varints({1, named.size()});
  for (const auto &[name, value] : named)
    content += varints({addAttribute("builtin", varints({2, addString(name)})), value});
  return {isDictionary, varint(addAttribute("builtin", content))};
}

/// Each op is a group of its own, since dialects rarely alternate.
std::string Assembly::dialectTable(Table &names) const {
  std::string table = varint(dialects.items.size());
  for (const std::string &dialect : dialects.items) {
    uint64_t name = names.add(dialect);
    table += varint(version >= DialectVersions ? name << 1 : name);
  }
  if (version >= ShortArguments)
    table += varint(ops.entries.size());
  for (const Entry &op : ops.entries)
    table += varints({op.dialect, 1}) + op.bytes;
  return table;
}

void Assembly::writeEntries(const EntryTable &table, std::string &offsets, std::string &content) {
  const auto &entries = table.entries;
  for (size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
    while (end < entries.size() && entries[end].dialect == entries[begin].dialect)
      ++end;
    offsets += varints({entries[begin].dialect, end - begin});
    for (const Entry &entry : llvm::ArrayRef(entries).slice(begin, end - begin)) {
      offsets += varint(entry.bytes.size() << 1 | (entry.isEncoded ? 1 : 0));
      content += entry.bytes;
    }
  }
}

std::string Assembly::bytes() const {
  Table names = strings;
  std::string table = dialectTable(names);
  std::string sizes, texts, entries;
  std::string offsets = varints({attributes.entries.size(), types.entries.size()});
  for (const std::string &name : llvm::reverse(names.items))
    sizes += varint(name.size() + 1);
  for (const std::string &name : names.items)
    texts += name + '\0';
  writeEntries(attributes, offsets, entries);
  writeEntries(types, offsets, entries);
  std::string file = "ML\xefR" + varint(version) + producer + '\0';
  file += sectionBytes(Section::Dialects, table) + sectionBytes(Section::Entries, entries) +
          sectionBytes(Section::EntryOffsets, offsets) + sectionBytes(Section::Operations, ir) +
          sectionBytes(Section::Strings, varint(names.items.size()) + sizes + texts);
  if (version < NativeProperties)
    return file;
  std::string all = varint(properties.items.size());
  for (const std::string &fields : properties.items)
    all += fields;
  return file + sectionBytes(Section::Properties, all);
}
