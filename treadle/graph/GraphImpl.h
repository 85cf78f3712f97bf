// Internal to the folders that implement the library: the contents of a Graph.
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

/// Runs a pass pipeline over a module in place. InvalidArgument if the pipeline doesn't parse or a
/// pass fails.
Expected<void> runOn(mlir::ModuleOp module, std::string_view pipeline);

/// The file that a graph was read from and the assumptions of its import. Graphs derived from a
/// graph share it.
struct GraphSource {
  std::string folder;         // the folder of its file; empty if the graph was read from memory
  bool isModelFolder = false; // whether the folder is the graph's own, as for a SavedModel
  std::vector<std::string> notes = {};

  static GraphSource of(const std::string &path);
};

struct Graph::Impl {
  /// Wraps an imported module in a context that makeContext created.
  Impl(std::unique_ptr<mlir::MLIRContext> own, mlir::OwningOpRef<mlir::ModuleOp> module,
       GraphSource place = {})
      : context(std::move(own)), module(std::move(module)), place(std::move(place)) {
    share(*context);
  }
  /// Wraps a module derived from another graph, in that graph's context.
  Impl(const Impl &other, mlir::OwningOpRef<mlir::ModuleOp> module)
      : context(other.context), module(std::move(module)), place(other.place) {}

  /// Clones the module for modification. Attributes, and so weights, are shared.
  mlir::OwningOpRef<mlir::ModuleOp> copy() const { return (*module).clone(); }

  /// Built on first use; thread-safe.
  const ModuleIndex &index() const {
    std::call_once(*indexed, [this] { moduleIndex = std::make_unique<ModuleIndex>(*module); });
    return *moduleIndex;
  }

  /// Discards the index after an edit. Not thread-safe.
  void forgetIndex() {
    moduleIndex.reset();
    indexed.emplace();
  }

  const std::shared_ptr<mlir::MLIRContext> context;
  mutable mlir::OwningOpRef<mlir::ModuleOp> module;
  const GraphSource place;
  /// The index of the graph's nodes that edits maintain; see Edit.cpp.
  mutable std::unique_ptr<EditIndex, EditIndexDeleter> editIndex;

private:
  mutable std::optional<std::once_flag> indexed{std::in_place};
  mutable std::unique_ptr<ModuleIndex> moduleIndex;
};

/// Returns a graph for a modified copy of another graph's module.
inline Graph derivedGraph(const Graph &graph, mlir::OwningOpRef<mlir::ModuleOp> module) {
  Graph made;
  made.impl = std::make_shared<const Graph::Impl>(*graph.impl, std::move(module));
  return made;
}

/// Returns the graph in the form that the runtime and other formats take: with functions instead of
/// control flow regions. Returns the same graph if it has no regions; Unimplemented if a region has
/// no functional equivalent.
Expected<Graph> withoutRegions(const Graph &graph);

/// Returns the graph with calls of functions instead of the programs embedded in nodes; the same
/// graph if there are none.
Expected<Graph> withoutEmbeddedPrograms(const Graph &graph);

/// Returns the graph with the users' traits of its ops as node attributes; the same graph if none
/// of its ops has traits. The table may be null.
Expected<Graph> withTraits(const Graph &graph, const OpTraitsTable *table);

/// Returns the graph with overlapping loops as frames, and with the users' op traits; the table may
/// be null.
Expected<Graph> withOverlappingLoops(const Graph &graph, LoopOverlap overlap,
                                     const OpTraitsTable *table);

/// Returns the shape that a placeholder declares; an unknown shape for other nodes.
PartialShape feedShape(const ModuleIndex &index, llvm::StringRef node);

} // namespace treadle
