// Reads the attributes and types of a file lazily. Those of VHLO are read as the builtin ones that
// StableHLO text is parsed into.
#pragma once

#include "treadle/import/bytecode/Layout.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

namespace treadle::bytecode {

using mlir::Attribute;
using mlir::MLIRContext;
using mlir::Type;

class Entries {
public:
  Entries(MLIRContext &context, const Layout &layout);

  /// Reads an index and returns its attribute or type.
  Expected<Attribute> attributeAt(Cursor &at) {
    return attribute(TREADLE_TRY(at.index(attributes.size(), "attribute")));
  }
  /// Returns null if there is none.
  Expected<Attribute> optionalAttributeAt(Cursor &at);
  Expected<Type> typeAt(Cursor &at) { return type(TREADLE_TRY(at.index(types.size(), "type"))); }
  /// Return the entry of a valid index.
  Expected<Attribute> attribute(size_t index);
  Expected<Type> type(size_t index);
  size_t numTypes() const { return types.size(); }
  Expected<mlir::LocationAttr> locationAt(Cursor &at);

  MLIRContext &context;
  const Layout &layout;

private:
  friend class EntryReader;
  template <typename T> struct Slot {
    T value;
    /// The number of attributes and types in it, counting each occurrence.
    uint64_t weight = 0;
    bool isOpen = false;
  };
  template <typename T> using Slots = SmallVector<Slot<T>, 0>;

  template <typename T> Expected<void> fill(Slot<T> &slot, const EntryBytes &entry);

  Slots<Attribute> attributes;
  Slots<Type> types;
  unsigned depth = 0;
};

/// Reads the contents of one attribute or type.
class EntryReader {
public:
  EntryReader(Entries &entries, Cursor bytes)
      : at(bytes), context(&entries.context), entries(entries) {}

  Expected<Attribute> attribute();
  Expected<Type> type();
  Expected<StringRef> string();
  Expected<StringRef> blob() { return at.bytes(TREADLE_TRY(at.varint())); }
  Expected<SmallVector<int64_t>> signedNumbers();
  Expected<SmallVector<Type>> types();
  Expected<SmallVector<Attribute>> attributes();
  Expected<Attribute> optionalAttribute();
  /// Reads names with values.
  Expected<mlir::DictionaryAttr> dictionary();
  /// Reads a float with the semantics of `type`, which must be a FloatType.
  Expected<mlir::FloatAttr> number(Type type);
  Expected<mlir::IntegerAttr> integer(Type type);

  /// Reads an attribute or type of one kind.
  template <typename T> Expected<T> attributeOf(StringRef what) {
    if (auto found = mlir::dyn_cast<T>(TREADLE_TRY(attribute())))
      return found;
    return Unexpected(at.damaged("an attribute isn't a ", what.str()));
  }

  /// Returns the type that `get` creates, or the reason why it is invalid.
  Expected<Type>
  checked(llvm::function_ref<Type(llvm::function_ref<mlir::InFlightDiagnostic()>)> get);

  Cursor at;
  MLIRContext *context;
  uint64_t weight = 1;

private:
  Expected<Attribute> attributeOfIndex(size_t index);
  Expected<mlir::NamedAttribute> named();

  Entries &entries;
};

/// The reader of one kind of entry: `code` is the entry's first number, `since` the VHLO version
/// that introduced it.
template <typename T> struct EntryRow {
  uint64_t code;
  Expected<T> (*read)(EntryReader &);
  llvm::StringLiteral since = "0.9.0";
};

/// Unimplemented for a code that isn't in the table of `what`.
template <typename T>
Expected<T> readByCode(EntryReader &from, uint64_t code, ArrayRef<EntryRow<T>> rows,
                       StringRef what) {
  for (const EntryRow<T> &row : rows)
    if (row.code == code)
      return row.read(from);
  return Unexpected(unimplemented(what.str(), " of code ", code));
}

Expected<Attribute> readBuiltinAttribute(EntryReader &from);
Expected<Type> readBuiltinType(EntryReader &from);
Expected<Attribute> readVhloAttribute(EntryReader &from);
Expected<Attribute> readShardyAttribute(EntryReader &from);
Expected<Type> readVhloType(EntryReader &from);

/// The VHLO code of a type without parameters, and the version that introduced it.
struct PlainTypeCode {
  uint64_t code;
  StringRef since;
};
std::optional<PlainTypeCode> vhloCodeOf(Type type);
/// Returns the number of a word in the enumeration of a code.
std::optional<uint64_t> vhloNumberOf(uint64_t enumCode, StringRef word);

// Readers for entries that both dialects, or VHLO and sdy, encode alike.
Expected<Attribute> readSubAxis(EntryReader &from);
template <typename T> Expected<Type> readPlainType(EntryReader &from) {
  return T::get(from.context);
}
Expected<Type> readComplexType(EntryReader &from);
Expected<Type> readFunctionType(EntryReader &from);
Expected<Type> readTensorType(EntryReader &from);
Expected<Type> readEncodedTensorType(EntryReader &from);
Expected<Type> readUnrankedTensorType(EntryReader &from);
Expected<Type> readTupleType(EntryReader &from);

/// Returns an attribute with some numbers, for dictionaries.
Attribute integerArrayAttr(MLIRContext *context, ArrayRef<int64_t> values);
/// Returns an opaque type, `!dialect.text`, that no op computes with.
Type namedType(MLIRContext *context, StringRef dialect, StringRef text);
/// Reads the elements of a tensor: all of them, or one splat value.
Expected<Attribute> readElements(EntryReader &from, Type type, StringRef bytes);

} // namespace treadle::bytecode
