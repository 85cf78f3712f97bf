// Gradients of elementwise ops with one input.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Computes `dx` from x, y and dy.
using Formula = Term (*)(Term x, Term y, Term dy);

const std::pair<const char *, Formula> formulas[] = {
    {"Abs", [](Term x, Term y, Term dy) { return dy * x("Sign"); }},
    {"Neg", [](Term x, Term y, Term dy) { return -dy; }},
    {"Inv", [](Term x, Term y, Term dy) { return dy * -square(y); }},
    {"Reciprocal", [](Term x, Term y, Term dy) { return dy * -square(y); }},
    {"Square", [](Term x, Term y, Term dy) { return dy * (2.0 * x); }},
    {"Sqrt", [](Term x, Term y, Term dy) { return dy * (0.5 * reciprocal(y)); }},
    {"Rsqrt", [](Term x, Term y, Term dy) { return dy * (-0.5 * reciprocal(x) * y); }},
    {"Exp", [](Term x, Term y, Term dy) { return dy * y; }},
    {"Expm1", [](Term x, Term y, Term dy) { return dy * x("Exp"); }},
    {"Log", [](Term x, Term y, Term dy) { return dy * reciprocal(x); }},
    {"Log1p", [](Term x, Term y, Term dy) { return dy / (1.0 + x); }},
    {"Sin", [](Term x, Term y, Term dy) { return dy * x("Cos"); }},
    {"Cos", [](Term x, Term y, Term dy) { return dy * -x("Sin"); }},
    {"Tan", [](Term x, Term y, Term dy) { return dy * square(reciprocal(x("Cos"))); }},
    {"Asin", [](Term x, Term y, Term dy) { return dy * reciprocal((1.0 - square(x))("Sqrt")); }},
    {"Acos", [](Term x, Term y, Term dy) { return dy * -reciprocal((1.0 - square(x))("Sqrt")); }},
    {"Atan", [](Term x, Term y, Term dy) { return dy * reciprocal(1.0 + square(x)); }},
    {"Sinh", [](Term x, Term y, Term dy) { return dy * x("Cosh"); }},
    {"Cosh", [](Term x, Term y, Term dy) { return dy * x("Sinh"); }},
    {"Tanh", [](Term x, Term y, Term dy) { return dy * (1.0 - square(y)); }},
    // TensorFlow's function-based gradients multiply for these two, which isn't the derivative; its
    // Python gradients divide.
    {"Asinh", [](Term x, Term y, Term dy) { return dy / y("Cosh"); }},
    {"Acosh", [](Term x, Term y, Term dy) { return dy / y("Sinh"); }},
    {"Atanh", [](Term x, Term y, Term dy) { return dy * reciprocal(1.0 - square(x)); }},
    {"Sigmoid", [](Term x, Term y, Term dy) { return dy * (y * (1.0 - y)); }},
    {"Sign", [](Term x, Term y, Term dy) { return x("ZerosLike"); }},
    {"Conj", [](Term x, Term y, Term dy) { return dy("Conj"); }},
    {"Relu", [](Term x, Term y, Term dy) { return dy("ReluGrad", x); }},
    {"Relu6", [](Term x, Term y, Term dy) { return dy("Relu6Grad", x); }},
    {"Elu", [](Term x, Term y, Term dy) { return dy("EluGrad", y); }},
    {"Selu", [](Term x, Term y, Term dy) { return dy("SeluGrad", y); }},
    {"Softplus", [](Term x, Term y, Term dy) { return dy("SoftplusGrad", x); }},
    {"Softsign", [](Term x, Term y, Term dy) { return dy("SoftsignGrad", x); }},
};

// 2 / sqrt(pi), sqrt(pi) / 2, sqrt(2 pi)
constexpr double erfSlope = 1.1283791670955126, erfinvSlope = 0.88622692545275801,
                 ndtriSlope = 2.5066282746310002;

