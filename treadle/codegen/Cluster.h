// What is compiled: a function of pure ops, and what the numbers in its code stand for.
#pragma once

#include "treadle/codegen/Frame.h"
#include "treadle/dialect/Tfg.h"
#include "treadle/runtime/Attr.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>
#include <vector>

namespace treadle::codegen {

/// An op that compiled code leaves to its kernel.
struct KernelCall {
  std::string node, op, device;
  AttrMap attrs;
  std::vector<DType> inputTypes, outputTypes;
  /// A kernel isn't trusted with shapes: what was inferred is checked.
  std::vector<ExpectedShape> outputs;
};

/// What compiled code refers to by number.
struct ClusterTables {
  std::vector<KernelCall> kernels;
  std::vector<Tensor> constants;
};

/// A cluster as tensor code: a `func.func @cluster` over boxed tensors.
struct TensorProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ClusterTables tables;
};

/// What is known of an argument when a cluster is compiled: its rank, and which dimensions are 1.
/// A class of shapes, not a shape: code serves all tensors of a class.
struct ArgumentClass {
  DType dtype = DType::Invalid;
  bool isRanked = true;
  std::vector<bool> isOne; // by dimension

  static ArgumentClass of(const Tensor &tensor);
  auto operator<=>(const ArgumentClass &) const = default;
};

/// Finds a function by name; null if there is none.
using FindFunction = std::function<tfg::FuncOp(llvm::StringRef)>;

/// The tensor code of a function whose nodes are pure: scalars in registers, elementwise ops in
/// linalg, loops and conditionals in scf, the rest as calls of kernels. Functions that it calls
/// become part of it. Unimplemented, naming the node, where something can't be compiled.
Expected<TensorProgram> translate(tfg::FuncOp function, llvm::ArrayRef<ArgumentClass> arguments,
                                  const FindFunction &find, mlir::MLIRContext &context);

} // namespace treadle::codegen
