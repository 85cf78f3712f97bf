#include "treadle/lowering/Functions.h"

#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/CallGraph.h"
#include "treadle/rewriting/ScalarFunctions.h"

#include "llvm/ADT/StringSwitch.h"

namespace treadle {

/// Whether the function, or one that it calls, contains an op that passes the test.
bool ModuleFunctions::containsOp(llvm::StringRef function, Known &known,
                                 llvm::function_ref<bool(tfg::Node)> test) {
  auto lookup = [&](llvm::StringRef name) { return index.function(name); };
  return tfg::anyReachable(function, lookup, known, [&](tfg::FuncOp reached) {
    return llvm::any_of(reached->getRegion(0).front(), [&](mlir::Operation &op) {
      bool found = test(tfg::Node(&op));
      tfg::forEachCallee(tfg::Node(&op),
                         [&](llvm::StringRef callee) { found |= known.lookup(callee); });
      return found;
    });
  });
}

bool ModuleFunctions::mayBlock(const std::string &function) {
  std::lock_guard lock(mutex);
  return containsOp(function, blocking, [](tfg::Node node) { return isBlockingOp(node.opType()); });
}

bool ModuleFunctions::waits(const std::string &function) {
  std::lock_guard lock(mutex);
  return containsOp(function, waiting, [this](tfg::Node node) {
    auto token = node.attr<mlir::StringAttr>("token");
    const OpTraits *found =
        traits ? traits->find(node.opType(), token ? token.getValue() : "") : nullptr;
    return found && found->waits;
  });
}

tfg::FuncOp ModuleFunctions::find(llvm::StringRef function) {
  if (tfg::FuncOp op = index.function(function))
    return op;
  std::lock_guard lock(gradientsMutex);
  return gradients ? gradients->index().function(function) : tfg::FuncOp();
}

bool ModuleFunctions::isElementwise(const std::string &function) {
  return tfg::isElementwise(find(function), finder());
}

Combination ModuleFunctions::combination(const std::string &function, DType dtype) {
  tfg::FuncOp op = find(function);
  if (!op || op.getResultTypes().empty() || valueTypeOf(op.getResultTypes()[0]).dtype != dtype)
    return Combination::Other;
  if (tfg::returnsSecond(op, finder()))
    return Combination::Second;
  return llvm::StringSwitch<Combination>(tfg::combinationOf(op, finder()))
      .Case("add", Combination::Sum)
      .Case("mul", Combination::Product)
      .Case("minimum", Combination::Min)
      .Case("maximum", Combination::Max)
      .Default(Combination::Other);
}

Expected<std::string> ModuleFunctions::gradientOf(const std::string &function) {
  std::lock_guard lock(gradientsMutex);
  if (!gradients)
    gradients.emplace(index);
  return gradients->of(function).map([](tfg::FuncOp gradient) { return gradient.getName().str(); });
}

Expected<GraphSpec> ModuleFunctions::lowered(const ModuleIndex &index,
                                             Expected<PrunedSubgraph> part, const Rewrite &how) {
  return std::move(part).and_then([&](PrunedSubgraph body) {
    if (how)
      how(body, index, *this);
    return treadle::lower(index, body);
  });
}

Expected<std::unique_ptr<Plan>> ModuleFunctions::planned(const std::string &function, ArgMode mode,
                                                         Expected<GraphSpec> spec) {
  if (!spec)
    return Unexpected(std::move(spec.error()));
  return buildPlan(std::move(*spec), {&kernels, this, mode, loopOverlap, traits, clusters})
      .map_error([&](Error error) {
        error.message = str("in function '", function, "': ", error.message);
        return error;
      });
}

Expected<std::unique_ptr<Plan>> ModuleFunctions::planOf(tfg::FuncOp function,
                                                        const Rewrite &rewriteOwn) {
  return planned(function.getName().str(), ArgMode::Owned,
                 lowered(index, prunedSubgraph(index, function), rewriteOwn));
}

Expected<std::unique_ptr<Plan>> ModuleFunctions::build(const std::string &function, ArgMode mode,
                                                       MakeSubgraph makePart) {
  if (tfg::FuncOp op = index.function(function))
    return planned(function, mode, lowered(index, makePart(index, op), rewrite));
  Expected<GraphSpec> spec =
      Unexpected(notFound("function '", function, "' is not in the graph's library"));
  {
    std::lock_guard lock(gradientsMutex);
    if (tfg::FuncOp op = gradients ? gradients->index().function(function) : tfg::FuncOp())
      spec = lowered(gradients->index(), makePart(gradients->index(), op), rewrite);
  }
  return planned(function, mode, std::move(spec));
}

Expected<const Plan *> ModuleFunctions::plan(const FunctionRef &function, ArgMode mode) {
  std::pair key(function.name, mode);
  {
    std::lock_guard lock(mutex);
    if (auto it = plans.find(key); it != plans.end())
      return it->second.get();
  }
  std::unique_ptr<Plan> built =
      TREADLE_TRY(build(function.name, mode, [&](const ModuleIndex &index, tfg::FuncOp op) {
        return prunedSubgraph(index, op);
      }));
  std::lock_guard lock(mutex);
  // If another thread has inserted a plan meanwhile, that one is used.
  return plans.try_emplace(std::move(key), std::move(built)).first->second.get();
}

Expected<SortOrder> ModuleFunctions::sortOrder(const std::string &comparator) {
  SortOrder order;
  llvm::SmallVector<mlir::Value> keys;
  for (tfg::SortKey key : tfg::sortKeysOf(find(comparator), finder())) {
    keys.push_back(key.value);
    order.isDescending.push_back(key.isDescending);
  }
  if (!keys.empty())
    order.keys =
        TREADLE_TRY(build(comparator, ArgMode::Owned,
                          [&](const ModuleIndex &, tfg::FuncOp op) -> Expected<PrunedSubgraph> {
                            return prunedSubgraph(op, keys);
                          }));
  return order;
}

} // namespace treadle
