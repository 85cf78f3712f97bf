// Nodes of a GraphDef or FunctionDef become operations of one block.
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

/// What the parts of one import share.
struct ImportState {
  explicit ImportState(mlir::MLIRContext *context);

  mlir::MLIRContext *context;
  tfg::TfgDialect *dialect;
  mlir::Location location;
  TypeTable types;
  AttributeImporter attributes;
  OpSignatures signatures;
  mlir::StringAttr restKey, outputsKey;
  /// Null for none.
  DebugInfo *debugInfo = nullptr;
};

enum class Scope {
  Graph,
  Function,
  /// Values are opaque, results are found by name alone, and nothing is checked against op
  /// definitions.
  GenericFunction,
};

/// Fills a block. Nodes may refer to nodes that come later; finish() ties those knots. One pass:
/// the cost is linear in the size of the nodes.
class NodeImporter {
public:
  /// `function` is the name of the function that the block is of, empty for the graph.
  NodeImporter(ImportState &state, mlir::Block &block, Scope scope, llvm::StringRef function = {});
  ~NodeImporter();
  NodeImporter(const NodeImporter &) = delete;
  NodeImporter &operator=(const NodeImporter &) = delete;

  /// Makes room, so that nothing grows step by step.
  void reserve(size_t numNodes);
  /// An argument of the function; its control token follows it in the block.
  Expected<void> addArgument(llvm::StringRef name, mlir::BlockArgument argument);
  Expected<void> addNode(const pb::NodeDef &node);

  /// What a function returns, as its definition spells it.
  struct Return {
    llvm::StringRef name, source;
    mlir::Type type; // null for control results
  };
  Expected<void> addReturn(llvm::ArrayRef<Return> data, llvm::ArrayRef<Return> control,
                           mlir::ArrayAttr controlAttrs);

  /// Connects what referred to later nodes, and checks that only loops are cycles.
  Expected<void> finish();

private:
  Expected<void> importNode(const pb::NodeDef &node);
  /// Where faults are gathered, notes the error to be given by finish(); else gives it.
  Expected<void> noted(Error error);

  /// A node or argument that inputs name.
  struct Producer {
    mlir::Operation *op = nullptr;
    mlir::Value argument;
    const OpSignature *signature = nullptr;
  };
  /// An operand whose producer wasn't there yet.
  struct Pending {
    mlir::Operation *user;
    unsigned operand;
    std::string source;
    mlir::Type expected;
  };
  /// Results of a node whose op nobody knows: they are what its users ask for.
  struct UnknownOutputs {
    unsigned numResults = 0;
    llvm::StringMap<unsigned> indices; // in functions
    llvm::SmallVector<mlir::Attribute> names;
    llvm::SmallVector<mlir::Type> types; // null, or what the first user wants that says so
  };

  Expected<mlir::DictionaryAttr> convertAttrs(const pb::NodeDef &node);
  Expected<void> convertTypes(const OpSignature &signature, Attrs attrs, const pb::NodeDef &node);
  Expected<void> checkInputCount(const OpSignature &signature, size_t numData);
  void addRest(const pb::NodeDef &node, llvm::SmallVectorImpl<mlir::NamedAttribute> &attrs);
  bool isCanonical(const Endpoint &endpoint) const;
  Expected<void> addName(llvm::StringRef name, Producer producer);

  /// The value that `source` names; null if its node isn't known yet.
  Expected<mlir::Value> resolve(llvm::StringRef source, bool isLast);
  Expected<mlir::Value> resolve(const Endpoint &endpoint, const Producer &producer);
  Expected<mlir::Value> resolveOpaque(const Endpoint &endpoint, const Producer &producer);
  Expected<mlir::Value> resolveUnknown(const Endpoint &endpoint, const Producer &producer);
  Expected<unsigned> resultIndex(const Endpoint &endpoint, const Producer &producer);
  Expected<void> checkType(mlir::Value value, mlir::Type expected);

  void nameOutputs(mlir::Operation *op, const OpSignature &signature);
  Expected<void> countUnknownOutputs();
  void noteType(llvm::StringRef source, mlir::Type wanted);
  void rebuild(unsigned producer, const UnknownOutputs &outputs);
  Expected<void> connect(const Pending &pending);
  Error atUser(mlir::Operation *user, unsigned operand, Error error);

  ImportState &state;
  mlir::Block &block;
  Scope scope;
  llvm::StringRef function;

  std::vector<Producer> producers;
  llvm::DenseMap<llvm::CachedHashStringRef, unsigned> names;
  std::vector<Pending> pending;
  std::optional<Error> firstFault;
  llvm::DenseMap<unsigned, UnknownOutputs> unknownOutputs;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> rebuilt;
  /// In generic functions: outputs by node, name and index.
  using Pick = std::pair<mlir::Operation *, std::pair<mlir::Attribute, uint32_t>>;
  llvm::DenseMap<Pick, mlir::Value> picked;

  /// Stands in for values that aren't there yet.
  mlir::Operation *standIn;
  // Of the node at hand; kept to keep their memory.
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Type> inputTypes, resultTypes;
  llvm::SmallVector<mlir::NamedAttribute> attrs;
};

} // namespace treadle::graphdef
