// Gradients of Einsum: an Einsum of the result's gradient and the other operand.
#include "treadle/gradients/GradientTable.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

struct Equation {
  SmallVector<std::string, 2> inputs;
  std::string output;

  static std::optional<Equation> parse(StringRef text) {
    std::string dense;
    for (char c : text)
      if (c != ' ')
        dense.push_back(c);
    auto [left, right] = StringRef(dense).split("->");
    if (!text.contains("->") || text.contains("."))
      return std::nullopt;
    Equation equation;
    SmallVector<StringRef, 2> parts;
    left.split(parts, ',');
    for (StringRef part : parts)
      equation.inputs.push_back(part.str());
    equation.output = right.str();
    return equation;
  }

  bool hasRepeats() const {
    auto repeats = [](StringRef labels) {
      llvm::SmallSet<char, 8> seen;
      return !llvm::all_of(labels, [&](char c) { return seen.insert(c).second; });
    };
    return repeats(output) || llvm::any_of(inputs, repeats);
  }
};

Value einsum(Emitter &e, ValueRange inputs, StringRef equation) {
  return e.same("Einsum", inputs,
                {e.integerAttr("N", inputs.size()),
                 e.attr("equation", Attribute(e.builder.getStringAttr(equation)))});
}

/// Returns the gradient of operand `i`. Labels that only this operand has were summed over, so the
/// gradient is broadcast along them.
Value operandGradient(Emitter &e, const DifferentiatedNode &f, const Equation &equation,
                      unsigned i) {
  std::string given = equation.output;
  SmallVector<Value> inputs = {f.dy()};
  for (unsigned other = 0; other < equation.inputs.size(); ++other)
    if (other != i) {
      given += "," + equation.inputs[other];
      Value x = f.x(other);
      inputs.push_back(isa<ComplexType>(f.element()) ? e.same("Conj", x) : x);
    }
  std::string known, shape;
  SmallVector<int32_t> missing;
  for (auto [at, label] : llvm::enumerate(equation.inputs[i]))
    if (StringRef(given).contains(label))
      known.push_back(label);
    else
      missing.push_back(at);
  Value gradient = einsum(e, inputs, given + "->" + known);
  if (missing.empty())
    return gradient;
  Type i32 = e.builder.getI32Type();
  for (int32_t axis : missing)
    gradient = e.same("ExpandDims", {gradient, e.integer(axis)}, e.attr("Tdim", i32));
  return e.broadcastTo(gradient, e.shapeOf(f.x(i)));
}

Values einsumGradient(Emitter &e, const DifferentiatedNode &f) {
  auto text = f.node.attr<StringAttr>("equation");
  std::optional<Equation> equation = text ? Equation::parse(text.getValue()) : std::nullopt;
  if (!equation || equation->hasRepeats() || equation->inputs.size() != f.numInputs()) {
    e.fail(unimplemented("its equation '", text ? text.str() : "",
                         "' has an ellipsis, or a repeated label in one operand; expected letters "
                         "like 'ab,bc->ac'"));
    return {};
  }
  Values gradients;
  for (unsigned i = 0; i < f.numInputs(); ++i)
    gradients.push_back(operandGradient(e, f, *equation, i));
  return gradients;
}

} // namespace

void addEinsumGradients(GradientTable &table) { table["Einsum"] = einsumGradient; }

} // namespace treadle::tfg
