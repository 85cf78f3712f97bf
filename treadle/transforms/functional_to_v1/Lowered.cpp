#include "treadle/transforms/functional_to_v1/Lowered.h"

using namespace mlir;

namespace treadle::tfg {

StringRef functionalKind(Node node) {
  StringRef kind = node.opType();
  if (!kind.consume_front("Stateless"))
    kind.consume_front("Stateful");
  bool isKind = kind == "While" || kind == "If" || kind == "Case" || kind == "For";
  return isKind ? kind : StringRef();
}

/// What a node has because of its functions and operands.
static bool isDerived(StringRef key) {
  static const llvm::StringSet<> keys = {"T",    "Tin",         "Tout",        "cond",
                                         "body", "then_branch", "else_branch", "branches"};
  return keys.contains(key);
}

SmallVector<NamedAttribute> savedAttrs(Node node) {
  MLIRContext *context = node->getContext();
  SmallVector<NamedAttribute> saved;
  saved.emplace_back(StringAttr::get(context, loweredKey), StringAttr::get(context, node.opType()));
  for (NamedAttribute attr : node.attrs())
    if (!attr.getName().strref().starts_with("_mlir_") && !isDerived(attr.getName()))
      saved.emplace_back(StringAttr::get(context, loweredKey + "." + attr.getName().getValue()),
                         attr.getValue());
  return saved;
}

/// The functional node whose results `named` stands for.
static Node sourceOf(Node named) {
  Value first = named->getNumOperands() ? named->getOperand(0) : Value();
  Node source = first ? definingNode(first) : Node();
  if (!source || functionalKind(source).empty())
    return {};
  bool isAll =
      named.opType() == "IdentityN"
          ? llvm::equal(named.data(), source.results()) && named.numControl() == 0
          : named.opType() == "NoOp" && source.numResults() == 0 && named.numControl() == 1;
  return isAll ? source : Node();
}

static void restore(Node named, Node source) {
  OpBuilder builder(named.getOperation());
  std::string name = named.name().str();
  std::string opType = named.attr<StringAttr>(loweredKey).str();
  NodeBuilder built(builder, opType);
  built.placedAs(named).name(name);
  for (NamedAttribute attr : source.attrs())
    if (isDerived(attr.getName()))
      built.attr(attr.getName(), attr.getValue());
  for (NamedAttribute attr : named.attrs())
    if (StringRef key = attr.getName(); key.consume_front(loweredKey) && key.consume_front("."))
      built.attr(key, attr.getValue());
  Node node = built.inputs(source.data())
                  .control(source.control())
                  .results(source.results().getTypes())
                  .build();
  for (Node old : {named, source}) {
    for (auto [from, to] : llvm::zip(old.results(), node.results()))
      from.replaceAllUsesWith(to);
    replaceControl(old.controlResult(), node.controlResult());
  }
  named->erase();
  source->erase();
}

void restoreLowered(Block &body) {
  SmallVector<Node> lowered;
  for (Operation &op : body)
    if (Node::isNode(&op) && Node(&op).attr<StringAttr>(loweredKey))
      lowered.push_back(Node(&op));
  for (Node named : lowered)
    if (Node source = sourceOf(named))
      restore(named, source);
}

} // namespace treadle::tfg
