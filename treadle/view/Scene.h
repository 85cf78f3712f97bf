// The data of the page of `treadle view`, as bytes that the page reads in place: columns of
// numbers, and a JSON header for small data.
//
// Little-endian. "TRDLVIEW", version (u32: 1), size of the header in bytes (u32), the header
// (UTF-8), zero bytes up to a multiple of 8, then the columns, each beginning at a multiple of 8.
//
// The header:
//   title     the source of the graph
//   columns   by name: {"type": "u8" | "i32" | "u32", "begin": in bytes from the first column on,
//             "length": in elements}
//   bodies    [{"name", "kind": "graph" | "function" | "flat", "first", "end"}]: the nodes of a
//             body are those from `first` to before `end`. Body 0 is the graph. A flat body is the
//             graph as the executor runs it, without calls; `steps` refer to its nodes
//   frames    [{"body", "name", "parent": frame or -1, "parallelIterations"}]: v1 loops
//   clusters  [{"ops": number, "inputs": ["float32[?,16]"]}]: nodes compiled together
//   resources [{"name": "variable 'v'"}]
//   races     [{"nodes": [node, node], "message"}]
//   loops     [{"node": While or -1, "frame": or -1, "name", "kind", "parallelIterations",
//             "overlaps": whether nodes of two iterations may run in parallel, "why",
//             "orders": [text], "advice": [text]}]
//   weights   [{"node", "type": "float32[3,3]", "count", "min", "max", "mean", "zeros", "nans",
//             "infinities", "bins": [32 counts, from min to max]}]: of constants and variables
//   signatures [{"name", "inputs": [{"key", "node", "type"}], "outputs": the same}]
//   notes     [text]: omitted data, with reasons
//
// The columns. `string` is the index of a string; 0 is the empty one.
//   nodeName, nodeOp, nodeDevice, nodeLine   u32, strings; line: `model.py:31`, if known
//   nodeAttrs     u32, string: lines of `key = value`
//   nodeFrame     i32: the loop that the node is drawn in (its Enters and Exits too), or -1
//   nodeCluster   i32, or -1
//   nodeWhy       u32, string: why it isn't compiled
//   outBegin      u32, one more than there are nodes: the start of a node's outputs in `outType`
//   outType       u32, string: `float32[?,16]`
//   inBegin       u32, one more than there are nodes: the start of the edges into a node, data by
//                 port, then control
//   edgeFrom      u32, node;   edgePort   i32: the output that it leaves from, -1: control
//   edgeKind      u8, EdgeKind
//   effectNode, effectResource   u32;   effectWrites   u8: 1 writes, 0 reads
//   callNode, callBody   u32;   callRole   u32, string: `body`, `cond`, `then_branch`, `f`
//   stringEnds    u32: the end of each string in `stringBytes` (u8, UTF-8)
#pragma once

#include "treadle/Explain.h"
#include "treadle/View.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

#include <set>

namespace treadle::view {

/// `Back` leads from a NextIteration to a Merge; `Soft` orders nodes that may run in either order;
/// `Chain` is a value that only orders side effects.
enum class EdgeKind : uint8_t { Data, Control, Back, Soft, Chain };

/// The contents of a scene in addition to the graph.
struct SceneParts {
  std::string title;
  std::vector<Graph::Signature> signatures;
  /// The nodes of the graph to show, with the functions that they reach; null for all.
  const std::set<mlir::Operation *> *needed = nullptr;
  llvm::StringSet<> called = {};
  const Explanation *explanation = nullptr;
  /// Values of variables, by their names in sessions.
  std::map<std::string, Tensor, std::less<>> variables;
  bool weighs = false;
  /// The graph as the executor runs it, if there are steps to show.
  mlir::ModuleOp flat;
  std::vector<std::string> notes;
};

struct Scene {
  std::string bytes;
  int32_t flatBody = -1;  // -1: none
  uint32_t flatFirst = 0; // the index of its first node, which the others follow in order
};
/// `module` must have no regions.
Scene sceneOf(mlir::ModuleOp module, const SceneParts &parts);

} // namespace treadle::view
