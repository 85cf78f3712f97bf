// Each functional op of control flow with its counterpart that has regions, and what the passes
// between them agree on.
#pragma once

#include "treadle/dialect/Regions.h"
#include "treadle/rewriting/Rewriting.h"

#include <string>

namespace treadle::tfg {

struct RegionNames {
  std::string functional, region;
  RegionForm form;
};

/// Whether it is a functional op with such a counterpart.
bool hasRegionForm(llvm::StringRef opType);
/// Of a functional op that has one; of an op with regions.
RegionNames regionNamesOfFunctional(llvm::StringRef opType);
RegionNames regionNamesOfRegion(llvm::StringRef opType);

/// Attributes by region. Where `isList`, one attribute has a list with an entry for each region.
struct RegionAttrKeys {
  bool isList;
  llvm::ArrayRef<llvm::StringLiteral> functions;   // of the functional op: #tf_type.func
  llvm::ArrayRef<llvm::StringLiteral> callAttrs;   // what #tf_type.func had beside the name
  llvm::ArrayRef<llvm::StringLiteral> regionAttrs; // #tfg.region_attrs
  llvm::ArrayRef<llvm::StringLiteral> types;       // follow from the types of operands and results

  llvm::StringRef key(llvm::ArrayRef<llvm::StringLiteral> keys, unsigned region) const {
    return isList ? keys.front() : keys[region];
  }
};
const RegionAttrKeys &regionAttrKeys(RegionForm form);

/// How many data operands come before the arguments of the functions or the values of the loop.
unsigned firstArgumentOf(RegionForm form);

/// What the attributes `attrs` (of an op) say for one region; null if nothing.
mlir::Attribute regionAttr(mlir::DictionaryAttr attrs, const RegionAttrKeys &keys,
                           llvm::ArrayRef<llvm::StringLiteral> which, unsigned region);

/// `x`, `x:1`, or an argument's name; empty if it has none.
std::string operandName(mlir::Value value);

/// What a region says of the function that it will be, arguments and results by their names.
RegionAttrsAttr regionAttrsOf(mlir::MLIRContext *context, llvm::StringRef function,
                              llvm::ArrayRef<std::string> arguments,
                              llvm::ArrayRef<std::string> results);

/// What a function with these regions' attributes keeps, `sym_name` included.
mlir::DictionaryAttr preservedAttrs(FuncOp function);

bool isPredicate(mlir::Value value);

/// Whether there are as many, each compatible with its counterpart.
bool areCompatible(mlir::TypeRange left, mlir::TypeRange right);

} // namespace treadle::tfg
