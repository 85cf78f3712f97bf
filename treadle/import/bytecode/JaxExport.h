// Files that jax.export writes (Exported.serialize()): a portable artifact, and what callers have
// to know of it.
#pragma once

#include "treadle/import/stablehlo/Entry.h"
#include "treadle/tensor/Error.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// Whether the bytes, which may be anybody's, are such a file, or what is left of one.
bool isJaxExport(std::string_view bytes);

/// What such a file says of its program.
struct JaxExport {
  /// An argument or result of the function that was exported.
  struct Value {
    std::string name;               // from its way in the arguments or results: `arg0_w`, `loss`
    std::vector<std::string> shape; // sizes, or expressions of them
    int dtype = -1;                 // JAX's number
  };

  std::string_view artifact;
  int64_t conventionVersion = 0;
  std::vector<std::string> platforms;
  bool isPlatformChecked = true;
  std::vector<Value> arguments, results;
  std::vector<uint64_t> kept; // which arguments @main has

  /// InvalidArgument where places or counts lead out of the bytes, or contradict each other.
  static Expected<JaxExport> read(std::string_view bytes);

  /// Makes the program what callers of the function expect: @main has all arguments of the
  /// function, unused ones too, by their names, and no others. Emits an error (`unimplemented: ...`
  /// for another platform or convention) where that can't be.
  llvm::LogicalResult bind(mlir::func::FuncOp main) const;
};

} // namespace treadle
