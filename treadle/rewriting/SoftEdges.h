// Soft edges: scheduling hints that are preserved while passes change graphs.
//
// A node's attribute `_soft_inputs` lists the names of nodes of the same body that should run
// before it. A soft edge isn't an operand: it keeps no node alive, and analyses of uses don't see
// it. CommunicationOrder takes it into account before nodes are fused across communication. Only
// names must be updated: a pass creates a SoftEdges and records there which nodes it erases, merges
// and copies.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace treadle::tfg {

/// Returns the names of the nodes that the node should follow; empty if the attribute has another
/// kind.
llvm::SmallVector<llvm::StringRef> softInputs(Node node);
/// Sets the names, without duplicates and the node's own name; removes the attribute if there are
/// none.
void setSoftInputs(Node node, llvm::ArrayRef<llvm::StringRef> names);
/// Adds names that are missing.
void addSoftInputs(Node node, llvm::ArrayRef<llvm::StringRef> names);
/// Updates the names of nodes that were renamed; other names stay.
void renameSoftInputs(Node node, const llvm::StringMap<std::string> &renamed);

/// During its lifetime, tracks the names in soft edges of a module, or of one body; the destructor
/// updates the edges. The name of a removed node is replaced with the names of its replacements, or
/// removed. At most one may exist per thread. If the module has no soft edges, the cost is one
/// visit of each node.
class SoftEdges {
public:
  explicit SoftEdges(mlir::ModuleOp module);
  explicit SoftEdges(mlir::Block &body);
  ~SoftEdges();
  SoftEdges(const SoftEdges &) = delete;
  SoftEdges &operator=(const SoftEdges &) = delete;

  /// Redirects soft edges from `gone` to the nodes of these tokens, in addition to `gone` itself
  /// while a node of its name exists. Does nothing without a SoftEdges object.
  static void follow(Node gone, mlir::ValueRange tokens);
  /// Does the same, and moves the soft inputs of `gone` to `by`, which replaces it.
  static void merge(Node gone, Node by);

private:
  using Names = llvm::StringMap<llvm::SmallVector<std::string, 1>>;

  void read(mlir::Block &body);
  void begin();
  bool isMentioned(llvm::StringRef name) const { return mentioned.contains(name); }
  void rewrite(mlir::Block &body);

  mlir::ModuleOp module;       // null if only one body is tracked
  mlir::Block *only = nullptr; // that body
  bool isActive = false;
  SoftEdges *outer = nullptr;
  llvm::StringSet<> mentioned;
  llvm::DenseMap<mlir::Block *, Names> replaced;
};

/// The nodes and edges of a body by index, without back edges of loops.
struct NumberedBody {
  explicit NumberedBody(mlir::Block &body);
  void forEachSoftEdge(llvm::function_ref<void(int32_t from, int32_t to)> visit) const;

  llvm::SmallVector<Node> nodes;
  llvm::StringMap<int32_t> names;
  std::vector<std::vector<int32_t>> before; // by node: its inputs
};

/// The invalid soft edges of a body: names of missing nodes, and edges that contradict the other
/// edges. Runs ignore them.
struct SoftEdgeFinding {
  Node node;
  std::string message;
};
llvm::SmallVector<SoftEdgeFinding> findSoftEdgeProblems(mlir::Block &body);

} // namespace treadle::tfg
