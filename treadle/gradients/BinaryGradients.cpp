// Gradients of elementwise ops with several inputs.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

struct Operands {
  Term x, y, z, dz;
  bool isComplex;

  Value compare(StringRef op, Value a, Value b) const {
    return x.emitter->to(x.emitter->builder.getI1Type(), op, {a, b});
  }
  /// Returns 1 if the comparison holds, else 0.
  Term indicator(StringRef op, Value a, Value b) const {
    return {x.emitter, x.emitter->cast(compare(op, a, b), elementOf(x))};
  }
};

struct GradientPair {
  Term x, y;
};

/// Returns the gradients of x and y in the shape of z, before summing over broadcast dimensions.
using Formula = GradientPair (*)(const Operands &);

GradientPair quotient(const Operands &o, StringRef div) {
  return {o.dz(div, o.y), o.dz * (-o.x)(div, square(o.y))};
}

GradientPair power(const Operands &o) {
  Emitter &e = *o.x.emitter;
  Term zero = o.x.number(0);
  // If x has no logarithm, y counts as constant.
  Value hasLog = o.compare(o.isComplex ? "NotEqual" : "Greater", o.x, zero);
  Value zeros = e.zerosLike(o.x);
  Node safeLog =
      e.emit("Select", {hasLog, o.x("Log"), zeros}, elementOf(o.x), e.attr("T", elementOf(o.x)));
  return {o.dz * o.y * o.x("Pow", o.y - 1.0), Term{&e, safeLog->getResult(0)} * (o.dz * o.z)};
}

/// The selected side gets the gradient; x if both are equal.
GradientPair choice(const Operands &o, StringRef comparison) {
  Term gx = o.dz * o.indicator(comparison, o.x, o.y);
  return {gx, o.dz - gx};
}

GradientPair xlogy(const Operands &o, StringRef op, Term argument) {
  Term isNotZero = o.indicator("NotEqual", o.x, o.x("ZerosLike"));
  return {isNotZero(op, o.y) * o.dz, o.x("Xdivy", argument) * o.dz};
}

GradientPair squaredDifference(const Operands &o) {
  Term gx = 2.0 * (o.x - o.y) * o.dz;
  return {gx, -gx};
}

GradientPair arcTangent(const Operands &o) {
  Term each = o.dz / (square(o.x) + square(o.y));
  return {o.y * each, -o.x * each};
}

const std::pair<const char *, Formula> formulas[] = {
    {"Add", [](const Operands &o) { return GradientPair{o.dz, o.dz}; }},
    {"AddV2", [](const Operands &o) { return GradientPair{o.dz, o.dz}; }},
    {"Sub", [](const Operands &o) { return GradientPair{o.dz, -o.dz}; }},
    {"Mul", [](const Operands &o) { return GradientPair{o.dz * o.y, o.x * o.dz}; }},
    {"MulNoNan",
     [](const Operands &o) { return GradientPair{o.dz("MulNoNan", o.y), o.x("MulNoNan", o.dz)}; }},
    {"Div", [](const Operands &o) { return quotient(o, "Div"); }},
    {"RealDiv", [](const Operands &o) { return quotient(o, "RealDiv"); }},
    {"DivNoNan", [](const Operands &o) { return quotient(o, "DivNoNan"); }},
    {"Pow", power},
    {"Maximum", [](const Operands &o) { return choice(o, "GreaterEqual"); }},
    {"Minimum", [](const Operands &o) { return choice(o, "LessEqual"); }},
    {"Xlogy", [](const Operands &o) { return xlogy(o, "Xlogy", o.y); }},
    {"Xlog1py", [](const Operands &o) { return xlogy(o, "Xlog1py", 1.0 + o.y); }},
    {"Xdivy", [](const Operands &o) { return xlogy(o, "Xdivy", -square(o.y)); }},
    {"SquaredDifference", squaredDifference},
    {"Atan2", arcTangent},
    {"FloorMod",
     [](const Operands &o) { return GradientPair{o.dz, -(o.dz * o.x("FloorDiv", o.y))}; }},
    {"Mod",
     [](const Operands &o) { return GradientPair{o.dz, -(o.dz * o.x("TruncateDiv", o.y))}; }},
    {"TruncateMod",
     [](const Operands &o) { return GradientPair{o.dz, -(o.dz * o.x("TruncateDiv", o.y))}; }},
};

Values complexGradient(Emitter &e, const DifferentiatedNode &f) {
  auto part = [&](StringRef op) {
    return e
        .emit(op, f.dy(), f.element(),
              {e.attr("T", elementOf(f.dy())), e.attr("Tout", f.element())})
        ->getResult(0);
  };
  return summedToInputs(e, f, part("Real"), part("Imag"));
}

