// Assigns the stack of the original name to the new name.
#include "treadle/export/DebugInfo.h"

#include "treadle/dialect/SourceLocation.h"
#include "treadle/dialect/Tfg.h"

using namespace mlir;

namespace treadle::graphdef {

template <typename Map> static void copyEntry(Map &map, const std::string &to, StringRef from) {
  if (auto it = map.find(from.str()); it != map.end() && !map.contains(to)) {
    auto value = it->second;
    map[to] = std::move(value);
  }
}

static void addBody(Block &body, StringRef function, pb::GraphDebugInfo &info) {
  for (Operation &op : body) {
    StringRef from = definitionKey(op.getLoc());
    if (from.empty() || !tfg::Node::isNode(&op))
      continue;
    std::string key = (tfg::Node(&op).name() + "@" + function).str();
    if (key == from)
      continue;
    copyEntry(*info.mutable_name_to_trace_id(), key, from);
    copyEntry(*info.mutable_traces(), key, from);
  }
}

void addToDebugInfo(ModuleOp module, Block &graph, pb::GraphDef &def) {
  if (!def.has_debug_info())
    return;
  addBody(graph, "", *def.mutable_debug_info());
  for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
    if (!function.isExternal())
      addBody(function.getEntry(), function.getName(), *def.mutable_debug_info());
}

} // namespace treadle::graphdef
