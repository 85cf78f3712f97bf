// Reads and edits single nodes of a Graph.
#include "treadle/analysis/conformance/Conformance.h"
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/graph/EditIndex.h"
#include "treadle/graph/NodeInputs.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;

namespace treadle {
namespace {

Error typeMismatch(StringRef node, size_t input, Value value, ValueType expected) {
  return invalidArgument("node '", node.str(), "': input ", input, " is '", nameOf(value), "' of ",
                         dtypeName(valueTypeOf(value.getType()).dtype), ", expected ",
                         expected.isRef ? "a reference to " : "", dtypeName(expected.dtype));
}

/// Returns the data inputs and the control inputs.
Expected<std::pair<SmallVector<Value>, SmallVector<Value>>>
resolve(const EditIndex &index, StringRef node, const std::vector<std::string> &inputs) {
  SmallVector<Value> data;
  llvm::SetVector<Value> tokens;
  for (const std::string &name : inputs) {
    Expected<Value> value = index.value(name);
    if (!value)
      return Unexpected(
          Error{value.error().code, str("node '", node.str(), "': ", value.error().message)});
    if (tfg::isControl(*value)) {
      tokens.insert(*value);
      continue;
    }
    if (!tokens.empty())
      return Unexpected(
          invalidArgument("node '", node.str(), "': input '", name,
                          "' comes after control inputs; control inputs must come last"));
    data.push_back(*value);
  }
  return std::pair(data, llvm::to_vector(tokens));
}

Expected<void> orderInput(EditIndex &index, tfg::Node node, Value input) {
  Operation *source = input.getDefiningOp();
  if (tfg::isBackEdge(source, node.getOperation()) ||
      index.order().addEdge(source, node.getOperation()))
    return {};
  return Unexpected(invalidArgument("node '", node.name().str(), "': input '", nameOf(input),
                                    "' would close a cycle; only a NextIteration may close one"));
}

using AttrLookup = llvm::function_ref<Attribute(StringRef)>;

Expected<void> checkData(const OpDef &def, StringRef name, ValueRange data, AttrLookup attr) {
  size_t next = 0;
  for (const ArgDef &input : def.inputs())
    for (ValueType type : tfg::argumentTypes(def, input, attr)) {
      if (next < data.size()) {
        ValueType found = valueTypeOf(data[next].getType());
        bool isKnown = type.dtype != DType::Invalid && found.dtype != DType::Invalid;
        if ((isKnown && type.dtype != found.dtype) || (type.isRef && !found.isRef))
          return Unexpected(typeMismatch(name, next, data[next], type));
      }
      ++next;
    }
  if (next != data.size())
    return Unexpected(invalidArgument("node '", name.str(), "' (", def.name(), ") has ",
                                      data.size(), " data inputs, expected ", next));
  return {};
}

Error nameTaken(StringRef name) {
  return {Code::AlreadyExists,
          str("there is a node '", name.str(), "' already; expected another name")};
}

bool isName(StringRef name) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || StringRef("._-/\\>").contains(c); };
  return !name.empty() && (llvm::isAlnum(name[0]) || name[0] == '.' || name[0] == '_') &&
         llvm::all_of(name, isPart);
}

Expected<void> checkNewName(const EditIndex &index, StringRef name) {
  if (!isName(name))
    return Unexpected(invalidArgument("'", name.str(),
                                      "' is not a valid node name; expected letters, digits and "
                                      "any of ._-/"));
  if (index.nodes.contains(name))
    return Unexpected(nameTaken(name));
  return {};
}

std::string madeName(EditIndex &index, StringRef op) {
  std::string name = op.str();
  while (index.nodes.contains(name))
    name = str(op.str(), "_", ++index.suffixes[op]);
  return name;
}

} // namespace

EditIndex &indexOf(const Graph::Impl &impl) {
  if (!impl.editIndex)
    impl.editIndex.reset(new EditIndex(impl));
  return *impl.editIndex;
}

// --- reading ------------------------------------------------------------------------------------

std::vector<std::string> Graph::nodeNames(std::string_view op) const {
  std::vector<std::string> names;
  if (tfg::GraphOp graph = indexOf(*impl).graph)
    for (Operation &node : graph.getNodes().front())
      if (op.empty() || tfg::Node(&node).opType() == StringRef(op))
        names.push_back(tfg::Node(&node).name().str());
  return names;
}

std::vector<std::string> Graph::functionNames() const {
  std::vector<std::string> names;
  for (tfg::FuncOp function : impl->module->getOps<tfg::FuncOp>())
    names.push_back(function.getName().str());
  return names;
}

