// Converts the attributes of StableHLO ops to the fields of VHLO ops.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace treadle::artifact {

/// The encoding of a field.
enum class FieldKind : uint8_t {
  Any,        // the attribute unchanged
  Numbers,    // a 1-D tensor of i64
  Pairs,      // a 2-D tensor of i64
  Flags,      // a tensor of i1
  Whole64,    // an i64
  Whole32,    // an i32
  Flag,       // a bool; a unit attribute is true
  Real32,     // an f32
  Word,       // an enumeration
  Words,      // an array of enumerations
  ApiVersion, // API version of custom calls
  Accuracy,   // accuracy of a result
  Aliases,    // aliases of results and operands of custom calls
  NoType,     // absence of a field
};

struct Field {
  FieldKind kind = FieldKind::Any;
  mlir::Attribute value;
  uint64_t enumeration = 0; // its VHLO code
};

/// Returns the attributes of an op as fields by name: StableHLO's attribute groups are split, flags
/// and numbers are unchanged.
mlir::NamedAttrList splitGroups(mlir::Operation *op);

/// Removes the field of that name from `attrs` and returns it, or its default if it is missing.
/// Returns nullopt if it is missing but required.
std::optional<Field> takeField(mlir::Operation *op, llvm::StringRef name,
                               mlir::NamedAttrList &attrs);

/// Returns the encoding of the field of that name; Any for other attributes.
Field fieldOf(llvm::StringRef name, mlir::Attribute value);

/// Whether an attribute has its default value.
bool isDefault(mlir::Attribute value);

/// Whether an attribute is a list that may contain numbers.
bool maybeNumbers(mlir::Attribute value);

} // namespace treadle::artifact
