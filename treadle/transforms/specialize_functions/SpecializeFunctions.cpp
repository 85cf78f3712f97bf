#include "treadle/import/Instantiation.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/rewriting/Outline.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_SPECIALIZEFUNCTIONS
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

/// Returns the text of an attribute such as `T = f32` as part of a name.
std::string attributeSuffix(Attribute value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto function = dyn_cast<tf_type::FuncAttr>(value))
    stream << function.getName().getRootReference().getValue();
  else if (auto type = dyn_cast<mlir::TypeAttr>(value))
    stream << type.getValue();
  else if (auto number = dyn_cast<IntegerAttr>(value))
    stream << number.getValue();
  else if (auto list = dyn_cast<ArrayAttr>(value))
    llvm::interleave(list, stream, [&](Attribute one) { stream << attributeSuffix(one); }, "_");
  else
    value.print(stream, /*elideType=*/true);
  std::string name;
  for (char c : text)
    if (llvm::isAlnum(c) || c == '_')
      name += c;
  constexpr size_t most = 40;
  return name.substr(0, most);
}

/// A limit for generic functions that instantiate each other endlessly, and for huge modules.
constexpr unsigned maxInstances = 100'000;

class Specializer {
public:
  Specializer(ModuleOp module, const SpecializeFunctionsOptions &options)
      : module(module), options(options), names(module), functions(functionsOf(module)) {}

  void run() {
    auto isGeneric = [](FuncOp function) { return function.getGeneric(); };
    if (!options.shapes && !options.constants && llvm::none_of(module.getOps<FuncOp>(), isGeneric))
      return;
    forEachBody(module, [&](Block &body) { open.push_back(&body); });
    while (!open.empty()) {
      Block *body = open.pop_back_val();
      for (Operation &op : llvm::make_early_inc_range(*body))
        if (Node::isNode(&op))
          visit(Node(&op));
    }
    if (!specialized.empty())
      removeUnused();
  }

private:
  void visit(Node node);
  Node closeCall(Node node, FuncOp generic);
  Attribute closeAttr(Attribute attr, Operation *user);
  FuncOp instanceOf(FuncOp generic, DictionaryAttr attrs, Operation *user);

  void specialize(FunctionalNode functional);
  FuncOp variantOf(FuncOp function, ArrayRef<Type> types, ArrayRef<Node> constants);
  static void setArgument(FuncOp function, unsigned index, Type type, Node constant);

  FuncOp lookup(StringRef name) const { return functions.lookup(name); }
  void addFunction(FuncOp function) {
    functions[function.getName()] = function;
    open.push_back(&function.getEntry());
  }
  void removeUnused();

  ModuleOp module;
  const SpecializeFunctionsOptions &options;
  FunctionNames names;
  FunctionMap functions;
  std::optional<graphdef::Instantiator> instantiator;
  SmallVector<Block *> open;
  // By the function and the key of the copy; null if the function can't be specialized.
  llvm::DenseMap<std::pair<Operation *, Attribute>, FuncOp> instances;
  llvm::SetVector<Operation *> specialized;
};

// --- generic functions --------------------------------------------------------------------------

FuncOp Specializer::instanceOf(FuncOp generic, DictionaryAttr attrs, Operation *user) {
  auto [it, isNew] = instances.try_emplace({generic.getOperation(), attrs});
  if (!isNew)
    return it->second;
  if (instances.size() > maxInstances) {
    user->emitRemark() << "call of '" << generic.getName()
                       << "' stays generic: there are too many different instantiations";
    return {};
  }
  std::string name = generic.getName().str();
  for (NamedAttribute attr : attrs)
    name += "_" + attr.getName().str() + "_" + attributeSuffix(attr.getValue());
  if (!instantiator)
    instantiator.emplace(module);
  Expected<FuncOp> made = instantiator->instantiate(generic, attrs, names.unique(name));
  if (!made) {
    user->emitRemark() << "call of '" << generic.getName()
                       << "' is not specialized: " << made.error().message;
    return {};
  }
  specialized.insert(generic);
  instances[{generic.getOperation(), attrs}] = *made;
  addFunction(*made);
  return *made;
}

/// Splits `attrs` into those that the function depends on and others.
std::pair<DictionaryAttr, SmallVector<NamedAttribute>> split(FuncOp generic,
                                                             ArrayRef<NamedAttribute> attrs) {
  SmallVector<StringAttr> parameters = graphdef::parametersOf(generic);
  SmallVector<NamedAttribute> own, rest;
  for (NamedAttribute attr : attrs)
    (llvm::is_contained(parameters, attr.getName()) ? own : rest).push_back(attr);
  return {DictionaryAttr::get(generic.getContext(), own), rest};
}

Node Specializer::closeCall(Node node, FuncOp generic) {
  auto [own, rest] = split(generic, node.attrs());
  FuncOp made = instanceOf(generic, own, node.getOperation());
  if (!made)
    return node;
  return replaceCall(node, made.getName(), rest);
}

Attribute Specializer::closeAttr(Attribute attr, Operation *user) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](tf_type::FuncAttr function) -> std::optional<std::pair<Attribute, WalkResult>> {
        FuncOp generic = lookup(function.getName().getRootReference());
        if (!generic || !generic.getGeneric() || !function.getAttrs())
          return std::nullopt;
        auto [own, rest] = split(generic, function.getAttrs().getValue());
        FuncOp made = instanceOf(generic, own, user);
        if (!made)
          return std::nullopt;
        auto closed = tf_type::FuncAttr::get(attr.getContext(), made.getName(),
                                             DictionaryAttr::get(attr.getContext(), rest));
        return std::pair(Attribute(closed), WalkResult::skip());
      });
  return replacer.replace(attr);
}

