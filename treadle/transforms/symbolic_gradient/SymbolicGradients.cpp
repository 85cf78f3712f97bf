#include "treadle/transforms/symbolic_gradient/SymbolicGradients.h"

#include "treadle/transforms/symbolic_gradient/Calls.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// The nodes that the results need, each after what it uses (on a cycle, somewhere).
std::vector<Node> neededNodes(ReturnOp results) {
  std::vector<Node> order;
  llvm::DenseSet<Operation *> seen;
  std::vector<std::pair<Node, unsigned>> path; // and the input to look at next
  auto visit = [&](Value value) {
    Node node = definingNode(value);
    if (node && seen.insert(node.getOperation()).second)
      path.emplace_back(node, 0);
  };
  for (Value result : results->getOperands()) {
    if (!isControl(result))
      visit(result);
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

/// Makes the body of a gradient function out of a copy of the forward body.
class Differentiation {
public:
  Differentiation(FuncOp function, SymbolicGradients &gradients)
      : function(function), emitter(function.getEntry()), gradients(gradients) {}

  /// Appends the arguments for the gradients of the results, and returns those of the `count`
  /// arguments instead of the results.
  Expected<void> run(unsigned numArguments);

private:
  Expected<GradientFunction> gradientOf(Node node);
  Expected<void> propagate(Node node);
  bool isVarying(Value value) const { return varying.contains(value); }
  void flow(Value to, Value gradient);
  /// The sum of what flowed to the value, null if nothing did.
  Value total(Value value);

  FuncOp function;
  Emitter emitter;
  SymbolicGradients &gradients;
  llvm::DenseSet<Value> varying; // with an argument, by way of ops that have gradients
  llvm::DenseMap<Value, Values> flows;
};

void Differentiation::flow(Value to, Value gradient) {
  // A condition has no gradient, as in TensorFlow.
  if (gradient && isVarying(to) && !elementOf(to).isInteger(1))
    flows[to].push_back(gradient);
}

Value Differentiation::total(Value value) {
  auto it = flows.find(value);
  return it == flows.end() ? Value() : emitter.add(it->second);
}

Expected<GradientFunction> Differentiation::gradientOf(Node node) {
  Expected<std::string> callee = differentiatedCallee(node, gradients);
  if (!callee)
    return Unexpected(std::move(callee.error()));
  if (!callee->empty())
    return [callee = *callee](Emitter &e, const Forward &f) { return callGradient(e, f, callee); };
  auto it = gradientTable().find(node.opType());
  if (it == gradientTable().end())
    return Unexpected(
        unimplemented("no gradient is defined for op '", node.opType().str(),
                      "'; declare a gradient function of the function that holds it"));
  return it->second;
}

Expected<void> Differentiation::propagate(Node node) {
  emitter.setOrigin(node.name());
  Forward forward{node, {}};
  for (Value result : node.results())
    forward.gradients.push_back(total(result));
  if (llvm::none_of(forward.gradients, [](Value gradient) { return bool(gradient); }))
    return {};
  Expected<GradientFunction> gradient = gradientOf(node);
  if (!gradient)
    return Unexpected(std::move(gradient.error()));
  for (auto [result, of] : llvm::zip(node.results(), forward.gradients))
    if (!of)
      of = emitter.zerosLike(result);
  Values inputs = (*gradient)(emitter, forward);
  if (emitter.failure)
    return Unexpected(std::move(*emitter.failure));
  for (auto [input, of] : llvm::zip(node.data(), inputs))
    flow(input, of);
  return {};
}

Expected<void> Differentiation::run(unsigned numArguments) {
  Block &body = function.getEntry();
  ReturnOp returned = function.getReturn();
  Location location = function.getLoc();
  for (unsigned i = 0; i < numArguments; ++i)
    varying.insert(body.getArgument(2 * i));
  std::vector<Node> order = neededNodes(returned);
  auto hasNoGradient = [](Node node) {
    auto it = gradientTable().find(node.opType());
    return it != gradientTable().end() && !it->second;
  };
  for (Node node : order)
    if (llvm::any_of(node.data(), [&](Value x) { return isVarying(x); }) && !hasNoGradient(node))
      varying.insert_range(node.results());

  auto control = tf_type::ControlType::get(function.getContext());
  for (Value result : llvm::to_vector(returned->getOperands())) {
    if (isControl(result))
      continue;
    Value gradient = body.addArgument(gradientTypeOf(result), location);
    body.addArgument(control, location);
    flow(result, gradient);
  }
  for (Node node : llvm::reverse(order))
    if (llvm::any_of(node.results(), [&](Value y) { return isVarying(y); }))
      if (Expected<void> ok = propagate(node); !ok)
        return Unexpected(
            std::move(ok.error())
                .atNode(std::string_view(node.name()), std::string_view(node.opType())));
  Values results;
  for (unsigned i = 0; i < numArguments; ++i) {
    emitter.setOrigin(function.getDataArgumentName(i));
    Value gradient = total(body.getArgument(2 * i));
    results.push_back(gradient ? gradient : emitter.zerosLike(body.getArgument(2 * i)));
  }
  ReturnOp::create(emitter.builder, location, ValueRange(results), ValueRange());
  returned->erase();
  emitter.eraseUnused();
  return {};
}

/// Names for the new arguments and results, and the type.
void setSignature(FuncOp gradient, FuncOp forward, unsigned numArguments) {
  OpBuilder builder(gradient.getContext());
  Block &body = gradient.getEntry();
  StringAttr key = gradient.getContext()->getLoadedDialect<TfgDialect>()->argNameKey;
  auto named = [&](const std::string &name) -> Attribute {
    return builder.getDictionaryAttr(builder.getNamedAttr(key, builder.getStringAttr(name)));
  };
  gradient.setFunctionType(
      builder.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  // The scope knows the names of the body's nodes.
  SmallVector<Attribute> arguments, results;
  if (ArrayAttr given = forward.getArgAttrsAttr())
    arguments = llvm::to_vector(given);
  else
    for (unsigned i = 0; i < numArguments; ++i)
      arguments.append({builder.getDictionaryAttr({}), builder.getDictionaryAttr({})});
  gradient.setArgAttrsAttr(nullptr);
  NameScope names(body);
  for (unsigned i = 0; i < numArguments; ++i)
    names.unique(forward.getDataArgumentName(i));
  for (unsigned i = numArguments; 2 * i < body.getNumArguments(); ++i)
    arguments.append({named(names.unique("dy_" + std::to_string(i - numArguments))),
                      builder.getDictionaryAttr({})});
  for (unsigned i = 0; i < numArguments; ++i)
    results.push_back(named("dx_" + std::to_string(i)));
  gradient.setArgAttrsAttr(builder.getArrayAttr(arguments));
  gradient.setResAttrsAttr(builder.getArrayAttr(results));
}

} // namespace

std::string SymbolicGradients::nameFor(StringRef function) {
  std::string base = (function + "_gradient").str(), name = base;
  for (unsigned suffix = 1; lookup(name); ++suffix)
    name = base + "_" + std::to_string(suffix);
  return name;
}

Expected<FuncOp> SymbolicGradients::declared(FuncOp function, StringRef gradient) {
  if (FuncOp found = lookup(gradient))
    return found;
  return Unexpected(notFound(
      "function '", std::string_view(gradient), "', which is declared as the gradient of '",
      std::string_view(function.getName()), "', is not in the graph's library"));
}

Expected<FuncOp> SymbolicGradients::of(StringRef name) {
  FuncOp function = lookup(name);
  if (!function)
    return Unexpected(
        notFound("function '", std::string_view(name), "' is not in the graph's library"));
  if (FlatSymbolRefAttr gradient = function.getGradientAttr())
    return declared(function, gradient.getValue());
  auto [it, isNew] = made.try_emplace(name);
  if (!isNew && it->second)
    return it->second;
  if (!isNew)
    return Unexpected(unimplemented("function '", std::string_view(name),
                                    "' needs the gradient of its own gradient"));
  Expected<FuncOp> gradient = make(function);
  if (gradient)
    made[name] = *gradient;
  else
    made.erase(name);
  return gradient;
}

Expected<FuncOp> SymbolicGradients::make(FuncOp function) {
  std::string_view name = function.getName();
  if (function.getGeneric() || function.isExternal())
    return Unexpected(unimplemented("function '", name,
                                    "' is generic (its types are attributes); only functions with "
                                    "known types have gradients yet"));
  unsigned numArguments = function.getNumDataArguments();
  OpBuilder builder = OpBuilder::atBlockEnd(target.getBody());
  auto gradient = FuncOp::create(builder, function.getLoc(), nameFor(name),
                                 function.getFunctionType(), /*generic=*/false);
  gradient.getBody().getBlocks().clear();
  IRMapping mapping;
  function.getBody().cloneInto(&gradient.getBody(), mapping);
  if (ArrayAttr names = function.getArgAttrsAttr())
    gradient.setArgAttrsAttr(names);
  gradient.setIsStateful(function.getIsStateful());
  if (Expected<void> ok = Differentiation(gradient, *this).run(numArguments); !ok) {
    gradient->erase();
    return Unexpected(Error{ok.error().code,
                            str("in the gradient of function '", name, "': ", ok.error().message)});
  }
  setSignature(gradient, function, numArguments);
  add(gradient);
  return gradient;
}

} // namespace treadle::tfg
