// A graph as a value: read, written, asked for its nodes, edited. What can be found out about one
// stands in headers of its own: Summary.h, Check.h, Explain.h, Explore.h; bigger changes in
// Gradients.h and Schedule.h.
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
/// graph, which never changes after it was read. Thread-safe.
class Graph {
public:
  /// Reads a GraphDef, binary (.pb) or text (.pbtxt), MLIR text (.mlir: of tfg, tf_executor,
  /// stablehlo or mhlo), or the folder of a SavedModel; `-` reads standard input.
  /// The content decides where the name doesn't. NotFound if there is no such file, InvalidArgument
  /// if it is none of these or malformed (with line and column, or the node at fault).
  static Expected<Graph> fromFile(const std::string &path);
  /// The same from memory.
  static Expected<Graph> fromBytes(std::string_view bytes);

  /// What reading the file assumed, for people: which Enters of tf_executor were read as constant.
  /// Graphs that are made of this one have the same.
  const std::vector<std::string> &notes() const;

  /// Writes the graph in the format that the extension names: .pb, .pbtxt, .mlir. A file that
  /// exists is replaced as a whole or not at all. A SavedModel becomes a folder where there is no
  /// extension or a slash at the end, with copies of its variables and assets; AlreadyExists if it
  /// would replace anything. InvalidArgument for an extension that names no format.
  Expected<void> toFile(const std::string &path) const;
  /// The graph as a serialized GraphDef, equal as a message to what was read.
  Expected<std::string> toGraphDef() const;
  /// The graph in MLIR text.
  std::string text() const;

  /// A copy of the graph after passes, in MLIR's pipeline syntax: `tfg-cse{keep=a,b},tfg-toposort`.
  /// InvalidArgument for a pipeline that can't be read, and where a pass fails.
  Expected<Graph> runPasses(std::string_view pipeline) const;

  /// A value that the graph's nodes give or want.
  struct Value {
    std::string name; // `x:0`
    DType dtype = DType::Invalid;
    bool hasRank = false;
    std::vector<int64_t> dims; // -1: unknown
    /// Of a component of a composite tensor `x`, which has the key `x.values` or the like: `x`, and
    /// the kind of tensor: `ragged`, `sparse`. Components stand together, in TensorFlow's order.
    std::string composite = {}, compositeKind = {};
  };
  /// Placeholders, in order.
  std::vector<Value> inputs() const;
  /// What `run` fetches when nothing is asked for: the values of the last nodes, those that no
  /// other node uses.
  std::vector<Value> outputs() const;

  /// A signature of a SavedModel: its tensors by the names that callers use.
  struct Signature {
    std::string name;      // `serving_default`
    std::string method;    // `tensorflow/serving/predict`
    std::string metaGraph; // the tags of the meta graph that it is of: `serve`, `serve,gpu`
    /// By key; `name` of a value is the tensor in the graph. Of a composite tensor (ragged, sparse)
    /// each component has a key: `x.values`, `x.row_splits`.
    std::vector<std::pair<std::string, Value>> inputs, outputs;
  };
  /// True if the graph was read from a SavedModel, with or without signatures.
  bool isSavedModel() const;
  /// Sorted by name within each meta graph, their values by key, or in the program's order where
  /// the model was a program of PyTorch; of a program in StableHLO the one function that the graph
  /// was made from, with its arguments and results in order. Empty for a plain graph.
  std::vector<Signature> signatures() const;
  /// The tensors of the graph that a signature gives, or without a name those that all signatures
  /// give: what isn't needed for these saves, restores and initializes. Empty for a graph that has
  /// no signatures, and for a SavedModel of several meta graphs. NotFound, with the nearest names,
  /// for a name that no signature has; Unimplemented for one of several meta graphs.
  Expected<std::vector<std::string>> signatureFetches(std::string_view name = {}) const;

  // --- Editing: each of these changes this graph alone. What was copied from it before (in a
  // session, for one) stays as it was; the first edit after a copy makes a graph of its own. An
  // edit that fails changes nothing. Not to be called while another thread uses this very object.
  // Names: a node's `x`, a value's `x:0` (or `x`), a control input's `^x`. Errors: NotFound for
  // what isn't there, AlreadyExists for names that are taken, InvalidArgument for edges of another
  // dtype and for cycles, FailedPrecondition for removing what is used.

  struct NodeInfo {
    std::string name, op, device;
    std::vector<std::string> inputs; // data `x:0`, then control `^x`
    AttrMap attrs;
    std::vector<Value> outputs;
  };
  /// The names of the graph's nodes in order, or of those of one op.
  std::vector<std::string> nodeNames(std::string_view op = {}) const;
  Expected<std::string> nodeOp(std::string_view name) const;
  Expected<std::vector<std::string>> nodeInputs(std::string_view name) const;
  /// The nodes that use a node's values or wait for it, each once.
  Expected<std::vector<std::string>> nodeUsers(std::string_view name) const;
  Expected<NodeInfo> node(std::string_view name) const;
  std::vector<std::string> functionNames() const;

  /// Adds a node after the others; gives its name, which is made from the op if it states none.
  /// Types and counts that its inputs tell needn't be among the attributes. The outputs' dtypes are
  /// those of the op's definition; a node of an unknown op states them.
  Expected<std::string> addNode(NodeInfo node);
  Expected<void> removeNode(std::string_view name);
  Expected<void> renameNode(std::string_view name, std::string_view newName);
  Expected<void> setNodeInputs(std::string_view name, const std::vector<std::string> &inputs);
  /// Without a value, removes the attribute.
  Expected<void> setNodeAttr(std::string_view name, std::string_view key,
                             const std::optional<AttrValue> &value);
  Expected<void> setNodeDevice(std::string_view name, std::string_view device);
  /// Who used the value `from` (or, with `^x`, waited for a node) uses `to` instead.
  Expected<void> replaceUses(std::string_view from, std::string_view to);

  struct Impl;
  std::shared_ptr<const Impl> impl; // internal
};

} // namespace treadle
