// Converts arith, math and tensor, which appear in programs next to StableHLO. Scalars become
// tensors of rank 0, and an index becomes i64.
#include "treadle/import/stablehlo/Tables.h"

#include <cmath>

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

// --- numbers ------------------------------------------------------------------------------------

namespace {

/// An op of arith or math that corresponds to one op; `ofBool` for i1, empty if there is none.
struct DirectOp {
  StringRef op, name, ofBool;
};

constexpr DirectOp plain[] = {
    {"arith.addi", "AddV2", "NotEqual"},
    {"arith.subi", "Sub", "NotEqual"},
    {"arith.muli", "Mul", "LogicalAnd"},
    {"arith.divsi", "TruncateDiv", ""},
    {"arith.floordivsi", "FloorDiv", ""},
    {"arith.remsi", "TruncateMod", ""},
    {"arith.maxsi", "Maximum", ""},
    {"arith.minsi", "Minimum", ""},
    {"arith.andi", "BitwiseAnd", "LogicalAnd"},
    {"arith.ori", "BitwiseOr", "LogicalOr"},
    {"arith.xori", "BitwiseXor", "NotEqual"},
    {"arith.shli", "LeftShift", ""},
    {"arith.shrsi", "RightShift", ""},
    {"arith.addf", "AddV2", ""},
    {"arith.subf", "Sub", ""},
    {"arith.mulf", "Mul", ""},
    {"arith.divf", "RealDiv", ""},
    {"arith.remf", "TruncateMod", ""},
    {"arith.negf", "Neg", ""},
    {"arith.maximumf", "Maximum", ""},
    {"arith.minimumf", "Minimum", ""},
    {"arith.select", "SelectV2", "SelectV2"},
    {"math.absf", "Abs", ""},
    {"math.absi", "Abs", ""},
    {"math.acos", "Acos", ""},
    {"math.acosh", "Acosh", ""},
    {"math.asin", "Asin", ""},
    {"math.asinh", "Asinh", ""},
    {"math.atan", "Atan", ""},
    {"math.atan2", "Atan2", ""},
    {"math.atanh", "Atanh", ""},
    {"math.ceil", "Ceil", ""},
    {"math.cos", "Cos", ""},
    {"math.cosh", "Cosh", ""},
    {"math.erf", "Erf", ""},
    {"math.erfc", "Erfc", ""},
    {"math.exp", "Exp", ""},
    {"math.expm1", "Expm1", ""},
    {"math.floor", "Floor", ""},
    {"math.isfinite", "IsFinite", ""},
    {"math.isinf", "IsInf", ""},
    {"math.isnan", "IsNan", ""},
    {"math.log", "Log", ""},
    {"math.log1p", "Log1p", ""},
    {"math.powf", "Pow", ""},
    {"math.roundeven", "Rint", ""},
    {"math.rsqrt", "Rsqrt", ""},
    {"math.sin", "Sin", ""},
    {"math.sinh", "Sinh", ""},
    {"math.sqrt", "Sqrt", ""},
    {"math.tan", "Tan", ""},
    {"math.tanh", "Tanh", ""},
};

} // namespace

static LogicalResult readPlain(BodyConverter &body, Operation *op) {
  StringRef name = op->getName().getStringRef();
  const DirectOp *row = llvm::find_if(plain, [&](const DirectOp &p) { return p.op == name; });
  Value last = input(body, op, op->getNumOperands() - 1);
  StringRef node = isBool(elementOf(last)) ? row->ofBool : row->name;
  if (node.empty())
    return unimplementedOp(op) << " of i1";
  return done(body, op, body.node(node, body.allOf(op->getOperands()), body.resultType(op)));
}

static Type unsignedOf(Type element) {
  return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth(),
                          IntegerType::Unsigned);
}

static Value bitsAs(BodyConverter &body, Value x, Type element) {
  return elementOf(x) == element ? x : body.likeOf("Bitcast", x, element);
}

/// Converts to the op on unsigned numbers with the same bits.
template <const char *name> static LogicalResult readUnsigned(BodyConverter &body, Operation *op) {
  Value a = input(body, op, 0), b = input(body, op, 1);
  Type element = elementOf(a);
  if (isBool(element))
    return unimplementedOp(op) << " of i1";
  Type other = unsignedOf(element);
  Value result = body.like(name, {bitsAs(body, a, other), bitsAs(body, b, other)});
  return done(body, op, bitsAs(body, result, element));
}
static constexpr char divOp[] = "TruncateDiv", maxOp[] = "Maximum", minOp[] = "Minimum",
                      shiftOp[] = "RightShift";

