// The functions of a module, and where attributes and nodes name them.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace treadle::tfg {

/// The functions of a module by name. MLIR's SymbolTable would do, but makes an attribute of each
/// name that is looked up, and most names of ops are no functions'.
using FunctionMap = llvm::StringMap<FuncOp>;

inline FunctionMap functionsOf(mlir::ModuleOp module) {
  FunctionMap functions;
  for (FuncOp function : module.getOps<FuncOp>())
    functions[function.getName()] = function;
  return functions;
}

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

/// The names of all functions that the attribute mentions, at any depth.
inline void forEachFunctionName(mlir::Attribute attr,
                                llvm::function_ref<void(llvm::StringRef)> visit) {
  forEachFunctionIn(attr, [&](tf_type::FuncAttr function) {
    visit(function.getName().getRootReference().getValue());
  });
}

/// The names of all functions that the attributes of a node mention.
inline void forEachFunctionName(Node node, llvm::function_ref<void(llvm::StringRef)> visit) {
  for (mlir::NamedAttribute attr : node.attrs())
    forEachFunctionName(attr.getValue(), visit);
}

/// The names of all functions that a node may call: its op's, which is one where a function is
/// called by its name, and those in its attributes. Some are no functions' of the module.
inline void forEachCallee(Node node, llvm::function_ref<void(llvm::StringRef)> visit) {
  visit(node.opType());
  forEachFunctionName(node, visit);
}

/// How often nodes of a module name each function. One that a gradient is declared for counts as
/// named by others as well.
inline llvm::StringMap<unsigned> countFunctionNames(mlir::ModuleOp module) {
  llvm::StringMap<unsigned> uses;
  module.walk([&](mlir::Operation *op) {
    forEachCallee(op, [&](llvm::StringRef name) { ++uses[name]; });
    if (auto function = mlir::dyn_cast<FuncOp>(op); function && function.getGradientAttr())
      uses[function.getName()] += 2;
  });
  return uses;
}

} // namespace treadle::tfg
