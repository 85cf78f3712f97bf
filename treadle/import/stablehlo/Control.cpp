// Converts calls, loops, conditionals and tokens.
#include "treadle/import/stablehlo/BodyConverter.h"
#include "treadle/import/stablehlo/Import.h"
#include "treadle/import/stablehlo/Lapack.h"
#include "treadle/import/stablehlo/Tables.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

// --- calls --------------------------------------------------------------------------------------

static size_t sizeOf(func::FuncOp func) {
  size_t size = 0;
  func.walk([&](Operation *) { ++size; });
  return size;
}

static LogicalResult callFunction(BodyConverter &body, Operation *op, func::FuncOp callee) {
  FailureOr<std::string> name = body.program.convertedFunction(callee);
  if (failed(name))
    return failure();
  bool hasEffects = body.program.hasEffects(callee);
  Attrs attrs;
  attrs.append("f", body.func(*name));
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(body.typeOf(type));
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  if (hasEffects)
    body.waitForEffects(inputs);
  SmallVector<Value> results =
      body.nodes(hasEffects ? "StatefulPartitionedCall" : "PartitionedCall", inputs, types, attrs);
  for (auto [from, to] : llvm::zip(op->getResults(), results))
    body.map(from, to);
  if (hasEffects)
    body.addEffect();
  return success();
}

namespace treadle::hlo {

/// Inlines small functions, of which tracing creates many, and all calls within scalar functions.
LogicalResult readCall(BodyConverter &body, Operation *op) {
  constexpr size_t smallSize = 40;
  FlatSymbolRefAttr symbol;
  for (StringRef key : {"callee", "decomposition"})
    if (!symbol)
      symbol = op->getAttrOfType<FlatSymbolRefAttr>(key);
  func::FuncOp callee = symbol ? body.program.function(symbol.getValue()) : func::FuncOp();
  if (!callee || callee.isExternal())
    return op->emitError("it calls '")
           << (symbol ? symbol.getValue() : "") << "', which the module doesn't have";
  if (callee.getNumArguments() != op->getNumOperands() ||
      callee.getNumResults() != op->getNumResults())
    return op->emitError("it calls '")
           << callee.getName() << "' with " << op->getNumOperands() << " operands and "
           << op->getNumResults() << " results, expected " << callee.getNumArguments() << " and "
           << callee.getNumResults();
  if (llvm::is_contained(body.inlined, callee.getOperation()))
    return unimplementedOp(op) << ": '" << callee.getName() << "' calls itself";
  if (!body.isElementwise && sizeOf(callee) > smallSize)
    return callFunction(body, op, callee);
  SmallVector<Value> arguments = body.allOf(op->getOperands());
  for (auto [from, to] : llvm::zip(callee.getArguments(), arguments))
    body.map(from, to);
  body.inlined.push_back(callee);
  LogicalResult result = body.readBlock(callee.front());
  body.inlined.pop_back();
  if (failed(result))
    return failure();
  for (auto [from, to] : llvm::zip(op->getResults(), callee.front().back().getOperands()))
    body.map(from, body.of(to));
  return success();
}

} // namespace treadle::hlo

// --- regions as functions -----------------------------------------------------------------------

SmallVector<Value> hlo::capturesOf(MutableArrayRef<Region> regions) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(regions, used);
  SmallVector<Value> captures;
  for (Value value : used)
    if (!value.getDefiningOp() || value.getDefiningOp()->getName().stripDialect() != "constant")
      captures.push_back(value);
  return captures;
}

