// Which resources each node of a module reads and writes, found by following handles through
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

/// A number of EffectAnalysis::resource.
using ResourceId = unsigned;

/// A class of handles that may stand for one object.
struct Resource {
  enum Kind {
    World,    // id 0: what no handle stands for, and whatever is unknown
    Named,    // what handles of one family and name stand for, or a node's own state
    Created,  // what one node makes anew each time it runs
    Argument, // what a function's argument stands for, seen from inside
    Unknown,  // what a handle from nowhere stands for: any object that others can have a handle to
  } kind;
  /// For people: `variable 'w'`.
  std::string text;
  /// The node, for Created and Unknown; the function, for Argument.
  mlir::Operation *origin = nullptr;
  unsigned argument = 0;
  /// What is put into it comes out in order: see Part.
  bool isFifo = false;
  /// What is put into it has a place of its own, and may be put there in any order.
  bool hasPlaces = false;
};

struct Effect {
  ResourceId resource;
  Part part;
  bool writes;
  bool operator==(const Effect &) const = default;
};

/// Effects of all nodes of a module. It looks at the module once, when it is made, and is of no use
/// after the module changed.
///
/// A function's effects are found once, on its arguments, and put in terms of each caller's handles
/// where it is called; so two calls of one function on two variables don't meet. In the body of a
/// function two arguments are two resources, unless resource_arg_unique_ids say that they are one,
/// or a call in the module gives both of them handles to one.
///
/// What the nodes in a node's regions do is what the node does, and each of them has its own
/// effects.
class EffectAnalysis {
public:
  explicit EffectAnalysis(mlir::ModuleOp module);

  /// What a node reads and writes, functions that it calls included: sorted, each once.
  llvm::ArrayRef<Effect> of(Node node) const;
  /// What a value may be a handle or a reference to: sorted, each once.
  llvm::ArrayRef<ResourceId> handles(mlir::Value value) const;

  const Resource &resource(ResourceId id) const { return resources[id]; }

  /// Whether handles of the two classes may stand for one object.
  bool mayAlias(ResourceId a, ResourceId b) const;
  /// Whether the order of the two matters.
  bool conflict(Effect a, Effect b) const;

  static constexpr ResourceId world = 0;

private:
  using IdSet = llvm::SmallVector<ResourceId, 2>;
  using EffectSet = llvm::SmallVector<Effect, 2>;
  /// The handles that a call gives to each argument.
  using Binding = std::vector<IdSet>;
  struct Call {
    FuncOp function; // null: not in the module, or not to be looked into
    Binding binding;
  };
  /// A function from outside: its resources are its arguments, or such as the caller sees as well.
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
  /// What an object holds handles to: an iterator, those that its dataset uses.
  llvm::DenseMap<ResourceId, IdSet> contents;
  /// Other resources that may be the same one; both ways.
  llvm::DenseMap<ResourceId, llvm::SmallSetVector<ResourceId, 2>> aliases;
  llvm::DenseSet<ResourceId> anything; // arguments that were given a handle from nowhere
};

} // namespace treadle::tfg
