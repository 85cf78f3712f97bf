// Gradients of activations with parameters, and of the ops that compute gradients of activations.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Returns the gradients of x and y of z(x, y) given the gradient of z; all have one shape.
struct GradientPair {
  Value x, y;
};
using Formula = GradientPair (*)(Term x, Term y, Term dz);

Term where(Term x, StringRef comparison, Term yes) {
  Emitter &e = *x.emitter;
  Value mask = e.to(e.builder.getI1Type(), comparison, {x.value, x.number(0)});
  return {&e, e.same("Mul", {e.cast(mask, elementOf(x)), yes.value})};
}

// Inputs in the order of the ops: (gradient, feature) or (result, gradient).
const std::pair<const char *, Formula> formulas[] = {
    {"ReluGrad", [](Term dy, Term x, Term g) { return GradientPair{g("ReluGrad", x), {}}; }},
    {"Relu6Grad", [](Term dy, Term x, Term g) { return GradientPair{g("Relu6Grad", x), {}}; }},
    {"EluGrad", [](Term dy, Term y,
                   Term g) { return GradientPair{g("EluGrad", y), where(y, "Less", g * dy)}; }},
    {"SeluGrad", [](Term dy, Term y,
                    Term g) { return GradientPair{g("SeluGrad", y), where(y, "Less", g * dy)}; }},
    {"SoftplusGrad",
     [](Term dy, Term x, Term g) {
       Term both = 2.0 + ((-x)("Exp") + x("Exp"));
       return GradientPair{g("SoftplusGrad", x), g * (dy / both)};
     }},
    {"SoftsignGrad",
     [](Term dy, Term x, Term g) {
       Term whole = 1.0 + x("Abs");
       return GradientPair{g("SoftsignGrad", x),
                           -2.0 * (g * dy * x("Sign")) / (whole * square(whole))};
     }},
    {"TanhGrad", [](Term y, Term dy,
                    Term g) { return GradientPair{-2.0 * (g * dy * y), g * (1.0 - square(y))}; }},
    {"SigmoidGrad",
     [](Term y, Term dy, Term g) {
       return GradientPair{g * dy * (1.0 - 2.0 * y), g * (y * (1.0 - y))};
     }},
    {"SqrtGrad",
     [](Term y, Term dy, Term g) {
       Term each = g / y;
       return GradientPair{-0.5 * (each * dy / y), 0.5 * each};
     }},
    {"RsqrtGrad",
     [](Term y, Term dy, Term g) {
       return GradientPair{-1.5 * (g * dy * square(y)), -0.5 * (g * y * square(y))};
     }},
    {"ReciprocalGrad",
     [](Term y, Term dy, Term g) { return GradientPair{-2.0 * (g * dy * y), -(g * square(y))}; }},
    {"InvGrad",
     [](Term y, Term dy, Term g) { return GradientPair{-2.0 * (g * dy * y), -(g * square(y))}; }},
};

Values leakyReluGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("LeakyReluGrad", {f.dy(), f.x(0)}, e.attrsOf(f.node, {"alpha"}))};
}

Values leakyReluGradGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("LeakyReluGrad", {f.dy(), f.x(1)}, e.attrsOf(f.node, {"alpha"}))};
}

} // namespace

void addActivationGradients(GradientTable &table) {
  for (auto [op, formula] : formulas)
    table[op] = [formula](Emitter &e, const DifferentiatedNode &f) -> Values {
      GradientPair flow = formula({&e, f.x(0)}, {&e, f.x(1)}, {&e, f.dy()});
      return {flow.x, flow.y};
    };
  table["LeakyRelu"] = leakyReluGradient;
  table["LeakyReluGrad"] = leakyReluGradGradient;
}

} // namespace treadle::tfg