const std::pair<const char *, Formula> specialFunctions[] = {
    {"Erf", [](Term x, Term y, Term dy) { return dy * (erfSlope * (-square(x))("Exp")); }},
    {"Erfc", [](Term x, Term y, Term dy) { return dy * (-erfSlope * (-square(x))("Exp")); }},
    {"Erfinv", [](Term x, Term y, Term dy) { return dy * (erfinvSlope * square(y)("Exp")); }},
    {"Ndtri", [](Term x, Term y, Term dy) { return dy * (ndtriSlope * (0.5 * square(y))("Exp")); }},
    {"Lgamma", [](Term x, Term y, Term dy) { return dy * x("Digamma"); }},
    {"Digamma", [](Term x, Term y, Term dy) { return dy * x.number(1)("Polygamma", x); }},
    {"BesselI0e", [](Term x, Term y, Term dy) { return dy * (x("BesselI1e") - x("Sign") * y); }},
    {"BesselI0", [](Term x, Term y, Term dy) { return dy * x("BesselI1"); }},
    {"BesselJ0", [](Term x, Term y, Term dy) { return -(dy * x("BesselJ1")); }},
    {"BesselY0", [](Term x, Term y, Term dy) { return -(dy * x("BesselY1")); }},
    {"BesselK0", [](Term x, Term y, Term dy) { return -(dy * x("BesselK1")); }},
    {"BesselK0e", [](Term x, Term y, Term dy) { return dy * (y - x("BesselK1e")); }},
    {"Dawsn", [](Term x, Term y, Term dy) { return dy * (1.0 - 2.0 * (x * y)); }},
    {"Expint", [](Term x, Term y, Term dy) { return dy * (x("Exp") / x); }},
    {"FresnelCos",
     [](Term x, Term y, Term dy) { return dy * (1.5707963267948966 * square(x))("Cos"); }},
    {"FresnelSin",
     [](Term x, Term y, Term dy) { return dy * (1.5707963267948966 * square(x))("Sin"); }},
    {"Spence", [](Term x, Term y, Term dy) { return dy * (x("Log") / (1.0 - x)); }},
};

Values polygammaGradient(Emitter &e, const DifferentiatedNode &f) {
  Term n{&e, f.x(0)}, x{&e, f.x(1)}, dy{&e, f.dy()};
  return {nullptr, dy * (1.0 + n)("Polygamma", x)};
}

Values complexAbsGradient(Emitter &e, const DifferentiatedNode &f) {
  Type part = elementOf(f.dy());
  Value whole = e.emit("Complex", {f.dy(), e.number(0, part)}, f.element(),
                       {e.attr("T", part), e.attr("Tout", f.element())})
                    ->getResult(0);
  return {e.same("Mul", {whole, e.same("Sign", f.x(0))})};
}

Value complexOf(Emitter &e, const DifferentiatedNode &f, Value real, Value imaginary) {
  Type part = elementOf(f.dy());
  return e
      .emit("Complex", {real, imaginary}, f.element(),
            {e.attr("T", part), e.attr("Tout", f.element())})
      ->getResult(0);
}

Values castBack(Emitter &e, const DifferentiatedNode &f) { return {e.cast(f.dy(), f.element())}; }

Values realGradient(Emitter &e, const DifferentiatedNode &f) {
  return {complexOf(e, f, f.dy(), e.number(0, elementOf(f.dy())))};
}

Values imagGradient(Emitter &e, const DifferentiatedNode &f) {
  return {complexOf(e, f, e.number(0, elementOf(f.dy())), f.dy())};
}

} // namespace

void addUnaryGradients(GradientTable &table) {
  std::vector<std::pair<const char *, Formula>> all(std::begin(formulas), std::end(formulas));
  all.insert(all.end(), std::begin(specialFunctions), std::end(specialFunctions));
  for (auto [op, formula] : all)
    table[op] = [formula](Emitter &e, const DifferentiatedNode &f) -> Values {
      Term x{&e, f.x(0)}, y{&e, f.y(0)};
      bool isComplex = isa<ComplexType>(f.element());
      return {formula(isComplex ? x("Conj") : x, isComplex ? y("Conj") : y, {&e, f.dy()})};
    };
  table["Polygamma"] = polygammaGradient;
  table["ComplexAbs"] = complexAbsGradient;
  table["Cast"] = castBack;
  table["Real"] = realGradient;
  table["Imag"] = imagGradient;
}

} // namespace treadle::tfg
