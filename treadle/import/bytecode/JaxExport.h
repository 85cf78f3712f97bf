// Reads files of jax.export (Exported.serialize()): a portable artifact with its calling
// convention.
#pragma once

#include "treadle/import/stablehlo/Entry.h"
#include "treadle/tensor/Error.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// Whether the untrusted bytes are such a file, possibly a truncated one.
bool isJaxExport(std::string_view bytes);

/// The metadata of such a file.
struct JaxExport {
  /// An argument or result of the exported function.
  struct Value {
    std::string name;               // from its path in the arguments or results: `arg0_w`, `loss`
    std::vector<std::string> shape; // sizes, or symbolic expressions
    int dtype = -1;                 // JAX's number
  };

  std::string_view artifact;
  int64_t conventionVersion = 0;
  std::vector<std::string> platforms;
  bool isPlatformChecked = true;
  std::vector<Value> arguments, results;
  std::vector<uint64_t> kept; // which arguments @main has

  /// InvalidArgument if offsets or counts are out of bounds or inconsistent.
  static Expected<JaxExport> read(std::string_view bytes);

  /// Changes @main to the signature of the exported function: it gets all arguments, including
  /// unused ones, by their names, and no others. Emits an error (`unimplemented: ...` for another
  /// platform or convention) if that isn't possible.
  llvm::LogicalResult bind(mlir::func::FuncOp main) const;
};

} // namespace treadle
