// Imports nodes of a GraphDef or FunctionDef as operations of one block.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/import/Attributes.h"
#include "treadle/import/DebugInfo.h"
#include "treadle/import/Endpoints.h"
#include "treadle/import/OpSignatures.h"
#include "treadle/proto/node_def.pb.h"

#include "llvm/ADT/CachedHashString.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <string>
#include <vector>

namespace treadle::graphdef {

/// The state that the parts of one import share.
struct ImportState {
  explicit ImportState(mlir::MLIRContext *context);

  mlir::MLIRContext *context;
  tfg::TfgDialect *dialect;
  mlir::Location location;
  TypeTable types;
  AttributeImporter attributes;
  OpSignatures signatures;
  mlir::StringAttr restKey, outputsKey;
  /// May be null.
  DebugInfo *debugInfo = nullptr;
};

enum class Scope {
  Graph,
  Function,
  /// Values are opaque, results are found by name, and nothing is checked against op definitions.
  GenericFunction,
};

/// Fills a block. Nodes may refer to later nodes; finish() resolves these references. One pass:
/// linear in the size of the nodes.
class NodeImporter {
public:
  /// `function` is the name of the block's function; empty for the graph.
  NodeImporter(ImportState &state, mlir::Block &block, Scope scope, llvm::StringRef function = {});
  ~NodeImporter();
  NodeImporter(const NodeImporter &) = delete;
  NodeImporter &operator=(const NodeImporter &) = delete;

  /// Reserves memory for so many nodes.
  void reserve(size_t numNodes);
  /// Adds an argument of the function; its control token follows it in the block.
  Expected<void> addArgument(llvm::StringRef name, mlir::BlockArgument argument);
  Expected<void> addNode(const pb::NodeDef &node);

  /// A value that a function returns, in the spelling of its definition.
  struct Return {
    llvm::StringRef name, source;
    mlir::Type type; // null for control results
  };
  Expected<void> addReturn(llvm::ArrayRef<Return> data, llvm::ArrayRef<Return> control,
                           mlir::ArrayAttr controlAttrs);

  /// Resolves forward references, and checks that all cycles are loops.
  Expected<void> finish();

private:
  Expected<void> importNode(const pb::NodeDef &node);
  /// If NodeErrorCollector collects errors, records the error, which finish() returns; otherwise
  /// returns it.
  Expected<void> recorded(Error error);

  /// A node or argument that inputs refer to.
  struct Producer {
    mlir::Operation *op = nullptr;
    mlir::Value argument;
    const OpSignature *signature = nullptr;
  };
  /// An operand whose producer hasn't been imported yet.
  struct PendingOperand {
    mlir::Operation *user;
    unsigned operand;
    std::string source;
    mlir::Type expected;
  };
  /// The results of a node with an unknown op, as its users refer to them.
  struct UnknownOutputs {
    unsigned numResults = 0;
    llvm::StringMap<unsigned> indices; // in functions
    llvm::SmallVector<mlir::Attribute> names;
    // Null, or the type that the first user with a definite type expects.
    llvm::SmallVector<mlir::Type> types;
  };

  Expected<mlir::DictionaryAttr> convertAttrs(const pb::NodeDef &node);
  Expected<void> convertTypes(const OpSignature &signature, Attrs attrs, const pb::NodeDef &node);
  Expected<void> checkInputCount(const OpSignature &signature, size_t numData);
  void addRest(const pb::NodeDef &node, llvm::SmallVectorImpl<mlir::NamedAttribute> &attrs);
  bool isCanonical(const Endpoint &endpoint) const;
  Expected<void> addName(llvm::StringRef name, Producer producer);

  /// Returns the value that `source` names; null if its node hasn't been imported yet.
  Expected<mlir::Value> resolve(llvm::StringRef source, bool isLast);
  Expected<mlir::Value> resolve(const Endpoint &endpoint, const Producer &producer);
  Expected<mlir::Value> resolveOpaque(const Endpoint &endpoint, const Producer &producer);
  Expected<mlir::Value> resolveUnknown(const Endpoint &endpoint, const Producer &producer);
  Expected<unsigned> resultIndex(const Endpoint &endpoint, const Producer &producer);
  Expected<void> checkType(mlir::Value value, mlir::Type expected);

  void nameOutputs(mlir::Operation *op, const OpSignature &signature);
  Expected<void> countUnknownOutputs();
  void recordType(llvm::StringRef source, mlir::Type wanted);
  void rebuild(unsigned producer, const UnknownOutputs &outputs);
  Expected<void> connect(const PendingOperand &pending);
  Error atUser(mlir::Operation *user, unsigned operand, Error error);

  ImportState &state;
  mlir::Block &block;
  Scope scope;
  llvm::StringRef function;

  std::vector<Producer> producers;
  llvm::DenseMap<llvm::CachedHashStringRef, unsigned> names;
  std::vector<PendingOperand> pending;
  std::optional<Error> firstFault;
  llvm::DenseMap<unsigned, UnknownOutputs> unknownOutputs;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> rebuilt;
  /// In generic functions: outputs by node, name and index.
  using Pick = std::pair<mlir::Operation *, std::pair<mlir::Attribute, uint32_t>>;
  llvm::DenseMap<Pick, mlir::Value> picked;

  /// A placeholder for values that don't exist yet.
  mlir::Operation *placeholderOp;
  // Buffers for the current node, reused for all nodes.
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Type> inputTypes, resultTypes;
  llvm::SmallVector<mlir::NamedAttribute> attrs;
};

} // namespace treadle::graphdef
