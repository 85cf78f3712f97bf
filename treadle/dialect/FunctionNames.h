// The functions of a module, and the attributes and nodes that refer to them.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace treadle::tfg {

/// The functions of a module by name. MLIR's SymbolTable creates an attribute for each lookup,
/// which is slow because most op names aren't function names.
using FunctionMap = llvm::StringMap<FuncOp>;

inline FunctionMap functionsOf(mlir::ModuleOp module) {
  FunctionMap functions;
  for (FuncOp function : module.getOps<FuncOp>())
    functions[function.getName()] = function;
  return functions;
}

/// Visits each function reference in an attribute, at any depth, inner ones first. Attribute::walk
/// would track all visited attributes, which takes most of the time of many passes.
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

/// Visits the names of all functions that the attribute refers to, at any depth.
inline void forEachFunctionName(mlir::Attribute attr,
                                llvm::function_ref<void(llvm::StringRef)> visit) {
  forEachFunctionIn(attr, [&](tf_type::FuncAttr function) {
    visit(function.getName().getRootReference().getValue());
  });
}

/// Visits the names of all functions that the attributes of a node refer to.
inline void forEachFunctionName(Node node, llvm::function_ref<void(llvm::StringRef)> visit) {
  for (mlir::NamedAttribute attr : node.attrs())
    forEachFunctionName(attr.getValue(), visit);
}

/// Visits the names of all functions that a node may call: its op name, which is a function name if
/// the node calls the function directly, and those in its attributes. Some aren't functions of the
/// module.
inline void forEachCallee(Node node, llvm::function_ref<void(llvm::StringRef)> visit) {
  visit(node.opType());
  forEachFunctionName(node, visit);
}

/// Counts the references of a module's nodes to each function. A function with a declared gradient
/// has an additional reference.
inline llvm::StringMap<unsigned> countFunctionReferences(mlir::ModuleOp module) {
  llvm::StringMap<unsigned> uses;
  module.walk([&](mlir::Operation *op) {
    forEachCallee(op, [&](llvm::StringRef name) { ++uses[name]; });
    if (auto function = mlir::dyn_cast<FuncOp>(op); function && function.getGradientAttr())
      uses[function.getName()] += 2;
  });
  return uses;
}

} // namespace treadle::tfg
