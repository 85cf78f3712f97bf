// The inputs of nodes in the syntax of GraphDefs.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace treadle::graphdef {

/// `node`, `node:1`, `node:output`, `node:output:1` or `^node`.
struct Endpoint {
  llvm::StringRef node;
  /// The output's name; empty if the index counts all results of the node.
  llvm::StringRef output;
  uint64_t index = 0;
  bool isControl = false;
  /// Whether the text has an index, and whether that index has no leading zeros.
  bool hasIndex = false, isPlainIndex = true;
};

/// Returns nullopt if the index doesn't fit in 64 bits.
std::optional<Endpoint> parseEndpoint(llvm::StringRef text);

} // namespace treadle::graphdef
