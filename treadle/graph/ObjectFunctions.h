// Internal: the callable functions of a SavedModel's object graph.
#pragma once

#include "treadle/graph/SavedModel.h"

#include <map>

namespace treadle {

/// One object of a SavedModel, with the fields that functions need.
struct ModelObject {
  enum Kind { Other, Variable, Constant, Asset, Resource, Function } kind = Other;
  /// A variable's name; a constant's node; an asset's tensor; a description of other kinds.
  std::string name;
  std::map<std::string, int, std::less<>> children;
};

/// The objects of one meta graph. They are validated when read: every object number refers to an
/// existing object.
struct ModelObjects {
  static ModelObjects of(const pb::MetaGraphDef &meta);

  /// Returns the object at the end of a path from the root; -1 if there is none. `separator`
  /// separates the names of edges, which may contain it.
  int objectAt(std::string_view path, char separator) const;

  std::vector<ModelObject> objects;    // element 0 is the root
  std::map<int, std::string> creators; // the concrete function, by objects that are functions
  /// The captured objects, by concrete function.
  std::map<std::string, std::vector<int>, std::less<>> captures;
};

/// The functions that these objects offer.
struct ObjectFunctions : ModelObjects {
  static ObjectFunctions of(const pb::MetaGraphDef &meta);
  /// Reads the only meta graph of a SavedModel; empty for other graphs.
  static ObjectFunctions of(const Graph &graph);

  /// See Model::function.
  Expected<const ModelFunction *> find(std::string_view name) const;

  std::vector<ModelFunction> functions;
  std::map<int, size_t> functionOfObject;
  std::map<std::string, size_t, std::less<>> aliases;
};

/// Formats a variant: `f(x: float32[?], training=False) -> float32[?]`.
std::string functionText(const ModelFunction &function, const ModelFunction::Variant &variant);

/// Returns the graph with a call of each variant; the variants' signatures name the tensors of the
/// call. A variant that can't be called gets a problem instead.
Expected<Graph> withFunctionCalls(Graph graph, const SavedModelFiles &files,
                                  ObjectFunctions &functions);

/// A function's graph; `calls` names the calls of its variants. NotFound, with the nearest names,
/// if the model has no such function; Unimplemented if none of its variants can be called.
struct FunctionGraph {
  Graph graph;
  std::vector<std::string> calls;

  static Expected<FunctionGraph> of(const Graph &graph, std::string_view function);
};

} // namespace treadle
