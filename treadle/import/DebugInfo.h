// Reads GraphDebugInfo: the call stacks that defined the nodes, as locations.
#pragma once

#include "treadle/proto/graph_debug_info.pb.h"
#include "treadle/proto/node_def.pb.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"

namespace treadle::graphdef {

/// Reads both formats: a stack for each node (`traces`), and stacks and frames shared by number.
/// Dangling references are skipped: debug info never fails an import.
class DebugInfo {
public:
  DebugInfo(mlir::MLIRContext *context, const pb::GraphDebugInfo &info);

  /// Returns an unknown location if there is none. A node without a stack of its own gets the
  /// stacks of the nodes that it lists as its originals. `function` is empty for the graph.
  mlir::Location locationOf(const pb::NodeDef &node, llvm::StringRef function);

private:
  std::optional<mlir::Location> find(const std::string &node, llvm::StringRef function);
  std::optional<mlir::Location> frame(const pb::GraphDebugInfo::FileLineCol &line);
  void addFrames(const pb::GraphDebugInfo::StackTrace &trace,
                 llvm::SmallVectorImpl<mlir::Location> &frames);

  mlir::MLIRContext *context;
  const pb::GraphDebugInfo &info;
  const bool isEmpty;
  /// The frames of a stack, innermost first, by message.
  llvm::DenseMap<const void *, llvm::SmallVector<mlir::Location, 0>> stacks;
};

} // namespace treadle::graphdef
