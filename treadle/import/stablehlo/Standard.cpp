// arith, math and tensor: the ops of programs that aren't only StableHLO. Scalars are tensors of no
// dimensions, and an index is 64 bits.
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

static LogicalResult done(Body &body, Operation *op, Value value) {
  body.map(op->getResult(0), value);
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {

/// An op of arith or math that is one op; `ofBool` for i1, empty if there is none.
struct Plain {
  StringRef op, name, ofBool;
};

constexpr Plain plain[] = {
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

static LogicalResult readPlain(Body &body, Operation *op) {
  StringRef name = op->getName().getStringRef();
  const Plain *row = llvm::find_if(plain, [&](const Plain &p) { return p.op == name; });
  Value last = input(body, op, op->getNumOperands() - 1);
  StringRef node = isBool(elementOf(last)) ? row->ofBool : row->name;
  if (node.empty())
    return unimplemented(op) << " of i1";
  return done(body, op, body.node(node, body.allOf(op->getOperands()), body.resultType(op)));
}

static Type unsignedOf(Type element) {
  return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth(),
                          IntegerType::Unsigned);
}

static Value bitsAs(Body &body, Value x, Type element) {
  return elementOf(x) == element ? x : body.likeOf("Bitcast", x, element);
}

/// The op of unsigned numbers that have the same bits.
template <const char *name> static LogicalResult readUnsigned(Body &body, Operation *op) {
  Value a = input(body, op, 0), b = input(body, op, 1);
  Type element = elementOf(a);
  if (isBool(element))
    return unimplemented(op) << " of i1";
  Type other = unsignedOf(element);
  Value result = body.like(name, {bitsAs(body, a, other), bitsAs(body, b, other)});
  return done(body, op, bitsAs(body, result, element));
}
static constexpr char divOp[] = "TruncateDiv", maxOp[] = "Maximum", minOp[] = "Minimum",
                      shiftOp[] = "RightShift";

static LogicalResult readUnsignedRemainder(Body &body, Operation *op) {
  Value a = input(body, op, 0), b = input(body, op, 1);
  Type element = elementOf(a);
  if (isBool(element))
    return unimplemented(op) << " of i1";
  Type other = unsignedOf(element);
  Value x = bitsAs(body, a, other), y = bitsAs(body, b, other);
  Value whole = body.like("Mul", {body.like("TruncateDiv", {x, y}), y});
  return done(body, op, bitsAs(body, body.like("Sub", {x, whole}), element));
}

/// fma(a, b, c), rounded twice.
static LogicalResult readFma(Body &body, Operation *op) {
  Value product = body.like("Mul", {input(body, op, 0), input(body, op, 1)});
  return done(body, op, body.like("AddV2", {product, input(body, op, 2)}));
}

/// -floor(-a / b)
static LogicalResult readCeilDiv(Body &body, Operation *op) {
  Value down = body.like("FloorDiv", {body.like("Neg", input(body, op, 0)), input(body, op, 1)});
  return done(body, op, body.like("Neg", down));
}

static LogicalResult readCompareIntegers(Body &body, Operation *op) {
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
    std::swap(inputs[0], inputs[1]); // a signed bit that is set is -1
  return done(body, op, body.node(names[predicate], inputs, body.resultType(op)));
}

/// Those that are false where a number is none, and `une`, which is true there.
static LogicalResult readCompareFloats(Body &body, Operation *op) {
  static constexpr StringRef names[] = {
      "", "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "", "", "", "",
      "", "",      "",        "NotEqual",     "",     ""};
  StringRef name = names[numberOr(op, "predicate", 0)];
  if (name.empty())
    return unimplemented(op) << " of this predicate; expected oeq, ogt, oge, olt, ole or une";
  return done(body, op, body.node(name, body.allOf(op->getOperands()), body.resultType(op)));
}

static LogicalResult readCast(Body &body, Operation *op) {
  return done(body, op, body.cast(input(body, op, 0), elementOf(body.resultType(op))));
}

/// A bit that is set is -1.
static LogicalResult readSignedExtension(Body &body, Operation *op) {
  Value x = input(body, op, 0);
  bool isBit = isBool(elementOf(x));
  Value wide = body.cast(x, elementOf(body.resultType(op)));
  return done(body, op, isBit ? body.like("Neg", wide) : wide);
}

template <typename ToWide> static LogicalResult readByBits(Body &body, Operation *op, ToWide from) {
  Value x = input(body, op, 0);
  if (!isBool(elementOf(x)))
    x = from(x);
  return done(body, op, body.cast(x, elementOf(body.resultType(op))));
}

static LogicalResult readUnsignedExtension(Body &body, Operation *op) {
  return readByBits(body, op, [&](Value x) { return bitsAs(body, x, unsignedOf(elementOf(x))); });
}

/// The lowest bit is what is left of a number as one bit.
static LogicalResult readTruncation(Body &body, Operation *op) {
  Value x = input(body, op, 0);
  Type to = elementOf(body.resultType(op));
  if (isBool(to))
    x = body.like("BitwiseAnd", {x, body.scalarInt(elementOf(x), 1)});
  return done(body, op, body.cast(x, to));
}

static LogicalResult readBitcast(Body &body, Operation *op) {
  return done(body, op, bitsAs(body, input(body, op, 0), elementOf(body.resultType(op))));
}

static constexpr Row numberRows[] = {
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
    {"arith.bitcast", readBitcast},
    {"math.fma", readFma},
};

ArrayRef<Row> hlo::arithRows() {
  static const SmallVector<Row> all = [] {
    SmallVector<Row> list(std::begin(numberRows), std::end(numberRows));
    for (const Plain &row : plain)
      list.push_back({row.op, readPlain});
    return list;
  }();
  return all;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Offsets, sizes or strides of a slice: numbers that are stated, and operands for the others, in
/// one vector of 64 bits.
static Value mixed(Body &body, ArrayRef<int64_t> stated, ValueRange &operands) {
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

/// The sizes of a tensor of which `operands` give the unknown ones.
static LogicalResult readEmpty(Body &body, Operation *op) {
  auto type = cast<RankedTensorType>(body.resultType(op));
  ValueRange operands = op->getOperands();
  Value shape = mixed(body, type.getShape(), operands);
  Value zero = body.scalarInt(type.getElementType(), 0);
  return done(body, op, body.node("Fill", {shape, zero}, type));
}

static LogicalResult readSplat(Body &body, Operation *op) {
  auto type = cast<RankedTensorType>(body.resultType(op));
  ValueRange operands = op->getOperands().drop_front();
  Value shape = mixed(body, type.getShape(), operands);
  return done(body, op, body.node("Fill", {shape, input(body, op, 0)}, type));
}

/// One element at a computed place.
static LogicalResult readInsert(Body &body, Operation *op) {
  Value element = input(body, op, 0), x = input(body, op, 1);
  if (op->getNumOperands() == 2)
    return done(body, op, body.reshape(element, {}));
  SmallVector<int64_t> ones(op->getNumOperands() - 2, 1),
      unknown(op->getNumOperands() - 2, ShapedType::kDynamic);
  ValueRange operands = op->getOperands().drop_front(2);
  Value at = mixed(body, unknown, operands), update = body.reshape(element, ones);
  return done(body, op, body.node("XlaDynamicUpdateSlice", {x, update, at}, x.getType()));
}

static bool areOnes(ArrayRef<int64_t> numbers) {
  return llvm::all_of(numbers, [](int64_t n) { return n == 1; });
}

/// The slice, of which dimensions of size 1 may be left out.
static LogicalResult readExtractSlice(Body &body, Operation *op) {
  ValueRange operands = op->getOperands().drop_front();
  Value begin = mixed(body, numbers(op, "static_offsets"), operands);
  SmallVector<int64_t> stated = numbers(op, "static_sizes");
  Value size = mixed(body, stated, operands);
  Value x = input(body, op, 0);
  auto type = cast<RankedTensorType>(body.resultType(op));
  if (!areOnes(numbers(op, "static_strides")))
    return unimplemented(op) << " with strides other than 1";
  Value slice =
      body.node("Slice", {x, begin, size}, RankedTensorType::get(stated, type.getElementType()));
  if (static_cast<int64_t>(stated.size()) != type.getRank()) {
    if (llvm::count_if(type.getShape(), ShapedType::isDynamic) > 1)
      return unimplemented(op) << " of lower rank with several unknown sizes";
    slice = body.reshapeTo(slice, type);
  }
  return done(body, op, slice);
}

static LogicalResult readInsertSlice(Body &body, Operation *op) {
  ValueRange operands = op->getOperands().drop_front(2);
  Value begin = mixed(body, numbers(op, "static_offsets"), operands);
  SmallVector<int64_t> stated = numbers(op, "static_sizes");
  Value size = mixed(body, stated, operands);
  if (!areOnes(numbers(op, "static_strides")))
    return unimplemented(op) << " with strides other than 1";
  Value update = input(body, op, 0), x = input(body, op, 1);
  update = body.node("Reshape", {update, size}, RankedTensorType::get(stated, elementOf(update)));
  return done(body, op, body.node("XlaDynamicUpdateSlice", {x, update, begin}, x.getType()));
}

/// expand_shape and collapse_shape of at most one unknown size.
static LogicalResult readShapeChange(Body &body, Operation *op) {
  auto type = cast<RankedTensorType>(body.resultType(op));
  if (llvm::count_if(type.getShape(), ShapedType::isDynamic) > 1)
    return unimplemented(op) << " to a shape with several unknown sizes";
  return done(body, op, body.reshapeTo(input(body, op, 0), type));
}

static LogicalResult readReshape(Body &body, Operation *op) {
  Value shape = body.cast(input(body, op, 1), body.builder.getI64Type());
  return done(body, op, body.node("Reshape", {input(body, op, 0), shape}, body.resultType(op)));
}

static LogicalResult readConcat(Body &body, Operation *op) {
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  if (inputs.size() == 1)
    return done(body, op, inputs[0]);
  inputs.push_back(body.index(numberOr(op, "dim", 0)));
  return done(body, op, body.node("ConcatV2", inputs, body.resultType(op)));
}

static constexpr Row shapeOps[] = {
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

ArrayRef<Row> hlo::tensorRows() { return shapeOps; }
