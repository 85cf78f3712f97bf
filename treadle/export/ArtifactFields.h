// The attributes of StableHLO's ops as the fields that VHLO has for them.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace treadle::artifact {

/// How a field is written.
enum class FieldKind : uint8_t {
  Any,        // as its attribute is
  Numbers,    // a tensor of i64, of one dimension
  Pairs,      // the same, of two dimensions
  Flags,      // a tensor of i1
  Whole64,    // an i64
  Whole32,    // an i32
  Flag,       // a bool; a unit attribute is true
  Real32,     // an f32
  Word,       // of an enumeration
  Words,      // an array of them
  ApiVersion, // of custom calls
  Accuracy,   // of a result
  Aliases,    // of results and operands of custom calls
  NoType,     // that a field isn't stated
};

struct Field {
  FieldKind kind = FieldKind::Any;
  mlir::Attribute value;
  uint64_t enumeration = 0; // its code in VHLO
};

/// Attributes of an op as fields by name: those that are groups in StableHLO apart, flags and
/// numbers as they are.
mlir::NamedAttrList ungrouped(mlir::Operation *op);

/// The field of that name, taken from `attrs`; what stands for it where it isn't there. None if it
/// has to be.
std::optional<Field> takeField(mlir::Operation *op, llvm::StringRef name,
                               mlir::NamedAttrList &attrs);

/// How the field of that name is written; Any for other attributes.
Field fieldOf(llvm::StringRef name, mlir::Attribute value);

/// Whether an attribute says what an op does without it.
bool isDefault(mlir::Attribute value);

/// Whether an attribute is a list of what may be numbers.
bool holdsNumbers(mlir::Attribute value);

} // namespace treadle::artifact