Expected<std::string> Graph::nodeOp(std::string_view name) const {
  tfg::Node node = TREADLE_TRY(indexOf(*impl).node(name));
  return node.opType().str();
}

Expected<std::vector<std::string>> Graph::nodeInputs(std::string_view name) const {
  tfg::Node node = TREADLE_TRY(indexOf(*impl).node(name));
  std::vector<std::string> inputs;
  for (mlir::Value input : node->getOperands())
    inputs.push_back(nameOf(input));
  return inputs;
}

Expected<std::vector<std::string>> Graph::nodeUsers(std::string_view name) const {
  tfg::Node node = TREADLE_TRY(indexOf(*impl).node(name));
  llvm::SmallSetVector<Operation *, 8> users(node->user_begin(), node->user_end());
  std::vector<std::string> names;
  for (Operation *user : llvm::reverse(users)) // use lists are in reverse order
    names.push_back(tfg::Node(user).name().str());
  return names;
}

Expected<Graph::NodeInfo> Graph::node(std::string_view name) const {
  tfg::Node found = TREADLE_TRY(indexOf(*impl).node(name));
  tfg::Node node = found;
  NodeInfo info{node.name().str(), node.opType().str(), node.device().str(), {}, {}, {}};
  info.inputs = *nodeInputs(name);
  for (NamedAttribute attr : node.attrs()) {
    if (tfg::isReserved(attr.getName()))
      continue;
    Expected<AttrValue> value = convertAttribute(attr.getValue());
    if (!value)
      return Unexpected(
          Error{value.error().code, str("node '", name, "': attribute '", attr.getName().str(),
                                        "': ", value.error().message)});
    info.attrs.set(std::string_view(attr.getName().getValue()), std::move(*value));
  }
  for (auto [i, result] : llvm::enumerate(node.results())) {
    Value value{str(info.name, ":", i), valueTypeOf(result.getType()).dtype, false, {}};
    if (auto type = dyn_cast<RankedTensorType>(result.getType())) {
      value.hasRank = true;
      for (int64_t dim : type.getShape())
        value.dims.push_back(ShapedType::isDynamic(dim) ? -1 : dim);
    }
    info.outputs.push_back(std::move(value));
  }
  return info;
}

// --- editing ------------------------------------------------------------------------------------

void unshareGraph(Graph &graph) {
  if (graph.impl.use_count() > 1)
    graph = derivedGraph(graph, graph.impl->copy());
  // The graph is unshared here, so its Impl may be modified.
  const_cast<Graph::Impl &>(*graph.impl).forgetIndex();
}

Expected<std::string> Graph::addNode(NodeInfo info) {
  unshareGraph(*this);
  EditIndex &index = indexOf(*impl);
  if (!index.graph)
    return Unexpected(Error{Code::FailedPrecondition,
                            "the module has only functions, and no graph to add a node to"});
  if (info.name.empty())
    info.name = madeName(index, info.op);
  TREADLE_TRY(checkNewName(index, info.name));
  auto inputs = TREADLE_TRY(resolve(index, info.name, info.inputs));
  auto &[data, tokens] = inputs;
  const OpDef *def = lookupOp(info.op);
  if (def) {
    std::vector<DType> dtypes;
    for (mlir::Value value : data)
      dtypes.push_back(valueTypeOf(value.getType()).dtype);
    inferAttrs(*def, dtypes, info.attrs);
  }
  NamedAttrList attrs;
  for (const auto &[key, value] : info.attrs) {
    Attribute attr = index.attribute(value);
    if (!attr)
      return Unexpected(invalidArgument("node '", info.name, "': attribute '", key,
                                        "' has a value that a graph can't represent"));
    attrs.set(key, attr);
  }
  SmallVector<Type> types;
  auto lookup = [&](StringRef key) { return attrs.get(key); };
  if (def) {
    for (const AttrDef &attr : def->attrs())
      if (!attr.hasDefault() && !info.attrs.has(attr.name()))
        return Unexpected(invalidArgument("node '", info.name, "': attribute '", attr.name(), "' (",
                                          attr.kindName(),
                                          ") is missing and can't be inferred from the inputs"));
    TREADLE_TRY(checkData(*def, info.name, data, lookup));
    for (const ArgDef &output : def->outputs())
      for (ValueType type : tfg::argumentTypes(*def, output, lookup))
        types.push_back(index.tensor(type));
  } else if (auto function = index.functions.find(info.op); function != index.functions.end()) {
    llvm::append_range(types, function->second.getResultTypes());
  } else {
    if (info.outputs.empty() && !info.op.empty() && info.op != "NoOp")
      return Unexpected(invalidArgument("node '", info.name, "': op '", info.op,
                                        "' is unknown; give the dtypes of its outputs"));
    for (const Value &output : info.outputs)
      types.push_back(index.tensor({output.dtype}));
  }
  if (llvm::is_contained(types, Type()))
    return Unexpected(invalidArgument("node '", info.name,
                                      "': its attributes don't determine the dtype of an output"));
  OpBuilder builder = OpBuilder::atBlockEnd(&index.graph.getNodes().front());
  tfg::Node node = tfg::NodeBuilder(builder, info.op)
                       .name(info.name)
                       .attrs(attrs.getAttrs())
                       .inputs(data)
                       .control(ValueRange(tokens))
                       .results(types)
                       .build();
  index.mayHaveSoftEdges |= node->hasAttr(tfg::softInputsKey);
  if (!info.device.empty())
    node.setDevice(info.device);
  index.nodes[info.name] = node;
  if (index.topologicalOrder)
    index.topologicalOrder->append(node.getOperation());
  return info.name;
}

