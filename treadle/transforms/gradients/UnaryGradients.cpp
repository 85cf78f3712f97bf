// Gradients of elementwise ops of one input.
#include "treadle/transforms/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// `dx` from x, y and dy.
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
    // TensorFlow multiplies in the functions that it has for these two, which isn't the slope; its
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

Value complexOf(Emitter &e, const Forward &f, Value real, Value imaginary) {
  Type part = elementOf(f.dy());
  return e
      .emit("Complex", {real, imaginary}, f.element(),
            {e.attr("T", part), e.attr("Tout", f.element())})
      ->getResult(0);
}

Values castBack(Emitter &e, const Forward &f) { return {e.cast(f.dy(), f.element())}; }

Values realGradient(Emitter &e, const Forward &f) {
  return {complexOf(e, f, f.dy(), e.number(0, elementOf(f.dy())))};
}

Values imagGradient(Emitter &e, const Forward &f) {
  return {complexOf(e, f, e.number(0, elementOf(f.dy())), f.dy())};
}

} // namespace

void addUnaryGradients(GradientTable &table) {
  for (auto [op, formula] : formulas)
    table[op] = [formula](Emitter &e, const Forward &f) -> Values {
      Term x{&e, f.x(0)}, y{&e, f.y(0)};
      bool isComplex = isa<ComplexType>(f.element());
      return {formula(isComplex ? x("Conj") : x, isComplex ? y("Conj") : y, {&e, f.dy()})};
    };
  table["Cast"] = castBack;
  table["Real"] = realGradient;
  table["Imag"] = imagGradient;
}

} // namespace treadle::tfg
