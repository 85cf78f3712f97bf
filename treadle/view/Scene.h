// What `treadle view` shows of a graph, as bytes that the page in a browser reads in place: columns
// of numbers, and a header in JSON for what there is little of.
//
// Little-endian. "TRDLVIEW", version (u32: 1), size of the header in bytes (u32), the header
// (UTF-8), zero bytes up to a multiple of 8, then the columns, each beginning at a multiple of 8.
//
// The header:
//   title     what the graph was read from
//   columns   by name: {"type": "u8" | "i32" | "u32", "begin": in bytes from the first column on,
//             "length": in elements}
//   bodies    [{"name", "kind": "graph" | "function" | "flat", "first", "end"}]: the nodes of a
//             body are those numbered from `first` to before `end`. Body 0 is the graph. One that
//             is flat is the graph as the executor sees it, without calls: `steps` are of its nodes
//   frames    [{"body", "name", "parent": frame or -1, "parallelIterations"}]: loops of version 1
//   clusters  [{"ops": number, "inputs": ["float32[?,16]"]}]: what becomes machine code at once
//   resources [{"name": "variable 'v'"}]
//   races     [{"nodes": [node, node], "message"}]
//   loops     [{"node": While or -1, "frame": or -1, "name", "kind", "parallelIterations",
//             "overlaps": whether something of two iterations may run at once, "why",
//             "orders": [text], "advice": [text]}]
//   weights   [{"node", "type": "float32[3,3]", "count", "min", "max", "mean", "zeros", "nans",
//             "infinities", "bins": [32 counts, from min to max]}]: of constants and variables
//   signatures [{"name", "inputs": [{"key", "node", "type"}], "outputs": the same}]
//   notes     [text]: what isn't shown, and why
//
// The columns. `string` is a number of one of the strings; 0 is the empty one.
//   nodeName, nodeOp, nodeDevice, nodeLine   u32, strings; line: `model.py:31`, if anybody knows
//   nodeAttrs     u32, string: `key = value` in lines
//   nodeFrame     i32: the loop that the node is drawn in (its Enters and Exits too), or -1
//   nodeCluster   i32, or -1
//   nodeWhy       u32, string: why it isn't compiled
//   outBegin      u32, one more than there are nodes: the outputs of a node in `outType`
//   outType       u32, string: `float32[?,16]`
//   inBegin       u32, one more than there are nodes: the edges into a node, data by port, then
//                 control
//   edgeFrom      u32, node;   edgePort   i32: the output that it leaves from, -1: control
//   edgeKind      u8, EdgeKind
//   effectNode, effectResource   u32;   effectWrites   u8: 1 writes, 0 reads
//   callNode, callBody   u32;   callRole   u32, string: `body`, `cond`, `then_branch`, `f`
//   stringEnds    u32: where each string ends in `stringBytes` (u8, UTF-8)
#pragma once

#include "treadle/Explain.h"
#include "treadle/View.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

#include <set>

namespace treadle::view {

/// `Back` leads from a NextIteration to a Merge; `Soft` orders what may be computed in either
/// order; `Chain` is a value whose only use is to order effects.
enum class EdgeKind : uint8_t { Data, Control, Back, Soft, Chain };

/// What goes into a scene besides a graph.
struct SceneParts {
  std::string title;
  std::vector<Graph::Signature> signatures;
  /// Of the graph's nodes those that are shown, and the functions that they reach; null: all.
  const std::set<mlir::Operation *> *needed = nullptr;
  llvm::StringSet<> called = {};
  const Explanation *explanation = nullptr;
  /// Values of variables, by the names that sessions know them by.
  std::map<std::string, Tensor, std::less<>> variables;
  bool weighs = false;
  /// The graph as the executor sees it, where there is something to step through.
  mlir::ModuleOp flat;
  std::vector<std::string> notes;
};

struct Scene {
  std::string bytes;
  int32_t flatBody = -1;  // -1: none
  uint32_t flatFirst = 0; // the number of its first node; the others follow in their order
};
/// `module`: without regions.
Scene sceneOf(mlir::ModuleOp module, const SceneParts &parts);

} // namespace treadle::view