static LogicalResult readUnsignedRemainder(BodyConverter &body, Operation *op) {
  Value a = input(body, op, 0), b = input(body, op, 1);
  Type element = elementOf(a);
  if (isBool(element))
    return unimplementedOp(op) << " of i1";
  Type other = unsignedOf(element);
  Value x = bitsAs(body, a, other), y = bitsAs(body, b, other);
  Value whole = body.like("Mul", {body.like("TruncateDiv", {x, y}), y});
  return done(body, op, bitsAs(body, body.like("Sub", {x, whole}), element));
}

/// Returns the operand that isn't NaN if one is.
template <const char *name>
static LogicalResult readIgnoringNan(BodyConverter &body, Operation *op) {
  Value a = input(body, op, 0), b = input(body, op, 1), both = body.like(name, {a, b});
  Type flag = body.builder.getI1Type();
  Value isNone = body.likeOf("NotEqual", {a, a}, flag),
        isOther = body.likeOf("NotEqual", {b, b}, flag);
  Value rest = body.node("SelectV2", {isOther, a, both}, both.getType());
  return done(body, op, body.node("SelectV2", {isNone, b, rest}, both.getType()));
}

/// Converts a float to an unsigned integer with the same bits as the signed one.
static LogicalResult readToUnsigned(BodyConverter &body, Operation *op) {
  Type to = elementOf(body.resultType(op));
  if (isBool(to))
    return unimplementedOp(op) << " to i1";
  return done(body, op, bitsAs(body, body.cast(input(body, op, 0), unsignedOf(to)), to));
}

/// Returns the sum, and whether it overflows.
static LogicalResult readAddExtended(BodyConverter &body, Operation *op) {
  Value a = input(body, op, 0), b = input(body, op, 1), sum = body.like("AddV2", {a, b});
  if (isBool(elementOf(a)))
    return unimplementedOp(op) << " of i1";
  Type other = unsignedOf(elementOf(a));
  Value isOver = body.likeOf("Less", {bitsAs(body, sum, other), bitsAs(body, a, other)},
                             body.builder.getI1Type());
  body.map(op->getResult(0), sum);
  body.map(op->getResult(1), isOver);
  return success();
}

/// Returns the lower and the upper half of a product with twice the bits.
template <bool isSigned> static LogicalResult readMulExtended(BodyConverter &body, Operation *op) {
  Value a = input(body, op, 0), b = input(body, op, 1);
  Type element = elementOf(a);
  constexpr unsigned widest = 64;
  unsigned width = element.getIntOrFloatBitWidth();
  if (isBool(element) || 2 * width > widest)
    return unimplementedOp(op) << " of " << element;
  Type narrow = isSigned ? element : unsignedOf(element);
  Type wide = IntegerType::get(element.getContext(), 2 * width,
                               isSigned ? IntegerType::Signless : IntegerType::Unsigned);
  auto widened = [&](Value x) { return body.cast(bitsAs(body, x, narrow), wide); };
  Value product = body.like("Mul", {widened(a), widened(b)});
  Value high = body.node("RightShift", {product, body.scalarInt(wide, width)}, product.getType());
  body.map(op->getResult(0), body.like("Mul", {a, b}));
  body.map(op->getResult(1), bitsAs(body, body.cast(high, narrow), element));
  return success();
}

/// b^x, or the logarithm to base b.
template <int base> static LogicalResult readPowerOf(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  return done(body, op, body.node("Pow", {body.scalar(elementOf(x), base), x}, x.getType()));
}
template <int base> static LogicalResult readLogarithmOf(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Value scale = body.scalar(elementOf(x), std::log(static_cast<double>(base)));
  return done(body, op, body.node("RealDiv", {body.like("Log", x), scale}, x.getType()));
}

static LogicalResult readTruncated(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Value isNegative =
      body.likeOf("Less", {x, body.scalar(elementOf(x), 0)}, body.builder.getI1Type());
  return done(body, op,
              body.node("SelectV2", {isNegative, body.like("Ceil", x), body.like("Floor", x)},
                        x.getType()));
}

