#include "treadle/rewriting/Outline.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle::tfg {

static std::string withSuffix(llvm::StringSet<> &taken, StringRef base) {
  std::string candidate = base.str();
  for (unsigned suffix = 1; !taken.insert(candidate).second; ++suffix)
    candidate = (base + "_" + Twine(suffix)).str();
  return candidate;
}

FunctionNames::FunctionNames(ModuleOp module) {
  for (FuncOp function : module.getOps<FuncOp>())
    names.insert(function.getName());
}

std::string FunctionNames::unique(StringRef base) {
  std::string name = base.str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  if (names.insert(name).second)
    return name;
  for (unsigned &suffix = next[name];;) {
    std::string candidate = (name + "_" + Twine(++suffix)).str();
    if (names.insert(candidate).second)
      return candidate;
  }
}

std::string argumentName(StringRef nodeName) {
  std::string name = nodeName.lower();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  if (name.empty() || !llvm::isAlpha(name.front()))
    name.insert(0, "arg_");
  return name;
}

StringRef nameOf(Value value) {
  if (Node node = definingNode(value))
    return node.name();
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast_or_null<FuncOp>(argument.getOwner()->getParentOp());
  return function ? function.getDataArgumentName(argument.getArgNumber() / 2) : StringRef();
}

Outline::Outline(ModuleOp module, StringRef name, Location location)
    : builder(OpBuilder::atBlockEnd(module.getBody())) {
  function = FuncOp::create(builder, location, name, builder.getFunctionType({}, {}), false);
  builder.setInsertionPointToEnd(&function.getEntry());
}

Value Outline::addArgument(Type type, StringRef name) {
  Location location = function.getLoc();
  Value value = function.getEntry().addArgument(type, location);
  function.getEntry().addArgument(tf_type::ControlType::get(builder.getContext()), location);
  argumentNames.push_back(argumentName(name));
  return value;
}

Node Outline::clone(Node node) {
  Operation *copy = node->clone();
  builder.insert(copy);
  for (auto [from, to] : llvm::zip(node->getResults(), copy->getResults()))
    mapping.map(from, to);
  nodeNames.insert(node.name());
  return clones.emplace_back(copy);
}

void Outline::take(Node node) {
  node->moveBefore(&body(), body().end());
  nodeNames.insert(node.name());
  clones.push_back(node);
}

std::string Outline::uniqueName(StringRef base) { return withSuffix(nodeNames, base); }

void Outline::resolve(Node node) {
  for (OpOperand &operand : node->getOpOperands().take_front(node.numData()))
    operand.set(mapping.lookupOrDefault(operand.get()));
  llvm::SmallSetVector<Value, 4> tokens;
  for (Value token : node.control())
    if (Value inner = mapping.lookupOrDefault(token); inner.getParentBlock() == &body())
      tokens.insert(inner);
  setControl(node, tokens.takeVector());
}

ArrayAttr Outline::nameAttrs(ArrayRef<std::string> names, bool withTokens) {
  StringAttr key = function->getContext()->getLoadedDialect<TfgDialect>()->argNameKey;
  SmallVector<Attribute> attrs;
  for (const std::string &name : names) {
    attrs.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(key, builder.getStringAttr(name))));
    if (withTokens)
      attrs.push_back(builder.getDictionaryAttr({}));
  }
  return builder.getArrayAttr(attrs);
}

FuncOp Outline::finish(ValueRange results, ArrayRef<std::string> resultNames, ValueRange control) {
  for (Node node : clones)
    resolve(node);
  SmallVector<Value> data;
  for (Value result : results)
    data.push_back(lookup(result));
  llvm::SmallSetVector<Value, 4> tokens;
  for (Value token : control)
    tokens.insert(lookup(token));

  // The token of a result is named after its node.
  SmallVector<std::string> tokenNames;
  llvm::StringSet<> takenTokens, takenResults;
  for (Value token : tokens) {
    Node node(token.getDefiningOp());
    tokenNames.push_back(withSuffix(takenTokens, argumentName(node ? node.name() : "argument")));
  }
  ReturnOp::create(builder, function.getLoc(), data, tokens.getArrayRef(),
                   nameAttrs(tokenNames, false));

  for (std::string &name : argumentNames)
    name = withSuffix(nodeNames, name);
  SmallVector<std::string> uniqueResults;
  for (const std::string &name : resultNames)
    uniqueResults.push_back(withSuffix(takenResults, argumentName(name)));
  function.setFunctionType(
      builder.getFunctionType(function.getEntry().getArgumentTypes(), ValueRange(data).getTypes()));
  function.setArgAttrsAttr(nameAttrs(argumentNames, true));
  function.setResAttrsAttr(nameAttrs(uniqueResults, false));
  return function;
}

} // namespace treadle::tfg
