#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/CallGraph.h"

#include "treadle/rewriting/SoftEdges.h"

#include "treadle/ops/OpTable.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle::tfg {

//===----------------------------------------------------------------------===//
// NodeBuilder
//===----------------------------------------------------------------------===//

NodeBuilder::NodeBuilder(OpBuilder &builder, StringRef opType)
    : builder(builder), opName(("tfg." + opType).str(), builder.getContext()),
      location(builder.getUnknownLoc()) {}

NodeBuilder &NodeBuilder::name(StringRef name) {
  attributes.set(TfgDialect::nameKeyword, builder.getStringAttr(name));
  return *this;
}

NodeBuilder &NodeBuilder::placedAs(Node other) {
  if (StringAttr device = other.deviceAttr())
    attributes.set(TfgDialect::deviceKeyword, device);
  if (StringAttr device = other.assignedDeviceAttr())
    attributes.set(TfgDialect::assignedDeviceKeyword, device);
  location = other->getLoc();
  return *this;
}

NodeBuilder &NodeBuilder::attr(StringRef key, Attribute value) {
  attributes.set(key, value);
  return *this;
}

NodeBuilder &NodeBuilder::attrs(ArrayRef<NamedAttribute> values) {
  for (NamedAttribute value : values)
    attributes.set(value.getName(), value.getValue());
  return *this;
}

NodeBuilder &NodeBuilder::inputs(ValueRange values) {
  llvm::append_range(data, values);
  return *this;
}

NodeBuilder &NodeBuilder::control(Value token) {
  if (token && !llvm::is_contained(tokens, token))
    tokens.push_back(token);
  return *this;
}

NodeBuilder &NodeBuilder::control(ValueRange values) {
  for (Value token : values)
    control(token);
  return *this;
}

NodeBuilder &NodeBuilder::results(TypeRange values) {
  llvm::append_range(types, values);
  return *this;
}

Node NodeBuilder::build() {
  OperationState state(location, opName);
  state.addOperands(data);
  state.addOperands(tokens);
  state.addTypes(types);
  state.addTypes(tf_type::ControlType::get(builder.getContext()));
  state.addAttributes(attributes.getAttrs());
  return Node(builder.create(state));
}

NodeBuilder forwardValues(OpBuilder &builder, ValueRange values, TypeRange types) {
  NodeBuilder made(builder, values.empty()       ? "NoOp"
                            : values.size() == 1 ? "Identity"
                                                 : "IdentityN");
  SmallVector<Attribute> dtypes;
  for (Value value : values)
    dtypes.push_back(dtypeAttr(value.getType()));
  if (!values.empty())
    made.attr("T", values.size() == 1 ? dtypes.front() : builder.getArrayAttr(dtypes));
  made.inputs(values).results(types.empty() ? TypeRange(values) : types);
  return made;
}

//===----------------------------------------------------------------------===//
// NameScope
//===----------------------------------------------------------------------===//

NameScope::NameScope(Block &body) {
  for (Operation &op : body)
    if (Node::isNode(&op))
      names.insert(Node(&op).name());
  if (auto function = dyn_cast_or_null<FuncOp>(body.getParentOp()))
    for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i)
      names.insert(function.getDataArgumentName(i));
}

std::string NameScope::unique(StringRef base) {
  if (names.insert(base).second)
    return base.str();
  for (unsigned &suffix = next[base];;) {
    std::string candidate = (base + "_" + Twine(++suffix)).str();
    if (names.insert(candidate).second)
      return candidate;
  }
}

TypeAttr dtypeAttr(Type tensorType) {
  Type element = tf_type::dereference(cast<TensorType>(tensorType).getElementType());
  MLIRContext *context = tensorType.getContext();
  if (isa<tf_type::ResourceType>(element))
    element = tf_type::ResourceType::get(context, {});
  else if (isa<tf_type::VariantType>(element))
    element = tf_type::VariantType::get(context, {});
  return TypeAttr::get(element);
}

//===----------------------------------------------------------------------===//
// Control dependencies
//===----------------------------------------------------------------------===//

void setControl(Node node, ValueRange tokens) {
  unsigned first = node.numData();
  node->setOperands(first, node->getNumOperands() - first, tokens);
}

void addControl(Node node, Value token) {
  if (token.getDefiningOp() == node.getOperation() || llvm::is_contained(node.control(), token))
    return;
  node->insertOperands(node->getNumOperands(), token);
}

SmallVector<Value> tokensBefore(Node node) {
  llvm::SmallSetVector<Value, 8> tokens(node.control().begin(), node.control().end());
  for (Value input : node.data())
    if (Value token = controlTokenOf(input))
      tokens.insert(token);
  return tokens.takeVector();
}

