// What compiled code refers to by number, and its form as bytes. No LLVM, no MLIR: code that was
// written to a file is read where there is no compiler.
#pragma once

#include "treadle/codegen/Frame.h"
#include "treadle/tensor/Attr.h"

#include <span>
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

struct ClusterTables {
  std::vector<KernelCall> kernels;
  std::vector<Tensor> constants;
};

/// Binds the kernel of a call. Unimplemented, naming the node, if there is none, or one that may
/// wait.
Expected<BoundKernel> bindKernel(const KernelCall &call, const KernelRegistry &registry);

/// The tables as bytes that mean the same on machines of the same byte order. The elements of large
/// constants stand at multiples of 64 bytes. Unimplemented for constants that are handles.
Expected<std::string> tablesToBytes(const ClusterTables &tables);

/// The tables again. DataLoss where the bytes are none. Kept: constants stay where they are in
/// `bytes`, which then must be aligned to 64 bytes and outlive them.
Expected<ClusterTables> tablesFromBytes(std::span<const char> bytes, bool areKept);

} // namespace treadle::codegen
