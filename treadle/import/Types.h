// Dtypes of GraphDefs as MLIR types, and back.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"

#include <array>
#include <optional>

namespace treadle::graphdef {

/// The types of one context, made once. Dtypes are the numbers of GraphDef's DataType.
class TypeTable {
public:
  explicit TypeTable(mlir::MLIRContext *context);

  /// Null for a number that is no dtype. DT_INVALID (0) is !tf_type.unknown.
  mlir::Type element(int dtype) const { return isIndex(dtype) ? elements[dtype] : mlir::Type(); }
  /// A TypeAttr of the element type; null for a number that is no dtype.
  mlir::TypeAttr attr(int dtype) const { return isIndex(dtype) ? attrs[dtype] : mlir::TypeAttr(); }
  /// The tensor type of unknown rank.
  mlir::Type tensor(mlir::Type elementType);
  /// The tensor type of unknown rank whose elements are references to the type; the same as
  /// tensor() where there is no reference to it.
  mlir::Type referenceTensor(mlir::Type elementType);

private:
  static constexpr int numSlots = 134;
  static bool isIndex(int dtype) { return dtype >= 0 && dtype < numSlots; }

  std::array<mlir::Type, numSlots> elements;
  std::array<mlir::TypeAttr, numSlots> attrs;
  llvm::DenseMap<mlir::Type, mlir::Type> tensors, referenceTensors;
};

/// The dtype of an element type; nullopt if it has none (si32, f80, index, ...).
std::optional<int> dtypeOf(mlir::Type elementType);

} // namespace treadle::graphdef
