// Exports names, inputs and attributes of nodes.
#include "treadle/export/NodeExporter.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/Endpoints.h"
#include "treadle/import/Keywords.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

ExportState::ExportState(MLIRContext *context)
    : context(context), dialect(context->getOrLoadDialect<tfg::TfgDialect>()), types(context),
      signatures(context, types), restKey(StringAttr::get(context, graphdef::restKey)),
      outputsKey(StringAttr::get(context, graphdef::outputsKey)) {}

NodeExporter::NodeExporter(ExportState &state, Block &block, tfg::FuncOp function)
    : state(state), function(function), isGeneric(function && function.getGeneric()) {
  if (function)
    for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i) {
      StringRef name = function.getDataArgumentName(i);
      argumentNames.push_back(name.empty() ? "arg" + std::to_string(i) : name.str());
    }
  nameUnnamedNodes(block);
}

void NodeExporter::nameUnnamedNodes(Block &block) {
  SmallVector<Operation *> nameless;
  for (Operation &op : block)
    if (tfg::Node::isNode(&op) && tfg::Node(&op).name().empty())
      nameless.push_back(&op);
  if (nameless.empty())
    return;
  llvm::StringSet<> taken;
  taken.insert(argumentNames.begin(), argumentNames.end());
  for (Operation &op : block)
    if (tfg::Node::isNode(&op))
      taken.insert(tfg::Node(&op).name());
  llvm::StringMap<unsigned> counts;
  for (Operation *op : nameless) {
    std::string base = tfg::Node(op).opType().str(), name = base;
    while (!taken.insert(name).second)
      name = base + "_" + std::to_string(++counts[base]);
    madeNames[op] = name;
  }
}

StringRef NodeExporter::nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argumentNames[argument.getArgNumber() / 2];
  tfg::Node node = tfg::definingNode(value);
  if (!node)
    return {};
  StringRef name = node.name();
  return name.empty() ? StringRef(madeNames[node.getOperation()]) : name;
}

// --- inputs -------------------------------------------------------------------------------------

Expected<std::string> NodeExporter::spellResult(OpResult result) {
  tfg::Node node(result.getOwner());
  std::string name = nameOf(result).str();
  unsigned index = result.getResultNumber();
  if (!function)
    return index == 0 ? name : str(name, ":", index);
  if (auto outputs = node.attr<ArrayAttr>(state.outputsKey))
    if (index < outputs.size())
      if (auto output = dyn_cast<StringAttr>(outputs[index]))
        return str(name, ":", output.str());
  const OpSignature &signature = state.signatures.lookup(node.opType());
  if (auto place = state.signatures.outputAt(signature, node.attrs(), index))
    return str(name, ":", place->output.str(), ":", place->index);
  return Unexpected(invalidArgument("node '", name, "' (", node.opType().str(), "): its output ",
                                    index, " has no name, which functions require; the op ",
                                    signature.isKnown() ? "has fewer outputs" : "is unknown"));
}

Expected<std::string> NodeExporter::spell(Value value) {
  std::string name = nameOf(value).str();
  if (name.empty())
    return Unexpected(invalidArgument("an input comes from an operation that isn't a node"));
  if (tfg::isControl(value))
    return "^" + name;
  if (isa<BlockArgument>(value))
    return name;
  if (auto getResult = value.getDefiningOp<tfg::GetResultOp>())
    return str(name, ":", getResult.getName().str(), ":", getResult.getNumber());
  if (isGeneric)
    return name;
  return spellResult(cast<OpResult>(value));
}

bool NodeExporter::isSpelling(StringRef spelling, Value value) {
  std::optional<Endpoint> endpoint = parseEndpoint(spelling);
  if (!endpoint || endpoint->isControl != tfg::isControl(value) || endpoint->node != nameOf(value))
    return false;
  if (endpoint->isControl)
    return true;
  if (isa<BlockArgument>(value))
    return endpoint->output.empty() && endpoint->index == 0;
  if (isGeneric) {
    auto getResult = value.getDefiningOp<tfg::GetResultOp>();
    if (!getResult)
      return endpoint->output.empty() && !endpoint->hasIndex;
    return getResult.getName() == endpoint->output && getResult.getNumber() == endpoint->index;
  }
  // A node of a graph, where outputs have no names, may have been moved to a function.
  if (function && endpoint->output.empty())
    return false;
  auto result = cast<OpResult>(value);
  tfg::Node node(result.getOwner());
  if (auto outputs = node.attr<ArrayAttr>(state.outputsKey)) {
    auto output = StringAttr::get(state.context, str(endpoint->output.str(), ":", endpoint->index));
    return result.getResultNumber() < outputs.size() && outputs[result.getResultNumber()] == output;
  }
  uint64_t begin = 0;
  if (!endpoint->output.empty()) {
    auto range = state.signatures.outputRange(state.signatures.lookup(node.opType()), node.attrs(),
                                              endpoint->output);
    if (!range)
      return false;
    begin = range->begin;
  }
  return begin + endpoint->index == result.getResultNumber();
}

Expected<void> NodeExporter::exportInputs(tfg::Node node, pb::NodeDef &def) {
  for (Value operand : node->getOperands()) {
    std::string input = TREADLE_TRY(spell(operand));
    def.add_input(std::move(input));
  }
  return {};
}

// --- attributes ---------------------------------------------------------------------------------

Expected<void> NodeExporter::exportAttrs(tfg::Node node, pb::NodeDef &def) {
  auto &map = *def.mutable_attr();
  for (NamedAttribute attr : node.attrs()) {
    // The symbol repeats the op's name.
    if (tfg::isReserved(attr.getName()) || isa<FlatSymbolRefAttr>(attr.getValue()))
      continue;
    if (Expected<void> ok = exportAttr(attr.getValue(), map[attr.getName().str()]); !ok)
      return Unexpected(Error{ok.error().code,
                              str("attribute '", attr.getName().str(), "': ", ok.error().message)});
  }
  Attribute fullType = node.attr(state.dialect->fullTypeKey);
  if (auto type = dyn_cast_or_null<tf_type::FullTypeAttr>(fullType))
    exportFullType(type, *def.mutable_experimental_type());
  else if (fullType)
    return mergeMessage(fullType, "FullTypeDef", *def.mutable_experimental_type());
  return {};
}

/// Restores the original spelling of inputs that are unchanged.
Expected<void> NodeExporter::mergeRest(tfg::Node node, pb::NodeDef &def) {
  Attribute attr = node.attr(state.restKey);
  if (!attr)
    return {};
  pb::NodeDef rest;
  TREADLE_TRY(mergeMessage(attr, "NodeDef", rest));
  if (static_cast<unsigned>(rest.input_size()) == node->getNumOperands())
    for (auto [index, operand] : llvm::enumerate(node->getOperands()))
      if (isSpelling(rest.input(index), operand))
        def.set_input(index, rest.input(index));
  rest.clear_input();
  def.MergeFrom(rest);
  return {};
}

Expected<void> NodeExporter::exportNode(tfg::Node node, pb::NodeDef &def) {
  def.set_name(nameOf(node->getResults().back()).str());
  def.set_op(node.opType().str());
  if (StringRef device = node.device(); !device.empty())
    def.set_device(device.str());
  Expected<void> ok = exportInputs(node, def);
  if (ok)
    ok = exportAttrs(node, def);
  if (ok)
    ok = mergeRest(node, def);
  if (!ok)
    return Unexpected(Error(ok.error()).atNode(def.name(), def.op()));
  return {};
}
