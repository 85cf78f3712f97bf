#include "treadle/session/Exchanges.h"

#include "treadle/dialect/TfType.h"
#include "treadle/dialect/Tfg.h"
#include "treadle/runtime/PlanBuilder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace treadle {
namespace {

/// What sends and what receives are one collective.
StringRef familyOf(StringRef op) {
  if (!op.consume_front("Collective"))
    return {};
  for (StringRef family : {"Reduce", "ReduceScatter", "Gather", "Bcast", "AllToAll"})
    if (op == family || op == (family + "V2").str() || op == (family + "Send").str() ||
        op == (family + "SendV2").str() || op == (family + "Recv").str() ||
        op == (family + "RecvV2").str())
      return family;
  return {};
}

/// The numbers that constants give; "?" where a run computes one.
struct Keys {
  std::string size = "?", group = "?", instance = "?";
};

class Lister {
public:
  Lister(ModuleOp module, int size) : module(module), size(std::to_string(size)) {}

  void addGraph(const GraphSpec &graph) {
    for (const NodeSpec &node : graph.nodes) {
      if (StringRef family = familyOf(node.op); !family.empty())
        addLine(node.name, node.op, family, keysOf(graph, node),
                node.outputTypes.empty() ? DType::Invalid : node.outputTypes[0].dtype);
      for (const FunctionRef &function : plan::calledFunctions(node))
        addFunction(function.name);
    }
  }

  std::vector<std::string> lines;

private:
  static std::string numberOf(const GraphSpec &graph, const NodeSpec &node, size_t input) {
    if (input >= node.inputs.size())
      return "?";
    const NodeSpec &source = graph.nodes[node.inputs[input].node];
    const auto *value = std::get_if<Tensor>(source.attrs.find("value"));
    return source.op == "Const" && value && value->dtype() == DType::Int32 && value->count() == 1
               ? std::to_string(*value->data<int32_t>())
               : "?";
  }

  static Keys keysOf(const GraphSpec &graph, const NodeSpec &node) {
    if (const AttrValue *value = node.attrs.find("group_size"); value)
      return {std::to_string(node.attrs.getOr<int64_t>("group_size", 0)),
              std::to_string(node.attrs.getOr<int64_t>("group_key", 0)),
              std::to_string(node.attrs.getOr<int64_t>("instance_key", 0))};
    size_t first = node.op.find("Recv") == std::string::npos ? 1 : 0;
    return {numberOf(graph, node, first), numberOf(graph, node, first + 1),
            numberOf(graph, node, first + 2)};
  }

  static std::string numberOf(Value value) {
    tfg::Node source = tfg::definingNode(value);
    auto constant = source && source.opType() == "Const"
                        ? source.attr<DenseIntElementsAttr>("value")
                        : DenseIntElementsAttr();
    return constant && constant.isSplat()
               ? std::to_string(constant.getSplatValue<APInt>().getSExtValue())
               : "?";
  }

  static Keys keysOf(tfg::Node node) {
    auto attr = [&](StringRef key) {
      auto number = node.attr<IntegerAttr>(key);
      return number ? std::to_string(number.getInt()) : std::string("?");
    };
    if (node.attr("group_size"))
      return {attr("group_size"), attr("group_key"), attr("instance_key")};
    unsigned first = node.opType().contains("Recv") ? 0 : 1;
    if (node.numData() < first + 3)
      return {};
    return {numberOf(node.data()[first]), numberOf(node.data()[first + 1]),
            numberOf(node.data()[first + 2])};
  }

  void addFunction(const std::string &name) {
    auto function = module.lookupSymbol<tfg::FuncOp>(name);
    if (!function || function.isExternal() || function.getGeneric() ||
        llvm::is_contained(path, name))
      return;
    path.push_back(name);
    for (Operation &op : function.getEntry()) {
      if (!tfg::Node::isNode(&op))
        continue;
      tfg::Node node(&op);
      if (StringRef family = familyOf(node.opType()); !family.empty())
        addLine(str(name, "/", node.name().str()), node.opType().str(), family, keysOf(node),
                DType::Invalid);
      addFunction(node.opType().str());
      for (NamedAttribute attr : node.attrs())
        attr.getValue().walk([&](tf_type::FuncAttr callee) {
          addFunction(callee.getName().getRootReference().str());
        });
    }
    path.pop_back();
  }

  // Ranks that aren't in a smaller group know nothing of it.
  void addLine(const std::string &name, const std::string &op, StringRef family, const Keys &keys,
               DType dtype) {
    if (keys.size != "?" && keys.size != size)
      return;
    lines.push_back(str(family.str(), " in group ", keys.group, ", instance ", keys.instance,
                        dtype == DType::Invalid ? std::string() : str(", of ", dtypeName(dtype)),
                        "\t('", name, "', ", op, ")"));
  }

  ModuleOp module;
  const std::string size;
  std::vector<std::string> path; // functions that are being looked into
};

} // namespace

Expected<void> agreeOnCollectives(Communicator &world, const GraphSpec &graph, ModuleOp module) {
  if (world.size() == 1)
    return {};
  return world.agree(collectiveLines(graph, module, world.size()), "the order of collectives");
}

std::vector<std::string> collectiveLines(const GraphSpec &graph, ModuleOp module, int size) {
  Lister lister(module, size);
  lister.addGraph(graph);
  return std::move(lister.lines);
}

} // namespace treadle