/// Computes x to the power of an exponent of another type.
static LogicalResult readIntegerPower(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0), n = body.cast(input(body, op, 1), elementOf(x));
  return done(body, op, body.like("Pow", {x, n}));
}

/// fma(a, b, c), rounded twice.
static LogicalResult readFma(BodyConverter &body, Operation *op) {
  Value product = body.like("Mul", {input(body, op, 0), input(body, op, 1)});
  return done(body, op, body.like("AddV2", {product, input(body, op, 2)}));
}

/// -floor(-a / b)
static LogicalResult readCeilDiv(BodyConverter &body, Operation *op) {
  Value down = body.like("FloorDiv", {body.like("Neg", input(body, op, 0)), input(body, op, 1)});
  return done(body, op, body.like("Neg", down));
}

static LogicalResult readCompareIntegers(BodyConverter &body, Operation *op) {
  static constexpr StringRef names[] = {"Equal",   "NotEqual",     "Less", "LessEqual",
                                        "Greater", "GreaterEqual", "Less", "LessEqual",
                                        "Greater", "GreaterEqual"};
  constexpr int64_t firstUnsigned = 6;
  int64_t predicate = numberOr(op, "predicate", 0);
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  Type element = elementOf(inputs[0]);
  for (Value &value : inputs)
    if (isBool(element) && predicate > 1)
      value = body.cast(value, predicate < firstUnsigned ? body.builder.getI8Type()
                                                         : unsignedOf(body.builder.getI8Type()));
    else if (predicate >= firstUnsigned)
      value = bitsAs(body, value, unsignedOf(element));
  if (isBool(element) && predicate > 1 && predicate < firstUnsigned)
    std::swap(inputs[0], inputs[1]); // a set bit is -1 if it is signed
  return done(body, op, body.node(names[predicate], inputs, body.resultType(op)));
}

namespace {

/// How to compute a float predicate: the comparison that is false for NaN, or its negation.
struct FloatPredicate {
  StringRef name;
  bool isNegated;
};

} // namespace

/// Whether neither of two is NaN.
static Value areOrdered(BodyConverter &body, Value a, Value b) {
  Type flag = body.builder.getI1Type();
  return body.like("LogicalAnd",
                   {body.likeOf("Equal", {a, a}, flag), body.likeOf("Equal", {b, b}, flag)});
}

/// The predicates in their order: false, oeq, ogt, oge, olt, ole, one, ord, ueq, ugt, uge, ult,
/// ule, une, uno, true. A `u` predicate is the negation of the opposite ordered one.
static LogicalResult readCompareFloats(BodyConverter &body, Operation *op) {
  static constexpr FloatPredicate predicates[] = {
      {"", false},       {"Equal", false},     {"Greater", false}, {"GreaterEqual", false},
      {"Less", false},   {"LessEqual", false}, {"", false},        {"", false},
      {"", true},        {"LessEqual", true},  {"Less", true},     {"GreaterEqual", true},
      {"Greater", true}, {"Equal", true},      {"", false},        {"", true}};
  constexpr int64_t never = 0, different = 6, ordered = 7, same = 8, unordered = 14, always = 15;
  Value a = input(body, op, 0), b = input(body, op, 1);
  Type flag = body.builder.getI1Type();
  int64_t number = numberOr(op, "predicate", 0);
  auto is = [&](StringRef name) { return body.likeOf(name, {a, b}, flag); };
  if (number == never || number == always) {
    Value equal = is("Equal");
    Value opposite = body.like("LogicalNot", equal);
    return done(body, op,
                body.like(number == always ? "LogicalOr" : "LogicalAnd", {equal, opposite}));
  }
  if (number == ordered)
    return done(body, op, areOrdered(body, a, b));
  if (number == unordered)
    return done(body, op, body.like("LogicalNot", areOrdered(body, a, b)));
  if (number == different || number == same) {
    Value differs = body.like("LogicalAnd", {is("NotEqual"), areOrdered(body, a, b)});
    return done(body, op, number == same ? body.like("LogicalNot", differs) : differs);
  }
  const FloatPredicate &predicate = predicates[number];
  Value holds = is(predicate.name);
  return done(body, op, predicate.isNegated ? body.like("LogicalNot", holds) : holds);
}

static LogicalResult readCast(BodyConverter &body, Operation *op) {
  return done(body, op, body.cast(input(body, op, 0), elementOf(body.resultType(op))));
}

