#include "treadle/transforms/functional_to_v1/Lowered.h"

#include "treadle/ops/OpTable.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::tfg {

// --- attributes ---------------------------------------------------------------------------------

/// Returns whether an attribute follows from the node's functions and operands. The frame of a For
/// has other functions than the node.
static bool isDerived(StringRef key, OpKind kind) {
  static const llvm::StringSet<> types = {"T", "Tin", "Tout"};
  static const llvm::StringSet<> functions = {"cond", "body", "then_branch", "else_branch",
                                              "branches"};
  return types.contains(key) || (functions.contains(key) && kind != OpKind::For);
}

/// Returns whether an attribute holds a field of the node other than its name and device; such
/// attributes stay.
static bool isField(Node node, NamedAttribute attr) {
  const TfgDialect &tfg = node.dialect();
  StringAttr key = attr.getName();
  return isReserved(key) && key != tfg.nameKey && key != tfg.deviceKey &&
         key != tfg.assignedDeviceKey;
}

SmallVector<NamedAttribute> savedAttrs(Node node) {
  MLIRContext *context = node->getContext();
  SmallVector<NamedAttribute> saved;
  saved.emplace_back(StringAttr::get(context, loweredKey), StringAttr::get(context, node.opType()));
  for (NamedAttribute attr : node.attrs()) {
    StringAttr key = attr.getName();
    if (isField(node, attr))
      saved.push_back(attr);
    else if (!isReserved(key) && !isDerived(key, opKind(node.opType())))
      saved.emplace_back(StringAttr::get(context, loweredKey + "." + key.getValue()),
                         attr.getValue());
  }
  return saved;
}

// --- restoring ---------------------------------------------------------------------------------

namespace {

/// Restores a lowered node from the functional node that v1 control flow was raised to.
class Restoration {
public:
  explicit Restoration(Node named)
      : named(named), opType(named.attr<StringAttr>(loweredKey).getValue()),
        isFor(opKind(opType) == OpKind::For) {}

  void run() {
    if (!findSource() || (isFor && !isForLoop()))
      return;
    build();
  }

private:
  bool findSource();
  bool gives(Node candidate);
  bool isForLoop();
  bool isForFunction(StringRef key);
  SmallVector<Value> inputs();
  SmallVector<Value> tokens();
  void build();
  void eraseUnused(ValueRange values);
  FuncOp function(StringRef key) {
    return module().lookupSymbol<FuncOp>(
        source.attr<tf_type::FuncAttr>(key).getName().getRootReference());
  }
  ModuleOp module() { return named->getParentOfType<ModuleOp>(); }

  Node named, source;
  StringRef opType;
  bool isFor;
};

} // namespace

/// Returns the node that defines `value` if lowering created it with this op.
static Node loweredNode(Value value, StringRef opType) {
  Node node = definingNode(value);
  return node && node.opType() == opType && isLowered(node) ? node : Node();
}

/// Handles that a loop passes through have no Exit.
bool Restoration::gives(Node candidate) {
  OpKind kind = opKind(candidate.opType());
  if (kind != (isFor ? OpKind::While : opKind(opType)))
    return false;
  ValueRange results = candidate.results();
  if (isFor && results.size() >= 3)
    results = results.drop_front(3);
  if (results.size() != named.numData() || llvm::any_of(named.control(), [&](Value token) {
        return token != candidate.controlResult();
      }))
    return false;
  for (unsigned i = 0, e = results.size(); i < e; ++i) {
    Value value = named.data()[i];
    bool isHandle = isa<tf_type::ResourceType>(getElementTypeOrSelf(value));
    bool isHandedOn = kind == OpKind::While && !isFor && isHandle && value == candidate.data()[i];
    if (value != results[i] && !isHandedOn)
      return false;
  }
  return true;
}

bool Restoration::findSource() {
  bool isList = named.opType() == "IdentityN" && named.numControl() <= 1;
  bool isToken = named.opType() == "NoOp" && named.numControl() == 1;
  if (!isList && !isToken)
    return false;
  for (Value operand : named->getOperands())
    if (Node candidate = definingNode(operand); candidate && gives(candidate)) {
      source = candidate;
      return true;
    }
  return false;
}

