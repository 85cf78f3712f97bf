#include "treadle/rewriting/FunctionalNode.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/Keywords.h"
#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle::tfg {

namespace {

FunctionalKind functionalKindOf(OpKind kind) {
  if (kind == OpKind::While)
    return FunctionalKind::While;
  return isConditional(kind) ? FunctionalKind::Branch : FunctionalKind::Call;
}

bool addFunctions(Attribute attr, const FunctionMap &functions, SmallVectorImpl<FuncOp> &out) {
  if (auto list = dyn_cast_or_null<ArrayAttr>(attr))
    return llvm::all_of(list, [&](Attribute a) { return addFunctions(a, functions, out); });
  auto name = dyn_cast_or_null<tf_type::FuncAttr>(attr);
  if (!name || (name.getAttrs() && !name.getAttrs().empty()))
    return false;
  out.push_back(functions.lookup(name.getName().getRootReference()));
  return true;
}

bool fits(FunctionalNode &functional) {
  unsigned numResults = functional.node.numResults();
  for (auto [index, function] : llvm::enumerate(functional.functions)) {
    if (!function || function.isExternal() || function.getGeneric() ||
        function.getNumDataArguments() != functional.arguments().size())
      return false;
    bool isCondition = functional.kind == FunctionalKind::While && index == 0;
    if (function.getNumResults() != (isCondition ? 1 : numResults))
      return false;
  }
  return functional.kind != FunctionalKind::While ||
         functional.arguments().size() == functional.node.numResults();
}

} // namespace

std::optional<FunctionalNode> FunctionalNode::of(Node node, const FunctionMap &functions) {
  FunctionalNode out;
  out.node = node;
  if (FuncOp callee = functions.lookup(node.opType())) {
    out.functions.push_back(callee);
    return fits(out) ? std::optional(out) : std::nullopt;
  }
  const OpDef *def = lookupOp(node.opType());
  if (!def || !isFunctional(def->kind()))
    return std::nullopt;
  out.kind = functionalKindOf(def->kind());
  out.firstArgument = def->facts().firstArgument;
  if (node.numData() < out.firstArgument)
    return std::nullopt;
  for (const AttrDef &attr : def->attrs())
    if (attr.kind() == AttrKind::Func &&
        !addFunctions(node.attr(attr.name()), functions, out.functions))
      return std::nullopt;
  return fits(out) ? std::optional(out) : std::nullopt;
}

Node replaceCall(Node node, StringRef function, ArrayRef<NamedAttribute> attrs) {
  OpBuilder builder(node.getOperation());
  SmallVector<Type> types(node.results().getTypes());
  Node call = NodeBuilder(builder, function)
                  .placedAs(node)
                  .attrs(attrs)
                  .inputs(node.data())
                  .control(node.control())
                  .results(types)
                  .build();
  node->replaceAllUsesWith(call.getOperation());
  node->erase();
  return call;
}

Node replaceCallees(Node node, const llvm::StringMap<StringAttr> &renamed) {
  if (StringAttr name = renamed.lookup(node.opType()))
    return replaceCall(node, name, node.attrs());
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](tf_type::FuncAttr function) -> std::optional<Attribute> {
    StringAttr name = renamed.lookup(function.getName().getRootReference());
    return name ? std::optional<Attribute>(tf_type::FuncAttr::get(
                      function.getContext(), name.getValue(), function.getAttrs()))
                : std::nullopt;
  });
  for (NamedAttribute attr : SmallVector<NamedAttribute>(node.attrs()))
    node->setDiscardableAttr(attr.getName(), replacer.replace(attr.getValue()));
  return node;
}

static ArrayAttr without(ArrayAttr list, const llvm::BitVector &erased) {
  if (!list || list.size() != erased.size())
    return list;
  SmallVector<Attribute> kept;
  for (auto [i, attr] : llvm::enumerate(list))
    if (!erased.test(i))
      kept.push_back(attr);
  return ArrayAttr::get(list.getContext(), kept);
}

void eraseArguments(FuncOp function, const llvm::BitVector &arguments) {
  if (auto shapes = function->getAttrOfType<ArrayAttr>(graphdef::inputShapesKey))
    function->setDiscardableAttr(graphdef::inputShapesKey, without(shapes, arguments));
  llvm::BitVector pairs(2 * arguments.size());
  for (unsigned i : arguments.set_bits())
    pairs.set(2 * i, 2 * i + 2);
  // The unique ids of resource arguments are listed by index.
  if (pairs.any()) {
    function.removeResourceArgUniqueIdsKeysAttr();
    function.removeResourceArgUniqueIdsValuesAttr();
  }
  (void)function.eraseArguments(pairs);
}

void eraseResults(FuncOp function, const llvm::BitVector &results) {
  ReturnOp returnOp = function.getReturn();
  SmallVector<Value> kept;
  for (auto [i, value] : llvm::enumerate(returnOp.getData()))
    if (!results.test(i))
      kept.push_back(value);
  llvm::append_range(kept, SmallVector<Value>(returnOp.getControl()));
  returnOp->setOperands(kept);
  (void)function.eraseResults(results);
}

Node eraseFromNode(const FunctionalNode &functional, const llvm::BitVector &arguments,
                   const llvm::BitVector &results) {
  Node node = functional.node;
  OpBuilder builder(node.getOperation());
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute attr : node.attrs()) {
    StringRef key = attr.getName();
    auto list = dyn_cast<ArrayAttr>(attr.getValue());
    if (key == "Tin" || key == inputShapesKey)
      list = without(list, arguments);
    else if (key == "T" || key == "Tout" || key == "output_shapes" || key == outputShapesKey)
      list = without(list, results);
    bool isWrongNow = key == node.dialect().fullTypeKey && results.any();
    if (!isWrongNow)
      attrs.emplace_back(attr.getName(), list ? Attribute(list) : attr.getValue());
  }
  SmallVector<Value> inputs(node.data().take_front(functional.firstArgument));
  for (auto [i, value] : llvm::enumerate(functional.arguments()))
    if (!arguments.test(i))
      inputs.push_back(value);
  SmallVector<Type> types;
  for (auto [i, type] : llvm::enumerate(node.results().getTypes()))
    if (!results.test(i))
      types.push_back(type);
  Node fresh = NodeBuilder(builder, node.opType())
                   .placedAs(node)
                   .attrs(attrs)
                   .inputs(inputs)
                   .control(node.control())
                   .results(types)
                   .build();
  unsigned next = 0;
  for (auto [i, result] : llvm::enumerate(node.results()))
    if (!results.test(i))
      result.replaceAllUsesWith(fresh.results()[next++]);
  node.controlResult().replaceAllUsesWith(fresh.controlResult());
  node->erase();
  return fresh;
}

} // namespace treadle::tfg
