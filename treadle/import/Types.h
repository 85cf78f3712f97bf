// Converts between dtypes of GraphDefs and MLIR types.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"

#include <array>
#include <optional>

namespace treadle::graphdef {

/// The types of one context, created once. Dtypes are the numbers of GraphDef's DataType.
class TypeTable {
public:
  explicit TypeTable(mlir::MLIRContext *context);

  /// Returns null for an invalid number. DT_INVALID (0) is !tf_type.unknown.
  mlir::Type element(int dtype) const { return isIndex(dtype) ? elements[dtype] : mlir::Type(); }
  /// Returns a TypeAttr of the element type; null for an invalid number.
  mlir::TypeAttr attr(int dtype) const { return isIndex(dtype) ? attrs[dtype] : mlir::TypeAttr(); }
  /// Returns the tensor type of unknown rank.
  mlir::Type tensor(mlir::Type elementType);
  /// Returns the tensor type of unknown rank with reference elements; the same as tensor() if the
  /// dtype has no reference type.
  mlir::Type referenceTensor(mlir::Type elementType);

private:
  static constexpr int numSlots = 134;
  static bool isIndex(int dtype) { return dtype >= 0 && dtype < numSlots; }

  std::array<mlir::Type, numSlots> elements;
  std::array<mlir::TypeAttr, numSlots> attrs;
  llvm::DenseMap<mlir::Type, mlir::Type> tensors, referenceTensors;
};

/// Returns the dtype of an element type; nullopt if it has none (si32, f80, index, ...).
std::optional<int> dtypeOf(mlir::Type elementType);

} // namespace treadle::graphdef
