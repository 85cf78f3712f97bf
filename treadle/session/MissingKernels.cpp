#include "treadle/session/MissingKernels.h"

#include "treadle/dialect/Regions.h"
#include "treadle/graph/Dependencies.h"
#include "treadle/ops/OpTable.h"

#include <map>

namespace treadle {
namespace {

bool isRun(tfg::Node node, const ModuleIndex &index, const KernelRegistry &kernels) {
  std::string op = node.opType().str();
  const OpDef *def = lookupOp(op);
  bool isControl = def && (def->kind() != OpKind::Plain || def->facts().firstArgument >= 0);
  return isControl || op == "Const" || tfg::hasRegions(node) || kernels.find(op) ||
         kernels.findFunctionKernel(op) || index.function(op);
}

} // namespace

Error withMissingKernels(Error error, const ModuleIndex &index, std::vector<std::string> names,
                         const KernelRegistry &kernels) {
  if (error.code != Code::Unimplemented)
    return error;
  Expected<std::set<mlir::Operation *>> needed = dependenciesOf(index, names);
  if (!needed)
    return error;
  std::map<std::string, int> missing;
  auto count = [&](mlir::Operation *op) {
    if (tfg::Node::isNode(op) && !isRun(tfg::Node(op), index, kernels))
      ++missing[tfg::Node(op).opType().str()];
  };
  for (mlir::Operation *op : *needed)
    op->walk(count);
  for (const auto &called : functionsCalledBy(index, *needed))
    index.function(called.getKey())->walk(count);
  if (missing.size() < 2)
    return error;
  std::string list;
  for (const auto &[op, nodes] : missing)
    list += str(list.empty() ? "'" : ", '", op, "' (", nodes, nodes == 1 ? " node)" : " nodes)");
  error.message += str("; the ops of this run that have no kernel here: ", list);
  return error;
}

} // namespace treadle
