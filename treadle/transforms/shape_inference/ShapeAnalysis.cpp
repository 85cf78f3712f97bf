#include "treadle/transforms/shape_inference/ShapeAnalysis.h"

#include "treadle/analysis/shapes/NodeShapes.h"
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/lowering/Constants.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/transforms/constant_folding/Simplifier.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle::tfg {

// Rounds over a loop before shapes that still change become unknown.
constexpr unsigned maxRounds = 12;
constexpr int maxCallDepth = 100;
// Calls of a function that are analyzed separately.
constexpr size_t maxContexts = 32;

ShapeAnalysis::ShapeAnalysis(ModuleOp module)
    : module(module), effects(module), functions(functionsOf(module)) {
  findOpenFunctions();
}

// A function that a node references other than as its callee may have any arguments.
void ShapeAnalysis::findOpenFunctions() {
  auto open = [&](StringRef name) {
    if (FuncOp function = functions.lookup(name))
      called[function].isOpen = true;
  };
  forEachBody(
      module,
      [&](Block &body) {
        auto parent = dyn_cast<FuncOp>(body.getParentOp());
        bool isGeneric = parent && parent.getGeneric();
        for (Operation &op : body) {
          bool isCall = !isGeneric && Node::isNode(&op) &&
                        callInfoOf(Node(&op), functions).kind != CallInfo::None;
          if (isGeneric)
            open(op.getName().stripDialect());
          if (!isCall)
            forEachFunctionName(Node(&op), open);
          // Nodes inside regions aren't analyzed.
          for (Region &region : op.getRegions())
            region.walk([&](Operation *inner) { forEachCallee(inner, open); });
        }
      },
      /*withGeneric=*/true);
  for (auto &entry : functions)
    if (FlatSymbolRefAttr gradient = entry.second.getGradientAttr())
      open(gradient.getValue());
}

std::vector<KnownValue> ShapeAnalysis::declaredArguments(FuncOp function) {
  std::vector<KnownValue> out;
  for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i)
    out.emplace_back(shapeOf(function.getDataArgument(i).getType()));
  return out;
}

const std::vector<Operation *> &ShapeAnalysis::orderOf(Block &body) {
  auto [entry, isNew] = orders.try_emplace(&body);
  if (isNew)
    entry->second = topologicalOrder(body);
  return entry->second;
}

void ShapeAnalysis::run() {
  for (auto graph : module.getOps<GraphOp>())
    runBody(graph.getNodes().front(), {});
  for (auto function : module.getOps<FuncOp>())
    if (!function.getGeneric() && !function.isExternal() &&
        (called[function].isOpen || !called[function].arguments))
      call(function, declaredArguments(function));
  // The shape that all calls have in common may be less precise than that of each call.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[op, state] : called) {
      if (!state.arguments)
        continue;
      auto before = state.known.size();
      call(cast<FuncOp>(op), *state.arguments);
      changed |= state.known.size() != before;
    }
  }
}

ValueShapes ShapeAnalysis::shapesOf(Block &body) {
  auto function = dyn_cast<FuncOp>(body.getParentOp());
  if (!function)
    return runBody(body, {});
  CallState &state = called[function];
  return runBody(body, state.arguments ? *state.arguments : declaredArguments(function));
}

std::vector<KnownValue> ShapeAnalysis::call(FuncOp function, std::vector<KnownValue> arguments) {
  if (!function || function.isExternal() || function.getGeneric())
    return {};
  CallState &state = called[function];
  std::vector<KnownValue> unknown(function.getNumResults());
  if (arguments.size() != function.getNumDataArguments() || state.isOpen)
    arguments = declaredArguments(function);
  if (!state.arguments)
    state.arguments = arguments;
  for (auto [sofar, argument] : llvm::zip(*state.arguments, arguments))
    sofar = join(sofar, argument);
  if (state.known.size() > maxContexts)
    arguments = *state.arguments;
  for (auto &[before, results] : state.known)
    if (before == arguments)
      return results;
  if (state.isRunning || depth > maxCallDepth) {
    // For a recursive function, arguments and results are unknown.
    state.arguments = declaredArguments(function);
    return unknown;
  }
  state.isRunning = true;
  ++depth;
  ValueShapes values = runBody(function.getEntry(), arguments);
  --depth;
  state.isRunning = false;
  std::vector<KnownValue> results;
  for (Value value : function.getReturn().getData())
    results.push_back(values.lookup(value));
  state.known.emplace_back(std::move(arguments), results);
  return results;
}

ValueShapes ShapeAnalysis::runBody(Block &body, ArrayRef<KnownValue> arguments) {
  ValueShapes values;
  if (auto function = dyn_cast<FuncOp>(body.getParentOp()))
    for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i) {
      BlockArgument argument = function.getDataArgument(i);
      KnownValue value = arguments[i];
      value.shape = meet(value.shape, shapeOf(argument.getType()));
      values[argument] = value;
    }
  const std::vector<Operation *> &order = orderOf(body);
  // The first round uses the values that enter loops, the following rounds also those from the
  // previous iteration.
  bool changed = true;
  for (unsigned round = 0; changed && round <= maxRounds + 1; ++round) {
    changed = false;
    for (Operation *op : order)
      if (Node::isNode(op))
        changed |= visit(Node(op), values, round);
  }
  return values;
}

