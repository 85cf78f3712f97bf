// Whether a loop runs sooner if its iterations overlap.
#pragma once

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

#include <functional>

namespace treadle::tfg {

/// Finds a function by name; null if there is none.
using FunctionLookup = std::function<FuncOp(llvm::StringRef)>;
/// The functions that a module has now.
FunctionLookup lookupIn(mlir::ModuleOp module);

/// Knows which nodes may wait for long (for a device, a timer, another run) where the machine could
/// do something else: those that say so (#tfg.op_traits), blocking ops, Python, ops that nobody
/// knows, and whatever calls a function with such nodes. With `ForOthers`, blocking ops alone:
/// those that exchange values with other processes or runs.
class WaitingNodes {
public:
  enum Kind : uint8_t { ForAnything, ForOthers };
  explicit WaitingNodes(mlir::ModuleOp module, Kind kind = ForAnything);
  WaitingNodes(FunctionLookup function, Kind kind) : function(std::move(function)), kind(kind) {}
  bool waits(Node node);

private:
  bool waitsInside(Node node);

  FunctionLookup function; // null where there is none of the name
  const Kind kind;
  llvm::StringMap<bool> known; // by function; false while it is looked into
};

/// How long a few iterations take, in units of one wait, if all else is nearly free and as much is
/// done at a time as the order allows.
struct LoopTimes {
  double inTurns = 0, overlapping = 0;
  bool gains() const { return inTurns >= 1 && overlapping < inTurns - 1e-6; }
};

/// For a loop without obstacle, as it will be with its chains.
LoopTimes estimate(const LoopOrder &order, const EffectAnalysis &effects, WaitingNodes &waiting);

} // namespace treadle::tfg
