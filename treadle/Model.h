// Models, called by signature.
#pragma once

#include "treadle/Session.h"

namespace treadle {

/// A function of a SavedModel's objects, such as a `tf.function` that is an attribute of a module.
struct ModelFunction {
  /// How the parts of a result nest in Python. A Value is the next of the variant's
  /// outputs: of a composite tensor all components.
  struct Structure {
    enum Kind { None, Value, Tuple, List, Dict } kind;
    std::vector<std::string> keys; // of a Dict
    std::vector<Structure> parts;
  };
  /// An argument that was no tensor when the function was traced.
  struct Fixed {
    std::string name, value; // as Python writes it: `True`, `2.5`, `None`, `'relu'`
    bool isDefault = false;  // so that calls may leave it out
  };
  /// What was traced for one kind of arguments: a concrete function.
  struct Variant {
    /// Its name is the concrete function's. Inputs are named by their place in the arguments: `x`,
    /// `state_mean` in a dict, `pair_0` in a list. Outputs are named likewise, `result` if there is
    /// only one. Both are in the order of the function.
    Graph::Signature signature;
    std::vector<Fixed> fixed;
    Structure result;
    std::string call;    // the node of its call in the graph of Model::functionSession
    std::string problem; // why it can't be called; empty if it can
  };

  std::string name;                   // the path from the root object: `f`, `layers.0.predict`
  std::vector<std::string> arguments; // by place
  std::vector<Variant> variants;      // one or more
};

/// A SavedModel, or a program in StableHLO, that is ready to be called: its variables restored, its
/// tables filled. What calls change stays in it until the next one. Cheap to copy: copies share the
/// state. Thread-safe as a Session is.
class Model {
public:
  /// Loads the SavedModel in a folder, or one that was converted to .mlir. Of several meta graphs
  /// it takes the one whose tags are `tags`; without tags the one that is tagged `serve`, or the
  /// only one. Nothing is half-loaded: NotFound for a folder, meta graph or checkpoint that isn't
  /// there, InvalidArgument for a graph without signatures or paths that leave the folder, DataLoss
  /// for a damaged checkpoint, and whatever the model's own initialization gives: NotFound where it
  /// reads an asset that isn't there.
  static Expected<Model> load(const std::string &path, SessionOptions options = {},
                              const std::vector<std::string> &tags = {});
  /// The same of a graph that was read from one, and perhaps changed by passes.
  static Expected<Model> create(Graph graph, SessionOptions options = {},
                                const std::vector<std::string> &tags = {});

  /// What can be called, sorted by name.
  const std::vector<Graph::Signature> &signatures() const;
  /// NotFound, with the nearest names, if there is none of that name.
  Expected<const Graph::Signature *> signature(std::string_view name) const;

  using Values = std::vector<std::pair<std::string, Tensor>>;
  /// Calls a signature with all of its inputs, by key; gives all of its outputs, sorted by key.
  /// InvalidArgument for inputs that are missing or unknown, or of wrong dtype or shape.
  Expected<Values> call(std::string_view signature, const Values &inputs) const;

  /// What the model's objects offer beside signatures, sorted by name. Empty for a program.
  const std::vector<ModelFunction> &functions() const;
  /// By its name, by any other path to it, or by its alias. NotFound, with the nearest names, if
  /// there is none.
  Expected<const ModelFunction *> function(std::string_view name) const;
  /// The first variant that takes these inputs. A fixed argument that is given must have the
  /// variant's value; an empty tensor stands for None. InvalidArgument, with a list of the
  /// variants, if none fits.
  static Expected<const ModelFunction::Variant *> choose(const ModelFunction &function,
                                                         const Values &inputs);
  /// Calls the variant that takes these inputs; gives its outputs in the variant's order. What the
  /// function captures is bound as for signatures. Errors: those of `function` and `choose`;
  /// Unimplemented, with the reason, for a variant that can't be called.
  Expected<Values> callFunction(std::string_view name, const Values &inputs) const;
  /// The session in which functions run; its state is that of `session()`.
  Expected<Session> functionSession() const;

  /// Writes the variables, as they are now, to the checkpoint that they were restored from: it is
  /// replaced at once, or not at all.
  Expected<void> save() const;
  /// Writes the model with its variables to a folder that is empty or not there yet.
  Expected<void> save(const std::string &folder) const;

  /// The session that holds the model's state, for tensors that no signature has.
  Session session() const;

  struct Impl;
  std::shared_ptr<Impl> impl; // internal

private:
  static Expected<Model> ofProgram(Graph graph, SessionOptions options);
};

} // namespace treadle