/// A set bit becomes -1.
static LogicalResult readSignedExtension(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  bool isBit = isBool(elementOf(x));
  Value wide = body.cast(x, elementOf(body.resultType(op)));
  return done(body, op, isBit ? body.like("Neg", wide) : wide);
}

template <typename ToWide>
static LogicalResult readByBits(BodyConverter &body, Operation *op, ToWide from) {
  Value x = input(body, op, 0);
  if (!isBool(elementOf(x)))
    x = from(x);
  return done(body, op, body.cast(x, elementOf(body.resultType(op))));
}

static LogicalResult readUnsignedExtension(BodyConverter &body, Operation *op) {
  return readByBits(body, op, [&](Value x) { return bitsAs(body, x, unsignedOf(elementOf(x))); });
}

/// Truncation to one bit keeps the lowest bit.
static LogicalResult readTruncation(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Type to = elementOf(body.resultType(op));
  if (isBool(to))
    x = body.like("BitwiseAnd", {x, body.scalarInt(elementOf(x), 1)});
  return done(body, op, body.cast(x, to));
}

static LogicalResult readBitcast(BodyConverter &body, Operation *op) {
  return done(body, op, bitsAs(body, input(body, op, 0), elementOf(body.resultType(op))));
}

static constexpr ConverterRow numberRows[] = {
    {"arith.divui", readUnsigned<divOp>},
    {"arith.remui", readUnsignedRemainder},
    {"arith.maxui", readUnsigned<maxOp>},
    {"arith.minui", readUnsigned<minOp>},
    {"arith.shrui", readUnsigned<shiftOp>},
    {"arith.ceildivsi", readCeilDiv},
    {"arith.cmpi", readCompareIntegers},
    {"arith.cmpf", readCompareFloats},
    {"arith.extsi", readSignedExtension},
    {"arith.extui", readUnsignedExtension},
    {"arith.extf", readCast},
    {"arith.truncf", readCast},
    {"arith.trunci", readTruncation},
    {"arith.sitofp", readSignedExtension},
    {"arith.uitofp", readUnsignedExtension},
    {"arith.fptosi", readCast},
    {"arith.index_cast", readCast},
    {"arith.index_castui", readUnsignedExtension},
    {"arith.fptoui", readToUnsigned},
    {"arith.addui_extended", readAddExtended},
    {"arith.mulsi_extended", readMulExtended<true>},
    {"arith.mului_extended", readMulExtended<false>},
    {"arith.maxnumf", readIgnoringNan<maxOp>},
    {"arith.minnumf", readIgnoringNan<minOp>},
    {"math.exp2", readPowerOf<2>},
    {"math.log2", readLogarithmOf<2>},
    {"math.log10", readLogarithmOf<10>},
    {"math.trunc", readTruncated},
    {"math.fpowi", readIntegerPower},
    {"arith.bitcast", readBitcast},
    {"math.fma", readFma},
};

ArrayRef<ConverterRow> hlo::arithRows() {
  static const SmallVector<ConverterRow> all = withTableOps(plain, readPlain, numberRows);
  return all;
}

// --- tensors ------------------------------------------------------------------------------------

/// Returns the offsets, sizes or strides of a slice, static ones and operands, in one vector of
/// i64.
static Value mixedValues(BodyConverter &body, ArrayRef<int64_t> stated, ValueRange &operands) {
  Type wide = body.builder.getI64Type();
  SmallVector<Value> parts;
  for (int64_t number : stated) {
    if (!ShapedType::isDynamic(number)) {
      parts.push_back(body.scalarInt(wide, number));
      continue;
    }
    parts.push_back(body.cast(body.of(operands.front()), wide));
    operands = operands.drop_front();
  }
  if (parts.empty())
    return body.cast(body.vector({}), wide);
  return body.node("Pack", parts,
                   RankedTensorType::get({static_cast<int64_t>(parts.size())}, wide));
}

Value hlo::indicesAlong(BodyConverter &body, Value shape, int64_t dim, RankedTensorType type) {
  Type wide = body.builder.getI64Type();
  Attrs attrs;
  attrs.append("shrink_axis_mask", body.builder.getI64IntegerAttr(1));
  Value size = body.node("StridedSlice",
                         {shape, body.vector({dim}), body.vector({dim + 1}), body.vector({1})},
                         RankedTensorType::get({}, wide), attrs);
  int64_t known = type.getDimSize(dim);
  Value numbers = body.node("Range", {body.scalarInt(wide, 0), size, body.scalarInt(wide, 1)},
                            RankedTensorType::get({known}, wide));
  SmallVector<int64_t> across(type.getRank(), 1);
  across[dim] = -1;
  return body.reshape(numbers, across);
}

