// The resources that each node of a module reads and writes, found by following handles through
// nodes, frames and functions.
#pragma once

#include "treadle/dialect/FunctionNames.h"
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace treadle::tfg {

/// An index of EffectAnalysis::resource.
using ResourceId = unsigned;

/// An alias class: handles that may refer to one object.
struct Resource {
  enum Kind {
    World,    // id 0: side effects without a handle, and all unknown ones
    Named,    // the object of all handles of one family and name, or a node's own state
    Created,  // an object that a node creates each time it runs
    Argument, // the object behind an argument of a function, seen from inside
    Unknown,  // the object of a handle of unknown origin: any object with handles elsewhere
  } kind;
  /// A description for diagnostics: `variable 'w'`.
  std::string text;
  /// The node, for Created and Unknown; the function, for Argument.
  mlir::Operation *origin = nullptr;
  unsigned argument = 0;
  /// Whether elements are taken out in the order in which they were put in: see ResourceEnd.
  bool isFifo = false;
  /// Whether each element has a slot of its own, so that writes to different slots don't conflict.
  bool hasPlaces = false;
};

struct Effect {
  ResourceId resource;
  ResourceEnd part;
  bool writes;
  bool operator==(const Effect &) const = default;
};

/// The side effects of all nodes of a module. The module is analyzed once, by the constructor; the
/// results are invalid after it changes.
///
/// The effects of a function are computed once, in terms of its arguments, and mapped to the
/// caller's handles at each call; so two calls of one function on two variables don't conflict. In
/// the body of a function, two arguments are separate resources, unless resource_arg_unique_ids say
/// that they are the same, or a call in the module may pass the same handle to both.
///
/// A node has the effects of all nodes in its regions, and each of these has its own.
class EffectAnalysis {
public:
  explicit EffectAnalysis(mlir::ModuleOp module);

  /// Returns the accesses of a node, including those of functions that it calls, sorted and unique.
  llvm::ArrayRef<Effect> of(Node node) const;
  /// Returns the resources that a value may be a handle or reference to, sorted and unique.
  llvm::ArrayRef<ResourceId> handles(mlir::Value value) const;

  const Resource &resource(ResourceId id) const { return resources[id]; }

  /// Returns whether handles of the two classes may refer to one object.
  bool mayAlias(ResourceId a, ResourceId b) const;
  /// Returns whether the order of the two effects matters.
  bool conflict(Effect a, Effect b) const;

  static constexpr ResourceId world = 0;

private:
  using IdSet = llvm::SmallVector<ResourceId, 2>;
  using EffectSet = llvm::SmallVector<Effect, 2>;
  /// The handles that a call passes to each argument.
  using Binding = std::vector<IdSet>;
  struct Call {
    FuncOp function; // null if the function isn't in the module or can't be analyzed
    Binding binding;
  };
  /// The effects of a function for its callers: on its arguments, and on resources that callers see
  /// as well.
  struct Summary {
    EffectSet effects;
    std::vector<IdSet> results;
    bool operator==(const Summary &) const = default;
  };

  ResourceId intern(Resource resource, llvm::StringRef key);
  ResourceId originating(Resource::Kind kind, mlir::Operation *origin, unsigned index,
                         std::string text);
  ResourceId argument(FuncOp function, unsigned index);
  ResourceId made(Node node, llvm::StringRef family);
  ResourceId gradientsOf(ResourceId array);

  std::vector<mlir::Block *> bodiesCalleesFirst(mlir::ModuleOp module);
  void summarizeAll(llvm::ArrayRef<mlir::Block *> bodies);
  void flow(mlir::Block &body);
  bool transfer(Node node);
  bool transferOnce(Node node);
  bool transferRegions(Node node);
  IdSet resultHandles(Node node, unsigned index, llvm::ArrayRef<Call> calls);
  EffectSet effectsOf(Node node);
  void addHandleEffects(Node node, Access access, EffectSet &out);
  void addStated(Node node, OpTraitsAttr stated, EffectSet &out);
  void addReach(Node node, const OpEffects &known, EffectSet &out);
  std::vector<Call> callsOf(Node node);
  Call bind(Node node, FuncOp function);
  Summary summarize(FuncOp function);
  IdSet substitute(llvm::ArrayRef<ResourceId> ids, FuncOp callee, const Binding &binding) const;
  bool noteContents(Node node);
  bool noteAliases(const Call &call);
  bool addAlias(ResourceId a, ResourceId b);
  bool add(IdSet &set, llvm::ArrayRef<ResourceId> ids);

  std::vector<Resource> resources;
  llvm::StringMap<ResourceId> byKey;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, ResourceId> byOrigin;
  llvm::DenseMap<mlir::Value, IdSet> held;
  llvm::DenseMap<mlir::Operation *, EffectSet> effects;
  FunctionMap functions;
  llvm::DenseMap<mlir::Operation *, Summary> summaries;
  /// The resources that an object refers to, such as those that an iterator's dataset uses.
  llvm::DenseMap<ResourceId, IdSet> contents;
  /// Resources that may be the same object; symmetric.
  llvm::DenseMap<ResourceId, llvm::SmallSetVector<ResourceId, 2>> aliases;
  llvm::DenseSet<ResourceId> anything; // arguments that may be a handle of unknown origin
};

} // namespace treadle::tfg