/// Returns whether a loop needs another round.
bool ShapeAnalysis::visit(Node node, ValueShapes &values, unsigned round) {
  static const KnownValue nothing;
  SmallVector<const KnownValue *> inputs;
  const bool isMerge = opKind(node.opType()) == OpKind::Merge;
  bool isLoop = false;
  for (Value input : node.data()) {
    auto known = values.find(input);
    Node from = definingNode(input);
    bool isBack = isMerge && feedsNextIteration(from.getOperation());
    isLoop |= isBack;
    if (isBack && round == 0)
      continue;
    inputs.push_back(known == values.end() ? &nothing : &known->second);
  }
  ShapeResults found = resultsOf(node, inputs);
  if (depth == 0)
    note(node, std::move(found.conflict));
  std::vector<KnownValue> &results = found.values;
  results.resize(node.numResults());
  bool changed = isLoop && round == 0;
  for (auto [result, value] : llvm::zip(node.results(), results)) {
    if (fed.contains(result))
      value = {};
    value.shape = meet(shapeOf(result.getType()), value.shape);
    if (isLoop && round > 0) {
      KnownValue together = join(values[result], value);
      if (together != values[result]) {
        changed = true;
        value = round >= maxRounds ? KnownValue{shapeOf(result.getType())} : together;
      }
    }
    values[result] = value;
  }
  return changed;
}

ShapeResults ShapeAnalysis::resultsOf(Node node, ArrayRef<const KnownValue *> inputs) {
  CallInfo info = callInfoOf(node, functions);
  if (info.kind != CallInfo::None)
    return callResults(node, info, inputs);
  ShapeResults results = tfg::shapesOf(node, inputs);
  if (!inputs.empty() && llvm::all_of(inputs, [](auto *input) { return bool(input->constant); }))
    evaluateInto(node, inputs, results);
  return results;
}

/// The last round over a body determines its conflicts.
void ShapeAnalysis::note(Node node, std::string conflict) {
  if (conflict.empty())
    conflicts.erase(node.getOperation());
  else
    conflicts[node.getOperation()] = std::move(conflict);
}

std::vector<ShapeConflict> ShapeAnalysis::findConflicts() {
  std::vector<ShapeConflict> out;
  forEachBody(module, [&](Block &body) {
    conflicts.clear();
    shapesOf(body);
    for (Operation &op : body)
      if (auto found = conflicts.find(&op); found != conflicts.end())
        out.push_back({Node(&op), std::move(found->second)});
  });
  return out;
}

/// Nodes with small constant inputs are evaluated, because shapes may depend on their values.
void ShapeAnalysis::evaluateInto(Node node, ArrayRef<const KnownValue *> inputs,
                                 ShapeResults &results) {
  results.values.resize(node.numResults());
  bool isNeeded = llvm::any_of(results.values, [](auto &value) { return !value.constant; });
  bool isLarge = llvm::any_of(
      results.values, [](auto &value) { return value.shape.count() > maxConstantElements; });
  std::vector<Tensor> constants;
  for (const KnownValue *input : inputs)
    constants.push_back(input->constant);
  // The default of a PlaceholderWithDefault may be fed, so it isn't known.
  if (isPlaceholder(node) || !isNeeded || isLarge || !effects.isPure(node))
    return;
  Expected<std::vector<Tensor>> values = evaluate(node, std::move(constants));
  if (!values || values->size() != results.values.size())
    return;
  for (auto [result, value] : llvm::zip(results.values, *values))
    if (value && !value.isRef() && isPlain(value.dtype()))
      result = knownOf(value);
}

ShapeResults ShapeAnalysis::callResults(Node node, const CallInfo &info,
                                        ArrayRef<const KnownValue *> inputs) {
  std::vector<KnownValue> arguments;
  for (const KnownValue *input :
       inputs.drop_front(std::min<size_t>(info.firstOperand, inputs.size())))
    arguments.push_back(*input);
  if (info.kind == CallInfo::Loop) {
    ShapeResults results;
    results.values = loopResults(info, std::move(arguments));
    return results;
  }
  ShapeResults out;
  std::vector<KnownValue> &joined = out.values;
  for (auto [i, callee] : llvm::enumerate(info.callees)) {
    std::vector<KnownValue> results = call(callee, arguments);
    results.resize(node.numResults());
    if (i == 0)
      joined.assign(results.begin(), results.end());
    else
      for (auto [sofar, result] : llvm::zip(joined, results))
        sofar = join(sofar, result);
  }
  return out;
}

std::vector<KnownValue> ShapeAnalysis::loopResults(const CallInfo &info,
                                                   std::vector<KnownValue> values) {
  for (unsigned round = 0;; ++round) {
    call(info.callees[0], values);
    std::vector<KnownValue> next = call(info.callees[1], values);
    next.resize(values.size());
    bool changed = false;
    for (auto [value, after] : llvm::zip(values, next)) {
      KnownValue together = join(value, after);
      if (together == value)
        continue;
      changed = true;
      value = round >= maxRounds ? KnownValue() : together;
    }
    if (!changed)
      return values;
  }
}

} // namespace treadle::tfg
