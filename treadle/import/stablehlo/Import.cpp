#include "treadle/import/stablehlo/Import.h"

#include "treadle/dialect/stablehlo/StableHlo.h"
#include "treadle/import/stablehlo/BodyConverter.h"
#include "treadle/import/stablehlo/Entry.h"
#include "treadle/import/stablehlo/Feeds.h"
#include "treadle/import/stablehlo/NarrowTypes.h"
#include "treadle/import/stablehlo/Quantized.h"
#include "treadle/import/stablehlo/Scf.h"
#include "treadle/import/stablehlo/SourceOps.h"
#include "treadle/import/stablehlo/Structure.h"
#include "treadle/import/stablehlo/Tables.h"
#include "treadle/import/stablehlo/Tuples.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

// --- functions ----------------------------------------------------------------------------------

static Devices knownDevices(ModuleOp module) {
  FailureOr<Devices> devices = devicesOf(module);
  return succeeded(devices) ? *devices : Devices();
}

ConversionState::ConversionState(ModuleOp module, ArrayRef<std::string> taken)
    : module(module), dialect(*module.getContext()->getOrLoadDialect<tfg::TfgDialect>()),
      devices(knownDevices(module)), functionBuilder(OpBuilder::atBlockEnd(module.getBody())) {
  for (auto func : module.getOps<func::FuncOp>())
    functions[func.getName()] = func;
  for (const std::string &name : taken)
    (void)names.stated(name);
}

/// Whether the op has side effects.
static bool isEffect(Operation *op) {
  StringRef name = op->getName().stripDialect();
  if (name == "custom_call") {
    StringRef target = word(op, "call_target_name");
    if (target == "treadle_callback" || target == callTfFunction)
      return numberOr(op, "has_side_effect", 0);
    return target == "shape_assertion" || target.starts_with("check.");
  }
  if (op->getName().getDialectNamespace() == "check" || op->getName().getStringRef() == "cf.assert")
    return true;
  return name == "rng" || isPointToPoint(op);
}

bool ConversionState::functionHasEffects(StringRef name) {
  auto [it, isNew] = effects.try_emplace(name, false);
  if (!isNew)
    return it->second;
  func::FuncOp func = functions.lookup(name);
  bool found = func && hasEffects(func);
  return effects[name] = found;
}