/// Returns the function of a region, with its captures after its own arguments. With
/// `passesCaptures` it also returns the captures after its results.
static FailureOr<std::string> regionFunction(BodyConverter &body, Region &region,
                                             ValueRange captures, bool passesCaptures,
                                             StringRef base) {
  if (!llvm::hasSingleElement(region))
    return region.getParentOp()->emitError("a region has several blocks, expected one");
  Block &block = region.front();
  SmallVector<Type> inputs, results;
  for (Value argument : block.getArguments())
    inputs.push_back(body.typeOf(argument.getType()));
  for (Value capture : captures)
    inputs.push_back(body.of(capture).getType());
  for (Value result : block.back().getOperands())
    results.push_back(body.typeOf(result.getType()));
  if (passesCaptures)
    llvm::append_range(results, ArrayRef(inputs).drop_front(block.getNumArguments()));
  return body.program.addFunction(
      base, inputs, results, body.isElementwise, region.getParentOp()->getLoc(),
      [&](BodyConverter &inner, tfg::FuncOp target, SmallVector<Value> &values) {
        unsigned next = 0;
        for (Value argument : block.getArguments())
          inner.map(argument, target.getDataArgument(next++));
        for (Value capture : captures)
          inner.map(capture, target.getDataArgument(next++));
        if (failed(inner.readBlock(block)))
          return failure();
        values = inner.allOf(block.back().getOperands());
        if (passesCaptures)
          llvm::append_range(values, inner.allOf(captures));
        return success();
      });
}

static SmallVector<Value> addControlNode(BodyConverter &body, Operation *op, StringRef kind,
                                         ValueRange inputs, TypeRange types, Attrs attrs) {
  bool hasEffects = body.program.hasEffects(op);
  SmallVector<Value> operands(inputs);
  if (hasEffects)
    body.waitForEffects(operands);
  SmallVector<Value> results =
      body.nodes(hasEffects ? kind.str() : ("Stateless" + kind).str(), operands, types, attrs);
  for (auto [from, to] : llvm::zip(op->getResults(), results))
    body.map(from, to);
  if (hasEffects)
    body.addEffect();
  return results;
}

static LogicalResult readWhile(BodyConverter &body, Operation *op) {
  SmallVector<Value> captures = capturesOf(op->getRegions());
  FailureOr<std::string> cond =
      regionFunction(body, op->getRegion(0), captures, false, "while_cond");
  FailureOr<std::string> loop =
      regionFunction(body, op->getRegion(1), captures, true, "while_body");
  if (failed(cond) || failed(loop))
    return failure();
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(body.typeOf(type));
  for (Value capture : captures) {
    inputs.push_back(body.of(capture));
    types.push_back(inputs.back().getType());
  }
  Attrs attrs;
  attrs.append("cond", body.func(*cond));
  attrs.append("body", body.func(*loop));
  addControlNode(body, op, "While", inputs, types, attrs);
  return success();
}

static FailureOr<SmallVector<Attribute>> branchFunctions(BodyConverter &body, Operation *op,
                                                         ValueRange captures) {
  SmallVector<Attribute> functions;
  for (Region &region : op->getRegions()) {
    FailureOr<std::string> name = regionFunction(body, region, captures, false, "branch");
    if (failed(name))
      return failure();
    functions.push_back(body.func(*name));
  }
  return functions;
}

/// Replaces the branches' arguments by the operands after the selector, in order: old programs
/// write conditionals this way.
static void bindBranchOperands(Operation *op) {
  unsigned next = 1;
  for (Region &region : op->getRegions()) {
    Block &block = region.front();
    for (BlockArgument argument : block.getArguments())
      argument.replaceAllUsesWith(op->getOperand(next++));
    block.eraseArguments(0, block.getNumArguments());
  }
  op->setOperands(op->getOperands().take_front());
}

static LogicalResult readConditional(BodyConverter &body, Operation *op, StringRef kind) {
  bindBranchOperands(op);
  SmallVector<Value> captures = capturesOf(op->getRegions());
  FailureOr<SmallVector<Attribute>> functions = branchFunctions(body, op, captures);
  if (failed(functions))
    return failure();
  SmallVector<Value> inputs{body.of(op->getOperand(0))};
  llvm::append_range(inputs, body.allOf(captures));
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(body.typeOf(type));
  Attrs attrs;
  if (kind == "If" && functions->size() == 2) {
    attrs.append("then_branch", (*functions)[0]);
    attrs.append("else_branch", (*functions)[1]);
  } else {
    attrs.append("branches", body.builder.getArrayAttr(*functions));
  }
  addControlNode(body, op, kind, inputs, types, attrs);
  return success();
}

