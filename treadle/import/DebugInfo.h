// GraphDebugInfo: the stacks that nodes were defined on, as locations.
#pragma once

#include "treadle/proto/graph_debug_info.pb.h"
#include "treadle/proto/node_def.pb.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"

namespace treadle::graphdef {

/// Reads both forms: a stack for each node (`traces`), and stacks and frames that nodes share by
/// number. What refers to nothing is skipped: debug info never fails an import.
class DebugInfo {
public:
  DebugInfo(mlir::MLIRContext *context, const pb::GraphDebugInfo &info);

  /// Unknown if nothing is known of it. A node that says which nodes it was made from has their
  /// stacks, where it has none of its own. `function` is empty for the graph.
  mlir::Location locationOf(const pb::NodeDef &node, llvm::StringRef function);

private:
  std::optional<mlir::Location> find(const std::string &node, llvm::StringRef function);
  std::optional<mlir::Location> frame(const pb::GraphDebugInfo::FileLineCol &line);
  void addFrames(const pb::GraphDebugInfo::StackTrace &trace,
                 llvm::SmallVectorImpl<mlir::Location> &frames);

  mlir::MLIRContext *context;
  const pb::GraphDebugInfo &info;
  const bool isEmpty;
  /// By the message; the frames of a stack, innermost first.
  llvm::DenseMap<const void *, llvm::SmallVector<mlir::Location, 0>> stacks;
};

} // namespace treadle::graphdef
