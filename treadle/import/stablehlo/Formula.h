// Internal to the folder: expressions whose operators create nodes. Operands have equal element
// types or are numbers; scalars broadcast to tensors.
#pragma once

#include "treadle/import/stablehlo/BodyConverter.h"

namespace treadle::hlo {

class Term {
public:
  Term(BodyConverter &body, Value value) : body(&body), node(value) {}

  operator Value() const { return node; } // NOLINT(google-explicit-constructor)
  Value value() const { return node; }
  Type element() const { return elementOf(node); }
  BodyConverter &of() const { return *body; }

  /// Returns a scalar of the same element type.
  Term number(double x) const { return {*body, body->scalar(element(), x)}; }
  Term whole(int64_t x) const { return {*body, body->scalarInt(element(), x)}; }
  Term as(Type element) const { return {*body, body->cast(node, element)}; }
  /// Bitcasts to another type of the same size.
  Term bitsAs(Type type) const {
    return element() == type ? *this : Term(*body, body->likeOf("Bitcast", node, type));
  }
  Term unary(StringRef op) const { return {*body, body->like(op, node)}; }
  Term unary(StringRef op, Type result) const { return {*body, body->likeOf(op, node, result)}; }
  Term binary(StringRef op, Term other) const {
    return {*body, body->node(op, {node, other.node}, wider(other))};
  }
  Term compared(StringRef op, Term other) const {
    Type type = BodyConverter::withElement(wider(other), body->builder.getI1Type());
    return {*body, body->node(op, {node, other.node}, type)};
  }
  /// Selects by this predicate.
  Term choose(Term yes, Term no) const {
    Type shape = widest(node.getType(), yes.wider(no));
    return {*body, body->node("SelectV2", {node, yes.node, no.node},
                              BodyConverter::withElement(shape, yes.element()))};
  }

private:
  static Type widest(Type a, Type b) {
    auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(a);
    return ranked && ranked.getRank() == 0 ? b : a;
  }
  /// Returns the type of the operand that isn't a scalar.
  Type wider(Term other) const { return widest(node.getType(), other.node.getType()); }

  BodyConverter *body;
  Value node;
};

inline Term operator+(Term a, Term b) { return a.binary("AddV2", b); }
inline Term operator-(Term a, Term b) { return a.binary("Sub", b); }
inline Term operator*(Term a, Term b) { return a.binary("Mul", b); }
inline Term operator/(Term a, Term b) { return a.binary("RealDiv", b); }
inline Term operator+(Term a, double b) { return a + a.number(b); }
inline Term operator-(Term a, double b) { return a - a.number(b); }
inline Term operator*(Term a, double b) { return a * a.number(b); }
inline Term operator/(Term a, double b) { return a / a.number(b); }
inline Term operator-(Term a) { return a.unary("Neg"); }
inline Term operator<(Term a, Term b) { return a.compared("Less", b); }
inline Term operator>(Term a, Term b) { return a.compared("Greater", b); }
inline Term operator==(Term a, Term b) { return a.compared("Equal", b); }
inline Term operator!=(Term a, Term b) { return a.compared("NotEqual", b); }
inline Term operator<(Term a, double b) { return a < a.number(b); }
inline Term operator>(Term a, double b) { return a > a.number(b); }
inline Term operator==(Term a, double b) { return a == a.number(b); }
inline Term operator&&(Term a, Term b) { return a.binary("LogicalAnd", b); }
inline Term operator||(Term a, Term b) { return a.binary("LogicalOr", b); }
inline Term operator!(Term a) { return a.unary("LogicalNot"); }
inline Term operator&(Term a, Term b) { return a.binary("BitwiseAnd", b); }
inline Term operator<<(Term a, Term b) { return a.binary("LeftShift", b); }
inline Term operator>>(Term a, Term b) { return a.binary("RightShift", b); }

inline Term abs(Term a) { return a.unary("Abs"); }
inline Term min(Term a, Term b) { return a.binary("Minimum", b); }
inline Term max(Term a, Term b) { return a.binary("Maximum", b); }

} // namespace treadle::hlo
