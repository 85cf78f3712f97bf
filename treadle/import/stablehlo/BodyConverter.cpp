#include "treadle/import/stablehlo/BodyConverter.h"

#include "treadle/dialect/stablehlo/Ops.h"
#include "treadle/dialect/stablehlo/StableHlo.h"
#include "treadle/import/DerivedAttributes.h"
#include "treadle/import/stablehlo/Tables.h"
#include "treadle/ops/OpTable.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

// --- attributes of the source -------------------------------------------------------------------

SmallVector<int64_t> hlo::numbersOr(Operation *op, StringRef key, size_t count, int64_t value) {
  SmallVector<int64_t> found = numbers(op, key);
  return found.empty() ? SmallVector<int64_t>(count, value) : found;
}

int64_t hlo::numberOr(Operation *op, StringRef key, int64_t value) {
  SmallVector<int64_t> found = numbers(op, key);
  return found.empty() ? value : found.front();
}

InFlightDiagnostic hlo::unimplementedOp(Operation *op) {
  return op->emitError("unimplemented: ") << op->getName().getStringRef();
}

// --- types --------------------------------------------------------------------------------------

BodyConverter::BodyConverter(ConversionState &program, Block &target, bool isElementwise)
    : program(program), builder(OpBuilder::atBlockEnd(&target)), isElementwise(isElementwise) {}

Type BodyConverter::convertedType(Type source, bool isElementwise) {
  Type element = elementOf(source);
  if (isa<IndexType>(element))
    element = IntegerType::get(source.getContext(), 64);
  if (isa<NoneType>(element)) // tokens
    element = IntegerType::get(source.getContext(), 1);
  if (isElementwise || isa<UnrankedTensorType>(source))
    return UnrankedTensorType::get(element);
  auto ranked = dyn_cast<RankedTensorType>(source);
  return RankedTensorType::get(ranked ? ranked.getShape() : ArrayRef<int64_t>(), element);
}

// --- values -------------------------------------------------------------------------------------

static bool isConstant(Operation *op) { return op && (op->getName().stripDialect() == "constant"); }

Value BodyConverter::of(Value source) {
  auto it = values.find(source);
  if (it != values.end())
    return it->second;
  // Outside constants are cloned into the region's function; other values are captured.
  Operation *definition = source.getDefiningOp();
  if (isConstant(definition) && succeeded(read(definition)))
    return values.lookup(source);
  return {};
}

/// Returns the scalar that all elements of a large constant are equal to; null if it isn't one.
static DenseElementsAttr scalarOfLarge(Value source) {
  constexpr int64_t large = 16;
  Operation *definition = source.getDefiningOp();
  auto value = isConstant(definition) ? definition->getAttrOfType<DenseElementsAttr>("value")
                                      : DenseElementsAttr();
  if (!value || !value.isSplat() || value.getNumElements() <= large)
    return {};
  return value.resizeSplat(RankedTensorType::get({}, value.getElementType()));
}

Value BodyConverter::broadcastableOf(Value source) {
  Value compact = compacts.lookup(source);
  if (DenseElementsAttr scalar; !compact && !isElementwise && (scalar = scalarOfLarge(source))) {
    compact = constant(scalar);
    mapBroadcastable(source, compact);
  }
  return compact ? compact : of(source);
}

SmallVector<Value> BodyConverter::allOf(ValueRange sources) {
  return llvm::map_to_vector(sources, [&](Value source) { return of(source); });
}

// --- nodes --------------------------------------------------------------------------------------

void BodyConverter::waitForEffects(llvm::SmallVectorImpl<Value> &inputs) const {
  if (lastEffect)
    inputs.push_back(lastEffect);
}

void BodyConverter::addUnorderedEffect() {
  effects.push_back(builder.getBlock()->back().getResults().back());
}

void BodyConverter::addEffect() {
  addUnorderedEffect();
  lastEffect = effects.back();
}

SmallVector<Value> BodyConverter::nodes(StringRef op, ValueRange inputs, TypeRange results,
                                        Attrs attrs) {
  tfg::TfgDialect &dialect = program.dialect;
  Location location = current ? current->getLoc() : builder.getUnknownLoc();
  OperationState state(location, ("tfg." + op).str());
  state.addOperands(inputs);
  state.addTypes(results);
  state.addTypes(dialect.controlType);
  auto isData = [&](Value input) { return input.getType() != dialect.controlType; };
  ValueRange data = inputs.take_front(llvm::count_if(inputs, isData));
  if (const OpDef *def = lookupOp(op))
    for (NamedAttribute attr :
         graphdef::deriveAttributes(*def, data.getTypes(), results, attrs, builder.getContext()))
      if (!attrs.get(attr.getName()))
        attrs.append(attr);
  StringRef base = current ? current->getName().stripDialect() : op;
  attrs.set(dialect.nameKey, builder.getStringAttr(names.made(base)));
  state.addAttributes(attrs);
  tfg::Node made(builder.create(state));
  return llvm::to_vector_of<Value>(made.results());
}

Value BodyConverter::constant(ElementsAttr value) {
  Attrs attrs;
  attrs.append("dtype", TypeAttr::get(value.getElementType()));
  attrs.append("value", value);
  return node("Const", {}, cast<RankedTensorType>(value.getType()), std::move(attrs));
}