// Replaces tokens of the return op; the replacements get their names. Each token is listed once,
// because TensorFlow rejects a node that is two control outputs.
static void replaceReturned(ReturnOp op, const llvm::SmallSetVector<Value, 8> &replaced,
                            ValueRange replacements) {
  llvm::SmallSetVector<Value, 8> tokens;
  SmallVector<Attribute> names;
  auto add = [&](Value value, Attribute name) {
    if (tokens.insert(value))
      names.push_back(name);
  };
  for (auto [value, name] : llvm::zip(op.getControl(), op.getControlRetAttrs())) {
    bool isReplaced = replaced.contains(value);
    for (Value replacement : isReplaced ? replacements.take_front(1) : ValueRange(value))
      add(replacement, name);
    for (Value replacement : isReplaced ? replacements.drop_front(1) : ValueRange())
      add(replacement, DictionaryAttr::get(op.getContext()));
  }
  unsigned first = op.getData().size();
  op->setOperands(first, op->getNumOperands() - first, tokens.getArrayRef());
  op.setControlRetAttrsAttr(ArrayAttr::get(op.getContext(), names));
}

void replaceControl(ArrayRef<Value> tokens, ValueRange replacements,
                    function_ref<bool(Operation *)> isUser) {
  llvm::SmallSetVector<Value, 8> replaced(tokens.begin(), tokens.end());
  llvm::SmallSetVector<Operation *, 8> users;
  for (Value token : replaced) {
    SoftEdges::follow(definingNode(token), replacements);
    users.insert(token.user_begin(), token.user_end());
  }
  for (Operation *user : users) {
    if (isUser && !isUser(user))
      continue;
    if (auto op = dyn_cast<ReturnOp>(user)) {
      replaceReturned(op, replaced, replacements);
      continue;
    }
    Node node(user);
    llvm::SmallSetVector<Value, 8> kept;
    for (Value control : node.control()) {
      if (!replaced.contains(control))
        kept.insert(control);
      else
        kept.insert(replacements.begin(), replacements.end());
    }
    setControl(node, kept.takeVector());
  }
}

void eraseKeepingOrder(Node node) {
  if (Value token = node.controlResult(); token && !token.use_empty())
    replaceControl(token, tokensBefore(node));
  else
    SoftEdges::follow(node, tokensBefore(node));
  node->erase();
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

bool isPlaceholder(Node node) { return opKind(node.opType()) == OpKind::Placeholder; }

bool isV1ControlFlow(Node node) { return isV1ControlFlow(opKind(node.opType())); }

Effects::Effects(ModuleOp module) : functions(functionsOf(module)) {}

static bool isReferenceTensor(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && tf_type::isReference(tensor.getElementType());
}

bool Effects::isPure(Node node) {
  // Nodes with regions aren't pure, because callers don't look into regions when they compare nodes
  // or drop inputs.
  if (isV1ControlFlow(node) || node->getNumRegions() != 0)
    return false;
  // The function of a call determines its effects, not its op.
  if (functions.contains(node.opType()))
    return isPureFunction(node.opType());
  const OpDef *def = lookupOp(node.opType());
  // A node with a reference operand reads or writes a variable.
  if (!def || llvm::any_of(node->getOperandTypes(), isReferenceTensor))
    return false;
  bool calls = false;
  bool isPureAll = true;
  forEachFunctionName(node, [&](StringRef callee) {
    calls = true;
    isPureAll = isPureAll && isPureFunction(callee);
  });
  if (calls)
    return isPureAll && (!def->isStateful() || isFunctional(def->kind()));
  return !def->isStateful();
}

bool Effects::isEffectFree(Node node) { return isV1ControlFlow(node) || isPure(node); }

bool Effects::isPureFunction(StringRef name) {
  auto findNew = [&](StringRef callee) {
    return known.contains(callee) ? FuncOp() : functions.lookup(callee);
  };
  // A recursive function may not terminate, so it isn't pure.
  for (const CallGroup &group : calleesFirst(name, findNew))
    for (FuncOp function : group.functions)
      known[function.getName()] = !group.isRecursive && isPureBody(function);
  return known.lookup(name);
}

bool Effects::isPureBody(FuncOp function) {
  bool isPureAll = !function.getGeneric();
  function.getEntry().walk([&](Operation *op) {
    isPureAll = isPureAll && (!Node::isNode(op) || op->getNumRegions() != 0 || isPure(Node(op)));
  });
  return isPureAll;
}

bool Effects::hasPureRegions(Node node) {
  bool isPureAll = node->getNumRegions() != 0;
  for (Region &region : node->getRegions())
    region.walk([&](Operation *op) {
      isPureAll = isPureAll && (!Node::isNode(op) || op->getNumRegions() != 0 || isPure(Node(op)));
    });
  return isPureAll;
}

void forEachBody(ModuleOp module, function_ref<void(Block &)> visit, bool withGeneric) {
  for (Operation &op : *module.getBody()) {
    if (auto graph = dyn_cast<GraphOp>(op))
      visit(graph.getNodes().front());
    else if (auto function = dyn_cast<FuncOp>(op);
             function && !function.isExternal() && (withGeneric || !function.getGeneric()))
      visit(function.getEntry());
  }
}

void forEachRegionBody(Block &body, function_ref<void(Block &)> visit) {
  for (Operation &op : body)
    for (Region &region : op.getRegions()) {
      forEachRegionBody(region.front(), visit);
      visit(region.front());
    }
}

} // namespace treadle::tfg