static LogicalResult readIf(BodyConverter &body, Operation *op) {
  return readConditional(body, op, "If");
}
static LogicalResult readCase(BodyConverter &body, Operation *op) {
  return readConditional(body, op, "Case");
}

// --- functions of scalars -----------------------------------------------------------------------

StringRef hlo::combinerOf(Region &region) {
  if (!llvm::hasSingleElement(region) || region.front().getNumArguments() != 2)
    return {};
  Block &block = region.front();
  Operation *end = &block.back();
  if (end->getNumOperands() != 1)
    return {};
  Value result = end->getOperand(0);
  if (block.getOperations().size() == 1 && result == block.getArgument(1))
    return "second";
  Operation *op = &block.front();
  if (block.getOperations().size() != 2 || op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      op->getNumRegions() || result != op->getResult(0))
    return {};
  Value a = op->getOperand(0), b = op->getOperand(1);
  bool isStraight = a == block.getArgument(0) && b == block.getArgument(1);
  bool isSwapped = a == block.getArgument(1) && b == block.getArgument(0);
  StringRef name = op->getName().stripDialect();
  bool commutes =
      llvm::is_contained({"add", "multiply", "maximum", "minimum", "and", "or", "xor"}, name);
  return isStraight || (isSwapped && commutes) ? name : StringRef();
}

/// Whether a scalar op is also an elementwise op on tensors.
static bool isScalarOp(BodyConverter &body, Operation *op) {
  static const llvm::StringSet<> others = {"while",
                                           "if",
                                           "case",
                                           "reduce",
                                           "gather",
                                           "scatter",
                                           "sort",
                                           "map",
                                           "pad",
                                           "concatenate",
                                           "slice",
                                           "iota",
                                           "custom_call",
                                           "dot_general",
                                           "rng",
                                           "tuple",
                                           "transpose",
                                           "fft",
                                           "get_dimension_size",
                                           "reduce_window"};
  StringRef name = op->getName().stripDialect();
  if (others.contains(name) || name.starts_with("dynamic_") || name.starts_with("rng_"))
    return false;
  if (auto callee = op->getAttrOfType<FlatSymbolRefAttr>("callee")) {
    func::FuncOp function = body.program.function(callee.getValue());
    return function && !function.isExternal() &&
           llvm::all_of(function.front().without_terminator(),
                        [&](Operation &inner) { return isScalarOp(body, &inner); });
  }
  if (op->getName().getStringRef() == "tensor.extract")
    return true; // one position per element
  auto isScalar = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? tensor.getRank() == 0 : type.isIntOrIndexOrFloat();
  };
  return llvm::all_of(op->getOperandTypes(), isScalar) &&
         llvm::all_of(op->getResultTypes(), isScalar);
}

static bool isElementwiseBlock(BodyConverter &body, Block &block) {
  return llvm::all_of(block.without_terminator(),
                      [&](Operation &op) { return isScalarOp(body, &op); });
}

static FailureOr<ScalarFunction> scalarFunctionOfBlock(BodyConverter &body, Block &block,
                                                       Location location, ValueRange captures,
                                                       StringRef base) {
  bool isElementwise = isElementwiseBlock(body, block);
  SmallVector<Type> inputs, results;
  auto typeOf = [&](Value value) -> Type {
    Type type = body.typeOf(value.getType());
    return isElementwise ? Type(UnrankedTensorType::get(elementOf(type))) : type;
  };
  SmallVector<Value> arguments(block.getArguments());
  llvm::append_range(arguments, captures);
  for (Value argument : arguments)
    inputs.push_back(typeOf(argument));
  for (Value result : block.back().getOperands())
    results.push_back(typeOf(result));
  FailureOr<std::string> name = body.program.addFunction(
      base, inputs, results, isElementwise, location,
      [&](BodyConverter &inner, tfg::FuncOp target, SmallVector<Value> &values) {
        for (auto [i, argument] : llvm::enumerate(arguments))
          inner.map(argument, target.getDataArgument(i));
        if (failed(inner.readBlock(block)))
          return failure();
        values = inner.allOf(block.back().getOperands());
        return success();
      });
  if (failed(name))
    return failure();
  return ScalarFunction{*name, isElementwise};
}