Value BodyConverter::integers(ArrayRef<int64_t> numbers, ArrayRef<int64_t> shape) {
  bool isNarrow = llvm::all_of(numbers, [](int64_t n) { return n == static_cast<int32_t>(n); });
  if (!isNarrow)
    return constant(
        DenseElementsAttr::get(RankedTensorType::get(shape, builder.getI64Type()), numbers));
  SmallVector<int32_t> narrow(numbers.begin(), numbers.end());
  return constant(DenseElementsAttr::get(RankedTensorType::get(shape, builder.getI32Type()),
                                         ArrayRef<int32_t>(narrow)));
}

Value BodyConverter::index(int64_t value) {
  return constant(DenseElementsAttr::get(RankedTensorType::get({}, builder.getI32Type()),
                                         static_cast<int32_t>(value)));
}

Value BodyConverter::scalar(Type element, double value) {
  auto type = RankedTensorType::get({}, element);
  if (auto real = dyn_cast<FloatType>(element)) {
    APFloat number(value);
    bool losesInfo;
    number.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return constant(DenseElementsAttr::get(type, number));
  }
  if (auto complex = dyn_cast<ComplexType>(element)) {
    auto part = cast<FloatType>(complex.getElementType());
    APFloat number(value), zero(0.0);
    bool losesInfo;
    number.convert(part.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    zero.convert(part.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return constant(DenseElementsAttr::get(type, std::complex<APFloat>(number, zero)));
  }
  return scalarInt(element, static_cast<int64_t>(value));
}

Value BodyConverter::scalarInt(Type element, int64_t value) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return scalar(element, static_cast<double>(value));
  APInt bits(64, static_cast<uint64_t>(value));
  return constant(DenseElementsAttr::get(RankedTensorType::get({}, element),
                                         bits.sextOrTrunc(integer.getWidth())));
}

Value BodyConverter::cast(Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  return likeOf("Cast", value, element);
}

Value BodyConverter::reshape(Value value, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> dims(shape);
  for (int64_t &dim : dims)
    dim = dim == -1 ? ShapedType::kDynamic : dim;
  Type type = RankedTensorType::get(dims, elementOf(value));
  if (type == value.getType())
    return value;
  return node("Reshape", {value, vector(shape)}, type);
}

Value BodyConverter::reshapeTo(Value value, RankedTensorType type) {
  SmallVector<int64_t> dims(type.getShape());
  for (int64_t &dim : dims)
    dim = ShapedType::isDynamic(dim) ? -1 : dim;
  if (isElementwise)
    return value;
  return reshape(value, dims);
}

Attribute BodyConverter::func(StringRef name) {
  return tf_type::FuncAttr::get(builder.getContext(),
                                FlatSymbolRefAttr::get(builder.getContext(), name),
                                builder.getDictionaryAttr({}));
}

// --- operations ---------------------------------------------------------------------------------

LogicalResult hlo::readInPlaceOf(BodyConverter &body, Operation *op, ArrayRef<Operation *> made,
                                 ValueRange results) {
  LogicalResult result = success();
  for (Operation *each : made)
    if (succeeded(result))
      result =
          failure(failed(verify(each, /*verifyRecursively=*/false)) || failed(body.read(each)));
  if (succeeded(result))
    for (auto [from, to] : llvm::zip(op->getResults(), results))
      body.map(from, body.of(to));
  for (Operation *each : llvm::reverse(made)) {
    body.scheduleErase(each);
    each->erase();
  }
  return result;
}

static const llvm::StringMap<Converter> &converters() {
  static const llvm::StringMap<Converter> table = [] {
    llvm::StringMap<Converter> rows;
    for (ArrayRef<ConverterRow> part :
         {arithmeticRows(), shapeRows(), indexRows(), reductionRows(), productRows(), controlRows(),
          randomRows(), batchNormRows(), broadcastingRows(), collectiveRows(), arithRows(),
          tensorRows(), checkRows(), linalgRows(), conversionRows(), chloRows(), transferRows()})
      for (const ConverterRow &row : part)
        rows[row.op] = row.convert;
    return rows;
  }();
  return table;
}

StringRef hlo::tableName(Operation *op) {
  return stablehlo::isHlo(op) ? op->getName().stripDialect() : op->getName().getStringRef();
}

/// Checks and ops of mhlo may also be custom calls.
static Converter converterOf(Operation *op) {
  StringRef name = tableName(op), target = word(op, "call_target_name");
  if (name == "custom_call" && target.starts_with("check."))
    name = target;
  if (name == "custom_call" && isMhloCall(target))
    return readMhloCall;
  return converters().lookup(name);
}

/// Custom calls determine their numbers of operands and results themselves.
LogicalResult BodyConverter::expectResults(Operation *op) const {
  for (Value result : op->getResults())
    if (!values.contains(result))
      return hlo::unimplementedOp(op)
             << " @" << word(op, "call_target_name") << " of " << op->getNumOperands()
             << " operands with " << op->getNumResults() << " results";
  return success();
}

LogicalResult BodyConverter::read(Operation *op) {
  Converter convert = converterOf(op);
  if (!convert)
    return hlo::unimplementedOp(op) << " is not supported";
  if (failed(expectSupported(op)))
    return failure();
  Operation *outer = std::exchange(current, op);
  LogicalResult result = convert(*this, op);
  current = outer;
  bool isOpen = succeeded(result) && isa<stablehlo::CustomCallOp>(op);
  return isOpen ? expectResults(op) : result;
}

LogicalResult BodyConverter::readBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(read(&op)))
      return failure();
  return success();
}
