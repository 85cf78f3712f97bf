// Builds gradient nodes, and terms that read like formulas.
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/tensor/Error.h"

#include <optional>

namespace treadle::tfg {

using Values = llvm::SmallVector<mlir::Value, 4>;
using Attrs = llvm::ArrayRef<mlir::NamedAttribute>;

/// Returns the dtype of a value; for a reference, of the value that it refers to.
mlir::Type elementOf(mlir::Value value);

/// Returns the dimensions of a value if all are known.
std::optional<llvm::ArrayRef<int64_t>> staticShape(mlir::Value value);

/// Builds nodes at the end of a graph or function. Results have unknown shapes.
class Emitter {
public:
  explicit Emitter(mlir::Block &body);

  /// Sets the node that the following nodes are emitted for; their names are derived from it.
  void setOrigin(llvm::StringRef name) { origin = name.str(); }

  /// Emits a node with results of these dtypes, and with only these attributes.
  Node emit(llvm::StringRef op, mlir::ValueRange inputs, mlir::TypeRange elements, Attrs attrs);
  /// Like `emit`, but the node counts as an original (forward) node.
  Node emitForward(llvm::StringRef op, mlir::ValueRange inputs, mlir::TypeRange elements,
                   Attrs attrs);
  /// Emits a node with one result and an attribute T: the dtype of its first input and of its
  /// result.
  mlir::Value same(llvm::StringRef op, mlir::ValueRange inputs, Attrs attrs = {});
  /// Like `same`, but with a result of another dtype.
  mlir::Value to(mlir::Type element, llvm::StringRef op, mlir::ValueRange inputs, Attrs attrs = {});

  mlir::Value integer(int32_t value);
  mlir::Value integers(llvm::ArrayRef<int32_t> values);
  /// Returns a scalar of a numeric dtype.
  mlir::Value number(double value, mlir::Type element);

  mlir::Value cast(mlir::Value x, mlir::Type element);
  /// Casts any integer to int32.
  mlir::Value index(mlir::Value x) { return cast(x, builder.getI32Type()); }
  mlir::Value shapeOf(mlir::Value x); // int32
  /// Records that a value was replaced by another one.
  void moveShape(mlir::Value from, mlir::Value to);
  mlir::Value rankOf(mlir::Value x) { return to(builder.getI32Type(), "Rank", x); }
  /// For a handle, zeros have the variable's shape and dtype.
  mlir::Value zerosLike(mlir::Value x);
  mlir::Value fill(mlir::Value shape, mlir::Value number);
  mlir::Value reshape(mlir::Value x, mlir::Value shape);
  mlir::Value broadcastTo(mlir::Value x, mlir::Value shape);
  mlir::Value sum(mlir::Value x, mlir::Value axes, bool keepDims = false);
  mlir::Value slice(mlir::Value x, mlir::Value begin, mlir::Value size);
  mlir::Value concat(mlir::ValueRange parts, mlir::Value axis);
  mlir::Value add(mlir::ValueRange terms);
  /// Returns the numbers from 0 to `limit`, exclusive.
  mlir::Value range(mlir::Value limit);
  /// Returns the axes along which inputs of these shapes were broadcast.
  std::pair<mlir::Value, mlir::Value> broadcastAxes(mlir::Value shapeX, mlir::Value shapeY);

  /// Returns the dtype of a value's gradient: its own; for a handle, that of its variable if the
  /// graph specifies it, otherwise float, as TensorFlow assumes.
  mlir::Type gradientElement(mlir::Value value);
  /// Sets that dtype for a handle that is an argument.
  void setVariableElement(mlir::Value handle, mlir::Type element) {
    variableElements[handle] = element;
  }

  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value);
  mlir::NamedAttribute attr(llvm::StringRef name, bool value);
  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Type element);
  mlir::NamedAttribute integerAttr(llvm::StringRef name, int64_t value);
  /// Returns those of the attributes that the node has.
  llvm::SmallVector<mlir::NamedAttribute> attrsOf(Node node, llvm::ArrayRef<llvm::StringRef> names);

  /// Records why there is no gradient; keeps the first error.
  void fail(Error error);
  std::optional<Error> failure;

  mlir::OpBuilder builder;

  /// Erases emitted nodes without users, except those that define values in `kept`.
  void eraseUnused(mlir::ValueRange kept = {});
  /// Returns the emitted nodes in topological order.
  const std::vector<mlir::Operation *> &nodes() const { return emitted; }

private:
  NameScope names;
  std::string origin;
  std::vector<mlir::Operation *> emitted;
  llvm::DenseMap<mlir::Value, mlir::Value> shapes;
  llvm::DenseMap<mlir::Value, mlir::Type> variableElements;
};

/// A value in a formula: `-dy * square(y)`.
struct Term {
  Emitter *emitter;
  mlir::Value value;

  operator mlir::Value() const { return value; }
  /// Emits a node of this op on terms of one dtype.
  Term operator()(llvm::StringRef op) const { return {emitter, emitter->same(op, value)}; }
  Term operator()(llvm::StringRef op, Term other) const {
    return {emitter, emitter->same(op, {value, other.value})};
  }
  /// Returns a number of the term's dtype.
  Term number(double n) const { return {emitter, emitter->number(n, elementOf(value))}; }
};

inline Term operator-(Term x) { return x("Neg"); }
inline Term operator+(Term x, Term y) { return x("AddV2", y); }
inline Term operator-(Term x, Term y) { return x("Sub", y); }
inline Term operator*(Term x, Term y) { return x("Mul", y); }
inline Term operator/(Term x, Term y) { return x("RealDiv", y); }
inline Term operator+(double x, Term y) { return y.number(x) + y; }
inline Term operator-(double x, Term y) { return y.number(x) - y; }
inline Term operator-(Term x, double y) { return x - x.number(y); }
inline Term operator*(double x, Term y) { return y.number(x) * y; }
inline Term square(Term x) { return x("Square"); }
inline Term reciprocal(Term x) { return x("Reciprocal"); }

} // namespace treadle::tfg