bool ConversionState::hasEffects(Operation *op) {
  WalkResult result = op->walk([&](Operation *inner) {
    if (isEffect(inner) || (devices.size() > 1 && isCollective(inner)))
      return WalkResult::interrupt();
    for (StringRef key : {"callee", "decomposition"})
      if (auto callee = inner->getAttrOfType<FlatSymbolRefAttr>(key);
          callee && functionHasEffects(callee.getValue()))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

FailureOr<std::string> ConversionState::addFunction(
    StringRef base, TypeRange inputs, TypeRange results, bool isElementwise, Location location,
    const std::function<LogicalResult(BodyConverter &, tfg::FuncOp, SmallVector<Value> &)> &fill) {
  OpBuilder &builder = functionBuilder;
  std::string name;
  do
    name = names.made(base);
  while (functions.contains(name) && converted.lookup(name).empty());
  SmallVector<Type> types;
  SmallVector<Attribute> argAttrs, resultAttrs;
  auto named = [&](const Twine &text) {
    return builder.getDictionaryAttr(
        builder.getNamedAttr(dialect.argNameKey, builder.getStringAttr(text)));
  };
  for (auto [i, type] : llvm::enumerate(inputs)) {
    types.append({type, dialect.controlType});
    argAttrs.append({named("arg" + Twine(i)), builder.getDictionaryAttr({})});
  }
  for (size_t i = 0; i < results.size(); ++i)
    resultAttrs.push_back(named("result_" + Twine(i)));
  auto target =
      tfg::FuncOp::create(builder, location, name, builder.getFunctionType(types, results));
  target.setArgAttrsAttr(builder.getArrayAttr(argAttrs));
  target.setResAttrsAttr(builder.getArrayAttr(resultAttrs));
  BodyConverter body(*this, target.getEntry(), isElementwise);
  for (size_t i = 0; i < inputs.size(); ++i)
    body.names.stated(("arg" + Twine(i)).str());
  SmallVector<Value> values;
  if (failed(fill(body, target, values)))
    return failure();
  SmallVector<Attribute> controlAttrs;
  for (Value token : body.effects) {
    NamedAttrList attrs;
    if (tfg::Node node = tfg::definingNode(token))
      attrs.append(dialect.argNameKey, node.nameAttr());
    controlAttrs.push_back(attrs.getDictionary(builder.getContext()));
  }
  if (!body.effects.empty())
    target.setIsStateful(true);
  body.builder.setInsertionPointToEnd(&target.getEntry());
  tfg::ReturnOp::create(body.builder, location, values, body.effects,
                        builder.getArrayAttr(controlAttrs));
  return name;
}

FailureOr<std::string> ConversionState::convertedFunction(func::FuncOp source) {
  auto it = converted.find(source.getName());
  if (it != converted.end())
    return it->second;
  if (source.isExternal())
    return source.emitError("unimplemented: function '") << source.getName() << "' has no body";
  SmallVector<Type> inputs, results;
  for (Type type : source.getArgumentTypes())
    inputs.push_back(BodyConverter::convertedType(type));
  for (Type type : source.getResultTypes())
    results.push_back(BodyConverter::convertedType(type));
  std::string base = source.getName().str();
  for (char &c : base)
    c = llvm::isAlnum(c) || c == '_' ? c : '_';
  FailureOr<std::string> name =
      addFunction(base, inputs, results, false, source.getLoc(),
                  [&](BodyConverter &body, tfg::FuncOp target, SmallVector<Value> &values) {
                    Block &block = source.front();
                    for (BlockArgument argument : block.getArguments())
                      body.map(argument, target.getDataArgument(argument.getArgNumber()));
                    if (failed(body.readBlock(block)))
                      return failure();
                    values = body.allOf(block.back().getOperands());
                    return success();
                  });
  if (succeeded(name))
    converted[source.getName()] = *name;
  return name;
}

// --- @main --------------------------------------------------------------------------------------

namespace {

/// Converts the program's entry to the graph.
class MainReader {
public:
  MainReader(ConversionState &program, func::FuncOp main)
      : program(program), main(main), builder(main),
        graph(tfg::GraphOp::create(builder, main.getLoc(),
                                   tf_type::VersionAttr::get(main.getContext(), producer, 0, {}))),
        body(program, *graph.getBody(), false) {}

  LogicalResult read();

private:
  /// A version that can represent unknown shapes.
  static constexpr int producer = 1882;

  static bool isNodeName(StringRef name);
  std::string nameInCallee(BlockArgument argument);
  std::string argumentName(unsigned index);
  std::string resultName(unsigned index);
  Value addNamed(StringRef op, StringRef name, ValueRange inputs, Type type, NamedAttrList attrs);
  void addPlaceholders();
  void checkBounds(BlockArgument argument, StringRef name);
  void addResults(ValueRange results);
  void addEnd();
  void describeEntry();

  ConversionState &program;
  func::FuncOp main;
  OpBuilder builder;
  tfg::GraphOp graph;
  BodyConverter body;
  SmallVector<std::string> inputs, outputs;
};

} // namespace

bool MainReader::isNodeName(StringRef name) {
  return !name.empty() && (llvm::isAlnum(name.front()) || name.front() == '_') &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || StringRef("_.-/").contains(c); });
}

/// Converts a path in a JAX pytree (`params['w'][0]`) to a name: `params_w_0`. Empty if it has no
/// letter.
static std::string plainName(StringRef path) {
  std::string name;
  for (char c : path)
    if (llvm::isAlnum(c))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  return llvm::any_of(name, llvm::isAlpha) ? name : "";
}

/// Returns `x` of `loc("x")`, the argument's name in Python; empty if there is none.
static std::string nameOfLocation(BlockArgument argument) {
  auto location = dyn_cast<NameLoc>(argument.getLoc());
  return location ? plainName(location.getName()) : "";
}

/// For dynamic shapes, JAX calls the original function, whose arguments have the names.
std::string MainReader::nameInCallee(BlockArgument argument) {
  for (OpOperand &use : argument.getUses())
    if (auto call = dyn_cast<func::CallOp>(use.getOwner()))
      if (func::FuncOp callee = program.function(call.getCallee());
          callee && !callee.isExternal() && use.getOperandNumber() < callee.getNumArguments())
        return nameOfLocation(callee.getArgument(use.getOperandNumber()));
  return "";
}

std::string MainReader::argumentName(unsigned index) {
  if (auto name = main.getArgAttrOfType<StringAttr>(index, program.dialect.argNameKey);
      name && isNodeName(name))
    return name.str();
  std::string name = nameOfLocation(main.getArgument(index));
  if (name.empty())
    name = nameInCallee(main.getArgument(index));
  if (auto path = main.getArgAttrOfType<StringAttr>(index, pathKey);
      name.empty() && path && isNodeName(path))
    name = path.str();
  return name.empty() ? "arg" + std::to_string(index) : name;
}

/// Returns `loss` for `result['loss']`; with the prefix `result` if that is an argument's name or
/// not a valid name.
std::string MainReader::resultName(unsigned index) {
  if (auto name = main.getResultAttrOfType<StringAttr>(index, program.dialect.argNameKey);
      name && isNodeName(name))
    return name.str();
  auto info = main.getResultAttrOfType<StringAttr>(index, "jax.result_info");
  StringRef path = info ? info.getValue() : "";
  path.consume_front("result");
  std::string name = plainName(path);
  if (!name.empty() && llvm::isAlpha(name.front()) && !llvm::is_contained(inputs, name))
    return name;
  if (!name.empty())
    return "result_" + name;
  return main.getNumResults() == 1 ? "result" : "result_" + std::to_string(index);
}

Value MainReader::addNamed(StringRef op, StringRef name, ValueRange operands, Type type,
                           NamedAttrList attrs) {
  OperationState state(main.getLoc(), ("tfg." + op).str());
  state.addOperands(operands);
  state.addTypes({type, program.dialect.controlType});
  attrs.set(program.dialect.nameKey, builder.getStringAttr(name));
  state.addAttributes(attrs);
  return body.builder.create(state)->getResult(0);
}

/// The type may state an upper bound of a size: `tensor<?xf32, #stablehlo.bounds<2>>`.
void MainReader::checkBounds(BlockArgument argument, StringRef name) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  auto fields = type ? dyn_cast_or_null<DictionaryAttr>(type.getEncoding()) : DictionaryAttr();
  if (!fields)
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&main.front());
  auto make = [&](StringRef op, ValueRange operands, Type element, NamedAttribute attr) {
    return makeOp(builder, main.getLoc(), op, operands, RankedTensorType::get({}, element), attr);
  };
  Type number = builder.getI32Type(), flag = builder.getI1Type();
  for (auto [i, bound] : llvm::enumerate(stablehlo::fieldNumbers(fields, "bounds"))) {
    if (ShapedType::isDynamic(bound) || static_cast<int64_t>(i) >= type.getRank())
      continue;
    auto dim = builder.getI64IntegerAttr(static_cast<int64_t>(i));
    std::string message = (Twine("argument ") + name + " has more elements along dimension " +
                           Twine(i) + " than its bound, " + Twine(bound) + ":")
                              .str();
    auto most = DenseElementsAttr::get(RankedTensorType::get({}, number),
                                       static_cast<int32_t>(std::min<int64_t>(bound, INT32_MAX)));
    Value size = make("stablehlo.get_dimension_size", argument, number,
                      builder.getNamedAttr("dimension", dim));
    Value limit = make("stablehlo.constant", {}, number, builder.getNamedAttr("value", most));
    Value fits = make("stablehlo.compare", {size, limit}, flag,
                      builder.getNamedAttr("comparison_direction", builder.getStringAttr("LE")));
    OperationState assertion(main.getLoc(), "stablehlo.custom_call");
    assertion.addOperands({fits, size});
    assertion.addAttribute("call_target_name", builder.getStringAttr("shape_assertion"));
    assertion.addAttribute("error_message", builder.getStringAttr(message));
    builder.create(assertion);
  }
}

