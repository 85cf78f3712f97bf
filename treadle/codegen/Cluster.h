// The unit of compilation: a function whose ops are pure or have effects on variables only.
#pragma once

#include "treadle/codegen/CodeMeter.h"
#include "treadle/codegen/Tables.h"
#include "treadle/dialect/Tfg.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace treadle::codegen {

/// Tensors with at most so many elements, and known sizes, are kept in registers.
constexpr int64_t maxElementsInRegisters = 16;

/// A cluster as tensor code: a `func.func @cluster` over boxed tensors.
struct TensorProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ClusterTables tables;
};

/// The properties of an argument that compiled code is specialized for: its rank, which dimensions
/// are 1, and optionally other sizes. It is a class of shapes; the code serves all tensors of the
/// class.
struct ArgumentClass {
  DType dtype = DType::Invalid;
  bool isRanked = true;
  /// By dimension. `any` means all sizes but 1; the code is never called with size 1 there.
  std::vector<int64_t> sizes;
  static constexpr int64_t any = -1;
  /// For a variable handle, the dtype and sizes of the variable's value. The code then takes the
  /// value as an additional argument, and returns the new value of the variable.
  struct Variable {
    DType dtype;
    std::vector<int64_t> sizes;
    auto operator<=>(const Variable &) const = default;

    bool fits(const Tensor &value) const;
    /// Returns the most specific class that contains this one and a value, if there is one. Sizes
    /// that differ become `any`.
    Variable with(const Tensor &value) const;
  };
  std::optional<Variable> variable = std::nullopt;

  /// `isExact`: the class contains this shape only.
  static ArgumentClass of(const Tensor &tensor, bool isExact = false);
  auto operator<=>(const ArgumentClass &) const = default;
};

/// Finds a function by name; null if there is none.
using FindFunction = std::function<tfg::FuncOp(llvm::StringRef)>;

struct TranslationOptions {
  /// Maximum size of a cluster, in operations; a loop over elements counts as 20. One second
  /// compiles 5,000 to 30,000 operations, and 300 take a megabyte. The largest cluster of the
  /// models measured so far has 99 nodes.
  int64_t maxWeight = 300'000;
  /// Maximum number of scalar operations emitted for small tensors that are unrolled element by
  /// element.
  int64_t maxUnrolled = 4000;
  /// Whether float ops may be rounded differently (see SessionOptions). Sets fast-math flags on
  /// ops, so the cache key depends on it.
  bool fastMath = false;
  /// Returns the value of the variable that a VarHandleOp names, empty if it has none. Used for
  /// code that outlives the variables. If null, variables are read when the code runs.
  std::function<Tensor(tfg::Node)> variable = {};
  /// Whether the code may run Python code.
  bool callsPython = true;
  /// Records the origin of each op, so that `link` can add counters; null: nothing is counted.
  MeteredCode *metered = nullptr;
};

/// Translates a function whose only side effects are on variables or of Python code to tensor code:
/// scalars in registers, elementwise ops in linalg, loops and conditionals in scf, and calls of
/// kernels for the rest. Functions that it calls are inlined. Values of variables follow the
/// arguments, and their new values the results; effects become visible when the caller writes these
/// back. Returns Unimplemented, naming the node, if a node can't be compiled.
Expected<TensorProgram> translate(tfg::FuncOp function, llvm::ArrayRef<ArgumentClass> arguments,
                                  const FindFunction &find, mlir::MLIRContext &context,
                                  const TranslationOptions &options = {});

/// Lowers tensor code to the LLVM dialect, with all steps of Passes.h. Adds new constants to the
/// table.
Expected<void> lower(TensorProgram &program);

} // namespace treadle::codegen
