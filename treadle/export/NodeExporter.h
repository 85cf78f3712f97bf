// Exports operations as nodes of a GraphDef or FunctionDef.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/export/Attributes.h"
#include "treadle/import/OpSignatures.h"
#include "treadle/proto/node_def.pb.h"

#include "llvm/ADT/StringSet.h"

namespace treadle::graphdef {

/// The state that the parts of one export share.
struct ExportState {
  explicit ExportState(mlir::MLIRContext *context);

  mlir::MLIRContext *context;
  tfg::TfgDialect *dialect;
  TypeTable types;
  OpSignatures signatures;
  mlir::StringAttr restKey, outputsKey;
};

/// Exports the nodes of one block. Nodes without a name get a unique one.
class NodeExporter {
public:
  /// `function` is null in a graph.
  NodeExporter(ExportState &state, mlir::Block &block, tfg::FuncOp function = {});

  Expected<void> exportNode(tfg::Node node, pb::NodeDef &def);

  /// Returns the spelling of an input, or of a function's result.
  Expected<std::string> spell(mlir::Value value);
  /// Whether another spelling refers to the same value.
  bool isSpelling(llvm::StringRef spelling, mlir::Value value);
  /// Returns the name of a node or of an argument of the function.
  llvm::StringRef nameOf(mlir::Value value);

private:
  void nameUnnamedNodes(mlir::Block &block);
  Expected<std::string> spellResult(mlir::OpResult result);
  Expected<void> exportAttrs(tfg::Node node, pb::NodeDef &def);
  Expected<void> exportInputs(tfg::Node node, pb::NodeDef &def);
  Expected<void> mergeRest(tfg::Node node, pb::NodeDef &def);

  ExportState &state;
  tfg::FuncOp function;
  bool isGeneric;
  llvm::DenseMap<mlir::Operation *, std::string> madeNames;
  std::vector<std::string> argumentNames;
};

} // namespace treadle::graphdef