/// Returns the sizes of a tensor; `operands` state the unknown ones.
static LogicalResult readEmpty(BodyConverter &body, Operation *op) {
  auto type = cast<RankedTensorType>(body.resultType(op));
  ValueRange operands = op->getOperands();
  Value shape = mixedValues(body, type.getShape(), operands);
  Value zero = body.scalarInt(type.getElementType(), 0);
  return done(body, op, body.node("Fill", {shape, zero}, type));
}

static LogicalResult readSplat(BodyConverter &body, Operation *op) {
  auto type = cast<RankedTensorType>(body.resultType(op));
  ValueRange operands = op->getOperands().drop_front();
  Value shape = mixedValues(body, type.getShape(), operands);
  return done(body, op, body.node("Fill", {shape, input(body, op, 0)}, type));
}

/// Inserts one element at a dynamic position.
static LogicalResult readInsert(BodyConverter &body, Operation *op) {
  Value element = input(body, op, 0), x = input(body, op, 1);
  if (op->getNumOperands() == 2)
    return done(body, op, body.reshape(element, {}));
  SmallVector<int64_t> ones(op->getNumOperands() - 2, 1),
      unknown(op->getNumOperands() - 2, ShapedType::kDynamic);
  ValueRange operands = op->getOperands().drop_front(2);
  Value at = mixedValues(body, unknown, operands), update = body.reshape(element, ones);
  return done(body, op, body.node("XlaDynamicUpdateSlice", {x, update, at}, x.getType()));
}

static bool areOnes(ArrayRef<int64_t> numbers) {
  return llvm::all_of(numbers, [](int64_t n) { return n == 1; });
}

namespace {

/// The offsets, sizes and strides of a slice.
struct SliceBounds {
  Value begin, size, stride;
  SmallVector<int64_t> sizes;
  bool isDense;
};

} // namespace

static SliceBounds partOf(BodyConverter &body, Operation *op, ValueRange operands) {
  SliceBounds part;
  part.begin = mixedValues(body, numbers(op, "static_offsets"), operands);
  part.sizes = numbers(op, "static_sizes");
  part.size = mixedValues(body, part.sizes, operands);
  SmallVector<int64_t> strides = numbers(op, "static_strides");
  part.stride = mixedValues(body, strides, operands);
  part.isDense = areOnes(strides);
  return part;
}

/// Extracts a slice; dimensions of size 1 may be dropped.
static LogicalResult readExtractSlice(BodyConverter &body, Operation *op) {
  SliceBounds part = partOf(body, op, op->getOperands().drop_front());
  Value x = input(body, op, 0);
  auto type = cast<RankedTensorType>(body.resultType(op));
  auto whole = RankedTensorType::get(part.sizes, type.getElementType());
  Value slice;
  if (part.isDense) {
    slice = body.node("Slice", {x, part.begin, part.size}, whole);
  } else { // the end may be out of bounds
    Value length = body.like("Mul", {part.size, part.stride});
    Value end = body.like("AddV2", {part.begin, length});
    slice = body.node("StridedSlice", {x, part.begin, end, part.stride}, whole);
  }
  if (static_cast<int64_t>(part.sizes.size()) != type.getRank()) {
    if (llvm::count_if(type.getShape(), ShapedType::isDynamic) > 1)
      return unimplementedOp(op) << " of lower rank with several dynamic dimensions";
    slice = body.reshapeTo(slice, type);
  }
  return done(body, op, slice);
}

static LogicalResult readInsertSlice(BodyConverter &body, Operation *op) {
  SliceBounds part = partOf(body, op, op->getOperands().drop_front(2));
  Value update = input(body, op, 0), x = input(body, op, 1);
  auto whole = RankedTensorType::get(part.sizes, elementOf(update));
  if (whole != update.getType())
    update = body.node("Reshape", {update, part.size}, whole);
  if (part.isDense)
    return done(body, op, body.node("XlaDynamicUpdateSlice", {x, update, part.begin}, x.getType()));
  Value length = body.like("Mul", {part.size, part.stride});
  Value end = body.like("AddV2", {part.begin, length});
  return done(body, op,
              body.node("TensorStridedSliceUpdate", {x, part.begin, end, part.stride, update},
                        x.getType()));
}