void MainReader::addPlaceholders() {
  for (BlockArgument argument : main.getArguments()) {
    Type type = body.typeOf(argument.getType());
    std::string name = body.names.stated(argumentName(argument.getArgNumber()));
    NamedAttrList attrs;
    attrs.append("dtype", TypeAttr::get(elementOf(type)));
    attrs.append("shape", tf_type::ShapeAttr::get(mlir::cast<ShapedType>(type)));
    body.map(argument, addNamed("Placeholder", name, {}, type, attrs));
    inputs.push_back(name);
    checkBounds(argument, name);
  }
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    outputs.push_back(body.names.stated(resultName(i)));
}

/// Adds an Identity for each result, after all effects.
void MainReader::addResults(ValueRange results) {
  for (auto [name, value] : llvm::zip(outputs, results)) {
    NamedAttrList attrs;
    attrs.append("T", TypeAttr::get(elementOf(value)));
    SmallVector<Value> operands{value};
    llvm::append_range(operands, body.effects);
    addNamed("Identity", name, operands, value.getType(), attrs);
  }
}

/// Adds a result to a program without results, so that its checks are fetched.
void MainReader::addEnd() {
  Type flag = builder.getI1Type();
  outputs.push_back(body.names.stated("done"));
  addResults(body.scalarInt(flag, 1));
}

void MainReader::describeEntry() {
  for (std::string &name : outputs)
    name += ":0";
  auto list = [&](ArrayRef<std::string> names) {
    return builder.getStringAttr(llvm::join(names, ","));
  };
  graph->setDiscardableAttr(
      graphdef::entryFunctionKey,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("control_outputs", list({})),
           builder.getNamedAttr("inputs", list(inputs)),
           builder.getNamedAttr("name", builder.getStringAttr(main.getName())),
           builder.getNamedAttr("outputs", list(outputs))}));
}

