// Internal: what a SavedModel's files say, apart from its graph.
#pragma once

#include "treadle/proto/meta_graph.pb.h"
#include "treadle/treadle.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace treadle {

/// One meta graph of a SavedModel: its header, which has everything but the graph, and the folder
/// where its variables and assets are.
struct SavedModelFiles {
  std::string folder;
  pb::MetaGraphDef meta;

  /// Of a module that was imported from a SavedModel; nothing for others. Where there are several
  /// meta graphs, `module` becomes that whose tags are `tags`, or, where none are given, the one
  /// that is tagged `serve` alone, else the only one with `serve` among its tags. NotFound if there
  /// is no such meta graph.
  static Expected<SavedModelFiles> of(mlir::OwningOpRef<mlir::ModuleOp> &module,
                                      const std::vector<std::string> &tags);

  /// The prefix of its checkpoint; the files need not exist.
  std::string variables() const { return folder + "/variables/variables"; }

  struct Asset {
    std::string tensor; // `x:0`, fed with the path
    std::string path;
  };
  /// InvalidArgument for a file name that leads out of the model's folder. The files need not
  /// exist: the graph may use no more than their names.
  Expected<std::vector<Asset>> assets() const;

  /// The signature that is none, but names the node to run first.
  static constexpr std::string_view initKey = "__saved_model_init_op";
  /// The collection that lists the signatures' tensors in order; without it they are sorted by key.
  static constexpr std::string_view orderCollection = "signature_order";
  /// The node to run once variables are restored; empty if there is none.
  std::string initOp() const;
};

/// What a meta graph offers to call, sorted by name; values are in the order that the meta graph
/// lists, or by key.
std::vector<Graph::Signature> signaturesOf(const pb::MetaGraphDef &meta);

/// The signature of that name. NotFound, with the nearest names, if there is none.
Expected<const Graph::Signature *> findSignature(const std::vector<Graph::Signature> &signatures,
                                                 std::string_view name);

} // namespace treadle
