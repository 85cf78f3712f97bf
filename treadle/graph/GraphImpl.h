// Internal to the folders that make up the library: what a Graph holds.
#pragma once

#include "treadle/graph/SharedContext.h"
#include "treadle/lowering/Lowering.h"
#include "treadle/runtime/Plan.h"
#include "treadle/treadle.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <mutex>
#include <optional>

namespace treadle {

struct EditIndex;
struct EditIndexDeleter {
  void operator()(EditIndex *index) const;
};

/// Runs passes over a module in place. InvalidArgument for a pipeline that can't be read, and where
/// a pass fails.
Expected<void> runOn(mlir::ModuleOp module, std::string_view pipeline);

/// Where a graph was read from, and what that assumed. What is made of a graph keeps it.
struct GraphPlace {
  std::string folder;         // that its file is in; empty: from memory
  bool isModelFolder = false; // it is the graph's own: that of a SavedModel
  std::vector<std::string> notes = {};

  static GraphPlace of(const std::string &path);
};

struct Graph::Impl {
  /// A graph that was read, in a context that makeContext made.
  Impl(std::unique_ptr<mlir::MLIRContext> own, mlir::OwningOpRef<mlir::ModuleOp> module,
       GraphPlace place = {})
      : context(std::move(own)), module(std::move(module)), place(std::move(place)) {
    share(*context);
  }
  /// A graph that was made of another one, in that one's context.
  Impl(const Impl &other, mlir::OwningOpRef<mlir::ModuleOp> module)
      : context(other.context), module(std::move(module)), place(other.place) {}

  /// The module again, for its owner to change. Attributes are shared, weights among them.
  mlir::OwningOpRef<mlir::ModuleOp> copy() const { return (*module).clone(); }

  /// Made when first asked for; thread-safe.
  const ModuleIndex &index() const {
    std::call_once(*indexed, [this] { moduleIndex = std::make_unique<ModuleIndex>(*module); });
    return *moduleIndex;
  }

  /// After an edit, which nothing else may run beside.
  void forgetIndex() {
    moduleIndex.reset();
    indexed.emplace();
  }

  const std::shared_ptr<mlir::MLIRContext> context;
  mutable mlir::OwningOpRef<mlir::ModuleOp> module;
  const GraphPlace place;
  /// The names of the graph's nodes, kept by edits; see Edit.cpp.
  mutable std::unique_ptr<EditIndex, EditIndexDeleter> editIndex;

private:
  mutable std::optional<std::once_flag> indexed{std::in_place};
  mutable std::unique_ptr<ModuleIndex> moduleIndex;
};

/// A graph that was made of another one, by changing a copy of its module.
inline Graph madeOf(const Graph &graph, mlir::OwningOpRef<mlir::ModuleOp> module) {
  Graph made;
  made.impl = std::make_shared<const Graph::Impl>(*graph.impl, std::move(module));
  return made;
}

/// The graph as the runtime and other formats take it: with functions instead of the regions of
/// conditionals and loops. The same graph if it has none; Unimplemented where there is no such
/// function.
Expected<Graph> withoutRegions(const Graph &graph);

/// The graph with calls of functions instead of programs that nodes hold; itself if none does.
Expected<Graph> withoutPrograms(const Graph &graph);

/// The graph with what users say of their ops as attributes of its nodes; itself if they say
/// nothing of its. The table may be null.
Expected<Graph> withTraits(const Graph &graph, const OpTraitsTable *table);

/// The graph with loops that overlap as frames, and with what users say of their ops; the table may
/// be null.
Expected<Graph> withOverlappingLoops(const Graph &graph, LoopOverlap overlap,
                                     const OpTraitsTable *table);

/// The shape that a placeholder states; unknown for other nodes.
PartialShape feedShape(const ModuleIndex &index, llvm::StringRef node);

} // namespace treadle