/// Selects again by the same op, with zeros on the other side.
std::pair<Value, Value> selectAgain(Emitter &e, const DifferentiatedNode &f, Value zeros) {
  auto pick = [&](Value x, Value y) {
    return e
        .emit(f.node.opType(), {f.x(0), x, y}, elementOf(f.dy()), e.attr("T", elementOf(f.dy())))
        ->getResult(0);
  };
  return {pick(f.dy(), zeros), pick(zeros, f.dy())};
}

Values selectGradient(Emitter &e, const DifferentiatedNode &f) {
  auto [dx, dy] = selectAgain(e, f, e.zerosLike(f.dy()));
  return {nullptr, dx, dy};
}

Values selectV2Gradient(Emitter &e, const DifferentiatedNode &f) {
  auto [gx, gy] = selectAgain(e, f, e.number(0, elementOf(f.dy())));
  // The condition and the other side may have been broadcast too.
  auto summed = [&](Value gradient, Value input) {
    auto axes = e.broadcastAxes(e.shapeOf(input), e.shapeOf(f.dy())).first;
    return e.reshape(e.sum(gradient, axes), e.shapeOf(input));
  };
  return {nullptr, summed(gx, f.x(1)), summed(gy, f.x(2))};
}

/// The gradient flows through inside of the bounds; clipped elements contribute to their bound.
Values clipGradient(Emitter &e, const DifferentiatedNode &f) {
  Type i1 = e.builder.getI1Type();
  Value zeros = e.zerosLike(f.dy());
  auto where = [&](Value mask) {
    return e
        .emit("SelectV2", {mask, f.dy(), zeros}, elementOf(f.dy()), e.attr("T", elementOf(f.dy())))
        ->getResult(0);
  };
  Value isBelow = e.to(i1, "Less", {f.x(0), f.x(1)});
  Value isAbove = e.to(i1, "Greater", {f.x(0), f.x(2)});
  Value isOutside = e.emit("LogicalOr", {isBelow, isAbove}, i1, {})->getResult(0);
  Value isInside = e.emit("LogicalNot", isOutside, i1, {})->getResult(0);
  auto bound = [&](Value gradient, Value x) {
    Value axes = e.broadcastAxes(e.shapeOf(x), e.shapeOf(f.dy())).first;
    return e.reshape(e.sum(gradient, axes), e.shapeOf(x));
  };
  return {where(isInside), bound(where(isBelow), f.x(1)), bound(where(isAbove), f.x(2))};
}

Values sumGradient(Emitter &, const DifferentiatedNode &f) { return Values(f.numInputs(), f.dy()); }

} // namespace

/// Whether both shapes are known, and the result has the shape of `x`.
static bool staysWhole(Value x, Value y) {
  auto own = staticShape(x), other = staticShape(y);
  if (!own || !other || other->size() > own->size())
    return false;
  return llvm::all_of(llvm::zip(llvm::reverse(*own), llvm::reverse(*other)), [](auto dims) {
    auto [a, b] = dims;
    return a == b || b == 1;
  });
}

Values summedToInputs(Emitter &e, const DifferentiatedNode &f, Value gx, Value gy) {
  bool xStays = staysWhole(f.x(0), f.x(1)), yStays = staysWhole(f.x(1), f.x(0));
  if (xStays && yStays)
    return {gx, gy};
  Value shapeX = e.shapeOf(f.x(0)), shapeY = e.shapeOf(f.x(1));
  auto [axesX, axesY] = e.broadcastAxes(shapeX, shapeY);
  return {xStays ? gx : e.reshape(e.sum(gx, axesX), shapeX),
          yStays ? gy : e.reshape(e.sum(gy, axesY), shapeY)};
}

void addBinaryGradients(GradientTable &table) {
  for (auto [op, formula] : formulas)
    table[op] = [formula](Emitter &e, const DifferentiatedNode &f) {
      bool isComplex = isa<ComplexType>(f.element());
      auto conj = [&](Value v) { return isComplex ? Term{&e, v}("Conj") : Term{&e, v}; };
      GradientPair flow =
          formula({conj(f.x(0)), conj(f.x(1)), conj(f.y(0)), {&e, f.dy()}, isComplex});
      return summedToInputs(e, f, flow.x, flow.y);
    };
  table["Complex"] = complexGradient;
  table["Select"] = selectGradient;
  table["SelectV2"] = selectV2Gradient;
  table["AddN"] = sumGradient;
  table["AccumulateNV2"] = sumGradient;
  table["ClipByValue"] = clipGradient;
}

} // namespace treadle::tfg
