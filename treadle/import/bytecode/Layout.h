// The sections of an MLIR bytecode file, and its tables.
#pragma once

#include "treadle/import/bytecode/Cursor.h"

namespace treadle::bytecode {

/// The bytes of an attribute or a type.
struct EntryBytes {
  StringRef dialect;
  /// Encoded by the dialect; otherwise text.
  bool isEncoded = false;
  Cursor bytes;
};

struct OpName {
  StringRef dialect, name; // `vhlo`, `add_v1`
};

/// Format versions that change the encoding.
enum FormatVersion : uint8_t {
  DialectVersions = 1,
  Sections = 2, // for ops whose regions use no outside values
  UseOrders = 3,
  ShortArguments = 4,
  NativeProperties = 5,
  Newest = 6,
};

/// All references point into the file's bytes.
struct Layout {
  StringRef producer; // `StableHLO_v1.15.0`
  uint64_t version = 0;
  SmallVector<StringRef, 0> strings;
  SmallVector<OpName, 0> ops;
  SmallVector<EntryBytes, 0> attributes, types;
  /// Properties of ops (fields without names).
  SmallVector<Cursor, 0> properties;
  Cursor ir;
};

/// A section with its kind.
struct Section {
  enum Kind : uint8_t {
    Strings = 0,
    Dialects = 1,
    Entries = 2,
    EntryOffsets = 3,
    Operations = 4,
    Properties = 8,
    numKinds = 9,
  };
  Kind kind;
  Cursor content;
};
Expected<Section> readSection(Cursor &from);

/// InvalidArgument for corrupted bytes, Unimplemented for a newer version of the format.
Expected<Layout> readLayout(StringRef file);

} // namespace treadle::bytecode
