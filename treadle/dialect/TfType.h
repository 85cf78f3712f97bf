// The tf_type dialect in C++: types, attributes, and what follows from an element type alone.
#pragma once

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Types.h"

namespace treadle::tf_type {
/// Marks the types that stand for a reference to a variable's tensor.
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

/// The reference type to `elementType`, null if there is none.
mlir::Type referenceTo(mlir::Type elementType);

/// What the reference `type` refers to; any other type is given back as it is.
mlir::Type dereference(mlir::Type type);

/// Whether tensors of a TensorFlow dtype can have this element type.
bool isElementType(mlir::Type type);

/// Whether a value of one type may stand where the other is expected: equal dtypes (a reference
/// counts as what it refers to, subtypes of handles don't count), shapes without contradiction. An
/// opaque tensor and an unknown element type fit everything but a control token.
bool areCompatible(mlir::Type a, mlir::Type b);

/// The name of a full type id without TFT_, in lower case; empty if it has none.
llvm::StringRef fullTypeName(int32_t id);

} // namespace treadle::tf_type
