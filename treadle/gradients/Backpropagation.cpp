#include "treadle/gradients/Backpropagation.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/gradients/FunctionGradients.h"
#include "treadle/rewriting/Outline.h"

using namespace mlir;

namespace treadle::tfg {

std::vector<Node> neededNodes(ValueRange values) {
  std::vector<Node> order;
  llvm::DenseSet<Operation *> seen;
  std::vector<std::pair<Node, unsigned>> path; // and the next input to visit
  auto visit = [&](Value value) {
    Node node = definingNode(value);
    if (node && seen.insert(node.getOperation()).second)
      path.emplace_back(node, 0);
  };
  for (Value value : values) {
    visit(value);
    while (!path.empty()) {
      auto &[node, next] = path.back();
      if (next < node.numData()) {
        visit(node->getOperand(next++));
        continue;
      }
      order.push_back(node);
      path.pop_back();
    }
  }
  return order;
}

bool hasConstantInputs(Node node) {
  auto it = gradientTable().find(node.opType());
  return it != gradientTable().end() && !it->second;
}

bool Backpropagation::hasGradient(Value value) const {
  Type element = elementOf(value);
  if (dtypes == Dtypes::AllButBool)
    return !element.isInteger(1);
  return isa<FloatType, ComplexType, tf_type::ResourceType, tf_type::VariantType>(element);
}

void Backpropagation::flow(Value to, Value gradient) {
  if (gradient && isVarying(to) && hasGradient(to))
    flows[to].push_back(gradient);
}

Value Backpropagation::total(Value value) {
  auto it = flows.find(value);
  if (it == flows.end())
    return {};
  Value sum = emitter.add(it->second);
  it->second = {sum};
  return sum;
}

void Backpropagation::recordReplacement(ArrayRef<Value> oldResults, Node fresh) {
  for (auto [index, old] : llvm::enumerate(oldResults)) {
    Value now = fresh->getResult(index);
    replacements[old] = now;
    emitter.moveShape(old, now);
    if (varying.erase(old))
      varying.insert(now);
    auto it = flows.find(old);
    if (it == flows.end())
      continue;
    Values moving = std::move(it->second);
    flows.erase(it);
    flows[now] = std::move(moving);
  }
}

Value Backpropagation::current(Value value) const {
  auto it = replacements.find(value);
  return it == replacements.end() ? value : it->second;
}

void Backpropagation::findVarying(const Request &request, ArrayRef<Node> order) {
  varying.insert_range(request.xs);
  stopped.insert_range(request.stops);
  for (Node node : order)
    if (llvm::any_of(node.data(), [&](Value x) { return isVarying(x); }) &&
        !hasConstantInputs(node))
      for (Value result : node.results())
        if (hasGradient(result) && !stopped.contains(result))
          varying.insert(result);
}

/// Returns the gradient that TensorFlow's Python registered for this node, overriding its op's.
static StringRef registeredGradient(Node node) {
  auto type = node.attr<StringAttr>(gradientOpTypeKey);
  return type && !StringRef(type.getValue()).contains("PartitionedCall") ? type.getValue()
                                                                         : StringRef();
}

Expected<Values> Backpropagation::inputGradients(const DifferentiatedNode &forward) {
  if (StringRef name = registeredGradient(forward.node); !name.empty())
    return Unexpected(
        unimplemented("its gradient is '", name.str(),
                      "', a Python function that the graph doesn't contain; remove the attribute "
                      "'_gradient_op_type' to use the gradient of the op"));
  std::optional<Values> ofFunctions = TREADLE_TRY(functionGradients(*this, forward));
  if (ofFunctions)
    return std::move(*ofFunctions);
  Node node = forward.node;
  auto it = gradientTable().find(node.opType());
  if (it == gradientTable().end())
    return Unexpected(noGradient(node));
  DifferentiatedNode complete = forward;
  for (auto [result, of] : llvm::zip(node.results(), complete.gradients))
    if (!of)
      of = emitter.zerosLike(result);
  Values inputs = it->second(emitter, complete);
  if (emitter.failure)
    return Unexpected(std::move(*emitter.failure));
  return inputs;
}

Expected<void> Backpropagation::propagate(Node node) {
  emitter.setOrigin(node.name());
  DifferentiatedNode forward{node, {}};
  for (Value result : node.results())
    forward.gradients.push_back(stopped.contains(result) ? Value() : total(result));
  if (llvm::none_of(forward.gradients, [](Value gradient) { return bool(gradient); }))
    return {};
  SmallVector<Value> data(node.data());
  Values inputs = TREADLE_TRY(inputGradients(forward));
  for (auto [input, of] : llvm::zip(data, inputs))
    flow(input, of);
  return {};
}

Expected<Values> Backpropagation::run(const Request &request) {
  std::vector<Node> order = neededNodes(request.ys);
  findVarying(request, order);
  for (auto [y, dy] : llvm::zip(request.ys, request.dys))
    flow(y, dy);
  for (Node node : llvm::reverse(order)) {
    // The node may be replaced, so its name for errors is saved.
    std::string name = node.name().str(), op = node.opType().str();
    if (llvm::any_of(node.data(), [&](Value x) { return isVarying(x); }))
      if (Expected<void> ok = propagate(node); !ok)
        return Unexpected(std::move(ok.error()).atNode(name, op));
  }
  Values gradients;
  for (Value x : request.xs) {
    emitter.setOrigin(nameOf(current(x)));
    gradients.push_back(total(current(x)));
  }
  return gradients;
}

} // namespace treadle::tfg