FailureOr<ScalarFunction> hlo::scalarFunction(BodyConverter &body, Region &region, StringRef base) {
  if (!llvm::hasSingleElement(region))
    return region.getParentOp()->emitError("a region has several blocks, expected one");
  if (!capturesOf(region).empty())
    return unimplementedOp(region.getParentOp()) << " whose region captures values";
  return scalarFunctionOfBlock(body, region.front(), region.getParentOp()->getLoc(), {}, base);
}

FailureOr<std::string> hlo::elementwiseFunction(BodyConverter &body, Block &block, StringRef base,
                                                SmallVector<Value> &captures) {
  Operation *op = block.getParentOp();
  captures = capturesOf(*block.getParent());
  if (!isElementwiseBlock(body, block))
    return unimplementedOp(op) << " of a function that doesn't consist of elementwise ops";
  FailureOr<ScalarFunction> function =
      scalarFunctionOfBlock(body, block, op->getLoc(), captures, base);
  return failed(function) ? FailureOr<std::string>(failure()) : function->name;
}

FailureOr<ScalarFunction> hlo::scalarFunctionOf(BodyConverter &body, func::FuncOp function) {
  return scalarFunctionOfBlock(body, function.front(), function.getLoc(), {}, function.getName());
}

// --- tokens, barriers, assertions ---------------------------------------------------------------

/// Returns a token that depends on all given tokens.
static LogicalResult readToken(BodyConverter &body, Operation *op) {
  SmallVector<Value> tokens = body.allOf(op->getOperands());
  Value token = tokens.empty() ? body.scalarInt(body.builder.getI1Type(), 1) : tokens.front();
  for (Value other : ArrayRef(tokens).drop_front(tokens.empty() ? 0 : 1))
    token = body.like("LogicalAnd", {token, other});
  return done(body, op, token);
}

static LogicalResult readBarrier(BodyConverter &body, Operation *op) {
  for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults()))
    body.map(to, body.of(from));
  return success();
}

/// A failed shape assertion is reported with the program's own message.
static LogicalResult readShapeAssertion(BodyConverter &body, Operation *op) {
  if (op->getNumOperands() == 0)
    return unimplementedOp(op) << " @shape_assertion without operands, expected a predicate";
  StringRef message = word(op, "error_message");
  auto type = RankedTensorType::get({}, tf_type::StringType::get(op->getContext()));
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  Value text = body.constant(DenseStringElementsAttr::get(type, ArrayRef<StringRef>(message)));
  inputs.insert(inputs.begin() + 1, text);
  (void)body.nodes("Assert", inputs, {});
  body.addEffect();
  return success();
}

/// Converts a call of a host function of the process, which identifies it by a number.
static LogicalResult readCallback(BodyConverter &body, Operation *op) {
  bool hasEffects = numberOr(op, "has_side_effect", 0);
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  if (hasEffects)
    body.waitForEffects(inputs);
  SmallVector<Type> types;
  SmallVector<Attribute> shapes;
  for (Type type : op->getResultTypes()) {
    types.push_back(body.typeOf(type));
    shapes.push_back(tf_type::ShapeAttr::get(cast<ShapedType>(types.back())));
  }
  Attrs attrs;
  attrs.append("token",
               body.builder.getStringAttr(word(op, "call_target_name") + ";" + optionsOf(op)));
  attrs.append("result_shapes", body.builder.getArrayAttr(shapes));
  SmallVector<Value> results =
      body.nodes(hasEffects ? "PyFunc" : "PyFuncStateless", inputs, types, attrs);
  for (auto [from, to] : llvm::zip(op->getResults(), results))
    body.map(from, to);
  if (hasEffects)
    body.addEffect();
  return success();
}

