// What is compiled: a function whose ops are pure, or have effects on variables alone.
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

/// Tensors of so many elements are held in registers where their sizes are known.
constexpr int64_t mostInRegisters = 16;

/// A cluster as tensor code: a `func.func @cluster` over boxed tensors.
struct TensorProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ClusterTables tables;
};

/// What is known of an argument when a cluster is compiled: its rank, which dimensions are 1, and
/// perhaps the others. A class of shapes, not a shape: code serves all tensors of a class.
struct ArgumentClass {
  DType dtype = DType::Invalid;
  bool isRanked = true;
  /// By dimension. Any: every size but 1, which code for it is never given.
  std::vector<int64_t> sizes;
  static constexpr int64_t any = -1;
  /// Of a handle, the dtype and the sizes of the variable's value: then the code is given the value
  /// as well, and gives the one that the variable is to have.
  struct Variable {
    DType dtype;
    std::vector<int64_t> sizes;
    auto operator<=>(const Variable &) const = default;

    bool fits(const Tensor &value) const;
    /// For this and a value, if that can be. Sizes in which they differ are any.
    Variable with(const Tensor &value) const;
  };
  std::optional<Variable> variable = std::nullopt;

  /// `isExact`: for tensors of this shape alone.
  static ArgumentClass of(const Tensor &tensor, bool isExact = false);
  auto operator<=>(const ArgumentClass &) const = default;
};

/// Finds a function by name; null if there is none.
using FindFunction = std::function<tfg::FuncOp(llvm::StringRef)>;

struct TranslationOptions {
  /// What may become one piece of code: operations, a loop over elements counted as 20. A second is
  /// enough for 5,000 to 30,000 of them, and a megabyte for 300. The largest of the models that we
  /// know has 99 nodes.
  int64_t maxWeight = 300'000;
  /// Operations on small tensors that are written out element by element.
  int64_t maxUnrolled = 4000;
  /// Whether ops over floats may be rounded otherwise, as SessionOptions has it. Their flags say
  /// so, and are part of what the code is found by in a cache.
  bool fastMath = false;
  /// The value of the variable that a VarHandleOp names, empty if it has none: for code that
  /// outlives the variables. Without it, variables are read when the code runs.
  std::function<Tensor(tfg::Node)> variable = {};
  /// Learns where code comes from, for `link` to count what it does; null: nobody counts.
  MeteredCode *metered = nullptr;
};

/// The tensor code of a function whose nodes are pure but for variables: scalars in registers,
/// elementwise ops in linalg, loops and conditionals in scf, the rest as calls of kernels.
/// Functions that it calls become part of it. Values of variables come behind the arguments, and
/// behind the results: what the function does to variables others see when the caller writes them
/// back. Unimplemented, naming the node, where something can't be compiled.
Expected<TensorProgram> translate(tfg::FuncOp function, llvm::ArrayRef<ArgumentClass> arguments,
                                  const FindFunction &find, mlir::MLIRContext &context,
                                  const TranslationOptions &options = {});

/// From tensor code to LLVM's dialect: all the steps of Passes.h. New constants join the table.
Expected<void> lower(TensorProgram &program);

} // namespace treadle::codegen
