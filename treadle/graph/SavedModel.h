// Internal: the metadata of a SavedModel.
#pragma once

#include "treadle/proto/meta_graph.pb.h"
#include "treadle/treadle.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace treadle {

/// One meta graph of a SavedModel: its header, which has all fields except the graph, and the
/// folder of its variables and assets.
struct SavedModelFiles {
  std::string folder;
  pb::MetaGraphDef meta;

  /// Reads a module that was imported from a SavedModel; empty for other modules. If there are
  /// several meta graphs, `module` becomes the one tagged `tags`; without tags, the one tagged
  /// exactly `serve`, else the only one with `serve` among its tags. NotFound if there is no such
  /// meta graph.
  static Expected<SavedModelFiles> of(mlir::OwningOpRef<mlir::ModuleOp> &module,
                                      const std::vector<std::string> &tags);

  /// The prefix of its checkpoint. The files may be missing.
  std::string variables() const { return folder + "/variables/variables"; }

  struct Asset {
    std::string tensor; // the tensor (`x:0`) that is fed with the path
    std::string path;
  };
  /// InvalidArgument for a file name that points outside of the model's folder. The files may be
  /// missing: some graphs use only their names.
  Expected<std::vector<Asset>> assets() const;

  /// A pseudo-signature that names the node to run first.
  static constexpr std::string_view initKey = "__saved_model_init_op";
  /// The collection that lists the signatures' tensors in order; without it, they are sorted by
  /// key.
  static constexpr std::string_view orderCollection = "signature_order";
  /// The node to run once variables are restored; empty if there is none.
  std::string initOp() const;
};

/// Returns the signatures of a meta graph, sorted by name. Values are in the listed order, or
/// sorted by key.
std::vector<Graph::Signature> signaturesOf(const pb::MetaGraphDef &meta);

/// Returns the signature of that name. NotFound, with the nearest names, if there is none.
Expected<const Graph::Signature *> findSignature(const std::vector<Graph::Signature> &signatures,
                                                 std::string_view name);

} // namespace treadle
