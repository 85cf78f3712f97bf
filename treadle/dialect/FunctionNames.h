// The functions that attributes name.
#pragma once

#include "treadle/dialect/TfType.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace treadle::tfg {

/// Visits each function reference in an attribute, at any depth, inner ones first. Attribute::walk
/// would do, but keeps a table of all that it has seen, which is most of the time that many passes
/// take.
inline void forEachFunctionIn(mlir::Attribute attr,
                              llvm::function_ref<void(tf_type::FuncAttr)> visit) {
  if (auto function = mlir::dyn_cast_or_null<tf_type::FuncAttr>(attr)) {
    forEachFunctionIn(function.getAttrs(), visit);
    visit(function);
  } else if (auto array = mlir::dyn_cast_or_null<mlir::ArrayAttr>(attr)) {
    for (mlir::Attribute element : array)
      forEachFunctionIn(element, visit);
  } else if (auto dictionary = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(attr)) {
    for (mlir::NamedAttribute entry : dictionary)
      forEachFunctionIn(entry.getValue(), visit);
  }
}

} // namespace treadle::tfg
