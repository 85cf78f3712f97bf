#include "treadle/lowering/Functions.h"

namespace treadle {

// Functions are named in attributes, alone or in lists.
template <typename Visit> static void forEachFunctionName(mlir::Attribute attr, Visit visit) {
  if (auto func = mlir::dyn_cast<tf_type::FuncAttr>(attr))
    visit(func.getName().getRootReference().getValue());
  else if (auto array = mlir::dyn_cast<mlir::ArrayAttr>(attr))
    for (mlir::Attribute element : array)
      forEachFunctionName(element, visit);
}

bool ModuleFunctions::reachesBlockingOp(tfg::FuncOp function) {
  if (!function || function->getRegion(0).empty())
    return false;
  std::string name = function.getName().str();
  auto [it, isNew] = blocking.try_emplace(name, false);
  if (!isNew)
    return it->second;
  bool found = false;
  for (mlir::Operation &op : function->getRegion(0).front()) {
    tfg::Node node(&op);
    found |= isBlockingOp(node.opType());
    if (tfg::FuncOp callee = index.function(node.opType()))
      found |= reachesBlockingOp(callee);
    for (mlir::NamedAttribute named : node.attrs())
      forEachFunctionName(named.getValue(), [&](llvm::StringRef callee) {
        found |= reachesBlockingOp(index.function(callee));
      });
  }
  blocking[name] = found;
  return found;
}

bool ModuleFunctions::mayBlock(const std::string &function) {
  std::lock_guard lock(mutex);
  return reachesBlockingOp(index.function(function));
}

Expected<const Plan *> ModuleFunctions::plan(const FunctionRef &function, ArgMode mode) {
  Key key(function.name, mode, std::nullopt);
  auto &[name, argMode, wanted] = key;
  if (function.attrs && function.attrs->has(wantedResultsAttr))
    wanted = function.attrs->getOr(wantedResultsAttr, std::vector<int64_t>());
  {
    std::lock_guard lock(mutex);
    if (auto it = plans.find(key); it != plans.end())
      return it->second.get();
  }
  tfg::FuncOp op = index.function(function.name);
  if (!op)
    return Unexpected(notFound("function '", function.name, "' is not in the graph's library"));
  Expected<GraphSpec> spec = lowerFunction(index, op, wanted ? &*wanted : nullptr);
  if (!spec)
    return Unexpected(std::move(spec.error()));
  Expected<std::unique_ptr<Plan>> built = buildPlan(std::move(*spec), {&kernels, this, mode});
  if (!built) {
    built.error().message = str("in function '", function.name, "': ", built.error().message);
    return Unexpected(std::move(built.error()));
  }
  std::lock_guard lock(mutex);
  // Another thread may have been faster; then its plan serves.
  return plans.try_emplace(std::move(key), std::move(*built)).first->second.get();
}

} // namespace treadle
