// The C interface of functions compiled to object files. Depends on neither LLVM nor MLIR.
//
// The structures match those of the header that is written with an object file (see
// HeaderText.cpp), and of the tables in the object itself (see ObjectFile.cpp).
#pragma once

#include "treadle/codegen/CallFrame.h"
#include "treadle/runtime/Kernel.h"

#include <cstddef>
#include <cstdint>

namespace treadle::codegen {

/// Maximum rank of inputs and outputs.
constexpr int maxProgramRank = 8;
/// Changes whenever object files and the runtime library must be rebuilt together.
constexpr uint32_t programAbi = 3;

/// `treadle_tensor` in C.
struct ProgramTensor {
  void *data;
  int64_t dims[maxProgramRank];
  int32_t rank, dtype;
  void *owner; // a TensorBlock; null if the caller owns the data
};

/// `treadle_error` in C.
struct ProgramError {
  int32_t code;
  char message[508];
};

/// An input or output.
struct ProgramValue {
  const char *name;
  int32_t dtype;
  int32_t rank;        // -1 if unknown
  const int64_t *dims; // -1 if unknown
};

/// A large constant that the variants share.
struct ProgramConstant {
  uint32_t index; // in the table
  int32_t dtype;
  uint64_t rank;
  const int64_t *dims;
  const void *data;
};

/// The code for a class of shapes: valid if these dimensions are 1.
struct ProgramVariant {
  ClusterCode code;
  const char *tables;
  uint64_t tablesSize;
  uint64_t numConstants;
  const ProgramConstant *constants;
  uint64_t numOnes;
  const uint32_t *ones; // pairs of an input and one of its dimensions
};

/// A function. Its variants are tried in this order.
struct ProgramFunction {
  uint32_t abi, numInputs, numOutputs, numVariants;
  const char *name;
  const ProgramValue *inputs, *outputs;
  const ProgramVariant *variants;
  std::atomic<void *> state; // created by the first call
  uint64_t numTables;        // for a statically linked function, the kernels that it calls
  const KernelTable *tables;
  uint64_t denormals; // a `Denormals`
};

/// Runs a function with kernels of the registry that `kernels` returns at the first call.
int32_t runProgram(ProgramFunction &function, const KernelRegistry &(*kernels)(ProgramFunction &),
                   const ProgramTensor *inputs, ProgramTensor *outputs, ProgramError *error);

} // namespace treadle::codegen

extern "C" {

/// Runs a function with the kernels of the library. Returns 0, with outputs to be passed to
/// treadle_free_outputs, or the code of the error without outputs. Thread-safe.
int32_t treadle_run_function(treadle::codegen::ProgramFunction *function,
                             const treadle::codegen::ProgramTensor *inputs,
                             treadle::codegen::ProgramTensor *outputs,
                             treadle::codegen::ProgramError *error);
/// Like treadle_run_function, but only with the kernels that the function names.
int32_t treadle_run_static_function(treadle::codegen::ProgramFunction *function,
                                    const treadle::codegen::ProgramTensor *inputs,
                                    treadle::codegen::ProgramTensor *outputs,
                                    treadle::codegen::ProgramError *error);

/// Frees and clears outputs.
void treadle_free_outputs(treadle::codegen::ProgramTensor *outputs, uint64_t count);
}
