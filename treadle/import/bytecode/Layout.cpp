#include "treadle/import/bytecode/Layout.h"

#include <array>
#include <optional>

using namespace treadle;
using namespace treadle::bytecode;

namespace {

class LayoutReader {
public:
  explicit LayoutReader(StringRef file) : at(file) {}

  Expected<Layout> read();

private:
  Expected<void> readHeader();
  Expected<void> readSections();
  Expected<Cursor> section(Section::Kind kind, StringRef name) const;
  Expected<void> readStrings(Cursor from);
  Expected<void> readDialects(Cursor from);
  Expected<void> readDialect(Cursor &from);
  Expected<void> readOpNames(Cursor &from);
  Expected<void> readEntries(Cursor offsets, Cursor content);
  Expected<void> readGroup(Cursor &offsets, Cursor &content, SmallVector<EntryBytes, 0> &out,
                           size_t count);
  Expected<void> readProperties();
  Expected<StringRef> stringAt(const Cursor &from, uint64_t index) const;

  Cursor at;
  Layout layout;
  std::array<std::optional<Cursor>, Section::numKinds> sections;
  SmallVector<StringRef, 0> dialects;
};

} // namespace

Expected<Section> bytecode::readSection(Cursor &from) {
  constexpr uint8_t isAligned = 0x80;
  uint8_t head = TREADLE_TRY(from.byte());
  uint64_t size = TREADLE_TRY(from.varint());
  uint8_t kind = head & ~isAligned;
  if (kind >= Section::numKinds)
    return Unexpected(from.damaged("a section of unknown kind ", int(kind)));
  if (head & isAligned)
    TREADLE_TRY(from.align(TREADLE_TRY(from.varint())));
  return Section{static_cast<Section::Kind>(kind), TREADLE_TRY(from.take(size))};
}

Expected<void> LayoutReader::readHeader() {
  constexpr StringRef magic("ML\xefR", 4);
  if (TREADLE_TRY(at.bytes(magic.size())) != magic)
    return Unexpected(at.damaged("the magic bytes of MLIR bytecode are missing"));
  layout.version = TREADLE_TRY(at.varint());
  layout.producer = TREADLE_TRY(at.text());
  if (layout.version > Newest)
    return Unexpected(unimplemented("the MLIR bytecode has version ", layout.version,
                                    ", expected at most ", int(Newest)));
  return {};
}

Expected<void> LayoutReader::readSections() {
  while (!at.empty()) {
    Section found = TREADLE_TRY(readSection(at));
    if (sections[found.kind])
      return Unexpected(
          found.content.damaged("a section of kind ", int(found.kind), " appears twice"));
    sections[found.kind] = found.content;
  }
  return {};
}

Expected<Cursor> LayoutReader::section(Section::Kind kind, StringRef name) const {
  if (!sections[kind])
    return Unexpected(at.damaged("the section of ", name.str(), " is missing"));
  return *sections[kind];
}

/// Lengths come first, those of the last strings first; each includes the terminating zero.
Expected<void> LayoutReader::readStrings(Cursor from) {
  size_t count = TREADLE_TRY(from.count());
  SmallVector<uint64_t, 0> sizes(count);
  for (uint64_t &size : sizes)
    size = TREADLE_TRY(from.varint());
  for (uint64_t size : llvm::reverse(sizes)) {
    StringRef text = TREADLE_TRY(from.bytes(size));
    if (!text.consume_back(StringRef("\0", 1)))
      return Unexpected(from.damaged("a string doesn't end with a zero"));
    layout.strings.push_back(text);
  }
  return {};
}

Expected<StringRef> LayoutReader::stringAt(const Cursor &from, uint64_t index) const {
  if (index >= layout.strings.size())
    return Unexpected(from.damaged("string ", index, " is out of range, expected less than ",
                                   layout.strings.size()));
  return layout.strings[index];
}

Expected<void> LayoutReader::readDialect(Cursor &from) {
  uint64_t name = TREADLE_TRY(from.varint());
  if (layout.version >= DialectVersions) {
    bool hasVersion = name & 1;
    name >>= 1;
    if (hasVersion)
      TREADLE_TRY(readSection(from));
  }
  dialects.push_back(TREADLE_TRY(stringAt(from, name)));
  return {};
}

Expected<void> LayoutReader::readOpNames(Cursor &from) {
  StringRef dialect = dialects[TREADLE_TRY(from.index(dialects.size(), "dialect"))];
  size_t count = TREADLE_TRY(from.count());
  for (size_t i = 0; i < count; ++i) {
    uint64_t name = TREADLE_TRY(from.varint());
    if (layout.version >= NativeProperties)
      name >>= 1; // a flag tells whether the writer had the op registered
    layout.ops.push_back({dialect, TREADLE_TRY(stringAt(from, name))});
  }
  return {};
}

Expected<void> LayoutReader::readDialects(Cursor from) {
  size_t count = TREADLE_TRY(from.count());
  for (size_t i = 0; i < count; ++i)
    TREADLE_TRY(readDialect(from));
  if (layout.version >= ShortArguments)
    TREADLE_TRY(from.varint()); // the number of ops
  while (!from.empty())
    TREADLE_TRY(readOpNames(from));
  return {};
}

Expected<void> LayoutReader::readGroup(Cursor &offsets, Cursor &content,
                                       SmallVector<EntryBytes, 0> &out, size_t count) {
  StringRef dialect = dialects[TREADLE_TRY(offsets.index(dialects.size(), "dialect"))];
  size_t size = TREADLE_TRY(offsets.count());
  if (size > count - out.size())
    return Unexpected(offsets.damaged("there are more attributes or types than ", count));
  for (size_t i = 0; i < size; ++i) {
    auto [length, isEncoded] = TREADLE_TRY(offsets.flagged());
    out.push_back({dialect, isEncoded, TREADLE_TRY(content.take(length))});
  }
  return {};
}

Expected<void> LayoutReader::readEntries(Cursor offsets, Cursor content) {
  size_t numAttributes = TREADLE_TRY(offsets.count()), numTypes = TREADLE_TRY(offsets.count());
  while (layout.attributes.size() < numAttributes)
    TREADLE_TRY(readGroup(offsets, content, layout.attributes, numAttributes));
  while (layout.types.size() < numTypes)
    TREADLE_TRY(readGroup(offsets, content, layout.types, numTypes));
  return {};
}

/// Older versions have no properties.
Expected<void> LayoutReader::readProperties() {
  if (!sections[Section::Properties])
    return {};
  Cursor from = *sections[Section::Properties];
  size_t count = TREADLE_TRY(from.count());
  for (size_t i = 0; i < count; ++i)
    layout.properties.push_back(TREADLE_TRY(from.take(TREADLE_TRY(from.varint()))));
  return {};
}

Expected<Layout> LayoutReader::read() {
  TREADLE_TRY(readHeader());
  TREADLE_TRY(readSections());
  TREADLE_TRY(readStrings(TREADLE_TRY(section(Section::Strings, "strings"))));
  TREADLE_TRY(readDialects(TREADLE_TRY(section(Section::Dialects, "dialects"))));
  TREADLE_TRY(readEntries(TREADLE_TRY(section(Section::EntryOffsets, "offsets of attributes")),
                          TREADLE_TRY(section(Section::Entries, "attributes"))));
  TREADLE_TRY(readProperties());
  layout.ir = TREADLE_TRY(section(Section::Operations, "operations"));
  return std::move(layout);
}

Expected<Layout> bytecode::readLayout(StringRef file) { return LayoutReader(file).read(); }