/// Returns whether the function contains only nodes that lowering created and, in the body, the
/// call of the For's body.
bool Restoration::isForFunction(StringRef key) {
  FuncOp loop = function(key);
  Attribute body = named.attr((loweredKey + ".body").str());
  if (!loop || !body)
    return false;
  unsigned calls = 0;
  for (Operation &op : loop.getEntry())
    if (Node::isNode(&op) && !isLowered(Node(&op))) {
      if (Node(&op).attr("f") != body)
        return false;
      ++calls;
    }
  return calls == (key == "body");
}

bool Restoration::isForLoop() {
  if (source.numData() != named.numData() + 3 || !isForFunction("cond") || !isForFunction("body"))
    return false;
  Node bound = loweredNode(source.data()[1], "Mul");
  return loweredNode(source.data()[0], "Cast") && loweredNode(source.data()[2], "Cast") && bound &&
         loweredNode(bound.data()[0], "Cast");
}

SmallVector<Value> Restoration::inputs() {
  SmallVector<Value> values(source.data());
  auto before = [](Value value) { return value.getDefiningOp()->getOperand(0); };
  if (isFor) {
    values[0] = before(values[0]);
    values[1] = before(before(values[1]));
    values[2] = before(values[2]);
  } else if (!values.empty() && loweredNode(values[0], "ToBool")) {
    values[0] = before(values[0]);
  }
  return values;
}

SmallVector<Value> Restoration::tokens() {
  SmallVector<Value> result;
  for (Value token : source.control())
    if (Node check = loweredNode(token, "Assert"); check && isFor)
      llvm::append_range(result, check.control());
    else
      result.push_back(token);
  return result;
}

void Restoration::build() {
  OpBuilder builder(named.getOperation());
  NodeBuilder built(builder, opType);
  built.placedAs(named).name(named.name());
  for (NamedAttribute attr : source.attrs())
    if (StringRef key = attr.getName(); isDerived(key, opKind(opType)) && !(isFor && key == "T"))
      built.attr(key, attr.getValue());
  auto isSaved = [&](StringRef &key) {
    return key.consume_front(loweredKey) && key.consume_front(".") &&
           (isFor || !isDerived(key, opKind(opType)));
  };
  for (NamedAttribute attr : named.attrs())
    if (StringRef key = attr.getName(); isField(named, attr) || isSaved(key))
      built.attr(key, attr.getValue());
  if (isFor)
    built.attr("T", named.attr("T") ? named.attr("T") : builder.getArrayAttr({}));
  ResultRange results = source.results();
  Node node = built.inputs(inputs())
                  .control(tokens())
                  .results(TypeRange(results).drop_front(isFor ? 3 : 0))
                  .build();
  SmallVector<Value> before(source->getOperands());
  SmallVector<FuncOp> functions;
  if (isFor)
    functions = {function("cond"), function("body")};
  for (auto [from, to] : llvm::zip(named.results(), node.results()))
    from.replaceAllUsesWith(to);
  for (auto [from, to] : llvm::zip(results.drop_front(isFor ? 3 : 0), node.results()))
    from.replaceAllUsesWith(to);
  for (Node old : {named, source}) {
    replaceControl(old.controlResult(), node.controlResult());
    old->erase();
  }
  for (FuncOp function : functions)
    function.erase();
  eraseUnused(before);
}

/// Erases unused nodes that lowering created for the node's inputs; some of them use others.
void Restoration::eraseUnused(ValueRange values) {
  static const llvm::StringSet<> ops = {"Assert",    "Cast", "Equal", "Less",
                                        "LogicalOr", "Mul",  "ToBool"};
  llvm::SetVector<Operation *> made;
  auto add = [&](ValueRange inputs) {
    for (Value value : inputs)
      if (Node node = definingNode(value); node && isLowered(node) && ops.contains(node.opType()))
        made.insert(node.getOperation());
  };
  add(values);
  for (unsigned i = 0; i < made.size(); ++i)
    add(made[i]->getOperands());
  auto isUnused = [](Operation *op) { return op->use_empty(); };
  for (auto it = llvm::find_if(made, isUnused); it != made.end();
       it = llvm::find_if(made, isUnused)) {
    Operation *op = *it;
    made.erase(it);
    op->erase();
  }
}

void restoreLowered(Block &body) {
  SmallVector<Node> lowered;
  for (Operation &op : body)
    if (Node::isNode(&op) && Node(&op).attr<StringAttr>(loweredKey))
      lowered.push_back(Node(&op));
  for (Node named : lowered)
    Restoration(named).run();
}

} // namespace treadle::tfg
