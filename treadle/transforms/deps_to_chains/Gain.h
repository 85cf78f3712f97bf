// An estimate of whether overlapping iterations make a loop faster.
#pragma once

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

#include <functional>

namespace treadle::tfg {

/// Finds a function by name; null if there is none.
using FunctionLookup = std::function<FuncOp(llvm::StringRef)>;
/// Looks up functions that exist in the module at the time of the lookup.
FunctionLookup lookupIn(mlir::ModuleOp module);

/// Finds the nodes that may block for long (for a device, a timer, another run) while other nodes
/// could run: those with #tfg.op_traits that say so, blocking ops, Python, unknown ops, and calls
/// of functions with such nodes. With `ForOthers`, only blocking ops, which exchange values with
/// other processes or runs.
class BlockingNodes {
public:
  enum Kind : uint8_t { ForAnything, ForOthers };
  explicit BlockingNodes(mlir::ModuleOp module, Kind kind = ForAnything);
  BlockingNodes(FunctionLookup function, Kind kind) : function(std::move(function)), kind(kind) {}
  bool waits(Node node);

private:
  bool waitsInside(Node node);

  FunctionLookup function; // returns null if there is no such function
  const Kind kind;
  llvm::StringMap<bool> known; // by function
};

/// The estimated time of a few iterations, in units of one blocking wait, if all other nodes are
/// nearly free and as many nodes run in parallel as the order allows.
struct LoopTimes {
  double sequential = 0, overlapping = 0;
  bool isFasterOverlapped() const { return sequential >= 1 && overlapping < sequential - 1e-6; }
};

/// Estimates the times of a loop without an obstacle, with its planned chains.
LoopTimes estimate(const LoopOrder &order, const EffectAnalysis &effects, BlockingNodes &waiting);

} // namespace treadle::tfg
