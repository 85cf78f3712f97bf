// Functional control flow ops and their counterparts with regions, for the passes that convert
// between them.
#pragma once

#include "treadle/dialect/Regions.h"
#include "treadle/rewriting/Rewriting.h"

#include <string>

namespace treadle::tfg {

struct RegionNames {
  std::string functional, region;
  RegionForm form;
};

/// Returns whether the op is functional and has a counterpart with regions.
bool hasRegionForm(llvm::StringRef opType);
/// Return the names for a functional op with a counterpart, and for an op with regions.
RegionNames regionNamesOfFunctional(llvm::StringRef opType);
RegionNames regionNamesOfRegion(llvm::StringRef opType);

/// The names of attributes with a value for each region. With `isList`, one attribute contains a
/// list.
struct RegionAttrKeys {
  bool isList;
  llvm::ArrayRef<llvm::StringLiteral> functions;   // of the functional op: #tf_type.func
  llvm::ArrayRef<llvm::StringLiteral> callAttrs;   // the attributes in #tf_type.func
  llvm::ArrayRef<llvm::StringLiteral> regionAttrs; // #tfg.region_attrs
  llvm::ArrayRef<llvm::StringLiteral> types;       // implied by the types of operands and results

  llvm::StringRef key(llvm::ArrayRef<llvm::StringLiteral> keys, unsigned region) const {
    return isList ? keys.front() : keys[region];
  }
};
const RegionAttrKeys &regionAttrKeys(RegionForm form);

/// Returns the number of data operands before the arguments of the functions or the loop variables.
unsigned firstArgumentOf(RegionForm form);

/// Returns the entry for one region in an op's attributes `attrs`; null if there is none.
mlir::Attribute regionAttr(mlir::DictionaryAttr attrs, const RegionAttrKeys &keys,
                           llvm::ArrayRef<llvm::StringLiteral> which, unsigned region);

/// Returns `x`, `x:1`, or an argument's name; empty if it has none.
std::string operandName(mlir::Value value);

/// Returns the attributes of the function that a region will become, with the names of arguments
/// and results.
RegionAttrsAttr regionAttrsOf(mlir::MLIRContext *context, llvm::StringRef function,
                              llvm::ArrayRef<std::string> arguments,
                              llvm::ArrayRef<std::string> results);

/// Returns the attributes of a function that its region keeps, including `sym_name`.
mlir::DictionaryAttr preservedAttrs(FuncOp function);

bool isPredicate(mlir::Value value);

/// Returns whether both ranges have the same length and pairwise compatible types.
bool areCompatible(mlir::TypeRange left, mlir::TypeRange right);

} // namespace treadle::tfg