/// Converts expand_shape and collapse_shape with at most one dynamic dimension.
static LogicalResult readShapeChange(BodyConverter &body, Operation *op) {
  auto type = cast<RankedTensorType>(body.resultType(op));
  if (llvm::count_if(type.getShape(), ShapedType::isDynamic) > 1)
    return unimplementedOp(op) << " to a shape with several dynamic dimensions";
  return done(body, op, body.reshapeTo(input(body, op, 0), type));
}

static LogicalResult readReshape(BodyConverter &body, Operation *op) {
  Value shape = body.cast(input(body, op, 1), body.builder.getI64Type());
  return done(body, op, body.node("Reshape", {input(body, op, 0), shape}, body.resultType(op)));
}

static LogicalResult readConcat(BodyConverter &body, Operation *op) {
  return readConcatenation(body, op, "dim");
}

/// Calls a function of the indices of each element.
static LogicalResult readGenerate(BodyConverter &body, Operation *op) {
  auto type = cast<RankedTensorType>(body.resultType(op));
  ValueRange operands = op->getOperands();
  Value shape = mixedValues(body, type.getShape(), operands);
  SmallVector<Value> captures, inputs;
  FailureOr<std::string> name =
      elementwiseFunction(body, op->getRegion(0).front(), "element", captures);
  if (failed(name))
    return failure();
  for (int64_t i = 0; i < type.getRank(); ++i)
    inputs.push_back(indicesAlong(body, shape, i, type));
  llvm::append_range(inputs, body.allOf(captures));
  Attrs attrs;
  attrs.append("f", body.func(*name));
  Value made =
      body.node("PartitionedCall", inputs, UnrankedTensorType::get(type.getElementType()), attrs);
  return done(body, op, body.node("BroadcastTo", {made, shape}, type));
}

/// Converts tensor.pad with a single padding value.
static LogicalResult readTensorPad(BodyConverter &body, Operation *op) {
  Block &block = op->getRegion(0).front();
  Value padding = block.back().getOperand(0);
  bool isOutside = padding.getParentBlock() != &block;
  if (!isOutside && (!padding.getDefiningOp() || body.read(padding.getDefiningOp()).failed()))
    return unimplementedOp(op) << " with values that depend on the position";
  ValueRange operands = op->getOperands().drop_front();
  Value low = mixedValues(body, numbers(op, "static_low"), operands);
  Value high = mixedValues(body, numbers(op, "static_high"), operands);
  auto type = cast<RankedTensorType>(body.resultType(op));
  Attrs attrs;
  attrs.append("axis", body.builder.getI64IntegerAttr(1));
  Value both =
      body.node("Pack", {low, high},
                RankedTensorType::get({type.getRank(), 2}, body.builder.getI64Type()), attrs);
  return done(body, op, body.node("PadV2", {input(body, op, 0), both, body.of(padding)}, type));
}

/// Returns a tensor that is written before it is read, or a copy of another one.
static LogicalResult readAlloc(BodyConverter &body, Operation *op) {
  auto segments = op->getAttrOfType<DenseI32ArrayAttr>("operandSegmentSizes");
  bool isCopy = segments && segments.size() > 1 && segments[1];
  return isCopy ? done(body, op, body.of(op->getOperand(segments[0]))) : readEmpty(body, op);
}

static constexpr ConverterRow shapeOps[] = {
    {"bufferization.alloc_tensor", readAlloc},
    {"tensor.bitcast", readBitcast},
    {"tensor.generate", readGenerate},
    {"tensor.pad", readTensorPad},
    {"tensor.empty", readEmpty},
    {"tensor.splat", readSplat},
    {"tensor.insert", readInsert},
    {"tensor.extract_slice", readExtractSlice},
    {"tensor.insert_slice", readInsertSlice},
    {"tensor.expand_shape", readShapeChange},
    {"tensor.collapse_shape", readShapeChange},
    {"tensor.reshape", readReshape},
    {"tensor.concat", readConcat},
};

ArrayRef<ConverterRow> hlo::tensorRows() { return shapeOps; }