/// Converts a call of a function of the parent graph. The program refers to it by its index in a
/// list; the caller of the importer has replaced the index by the name.
static LogicalResult readCallOfGraph(BodyConverter &body, Operation *op) {
  StringRef function = word(op, calledFunctionKey);
  if (function.empty())
    return unimplementedOp(op) << " @" << callTfFunction
                               << " of a program that isn't in an XlaCallModule";
  auto isToken = [](Value value) { return isa<NoneType>(value.getType()); };
  SmallVector<Value> inputs, results(op->getResults());
  for (Value operand : op->getOperands())
    if (!isToken(operand))
      inputs.push_back(body.of(operand));
  SmallVector<Type> types;
  for (Value result : llvm::make_filter_range(results, std::not_fn(isToken)))
    types.push_back(body.typeOf(result.getType()));
  bool hasEffects = numberOr(op, "has_side_effect", 0);
  if (hasEffects)
    body.waitForEffects(inputs);
  Attrs attrs;
  attrs.append("f", body.func(function));
  SmallVector<Value> values =
      body.nodes(hasEffects ? "StatefulPartitionedCall" : "PartitionedCall", inputs, types, attrs);
  const auto *next = values.begin();
  for (Value result : results)
    body.map(result, isToken(result) ? body.scalarInt(body.builder.getI1Type(), 1) : *next++);
  if (hasEffects)
    body.addEffect();
  return success();
}

static LogicalResult readDynamicReduceWindow(BodyConverter &body, Operation *op) {
  auto functions = op->getAttrOfType<ArrayAttr>("called_computations");
  auto symbol = functions && functions.size() == 1 ? dyn_cast<FlatSymbolRefAttr>(functions[0])
                                                   : FlatSymbolRefAttr();
  func::FuncOp callee = symbol ? body.program.function(symbol.getValue()) : func::FuncOp();
  if (!callee || op->getNumOperands() != 7)
    return unimplementedOp(op) << " @stablehlo.dynamic_reduce_window of several inputs";
  FailureOr<ScalarFunction> function = scalarFunctionOf(body, callee);
  if (failed(function))
    return failure();
  Attrs attrs;
  attrs.append("computation", body.func(function->name));
  body.map(op->getResult(0),
           body.node("XlaReduceWindow", body.allOf(op->getOperands()), body.resultType(op), attrs));
  return success();
}

/// Returns the size of a slice: everything, except `size` elements along a dimension.
static Value sliceSizes(BodyConverter &body, int64_t rank, int64_t dim, Value size) {
  SmallVector<int64_t> before(dim, -1), behind(rank - dim - 1, -1);
  Value one = body.reshape(body.cast(size, body.builder.getI32Type()), {1});
  Type whole = RankedTensorType::get({rank}, body.builder.getI32Type());
  return body.node("ConcatV2", {body.vector(before), one, body.vector(behind), body.index(0)},
                   whole);
}

/// Converts ApproxTopK(x, indices, init, init) exactly: sorts both by the comparator and takes the
/// first `top_k`; dynamic_approx_top_k has that number as an operand after the initial values.
template <bool isDynamic> static LogicalResult readApproxTopK(BodyConverter &body, Operation *op) {
  auto functions = op->getAttrOfType<ArrayAttr>("called_computations");
  auto symbol = functions && functions.size() == 1 ? dyn_cast<FlatSymbolRefAttr>(functions[0])
                                                   : FlatSymbolRefAttr();
  func::FuncOp comparator = symbol ? body.program.function(symbol.getValue()) : func::FuncOp();
  auto config = op->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  SmallVector<int64_t> dims = fieldNumbers(config, "reduction_dim"),
                       sizes = fieldNumbers(config, "top_k"),
                       isWhole = fieldNumbers(config, "aggregate_to_topk");
  size_t count = op->getNumResults(), numOperands = 2 * count + (isDynamic ? 1 : 0);
  auto type = dyn_cast<RankedTensorType>(body.resultType(op));
  bool isKnown = comparator && dims.size() == 1 && type && dims[0] >= 0 &&
                 dims[0] < type.getRank() && op->getNumOperands() >= numOperands;
  if (isKnown && isDynamic)
    isKnown = isWhole.size() == 1 && isWhole[0];
  else if (isKnown)
    isKnown = op->getNumOperands() == numOperands && sizes.size() == 1 &&
              type.getDimSize(dims[0]) == sizes[0];
  if (!isKnown)
    return unimplementedOp(op) << " @" << word(op, "call_target_name")
                               << " in this form; expected one that aggregates to top_k";
  FailureOr<ScalarFunction> function = scalarFunctionOf(body, comparator);
  if (failed(function))
    return failure();
  SmallVector<Value> inputs = body.allOf(op->getOperands().take_front(count));
  SmallVector<Type> types;
  for (Value value : inputs)
    types.push_back(value.getType());
  inputs.push_back(body.index(dims[0]));
  Attrs attrs;
  attrs.append("comparator", body.func(function->name));
  attrs.append("is_stable", body.builder.getBoolAttr(true));
  SmallVector<Value> sorted = body.nodes("XlaVariadicSort", inputs, types, attrs);
  SmallVector<int64_t> begin(type.getRank(), 0);
  Value taken = isDynamic ? input(body, op, 2 * count) : body.index(sizes[0]);
  Value size = sliceSizes(body, type.getRank(), dims[0], taken);
  for (size_t i = 0; i < count; ++i)
    body.map(op->getResult(i),
             body.node("Slice", {sorted[i], body.vector(begin), size}, body.resultType(op, i)));
  return success();
}

