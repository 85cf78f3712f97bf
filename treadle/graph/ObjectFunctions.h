// Internal: functions that the objects of a SavedModel offer to call.
#pragma once

#include "treadle/graph/SavedModel.h"

#include <map>

namespace treadle {

/// What one object of a SavedModel is, as far as functions need it.
struct ModelObject {
  enum Kind { Other, Variable, Constant, Asset, Resource, Function } kind = Other;
  std::string
      name; // of a variable; a constant's node; an asset's tensor; what another is, in words
  std::map<std::string, int, std::less<>> children;
};

/// The objects of one meta graph. Nothing that they say is believed before it is checked: numbers
/// of objects are those of objects that are there.
struct ModelObjects {
  static ModelObjects of(const pb::MetaGraphDef &meta);

  /// The object at the end of a path from the root, -1 if there is none. `separator` stands between
  /// the names of edges, which may hold it.
  int objectAt(std::string_view path, char separator) const;

  std::vector<ModelObject> objects;    // the first is the root
  std::map<int, std::string> creators; // of objects that are functions: the concrete one
  /// By concrete function: the objects that it captures.
  std::map<std::string, std::vector<int>, std::less<>> captures;
};

/// The functions that these objects offer.
struct ObjectFunctions : ModelObjects {
  static ObjectFunctions of(const pb::MetaGraphDef &meta);
  /// Of the only meta graph of a SavedModel; none of another graph.
  static ObjectFunctions of(const Graph &graph);

  /// See Model::function.
  Expected<const ModelFunction *> find(std::string_view name) const;

  std::vector<ModelFunction> functions;
  std::map<int, size_t> functionOfObject;
  std::map<std::string, size_t, std::less<>> aliases;
};

/// A variant in words: `f(x: float32[?], training=False) -> float32[?]`.
std::string functionText(const ModelFunction &function, const ModelFunction::Variant &variant);

/// The graph with a call of each variant, whose tensors the variants' signatures name. A variant
/// that can't be called gets a problem instead.
Expected<Graph> withFunctionCalls(Graph graph, const SavedModelFiles &files,
                                  ObjectFunctions &functions);

/// A function's graph: the calls of its variants are what `calls` names. NotFound, with the nearest
/// names, if the model has none of that name; Unimplemented if it has, but none can be called.
struct FunctionGraph {
  Graph graph;
  std::vector<std::string> calls;

  static Expected<FunctionGraph> of(const Graph &graph, std::string_view function);
};

} // namespace treadle
