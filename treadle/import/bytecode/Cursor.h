// Reads numbers and sections of MLIR bytecode. Each value is validated against the remaining bytes.
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

/// A position in a section of a file. Errors are InvalidArgument and state the byte position in the
/// file.
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
  /// Reads a varint with the sign in its lowest bit.
  Expected<int64_t> signedVarint();
  /// Reads a varint with a flag in its lowest bit.
  Expected<std::pair<uint64_t, bool>> flagged();
  /// Reads a number of elements, each of which takes at least one byte.
  Expected<size_t> count();
  /// Reads an integer of a known width, 1 to 64 bits.
  Expected<APInt> integer(unsigned bits);
  /// Reads an index below `size`; `what` names the entity in errors.
  Expected<size_t> index(size_t size, StringRef what);
  /// Like `index`, but for an optional index.
  Expected<std::optional<size_t>> optionalIndex(size_t size, StringRef what);
  Expected<StringRef> bytes(uint64_t size);
  Expected<Cursor> take(uint64_t size);
  /// Reads up to a zero byte, which is skipped.
  Expected<StringRef> text();
  /// Skips the padding up to a multiple of `alignment`.
  Expected<void> align(uint64_t alignment);

  template <typename... Args> Error damaged(const Args &...args) const {
    return invalidArgument("the bytecode is corrupted at byte ", position(), ": ", args...);
  }

private:
  StringRef part;
  size_t offset = 0, at = 0;
};

} // namespace treadle::bytecode