static LogicalResult readCustomCall(BodyConverter &body, Operation *op) {
  static const llvm::StringMap<Converter> known = {
      {"shape_assertion", readShapeAssertion},
      {"stablehlo.dynamic_approx_top_k", readApproxTopK<true>},
      {"stablehlo.dynamic_reduce_window", readDynamicReduceWindow},
      {"stablehlo.dynamic_rng_bit_generator", readDynamicRngBitGenerator},
      {"stablehlo.dynamic_top_k", readDynamicTopK},
      {"Sharding", readBarrier},
      {"SPMDFullToShardShape", readBarrier},
      {"SPMDShardToFullShape", readBarrier},
      {"LayoutConstraint", readBarrier},
      {"ApproxTopK", readApproxTopK<false>},
      {"dce_sink", readBarrier},
      {"control_dep", readBarrier}, // only constrains the order of scheduling
      {"annotate_device_placement", readBarrier},
      {"treadle_callback", readCallback},
      {callTfFunction, readCallOfGraph},
  };
  StringRef target = word(op, "call_target_name");
  if (auto it = known.find(target); it != known.end())
    return it->second(body, op);
  if (isLapackCall(target))
    return readLapackCall(body, op);
  return unimplementedOp(op) << " @" << target << " is not known";
}

/// Creates the elementwise op of chlo that a composite is made from; null for other composites.
static Operation *elementwiseOpOf(Operation *op) {
  auto attributes = op->getAttrOfType<DictionaryAttr>("composite_attributes");
  OperationName name(word(op, "name"), op->getContext());
  if (name.getDialectNamespace() != "chlo" || !name.isRegistered() || op->getNumResults() != 1 ||
      (attributes && !attributes.empty()) || llvm::any_of(op->getOperandTypes(), [&](Type type) {
        return type != op->getResult(0).getType();
      }))
    return nullptr;
  OperationState state(op->getLoc(), name);
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  return OpBuilder(op).create(state);
}

/// Converts a composite as its decomposition, unless it is an elementwise op of chlo: one node
/// computes faster than dozens.
static LogicalResult readComposite(BodyConverter &body, Operation *op) {
  if (Operation *made = elementwiseOpOf(op))
    return readInPlaceOf(body, op, made, made->getResults());
  return readCall(body, op);
}

static constexpr ConverterRow rows[] = {
    {"func.call", readCall},
    {"composite", readComposite},
    {"while", readWhile},
    {"if", readIf},
    {"case", readCase},
    {"create_token", readToken},
    {"after_all", readToken},
    {"optimization_barrier", readBarrier},
    {"async_done", readBarrier},
    {"sdy.sharding_constraint", readBarrier},
    {"sdy.reshard", readBarrier},
    {"sdy.sharding_group", readBarrier},
    {"custom_call", readCustomCall},
};

ArrayRef<ConverterRow> hlo::controlRows() { return rows; }
