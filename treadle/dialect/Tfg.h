// The tfg dialect in C++: its operations, and the view of a node that everything else works with.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "treadle/dialect/TfType.h"

#include "treadle/dialect/TfgDialect.h.inc"

namespace treadle::tfg {
class ReturnOp;
} // namespace treadle::tfg

#define GET_OP_CLASSES
#include "treadle/dialect/TfgOps.h.inc"

namespace treadle::tfg {

/// Whether `value` is a control token.
inline bool isControl(mlir::Value value) {
  return mlir::isa<tf_type::ControlType>(value.getType());
}

/// An operation of the tfg dialect seen as a node of a graph. It is a pointer: copy it freely. It
/// takes the order of operands and results (data, then control) as given; the verifier of the
/// enclosing graph or function checks it.
class Node {
public:
  Node(mlir::Operation *op = nullptr) : op(op) {}

  explicit operator bool() const { return op != nullptr; }
  bool operator==(const Node &other) const = default;
  mlir::Operation *operator->() const { return op; }
  mlir::Operation *getOperation() const { return op; }

  /// Whether `op` is a node: of the tfg dialect, and none of its containers and helpers
  /// (tfg.graph, tfg.func, tfg.return, tfg.get_result).
  static bool isNode(mlir::Operation *op);
  static bool classof(mlir::Operation *op) { return isNode(op); }

  /// The op as a GraphDef spells it: "AddV2".
  llvm::StringRef opType() const {
    llvm::StringRef name = op->getName().getStringRef();
    return name.consume_front("tfg.") ? name : op->getName().stripDialect();
  }

  /// Empty or null where the node has none.
  llvm::StringRef name() const { return valueOf(nameAttr()); }
  llvm::StringRef device() const { return valueOf(deviceAttr()); }
  llvm::StringRef assignedDevice() const { return valueOf(assignedDeviceAttr()); }
  mlir::StringAttr nameAttr() const { return attr<mlir::StringAttr>(dialect().nameKey); }
  mlir::StringAttr deviceAttr() const { return attr<mlir::StringAttr>(dialect().deviceKey); }
  mlir::StringAttr assignedDeviceAttr() const {
    return attr<mlir::StringAttr>(dialect().assignedDeviceKey);
  }
  /// The full type of the node's results as one product, null if it states none.
  tf_type::FullTypeAttr fullType() const {
    return attr<tf_type::FullTypeAttr>(dialect().fullTypeKey);
  }
  /// An empty string removes the attribute.
  void setName(llvm::StringRef name) { set(dialect().nameKey, name); }
  void setDevice(llvm::StringRef device) { set(dialect().deviceKey, device); }
  void setAssignedDevice(llvm::StringRef device) { set(dialect().assignedDeviceKey, device); }

  /// All attributes, the name and the devices among them, sorted by name. Prefer this to
  /// Operation::getAttrs, which builds a new dictionary at each call.
  llvm::ArrayRef<mlir::NamedAttribute> attrs() const {
    return op->getDiscardableAttrDictionary().getValue();
  }
  /// Null if the node has no such attribute, or one of another kind.
  template <typename Attr = mlir::Attribute> Attr attr(llvm::StringRef key) const {
    return mlir::dyn_cast_or_null<Attr>(op->getDiscardableAttr(key));
  }
  template <typename Attr = mlir::Attribute> Attr attr(mlir::StringAttr key) const {
    return mlir::dyn_cast_or_null<Attr>(op->getDiscardableAttr(key));
  }
  /// Whether `key` is one of the attributes that stand for fields of the node, not for its own
  /// attributes (the name, the devices and the full type).
  bool isKeyword(mlir::StringAttr key) const {
    const TfgDialect &tfg = dialect();
    return key == tfg.nameKey || key == tfg.deviceKey || key == tfg.assignedDeviceKey ||
           key == tfg.fullTypeKey;
  }

  unsigned numData() const { return firstControl(op->getOperands()); }
  unsigned numControl() const { return op->getNumOperands() - numData(); }
  mlir::OperandRange data() const { return op->getOperands().take_front(numData()); }
  mlir::OperandRange control() const { return op->getOperands().drop_front(numData()); }

  unsigned numResults() const { return firstControl(op->getResults()); }
  mlir::ResultRange results() const { return op->getResults().take_front(numResults()); }
  /// Null if the operation has none (it is no node, or it is malformed).
  mlir::Value controlResult() const {
    if (op->getNumResults() == 0 || !isControl(op->getResults().back()))
      return {};
    return op->getResults().back();
  }

  TfgDialect &dialect() const { return static_cast<TfgDialect &>(*op->getDialect()); }

private:
  static llvm::StringRef valueOf(mlir::StringAttr attr) {
    return attr ? attr.getValue() : llvm::StringRef();
  }
  void set(mlir::StringAttr key, llvm::StringRef value);

  /// Where the trailing control tokens begin; scanned from the end, since they are few.
  template <typename Range> static unsigned firstControl(Range values) {
    unsigned end = values.size();
    while (end > 0 && isControl(values[end - 1]))
      --end;
    return end;
  }

  mlir::Operation *op;
};

/// The node that gives `value`, null for arguments of functions. In a generic function it looks
/// through tfg.get_result.
Node definingNode(mlir::Value value);

/// The control token to wait on for `value` to be there: its node's, or its argument's.
mlir::Value controlTokenOf(mlir::Value value);

/// Whether an op of this name prints and parses in the custom form (else it takes the generic one).
bool isBareOpName(llvm::StringRef opType);

} // namespace treadle::tfg
