// Graphs as values: reading, writing, queries and edits. Analyses have separate headers (Summary.h,
// Check.h, Explain.h, Explore.h), as have larger changes (Gradients.h, Schedule.h).
#pragma once

#include "treadle/tensor/Attr.h"
#include "treadle/tensor/Error.h"
#include "treadle/tensor/Tensor.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treadle {

/// A graph with its functions, read from a file or from memory. Cheap to copy: copies share the
/// graph until one is edited. Const functions are thread-safe; edits are not.
class Graph {
public:
  /// Reads a GraphDef, binary (.pb) or text (.pbtxt), MLIR text (.mlir: tfg, tf_executor, stablehlo
  /// or mhlo), or the folder of a SavedModel; `-` reads standard input. If the extension is
  /// unknown, the content decides. NotFound if there is no such file, InvalidArgument if it has
  /// another format or is malformed (with line and column, or the node).
  static Expected<Graph> fromFile(const std::string &path);
  /// Reads a graph from memory, in the same formats.
  static Expected<Graph> fromBytes(std::string_view bytes);

  /// Notes on assumptions made while reading the file, as text: which Enters of tf_executor are
  /// treated as constant. Graphs derived from this one have the same notes.
  const std::vector<std::string> &notes() const;

  /// Writes the graph in the format that the extension selects: .pb, .pbtxt, .mlir. Replaces an
  /// existing file atomically. A SavedModel is written as a folder if there is no extension or a
  /// slash at the end, with copies of its variables and assets; AlreadyExists if it would replace
  /// anything. InvalidArgument for an unknown extension.
  Expected<void> toFile(const std::string &path) const;
  /// Returns the graph as a serialized GraphDef, equal as a message to the one it was read from.
  Expected<std::string> toGraphDef() const;
  /// Returns the graph as MLIR text.
  std::string text() const;

  /// Returns a copy of the graph after running passes, in MLIR's pipeline syntax:
  /// `tfg-cse{keep=a,b},tfg-toposort`. InvalidArgument for a malformed pipeline, or if a pass
  /// fails.
  Expected<Graph> runPasses(std::string_view pipeline) const;

  /// An input or output of the graph.
  struct Value {
    std::string name; // `x:0`
    DType dtype = DType::Invalid;
    bool hasRank = false;
    std::vector<int64_t> dims; // -1: unknown
    /// For a component of a composite tensor `x`, with a key such as `x.values`: `x`, and the kind
    /// of tensor: `ragged`, `sparse`. Components are adjacent, in TensorFlow's order.
    std::string composite = {}, compositeKind = {};
  };
  /// The placeholders, in order.
  std::vector<Value> inputs() const;
  /// The values that `run` fetches by default: those of nodes without uses.
  std::vector<Value> outputs() const;

  /// A signature of a SavedModel: its tensors by key.
  struct Signature {
    std::string name;      // `serving_default`
    std::string method;    // `tensorflow/serving/predict`
    std::string metaGraph; // the tags of its meta graph: `serve`, `serve,gpu`
    /// By key; the `name` of a value is the tensor in the graph. A composite tensor (ragged,
    /// sparse) has a key for each component: `x.values`, `x.row_splits`.
    std::vector<std::pair<std::string, Value>> inputs, outputs;
  };
  /// Whether the graph was read from a SavedModel, with or without signatures.
  bool isSavedModel() const;
  /// The signatures, sorted by name within each meta graph. Values are sorted by key, or in the
  /// program's order for PyTorch programs. A StableHLO program has one signature, with the
  /// arguments and results of its function in order. Empty for a plain graph.
  std::vector<Signature> signatures() const;
  /// Returns the tensors that a signature returns, or without a name those of all signatures; nodes
  /// that these don't need are savers and initializers. Empty for a graph without signatures, and
  /// for a SavedModel with several meta graphs. NotFound, with similar names, for an unknown
  /// signature; Unimplemented for a signature of one of several meta graphs.
  Expected<std::vector<std::string>> signatureFetches(std::string_view name = {}) const;

  // --- Editing. Each function changes this object only: copies made before (by a session, for
  // example) keep the old graph, since the first edit after a copy clones it. An edit that fails
  // changes nothing. Must not be called while another thread uses the same object. Names: `x` for a
  // node, `x:0` (or `x`) for a value, `^x` for a control input. Errors: NotFound for unknown names,
  // AlreadyExists for names that are taken, InvalidArgument for edges of another dtype and for
  // cycles, FailedPrecondition for removing a node that is used.

  struct NodeInfo {
    std::string name, op, device;
    std::vector<std::string> inputs; // data `x:0`, then control `^x`
    AttrMap attrs;
    std::vector<Value> outputs;
  };
  /// Returns the names of the graph's nodes in order, or of the nodes with this op.
  std::vector<std::string> nodeNames(std::string_view op = {}) const;
  Expected<std::string> nodeOp(std::string_view name) const;
  Expected<std::vector<std::string>> nodeInputs(std::string_view name) const;
  /// Returns the nodes that use a node's values or wait for it, each once.
  Expected<std::vector<std::string>> nodeUsers(std::string_view name) const;
  Expected<NodeInfo> node(std::string_view name) const;
  std::vector<std::string> functionNames() const;

  /// Adds a node after the others; returns its name, which is derived from the op if none is given.
  /// Type and count attributes that its inputs determine may be omitted. The op's definition
  /// determines the dtypes of the outputs; for an unknown op they must be given.
  Expected<std::string> addNode(NodeInfo node);
  Expected<void> removeNode(std::string_view name);
  Expected<void> renameNode(std::string_view name, std::string_view newName);
  Expected<void> setNodeInputs(std::string_view name, const std::vector<std::string> &inputs);
  /// Adds a control dependency of a node on another one.
  Expected<void> addControlInput(std::string_view name, std::string_view before);
  /// Sets an attribute; nullopt removes it.
  Expected<void> setNodeAttr(std::string_view name, std::string_view key,
                             const std::optional<AttrValue> &value);
  Expected<void> setNodeDevice(std::string_view name, std::string_view device);
  /// Replaces all uses of the value `from` (or, with `^x`, control dependencies on a node) with
  /// `to`.
  Expected<void> replaceUses(std::string_view from, std::string_view to);

  struct Impl;
  std::shared_ptr<const Impl> impl; // internal
};

} // namespace treadle