Expected<void> Graph::removeNode(std::string_view name) {
  // Validates before editing, so that an error leaves even a shared graph unchanged.
  std::vector<std::string> users = TREADLE_TRY(nodeUsers(name));
  if (!users.empty())
    return Unexpected(Error{Code::FailedPrecondition,
                            str("node '", name, "' is used by '", users.front(), "'",
                                users.size() > 1 ? str(" and ", users.size() - 1, " more") : "",
                                "; rewire its users first")});
  unshareGraph(*this);
  EditIndex &index = indexOf(*impl);
  auto entry = index.nodes.find(name);
  for (tfg::Node following : index.nodesWithSoftEdges()) {
    SmallVector<StringRef> names = tfg::softInputs(following);
    if (llvm::is_contained(names, StringRef(name))) {
      llvm::erase(names, StringRef(name));
      tfg::setSoftInputs(following, names);
    }
  }
  if (index.topologicalOrder)
    index.topologicalOrder->erase(entry->second.getOperation());
  entry->second->erase();
  index.nodes.erase(entry);
  return {};
}

Expected<void> Graph::renameNode(std::string_view name, std::string_view newName) {
  if (Expected<tfg::Node> node = indexOf(*impl).node(name); !node)
    return Unexpected(node.error());
  if (name == newName)
    return {};
  TREADLE_TRY(checkNewName(indexOf(*impl), newName));
  unshareGraph(*this);
  EditIndex &index = indexOf(*impl);
  tfg::Node node = index.nodes.lookup(name);
  node.setName(newName);
  index.nodes.erase(name);
  index.nodes[newName] = node;
  llvm::StringMap<std::string> renamed;
  renamed[name] = std::string(newName);
  for (tfg::Node following : index.nodesWithSoftEdges())
    tfg::renameSoftInputs(following, renamed);
  return {};
}

Expected<void> Graph::setNodeInputs(std::string_view name, const std::vector<std::string> &inputs) {
  unshareGraph(*this);
  EditIndex &index = indexOf(*impl);
  tfg::Node node = TREADLE_TRY(index.node(name));
  auto resolved = TREADLE_TRY(resolve(index, name, inputs));
  auto &[operands, tokens] = resolved;
  if (const OpDef *def = lookupOp(std::string_view(node.opType())))
    if (Expected<void> right =
            checkData(*def, name, operands, [&](StringRef key) { return node.attr(key); });
        !right)
      return right;
  llvm::append_range(operands, tokens);
  for (mlir::Value input : operands)
    TREADLE_TRY(orderInput(index, node, input));
  node->setOperands(operands);
  return {};
}

/// Looks for an input in the list of inputs and in that of its uses, whichever ends first.
static bool hasInput(Operation *node, mlir::Value input) {
  unsigned next = node->getNumOperands();
  for (Operation *user : input.getUsers()) {
    if (next == 0)
      return false;
    if (user == node || node->getOperand(--next) == input)
      return true;
  }
  return false;
}

Expected<void> Graph::addControlInput(std::string_view name, std::string_view before) {
  unshareGraph(*this);
  EditIndex &index = indexOf(*impl);
  tfg::Node node = TREADLE_TRY(index.node(name));
  auto resolved = TREADLE_TRY(resolve(index, name, {str("^", before)}));
  mlir::Value token = resolved.second.front();
  if (hasInput(node.getOperation(), token))
    return {};
  TREADLE_TRY(orderInput(index, node, token));
  node->insertOperands(node->getNumOperands(), token);
  return {};
}