LogicalResult MainReader::read() {
  addPlaceholders();
  if (failed(body.readBlock(main.front())))
    return failure();
  if (outputs.empty())
    addEnd();
  else
    addResults(body.allOf(main.front().back().getOperands()));
  describeEntry();
  return success();
}

/// Replaces a module that contains only this one.
static void replaceOuter(ModuleOp outer, ModuleOp inner) {
  for (NamedAttribute attr : inner->getDiscardableAttrs())
    outer->setDiscardableAttr(attr.getName(), attr.getValue());
  outer.getBody()->getOperations().splice(inner->getIterator(), inner.getBody()->getOperations());
  inner.erase();
}

/// Functions may be in a nested module. Modules next to functions aren't part of the program.
static LogicalResult flatten(ModuleOp module) {
  for (;;) {
    SmallVector<ModuleOp> inner(module.getOps<ModuleOp>());
    if (inner.empty())
      return success();
    if (!module.getOps<func::FuncOp>().empty()) {
      for (ModuleOp other : inner)
        other.erase();
      return success();
    }
    if (inner.size() > 1)
      return inner[1].emitError("the file has ")
             << inner.size() << " modules, expected one: the module to run is unknown";
    replaceOuter(module, inner.front());
  }
}

FailureOr<func::FuncOp> treadle::entryOf(ModuleOp module) {
  if (failed(flatten(module)))
    return failure();
  SmallVector<func::FuncOp> open;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.getName() == "main")
      return func;
    if (!func.isPrivate())
      open.push_back(func);
  }
  if (open.size() == 1)
    return open.front();
  return module.emitError("the module has no function @main and ")
         << open.size() << " public ones, expected @main or one that is public";
}

/// A program may contain no ops of these dialects: if it returns its arguments.
bool treadle::hasStableHlo(ModuleOp module) {
  bool hasFunction = false;
  WalkResult result = module.walk([&](Operation *op) {
    hasFunction |= isa<func::FuncOp>(op);
    StringRef dialect = op->getName().getDialectNamespace();
    bool isGraph = dialect == "tfg" || dialect == "tf_executor" || dialect == "tf";
    return isGraph ? WalkResult::interrupt() : WalkResult::advance();
  });
  return hasFunction && !result.wasInterrupted();
}

/// Prepares a program for conversion: functions of one block, values that are tensors. `mayGrow`
/// allows adding arguments and results to @main for feeds, and removing its tokens.
static FailureOr<func::FuncOp> prepareProgram(ModuleOp module, bool mayGrow) {
  module.getContext()->loadDialect<tfg::TfgDialect, tf_type::TfTypeDialect>();
  FailureOr<func::FuncOp> main = entryOf(module);
  if (failed(main))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(expectDeclared(function)))
      return failure();
  if (failed(devicesOf(module)) || failed(flattenTuples(module)) || failed(lowerQuantized(module)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(structureScf(function)) || failed(structure(function)))
      return failure();
  if (main->isExternal() || !llvm::hasSingleElement(main->getBody()))
    return main->emitError("unimplemented: function '")
           << main->getName() << "' has " << main->getBody().getBlocks().size()
           << " blocks, expected one";
  if (mayGrow) {
    bindTokens(*main);
    bindFeeds(*main);
  }
  if (failed(widenNarrowTypes(module, *main)))
    return failure();
  if (failed(verifyTypes(*main, main->getArgumentTypes())))
    return failure();
  return main;
}

/// Erases all ops that aren't tfg.
static void removeSource(ModuleOp module) {
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (!isa<tfg::GraphOp, tfg::FuncOp>(op))
      op.erase();
  for (NamedAttribute attr : llvm::to_vector(module->getDiscardableAttrs()))
    module->removeAttr(attr.getName());
}

LogicalResult treadle::importStableHlo(ModuleOp module) {
  FailureOr<func::FuncOp> main = prepareProgram(module, /*mayGrow=*/true);
  if (failed(main))
    return failure();
  ConversionState program(module);
  if (failed(MainReader(program, *main).read()))
    return failure();
  removeSource(module);
  return success();
}

FailureOr<std::string> treadle::importStableHloFunctions(ModuleOp module,
                                                         ArrayRef<std::string> taken) {
  FailureOr<func::FuncOp> main = prepareProgram(module, /*mayGrow=*/false);
  if (failed(main))
    return failure();
  ConversionState program(module, taken);
  FailureOr<std::string> name = program.convertedFunction(*main);
  removeSource(module);
  return name;
}