// --- shapes and constants -----------------------------------------------------------------------

void Specializer::setArgument(FuncOp function, unsigned index, Type type, Node constant) {
  BlockArgument argument = function.getDataArgument(index);
  argument.setType(type);
  SmallVector<Type> inputs(function.getArgumentTypes());
  inputs[2 * index] = type;
  function.setFunctionType(
      FunctionType::get(function.getContext(), inputs, function.getResultTypes()));
  if (!constant || argument.use_empty())
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getEntry());
  NameScope scope(function.getEntry());
  SmallVector<NamedAttribute> attrs;
  for (StringRef key : {"dtype", "value"})
    attrs.push_back(builder.getNamedAttr(key, constant.attr(key)));
  std::string name = scope.unique((function.getDataArgumentName(index) + "_value").str());
  Node made = NodeBuilder(builder, "Const").name(name).attrs(attrs).results(type).build();
  argument.replaceAllUsesWith(made->getResult(0));
}

FuncOp Specializer::variantOf(FuncOp function, ArrayRef<Type> types, ArrayRef<Node> constants) {
  Builder builder(function.getContext());
  SmallVector<Attribute> key;
  for (auto [type, constant] : llvm::zip(types, constants)) {
    key.push_back(mlir::TypeAttr::get(type));
    key.push_back(constant ? constant.attr("value") : builder.getUnitAttr());
  }
  auto [it, isNew] =
      instances.try_emplace({function.getOperation(), builder.getArrayAttr(key)}, FuncOp());
  if (!isNew || instances.size() > maxInstances)
    return it->second;
  OpBuilder at(function->getContext());
  at.setInsertionPointAfter(function);
  auto copy = cast<FuncOp>(at.clone(*function));
  copy.setSymName(names.unique((function.getName() + "_specialized").str()));
  for (auto [i, type, constant] : llvm::enumerate(types, constants))
    setArgument(copy, i, type, constant);
  specialized.insert(function);
  it->second = copy;
  addFunction(copy);
  return copy;
}

/// Returns the more precise of two types of one dtype.
Type refined(Type stated, Type given) {
  auto from = dyn_cast<TensorType>(given), to = dyn_cast<TensorType>(stated);
  if (!from || !to || from == to || from.getElementType() != to.getElementType() ||
      !from.hasRank() || !tf_type::areCompatible(from, to))
    return stated;
  if (to.hasRank() && llvm::any_of(llvm::zip(from.getShape(), to.getShape()), [](auto pair) {
        return ShapedType::isDynamic(std::get<0>(pair)) &&
               !ShapedType::isDynamic(std::get<1>(pair));
      }))
    return stated;
  return given;
}

bool isPlainConstant(Node node) {
  return node && node.opType() == "Const" && node.attr("value") && node.attr("dtype");
}

void Specializer::specialize(FunctionalNode functional) {
  // The arguments of a loop's body may have other shapes in later iterations.
  if (functional.kind == FunctionalKind::While ||
      llvm::any_of(functional.functions, [&](FuncOp f) { return f.getGradientAttr() != nullptr; }))
    return;
  Node node = functional.node;
  llvm::StringMap<StringAttr> renamed;
  for (FuncOp function : functional.functions) {
    SmallVector<Type> types;
    SmallVector<Node> constants;
    bool isSame = true;
    for (auto [i, value] : llvm::enumerate(functional.arguments())) {
      Type stated = function.getDataArgument(i).getType();
      types.push_back(options.shapes ? refined(stated, value.getType()) : stated);
      Node from = definingNode(value);
      constants.push_back(options.constants && isPlainConstant(from) ? from : Node());
      isSame &= types.back() == stated && !constants.back();
    }
    if (isSame)
      continue;
    if (FuncOp copy = variantOf(function, types, constants))
      renamed[function.getName()] = copy.getSymNameAttr();
  }
  if (!renamed.empty())
    replaceCallees(node, renamed);
}

// --- walking ------------------------------------------------------------------------------------

void Specializer::visit(Node node) {
  // SymbolicGradient refers to the gradient of the generic function.
  if (node.opType() == "SymbolicGradient")
    return;
  if (FuncOp generic = lookup(node.opType()); generic && generic.getGeneric())
    node = closeCall(node, generic);
  for (NamedAttribute attr : SmallVector<NamedAttribute>(node.attrs()))
    if (Attribute closed = closeAttr(attr.getValue(), node.getOperation());
        closed != attr.getValue())
      node->setDiscardableAttr(attr.getName(), closed);
  if (options.shapes || options.constants)
    if (std::optional<FunctionalNode> functional = FunctionalNode::of(node, functions))
      specialize(*functional);
}

void Specializer::removeUnused() {
  llvm::StringSet<> named;
  auto note = [&](Operation *op) {
    forEachCallee(op, [&](StringRef name) { named.insert(name); });
    if (auto function = dyn_cast<FuncOp>(op); function && function.getGradient())
      named.insert(*function.getGradient());
  };
  module.walk(note);
  for (Operation *function : specialized)
    if (!named.contains(cast<FuncOp>(function).getName()))
      function->erase();
}

} // namespace
} // namespace tfg

namespace {

struct SpecializeFunctions : impl::SpecializeFunctionsBase<SpecializeFunctions> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    SpecializeFunctionsOptions options{shapes, constants};
    tfg::Specializer(getOperation(), options).run();
  }
};

} // namespace
} // namespace treadle
