// Soft edges: wishes for an order, kept while passes change graphs.
//
// A node's attribute `_soft_inputs` lists names of nodes of the same body that should run before
// it. It is no input: who looks at uses, removes what nobody needs or makes one node of many sees
// nothing of it, so a soft edge keeps nothing alive; ExchangeOrder asks for it before nodes that an
// exchange comes between become one. What is left is to follow
// names: a pass opens a SoftEdges, and what it erases, merges and copies is written down there.
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

/// The names that the node should follow; those of another kind of attribute are none.
llvm::SmallVector<llvm::StringRef> softInputs(Node node);
/// Each once, without the node's own name; none removes the attribute.
void setSoftInputs(Node node, llvm::ArrayRef<llvm::StringRef> names);
/// Adds what isn't there.
void addSoftInputs(Node node, llvm::ArrayRef<llvm::StringRef> names);
/// Says the new names of nodes that were renamed; other names stay.
void renameSoftInputs(Node node, const llvm::StringMap<std::string> &renamed);

/// While it lives, follows the names that soft edges of a module, or of one body, mention; at its
/// end rewrites the edges. A name whose node is gone becomes the names of what stands in its place,
/// or goes too. One at a time and thread; where the module has no soft edges it costs one look at
/// each node.
class SoftEdges {
public:
  explicit SoftEdges(mlir::ModuleOp module);
  explicit SoftEdges(mlir::Block &body);
  ~SoftEdges();
  SoftEdges(const SoftEdges &) = delete;
  SoftEdges &operator=(const SoftEdges &) = delete;

  /// Who should follow `gone` should follow the nodes of these tokens, and `gone` itself as long as
  /// there is a node of its name. Does nothing where nobody keeps soft edges at the moment.
  static void follow(Node gone, mlir::ValueRange tokens);
  /// The same, and what `gone` should follow, `by` should: they become one node.
  static void merge(Node gone, Node by);

private:
  using Names = llvm::StringMap<llvm::SmallVector<std::string, 1>>;

  void read(mlir::Block &body);
  void begin();
  bool isMentioned(llvm::StringRef name) const { return mentioned.contains(name); }
  void rewrite(mlir::Block &body);

  mlir::ModuleOp module;       // null: of one body
  mlir::Block *only = nullptr; // that one
  bool isActive = false;
  SoftEdges *outer = nullptr;
  llvm::StringSet<> mentioned;
  llvm::DenseMap<mlir::Block *, Names> replaced;
};

/// A body's nodes and edges by number, without the edges that go around loops.
struct NumberedBody {
  explicit NumberedBody(mlir::Block &body);
  void forEachSoftEdge(llvm::function_ref<void(int32_t from, int32_t to)> visit) const;

  llvm::SmallVector<Node> nodes;
  llvm::StringMap<int32_t> names;
  std::vector<std::vector<int32_t>> before; // by node: what it waits for
};

/// What is wrong with the soft edges of a body: names that no node has, and edges that no order of
/// the nodes can satisfy, since the other edges order them the other way around. Such edges count
/// for nothing in a run.
struct SoftEdgeFinding {
  Node node;
  std::string message;
};
llvm::SmallVector<SoftEdgeFinding> findSoftEdgeProblems(mlir::Block &body);

} // namespace treadle::tfg
