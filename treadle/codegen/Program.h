// Functions compiled to object files, as C programs call them. No LLVM, no MLIR.
//
// The structures are those of the header that is written with an object file (see HeaderText.cpp),
// and of the tables in the object itself (see ObjectFile.cpp).
#pragma once

#include "treadle/codegen/Frame.h"
#include "treadle/runtime/Kernel.h"

#include <cstddef>
#include <cstdint>

namespace treadle::codegen {

/// The most dimensions of a tensor that goes in or out.
constexpr int maxProgramRank = 8;
/// Changes whenever an object file and the runtime library must be made anew together.
constexpr uint32_t programAbi = 2;

/// `treadle_tensor` in C.
struct ProgramTensor {
  void *data;
  int64_t dims[maxProgramRank];
  int32_t rank, dtype;
  void *owner; // a TensorBlock; null where the data is the caller's
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
  int32_t rank;        // -1: any
  const int64_t *dims; // -1: any
};

/// A large constant, which the variants share.
struct ProgramConstant {
  uint32_t index; // in the table
  int32_t dtype;
  uint64_t rank;
  const int64_t *dims;
  const void *data;
};

/// The code for a class of shapes: good where these dimensions are 1.
struct ProgramVariant {
  ClusterCode code;
  const char *tables;
  uint64_t tablesSize;
  uint64_t numConstants;
  const ProgramConstant *constants;
  uint64_t numOnes;
  const uint32_t *ones; // pairs: an input, and a dimension of it
};

/// A function. Its variants are in the order in which they are to be tried.
struct ProgramFunction {
  uint32_t abi, numInputs, numOutputs, numVariants;
  const char *name;
  const ProgramValue *inputs, *outputs;
  const ProgramVariant *variants;
  std::atomic<void *> state; // made by the first call
  uint64_t numTables;        // of a function that is linked statically, the kernels that it calls
  const KernelTable *tables;
};

/// Runs a function with kernels of this registry, which is asked for at its first call.
int32_t runProgram(ProgramFunction &function, const KernelRegistry &(*kernels)(ProgramFunction &),
                   const ProgramTensor *inputs, ProgramTensor *outputs, ProgramError *error);

} // namespace treadle::codegen

extern "C" {

/// Runs a function, with the kernels of the library. 0, with outputs that the caller hands to
/// treadle_free_outputs; or the error's code, without. Thread-safe.
int32_t treadle_run_function(treadle::codegen::ProgramFunction *function,
                             const treadle::codegen::ProgramTensor *inputs,
                             treadle::codegen::ProgramTensor *outputs,
                             treadle::codegen::ProgramError *error);
/// The same with the kernels that the function names alone.
int32_t treadle_run_static_function(treadle::codegen::ProgramFunction *function,
                                    const treadle::codegen::ProgramTensor *inputs,
                                    treadle::codegen::ProgramTensor *outputs,
                                    treadle::codegen::ProgramError *error);

/// Frees outputs, and empties them.
void treadle_free_outputs(treadle::codegen::ProgramTensor *outputs, uint64_t count);
}
