#include "treadle/transforms/shape_inference/ShapeAnalysis.h"

#include "treadle/transforms/shape_inference/ShapeFunctions.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle::tfg {

constexpr unsigned mostRounds = 12; // of a loop, before what still changes counts as unknown
constexpr int deepestCall = 100;
constexpr size_t mostContexts = 32; // of a function, before they are taken together

ShapeAnalysis::ShapeAnalysis(ModuleOp module) : module(module) {
  for (auto function : module.getOps<FuncOp>())
    functions[function.getName()] = function;
  findOpenFunctions();
}

// A function that some node names otherwise than as what it calls may get anything.
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
            op.getAttrDictionary().walk([&](tf_type::FuncAttr callee) {
              open(callee.getName().getRootReference().getValue());
            });
          // Nodes inside regions are not followed.
          for (Region &region : op.getRegions())
            region.walk([&](Operation *inner) {
              open(inner->getName().stripDialect());
              inner->getAttrDictionary().walk([&](tf_type::FuncAttr callee) {
                open(callee.getName().getRootReference().getValue());
              });
            });
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
    out.push_back({Shape::of(function.getDataArgument(i).getType())});
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
  // What is common to all calls may be less than any of them knew.
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
  Called &state = called[function];
  return runBody(body, state.arguments ? *state.arguments : declaredArguments(function));
}

std::vector<KnownValue> ShapeAnalysis::call(FuncOp function, std::vector<KnownValue> arguments) {
  if (!function || function.isExternal() || function.getGeneric())
    return {};
  Called &state = called[function];
  std::vector<KnownValue> unknown(function.getNumResults());
  if (arguments.size() != function.getNumDataArguments() || state.isOpen)
    arguments = declaredArguments(function);
  if (!state.arguments)
    state.arguments = arguments;
  for (auto [sofar, argument] : llvm::zip(*state.arguments, arguments))
    sofar = join(sofar, argument);
  if (state.known.size() > mostContexts)
    arguments = *state.arguments;
  for (auto &[before, results] : state.known)
    if (before == arguments)
      return results;
  if (state.isRunning || depth > deepestCall) {
    // A function that calls itself: nothing is known of what it gives, or is given.
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
      value.shape = meet(value.shape, Shape::of(argument.getType()));
      values[argument] = value;
    }
  const std::vector<Operation *> &order = orderOf(body);
  // The first round goes by what enters loops, the next ones also by what comes back.
  bool changed = true;
  for (unsigned round = 0; changed && round <= mostRounds + 1; ++round) {
    changed = false;
    for (Operation *op : order)
      if (Node::isNode(op))
        changed |= visit(Node(op), values, round);
  }
  return values;
}

/// Gives whether a loop has to be gone through again.
bool ShapeAnalysis::visit(Node node, ValueShapes &values, unsigned round) {
  static const KnownValue nothing;
  bool isMerge = node.opType() == "Merge" || node.opType() == "RefMerge";
  SmallVector<const KnownValue *> inputs;
  bool isLoop = false;
  for (Value input : node.data()) {
    auto known = values.find(input);
    Node from = definingNode(input);
    bool isBackEdge = isMerge && from &&
                      (from.opType() == "NextIteration" || from.opType() == "RefNextIteration");
    isLoop |= isBackEdge;
    if (isBackEdge && round == 0)
      continue;
    inputs.push_back(known == values.end() ? &nothing : &known->second);
  }
  SmallVector<KnownValue, 2> results = resultsOf(node, inputs);
  results.resize(node.numResults());
  bool changed = isLoop && round == 0;
  for (auto [result, value] : llvm::zip(node.results(), results)) {
    for (int64_t i = 0; i < value.shape.rank(); ++i)
      if (value.shape.dim(i) < 0)
        value.shape.setDim(i, Shape::unknown);
    if (fed.contains(result))
      value = {};
    value.shape = meet(Shape::of(result.getType()), value.shape);
    if (isLoop && round > 0) {
      KnownValue together = join(values[result], value);
      if (together != values[result]) {
        changed = true;
        value = round >= mostRounds ? KnownValue{Shape::of(result.getType())} : together;
      }
    }
    values[result] = value;
  }
  return changed;
}

SmallVector<KnownValue, 2> ShapeAnalysis::resultsOf(Node node,
                                                    ArrayRef<const KnownValue *> inputs) {
  CallInfo info = callInfoOf(node, functions);
  if (info.kind != CallInfo::None)
    return callResults(node, info, inputs);
  ShapeFunction function = shapeFunctionOf(node.opType());
  ShapeQuery query{node, inputs};
  SmallVector<KnownValue, 2> results;
  // Functions may count on their op's inputs: malformed nodes have fewer.
  if (function && (!inputs.empty() || node.numData() == 0))
    results = function(query);
  if (auto integers = integersOf(query)) {
    if (results.empty())
      results.emplace_back();
    results[0].integers = std::move(integers);
  }
  return results;
}

SmallVector<KnownValue, 2> ShapeAnalysis::callResults(Node node, const CallInfo &info,
                                                      ArrayRef<const KnownValue *> inputs) {
  std::vector<KnownValue> arguments;
  for (const KnownValue *input :
       inputs.drop_front(std::min<size_t>(info.firstOperand, inputs.size())))
    arguments.push_back(*input);
  if (info.kind == CallInfo::Loop) {
    std::vector<KnownValue> results = loopResults(info, std::move(arguments));
    return {results.begin(), results.end()};
  }
  SmallVector<KnownValue, 2> joined;
  for (auto [i, callee] : llvm::enumerate(info.callees)) {
    std::vector<KnownValue> results = call(callee, arguments);
    results.resize(node.numResults());
    if (i == 0)
      joined.assign(results.begin(), results.end());
    else
      for (auto [sofar, result] : llvm::zip(joined, results))
        sofar = join(sofar, result);
  }
  return joined;
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
      value = round >= mostRounds ? KnownValue() : together;
    }
    if (!changed)
      return values;
  }
}

} // namespace treadle::tfg
