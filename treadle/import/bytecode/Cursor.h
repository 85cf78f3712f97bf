// Reads numbers and pieces of MLIR's bytecode. Nothing is believed before it is checked against the
// bytes that are left.
#pragma once

#include "treadle/tensor/Error.h"

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <utility>

namespace treadle::bytecode {

using llvm::APInt;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

/// A place in a part of a file. Errors are InvalidArgument and say at which byte of the file.
class Cursor {
public:
  Cursor() = default;
  /// `part` begins at byte `offset` of the file.
  explicit Cursor(StringRef part, size_t offset = 0) : part(part), offset(offset) {}

  bool empty() const { return at == part.size(); }
  size_t rest() const { return part.size() - at; }
  size_t position() const { return offset + at; }

  Expected<uint8_t> byte();
  Expected<uint64_t> varint();
  /// A varint with the sign in its lowest bit.
  Expected<int64_t> signedVarint();
  /// A varint with a flag in its lowest bit.
  Expected<std::pair<uint64_t, bool>> flagged();
  /// How many things follow, each of which takes a byte or more.
  Expected<size_t> count();
  /// An integer of a known number of bits, 1 to 64.
  Expected<APInt> integer(unsigned bits);
  /// An index below `size`, of what `what` names.
  Expected<size_t> index(size_t size, StringRef what);
  /// The same, or none.
  Expected<std::optional<size_t>> optionalIndex(size_t size, StringRef what);
  Expected<StringRef> bytes(uint64_t size);
  Expected<Cursor> take(uint64_t size);
  /// Up to and without a zero byte, which is skipped.
  Expected<StringRef> text();
  /// Skips what fills the file up to a multiple of `alignment`.
  Expected<void> align(uint64_t alignment);

  template <typename... Args> Error damaged(const Args &...args) const {
    return invalidArgument("the bytecode is damaged at byte ", position(), ": ", args...);
  }

private:
  StringRef part;
  size_t offset = 0, at = 0;
};

} // namespace treadle::bytecode