Expected<void> Graph::setNodeAttr(std::string_view name, std::string_view key,
                                  const std::optional<AttrValue> &value) {
  unshareGraph(*this);
  EditIndex &index = indexOf(*impl);
  tfg::Node node = TREADLE_TRY(index.node(name));
  if (tfg::isReserved(key))
    return Unexpected(
        invalidArgument("node '", name, "': '", key, "' is a field of the node, not an attribute"));
  if (!value) {
    node->removeDiscardableAttr(key);
    return {};
  }
  Attribute attr = index.attribute(*value);
  if (!attr)
    return Unexpected(invalidArgument("node '", name, "': attribute '", key,
                                      "' has a value that a graph can't represent"));
  auto lookup = [&](StringRef other) { return other == StringRef(key) ? attr : node.attr(other); };
  // Attributes that state dtypes or counts of inputs and outputs must stay consistent with them.
  if (const OpDef *def = lookupOp(std::string_view(node.opType()))) {
    SmallVector<mlir::Value> data(node.data());
    TREADLE_TRY(checkData(*def, name, data, lookup));
    size_t next = 0;
    for (const ArgDef &output : def->outputs())
      for (ValueType type : tfg::argumentTypes(*def, output, lookup)) {
        bool isSame = next < node.numResults() &&
                      valueTypeOf(node.results()[next].getType()).dtype == type.dtype;
        if (!isSame && type.dtype != DType::Invalid)
          return Unexpected(invalidArgument("node '", name, "': attribute '", key,
                                            "' would change output ", next, " ('", output.name(),
                                            "'); add another node and rewire this one's users"));
        ++next;
      }
  }
  node->setDiscardableAttr(key, attr);
  index.mayHaveSoftEdges |= key == std::string_view(tfg::softInputsKey);
  return {};
}

Expected<void> Graph::setNodeDevice(std::string_view name, std::string_view device) {
  unshareGraph(*this);
  tfg::Node node = TREADLE_TRY(indexOf(*impl).node(name));
  node.setDevice(device);
  return {};
}

Expected<void> Graph::replaceUses(std::string_view from, std::string_view to) {
  unshareGraph(*this);
  EditIndex &index = indexOf(*impl);
  Expected<mlir::Value> old = index.value(from), replacement = index.value(to);
  if (!old || !replacement)
    return Unexpected(old ? replacement.error() : old.error());
  if (*old == *replacement)
    return {};
  if (tfg::isControl(*old) != tfg::isControl(*replacement) ||
      (!tfg::isControl(*old) &&
       valueTypeOf(old->getType()).dtype != valueTypeOf(replacement->getType()).dtype))
    return Unexpected(invalidArgument(
        "'", from, "' can't be replaced by '", to, "': expected ",
        tfg::isControl(*old) ? "a control output"
                             : std::string(dtypeName(valueTypeOf(old->getType()).dtype))));
  if (tfg::isControl(*old)) {
    llvm::StringMap<std::string> renamed;
    renamed[tfg::Node(old->getDefiningOp()).name()] =
        tfg::Node(replacement->getDefiningOp()).name().str();
    for (tfg::Node following : index.nodesWithSoftEdges())
      tfg::renameSoftInputs(following, renamed);
  }
  // If the replacement depends on the old value, it keeps using the old value.
  tfg::TopologicalOrder &order = index.order();
  Operation *source = replacement->getDefiningOp();
  Block &nodes = index.graph.getNodes().front();
  auto keeps = [&](Operation *user) {
    return order.precedes(nodes.findAncestorOpInBlock(*user), source);
  };
  llvm::SmallSetVector<Operation *, 8> users;
  for (Operation *user : old->getUsers())
    if (!keeps(user))
      users.insert(user);
  for (Operation *op : users) {
    SmallVector<mlir::Value> operands;
    llvm::DenseSet<mlir::Value> tokens;
    for (mlir::Value operand : op->getOperands()) {
      mlir::Value next = operand == *old ? *replacement : operand;
      if (!tfg::isControl(next) || tokens.insert(next).second)
        operands.push_back(next);
    }
    op->setOperands(operands);
    order.addEdge(source, nodes.findAncestorOpInBlock(*op));
  }
  return {};
}

} // namespace treadle
