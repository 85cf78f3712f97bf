// The tf_type dialect in C++: types, attributes, and properties of element types.
#pragma once

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Types.h"

namespace treadle::tf_type {
/// Marks types that are references to a variable's tensor.
template <typename ConcreteType>
class IsReference : public mlir::TypeTrait::TraitBase<ConcreteType, IsReference> {};
} // namespace treadle::tf_type

#include "treadle/dialect/TfTypeDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "treadle/dialect/TfTypeTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "treadle/dialect/TfTypeAttributes.h.inc"

namespace treadle::tf_type {

/// Whether `type` is a reference (an element type, not a tensor).
bool isReference(mlir::Type type);

/// Returns the reference type to `elementType`; null if there is none.
mlir::Type referenceTo(mlir::Type elementType);

/// Returns the type that the reference `type` refers to; other types are returned unchanged.
mlir::Type dereference(mlir::Type type);

/// Whether the type is an element type of a TensorFlow dtype.
bool isElementType(mlir::Type type);

/// Whether a value of one type may be used where the other is expected: equal dtypes (ignoring
/// references and the subtypes of handles) and compatible shapes. An opaque tensor or unknown
/// element type is compatible with everything except a control token.
bool areCompatible(mlir::Type a, mlir::Type b);

/// Returns the name of a full type id in lower case without TFT_; empty if it has none.
llvm::StringRef fullTypeName(int32_t id);

} // namespace treadle::tf_type
