// The tables that compiled code refers to by number, and their serialized form. Depends on neither
// LLVM nor MLIR, so that programs without a compiler can read them.
#pragma once

#include "treadle/codegen/CallFrame.h"
#include "treadle/tensor/Attr.h"

#include <span>
#include <string>
#include <vector>

namespace treadle::codegen {

/// A call of an op's kernel from compiled code.
struct KernelCall {
  std::string node, op, device;
  AttrMap attrs;
  std::vector<DType> inputTypes, outputTypes;
  /// Kernels aren't trusted: the inferred shapes are checked against their results.
  std::vector<ExpectedShape> outputs;
};

struct ClusterTables {
  std::vector<KernelCall> kernels;
  std::vector<Tensor> constants;
};

/// Binds the kernel of a call. `functions`: those that kernels may call, which must outlive the
/// kernel; null: none. Returns Unimplemented, naming the node, if there is no kernel or it may
/// suspend.
Expected<BoundKernel> bindKernel(const KernelCall &call, const KernelRegistry &registry,
                                 FunctionLibrary *functions = nullptr);

/// Serializes tables; the format depends on the byte order only. The elements of large constants
/// are aligned to 64 bytes. Returns Unimplemented for constants that are handles.
Expected<std::string> tablesToBytes(const ClusterTables &tables);

/// Parses tables. Returns DataLoss if the bytes are invalid. With `areKept`, constants refer to
/// `bytes`, which must be aligned to 64 bytes and outlive them.
Expected<ClusterTables> tablesFromBytes(std::span<const char> bytes, bool areKept);

} // namespace treadle::codegen
