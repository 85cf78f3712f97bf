// Models, called by signature.
#pragma once

#include "treadle/Session.h"

namespace treadle {

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
