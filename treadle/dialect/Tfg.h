// The tfg dialect in C++: its operations, and Node, the view of a graph node that most code uses.
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

/// A view of an operation of the tfg dialect as a node of a graph. It is a pointer-sized value
/// type. It assumes that data operands and results precede control ones, which the verifier of the
/// parent graph or function checks.
class Node {
public:
  Node(mlir::Operation *op = nullptr) : op(op) {}

  explicit operator bool() const { return op != nullptr; }
  bool operator==(const Node &other) const = default;
  mlir::Operation *operator->() const { return op; }
  mlir::Operation *getOperation() const { return op; }

  /// Whether `op` is a node: an op of the tfg dialect other than its containers and helpers
  /// (tfg.graph, tfg.func, tfg.return, tfg.get_result).
  static bool isNode(mlir::Operation *op);
  static bool classof(mlir::Operation *op) { return isNode(op); }

  /// The op as a GraphDef spells it: "AddV2".
  llvm::StringRef opType() const {
    llvm::StringRef name = op->getName().getStringRef();
    return name.consume_front("tfg.") ? name : op->getName().stripDialect();
  }

  /// Returns an empty string or null if the node has none.
  llvm::StringRef name() const { return valueOf(nameAttr()); }
  llvm::StringRef device() const { return valueOf(deviceAttr()); }
  llvm::StringRef assignedDevice() const { return valueOf(assignedDeviceAttr()); }
  mlir::StringAttr nameAttr() const { return attr<mlir::StringAttr>(dialect().nameKey); }
  mlir::StringAttr deviceAttr() const { return attr<mlir::StringAttr>(dialect().deviceKey); }
  mlir::StringAttr assignedDeviceAttr() const {
    return attr<mlir::StringAttr>(dialect().assignedDeviceKey);
  }
  /// Returns the full type of the node's results as one product; null if it has none.
  tf_type::FullTypeAttr fullType() const {
    return attr<tf_type::FullTypeAttr>(dialect().fullTypeKey);
  }
  /// Setting an empty string removes the attribute.
  void setName(llvm::StringRef name) { set(dialect().nameKey, name); }
  void setDevice(llvm::StringRef device) { set(dialect().deviceKey, device); }
  void setAssignedDevice(llvm::StringRef device) { set(dialect().assignedDeviceKey, device); }

  /// All attributes, including the name and the devices, sorted by name. Prefer this to
  /// Operation::getAttrs, which builds a new dictionary at each call.
  llvm::ArrayRef<mlir::NamedAttribute> attrs() const {
    return op->getDiscardableAttrDictionary().getValue();
  }
  /// Returns null if the node has no such attribute, or one of another kind.
  template <typename Attr = mlir::Attribute> Attr attr(llvm::StringRef key) const {
    return mlir::dyn_cast_or_null<Attr>(op->getDiscardableAttr(key));
  }
  template <typename Attr = mlir::Attribute> Attr attr(mlir::StringAttr key) const {
    return mlir::dyn_cast_or_null<Attr>(op->getDiscardableAttr(key));
  }
  /// Whether `key` is one of the attributes that represent fields of the node (the name, the
  /// devices and the full type) rather than its own attributes.
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
  /// Returns null if the operation has none (it isn't a node, or it is malformed).
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

  /// Returns the index of the first trailing control token; scans from the end, since there are
  /// few.
  template <typename Range> static unsigned firstControl(Range values) {
    unsigned end = values.size();
    while (end > 0 && isControl(values[end - 1]))
      --end;
    return end;
  }

  mlir::Operation *op;
};

/// Returns the node that defines `value`; null for function arguments. In a generic function it
/// looks through tfg.get_result.
Node definingNode(mlir::Value value);

/// Returns the control token that is available when `value` is: its node's or its argument's.
mlir::Value controlTokenOf(mlir::Value value);

/// Whether an op of this name has the custom form; otherwise the generic form is used.
bool isBareOpName(llvm::StringRef opType);

} // namespace treadle::tfg
