// Models, called by signature.
#pragma once

#include "treadle/Session.h"

namespace treadle {

/// A function of a SavedModel's objects, such as a `tf.function` attribute of a module.
struct ModelFunction {
  /// The nesting of a result in Python. A Value is the next output of the variant, or all
  /// components if it is a composite tensor.
  struct Structure {
    enum Kind { None, Value, Tuple, List, Dict } kind;
    std::vector<std::string> keys; // keys of a Dict
    std::vector<Structure> parts;
  };
  /// An argument that was not a tensor when the function was traced.
  struct Fixed {
    std::string name, value; // in Python's notation: `True`, `2.5`, `None`, `'relu'`
    bool isDefault = false;  // whether calls may omit it
  };
  /// A concrete function: the function as traced for one kind of arguments.
  struct Variant {
    /// The signature, with the name of the concrete function. Input names are the paths in the
    /// arguments: `x`, `state_mean` in a dict, `pair_0` in a list. Output names are formed in the
    /// same way; a single output is `result`. Inputs and outputs have the order of the function.
    Graph::Signature signature;
    std::vector<Fixed> fixed;
    Structure result;
    std::string call;    // the node that calls it in the graph of Model::functionSession
    std::string problem; // the reason why it can't be called; empty if it can
  };

  std::string name;                   // the path from the root object: `f`, `layers.0.predict`
  std::vector<std::string> arguments; // by position
  std::vector<Variant> variants;      // one or more
};

/// A SavedModel or a StableHLO program that is ready to be called: its variables are restored and
/// its tables initialized. State that calls change is kept for later calls. Cheap to copy: copies
/// share the state. As thread-safe as a Session.
class Model {
public:
  /// Loads the SavedModel in a folder, or one that was converted to .mlir. Selects the meta graph
  /// whose tags are `tags`; without tags the one tagged `serve`, or the only one. Errors, after
  /// which nothing is loaded: NotFound for a missing folder, meta graph or checkpoint,
  /// InvalidArgument for a graph without signatures or paths that leave the folder, DataLoss for a
  /// corrupted checkpoint, and those of the model's initialization, such as NotFound for a missing
  /// asset.
  static Expected<Model> load(const std::string &path, SessionOptions options = {},
                              const std::vector<std::string> &tags = {});
  /// Loads a graph that was read from a SavedModel, and maybe changed by passes.
  static Expected<Model> create(Graph graph, SessionOptions options = {},
                                const std::vector<std::string> &tags = {});

  /// The signatures, sorted by name.
  const std::vector<Graph::Signature> &signatures() const;
  /// Returns a signature by name. NotFound, with similar names, if there is none.
  Expected<const Graph::Signature *> signature(std::string_view name) const;

  using Values = std::vector<std::pair<std::string, Tensor>>;
  /// Calls a signature with all of its inputs, by key; returns all of its outputs, sorted by key.
  /// InvalidArgument for missing or unknown inputs, or a wrong dtype or shape.
  Expected<Values> call(std::string_view signature, const Values &inputs) const;

  /// The functions of the model's objects, sorted by name. Empty for a StableHLO program.
  const std::vector<ModelFunction> &functions() const;
  /// Returns a function by its name, another path to it, or its alias. NotFound, with similar
  /// names, if there is none.
  Expected<const ModelFunction *> function(std::string_view name) const;
  /// Returns the first variant that accepts these inputs. A fixed argument that is passed must have
  /// the variant's value; an empty tensor means None. InvalidArgument, with a list of the variants,
  /// if none fits.
  static Expected<const ModelFunction::Variant *> choose(const ModelFunction &function,
                                                         const Values &inputs);
  /// Calls the variant that accepts these inputs; returns its outputs in the variant's order.
  /// Captured objects are bound as in signatures. Errors: those of `function` and `choose`;
  /// Unimplemented, with the reason, for a variant that can't be called.
  Expected<Values> callFunction(std::string_view name, const Values &inputs) const;
  /// The session that runs functions; it shares the state of `session()`.
  Expected<Session> functionSession() const;

  /// Writes the current values of the variables to the checkpoint that they were restored from,
  /// which is replaced atomically.
  Expected<void> save() const;
  /// Writes the model with its variables to a new or an empty folder.
  Expected<void> save(const std::string &folder) const;

  /// The session that holds the model's state, for tensors that no signature returns.
  Session session() const;

  struct Impl;
  std::shared_ptr<Impl> impl; // internal

private:
  static Expected<Model> ofProgram(Graph graph, SessionOptions options);
};

} // namespace treadle
