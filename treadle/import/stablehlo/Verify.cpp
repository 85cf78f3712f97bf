// What the types of a program must fulfil, said at the op's place in the text instead of by the
// kernel that stumbles over it.
#include "treadle/dialect/stablehlo/StableHlo.h"
#include "treadle/import/bytecode/VhloOps.h"
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

namespace {

using Check = LogicalResult (*)(Operation *);

//===----------------------------------------------------------------------===//
// Types that fit
//===----------------------------------------------------------------------===//

RankedTensorType shaped(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool fits(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

bool fits(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return fits(std::get<0>(pair), std::get<1>(pair));
         });
}

/// Values of unknown rank, or of types that have no shape, fit any.
bool haveSameShape(Value a, Value b) {
  RankedTensorType x = shaped(a), y = shaped(b);
  return !x || !y || fits(x.getShape(), y.getShape());
}

InFlightDiagnostic complain(Operation *op) {
  return op->emitError("'") << op->getName().getStringRef() << "': ";
}

LogicalResult expectOperands(Operation *op, unsigned count) {
  if (op->getNumOperands() == count && op->getNumResults() == 1)
    return success();
  return complain(op) << "it has " << op->getNumOperands() << " operands and "
                      << op->getNumResults() << " results, expected " << count << " and 1";
}

LogicalResult expectAttr(Operation *op, StringRef name) {
  if (op->hasAttr(name))
    return success();
  return complain(op) << "attribute '" << name << "' is missing";
}

/// The numbers of an attribute, as many as the operand has dimensions.
LogicalResult expectForEachDim(Operation *op, StringRef name) {
  RankedTensorType type = shaped(op->getOperand(0));
  if (failed(expectAttr(op, name)))
    return failure();
  size_t count = numbers(op, name).size();
  if (!type || count == static_cast<size_t>(type.getRank()))
    return success();
  return complain(op) << name << " has " << count << " numbers, expected one for each of the "
                      << type.getRank() << " dimensions of " << Type(type);
}

LogicalResult expectShape(Operation *op, ArrayRef<int64_t> expected, unsigned index = 0) {
  RankedTensorType type = shaped(op->getResult(index));
  if (!type || fits(type.getShape(), expected))
    return success();
  Type wanted = RankedTensorType::get(expected, type.getElementType());
  return complain(op) << "its result is " << Type(type) << ", expected " << wanted;
}

LogicalResult expectElement(Operation *op, Type expected) {
  Type found = elementOf(op->getResult(0).getType());
  if (found == expected)
    return success();
  return complain(op) << "its result is of " << found << ", expected " << expected;
}

LogicalResult expectDim(Operation *op, int64_t dim, int64_t rank, StringRef what) {
  if (dim >= 0 && dim < rank)
    return success();
  return complain(op) << what << " is " << dim << ", expected one of " << rank << " dimensions";
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

LogicalResult sameTypes(Operation *op, unsigned first) {
  Value one = op->getOperand(first);
  for (unsigned i = first + 1; i < op->getNumOperands(); ++i) {
    Value other = op->getOperand(i);
    if (elementOf(one.getType()) != elementOf(other.getType()) || !haveSameShape(one, other))
      return complain(op) << "operand " << i << " is " << other.getType() << ", but operand "
                          << first << " is " << one.getType();
  }
  if (haveSameShape(one, op->getResult(0)))
    return success();
  return complain(op) << "its result is " << op->getResult(0).getType() << ", but operand " << first
                      << " is " << one.getType();
}

template <unsigned count> LogicalResult checkElementwise(Operation *op) {
  if (failed(expectOperands(op, count)) || failed(sameTypes(op, 0)))
    return failure();
  return expectElement(op, elementOf(op->getOperand(0).getType()));
}

LogicalResult checkConvert(Operation *op) {
  return failed(expectOperands(op, 1)) ? failure() : sameTypes(op, 0);
}

LogicalResult checkCompare(Operation *op) {
  if (failed(expectOperands(op, 2)) || failed(sameTypes(op, 0)))
    return failure();
  return expectElement(op, IntegerType::get(op->getContext(), 1));
}

/// Whether operand `i` is a scalar, or of the shape of the result.
LogicalResult expectScalarOrShape(Operation *op, unsigned i) {
  RankedTensorType type = shaped(op->getOperand(i));
  if (!type || type.getRank() == 0 || haveSameShape(op->getOperand(i), op->getResult(0)))
    return success();
  return complain(op) << "operand " << i << " is " << Type(type) << ", expected a scalar or the "
                      << "shape of " << op->getResult(0).getType();
}

LogicalResult checkSelect(Operation *op) {
  if (failed(expectOperands(op, 3)) || failed(sameTypes(op, 1)))
    return failure();
  if (Type flag = elementOf(op->getOperand(0).getType()); !isBool(flag))
    return complain(op) << "operand 0 is of " << flag << ", expected i1";
  return expectScalarOrShape(op, 0);
}

LogicalResult checkClamp(Operation *op) {
  if (failed(expectOperands(op, 3)) || failed(expectScalarOrShape(op, 0)) ||
      failed(expectScalarOrShape(op, 2)))
    return failure();
  if (haveSameShape(op->getOperand(1), op->getResult(0)))
    return success();
  return complain(op) << "its result is " << op->getResult(0).getType() << ", but operand 1 is "
                      << op->getOperand(1).getType();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

LogicalResult checkBroadcast(Operation *op) {
  if (failed(expectOperands(op, 1)) || failed(expectForEachDim(op, "broadcast_dimensions")))
    return failure();
  RankedTensorType from = shaped(op->getOperand(0)), to = shaped(op->getResult(0));
  if (!from || !to)
    return success();
  for (auto [i, dim] : llvm::enumerate(numbers(op, "broadcast_dimensions"))) {
    if (failed(expectDim(op, dim, to.getRank(), "a number of broadcast_dimensions")))
      return failure();
    if (from.getDimSize(i) != 1 && !fits(from.getDimSize(i), to.getDimSize(dim)))
      return complain(op) << "dimension " << i << " of " << Type(from) << " is neither 1 nor of "
                          << "the size of dimension " << dim << " of " << Type(to);
  }
  return expectElement(op, from.getElementType());
}

LogicalResult checkReshape(Operation *op) {
  if (failed(expectOperands(op, 1)))
    return failure();
  RankedTensorType from = shaped(op->getOperand(0)), to = shaped(op->getResult(0));
  if (!from || !to)
    return success();
  if (from.hasStaticShape() && to.hasStaticShape() && from.getNumElements() != to.getNumElements())
    return complain(op) << Type(from) << " has " << from.getNumElements() << " elements, but "
                        << Type(to) << " " << to.getNumElements();
  return expectElement(op, from.getElementType());
}

LogicalResult checkTranspose(Operation *op) {
  if (failed(expectOperands(op, 1)) || failed(expectForEachDim(op, "permutation")))
    return failure();
  RankedTensorType from = shaped(op->getOperand(0));
  SmallVector<int64_t> expected;
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t dim : numbers(op, "permutation")) {
    if (!from)
      return success();
    if (failed(expectDim(op, dim, from.getRank(), "a number of permutation")))
      return failure();
    if (!seen.insert(dim).second)
      return complain(op) << "permutation has " << dim << " twice";
    expected.push_back(from.getDimSize(dim));
  }
  return expectShape(op, expected);
}

LogicalResult checkConcatenate(Operation *op) {
  if (op->getNumOperands() == 0)
    return complain(op) << "it has no operands";
  RankedTensorType first = shaped(op->getOperand(0));
  int64_t dim = numberOr(op, "dimension", -1);
  if (!first)
    return success();
  if (failed(expectDim(op, dim, first.getRank(), "dimension")))
    return failure();
  SmallVector<int64_t> sum(first.getShape());
  for (Value operand : op->getOperands().drop_front()) {
    RankedTensorType type = shaped(operand);
    if (!type)
      return success();
    SmallVector<int64_t> others(type.getShape());
    if (type.getRank() != first.getRank())
      return complain(op) << Type(type) << " and " << Type(first) << " have other ranks";
    bool isKnown = !ShapedType::isDynamic(sum[dim]) && !ShapedType::isDynamic(others[dim]);
    sum[dim] = isKnown ? sum[dim] + others[dim] : ShapedType::kDynamic;
    others[dim] = sum[dim];
    if (!fits(others, sum))
      return complain(op) << Type(type) << " and " << Type(first) << " differ in more than "
                          << "dimension " << dim;
  }
  return expectShape(op, sum);
}

LogicalResult checkSlice(Operation *op) {
  if (failed(expectOperands(op, 1)) || failed(expectForEachDim(op, "start_indices")) ||
      failed(expectForEachDim(op, "limit_indices")))
    return failure();
  RankedTensorType from = shaped(op->getOperand(0));
  SmallVector<int64_t> starts = numbers(op, "start_indices"), limits = numbers(op, "limit_indices"),
                       strides = numbersOr(op, "strides", starts.size(), 1), expected;
  if (!from || strides.size() != starts.size())
    return success();
  for (auto [i, size] : llvm::enumerate(from.getShape())) {
    bool isOutside = !ShapedType::isDynamic(size) && limits[i] > size;
    if (starts[i] < 0 || limits[i] < starts[i] || isOutside || strides[i] < 1)
      return complain(op) << "[" << starts[i] << ":" << limits[i] << ":" << strides[i]
                          << "] is no part of dimension " << i << " of " << Type(from);
    expected.push_back((limits[i] - starts[i] + strides[i] - 1) / strides[i]);
  }
  return expectShape(op, expected);
}

LogicalResult checkPad(Operation *op) {
  if (failed(expectOperands(op, 2)))
    return failure();
  for (StringRef name : {"edge_padding_low", "edge_padding_high", "interior_padding"})
    if (failed(expectForEachDim(op, name)))
      return failure();
  RankedTensorType from = shaped(op->getOperand(0));
  if (!from)
    return success();
  SmallVector<int64_t> low = numbers(op, "edge_padding_low"), expected,
                       high = numbers(op, "edge_padding_high"),
                       interior = numbers(op, "interior_padding");
  for (auto [i, size] : llvm::enumerate(from.getShape())) {
    bool isDynamic = ShapedType::isDynamic(size);
    int64_t spread = size ? size + (size - 1) * interior[i] : 0;
    expected.push_back(isDynamic ? ShapedType::kDynamic : low[i] + spread + high[i]);
  }
  return expectShape(op, expected);
}

LogicalResult checkIota(Operation *op) {
  RankedTensorType type = op->getNumResults() == 1 ? shaped(op->getResult(0)) : RankedTensorType();
  return type ? expectDim(op, numberOr(op, "iota_dimension", -1), type.getRank(), "iota_dimension")
              : success();
}

LogicalResult checkDynamicSlice(Operation *op) {
  RankedTensorType from = op->getNumOperands() ? shaped(op->getOperand(0)) : RankedTensorType();
  unsigned before = op->getName().stripDialect() == "dynamic_slice" ? 1 : 2;
  size_t count = op->getNumOperands() - std::min(before, op->getNumOperands());
  if (!from)
    return success();
  RankedTensorType first = count == 1 ? shaped(op->getOperand(before)) : RankedTensorType();
  bool isVector = first && first.getRank() == 1; // as old programs have it
  if (!isVector && count != static_cast<size_t>(from.getRank()))
    return complain(op) << "it has " << count << " indices, expected one for each of the "
                        << from.getRank() << " dimensions of " << Type(from);
  return success();
}

//===----------------------------------------------------------------------===//
// Products and reductions
//===----------------------------------------------------------------------===//

LogicalResult checkDotGeneral(Operation *op) {
  auto fields = op->getAttrOfType<DictionaryAttr>("dot_dimension_numbers");
  if (failed(expectOperands(op, 2)) || !fields)
    return failed(expectOperands(op, 2)) ? failure() : expectAttr(op, "dot_dimension_numbers");
  RankedTensorType a = shaped(op->getOperand(0)), b = shaped(op->getOperand(1));
  if (!a || !b)
    return success();
  for (StringRef kind : {"batching_dimensions", "contracting_dimensions"}) {
    SmallVector<int64_t> left = fieldNumbers(fields, ("lhs_" + kind).str()),
                         right = fieldNumbers(fields, ("rhs_" + kind).str());
    if (left.size() != right.size())
      return complain(op) << left.size() << " and " << right.size() << " " << kind
                          << ", expected as many of both operands";
    for (auto [i, j] : llvm::zip(left, right)) {
      if (failed(expectDim(op, i, a.getRank(), kind)) ||
          failed(expectDim(op, j, b.getRank(), kind)))
        return failure();
      if (!fits(a.getDimSize(i), b.getDimSize(j)))
        return complain(op) << "dimension " << i << " of " << Type(a) << " and dimension " << j
                            << " of " << Type(b) << " have other sizes";
    }
  }
  return success();
}

LogicalResult checkReduce(Operation *op) {
  RankedTensorType from = op->getNumOperands() ? shaped(op->getOperand(0)) : RankedTensorType();
  if (failed(expectAttr(op, "dimensions")))
    return failure();
  if (!from || op->getNumResults() == 0)
    return success();
  SmallVector<int64_t> dims = numbers(op, "dimensions"), expected;
  for (int64_t dim : dims)
    if (failed(expectDim(op, dim, from.getRank(), "a number of dimensions")))
      return failure();
  for (auto [i, size] : llvm::enumerate(from.getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      expected.push_back(size);
  return expectShape(op, expected);
}

//===----------------------------------------------------------------------===//
// Loops and conditionals
//===----------------------------------------------------------------------===//

/// Whether a list of types is the other, but for sizes that either leaves open.
bool fit(TypeRange a, TypeRange b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           auto x = dyn_cast<RankedTensorType>(std::get<0>(pair)),
                y = dyn_cast<RankedTensorType>(std::get<1>(pair));
           bool sameElement = elementOf(std::get<0>(pair)) == elementOf(std::get<1>(pair));
           return sameElement && (!x || !y || fits(x.getShape(), y.getShape()));
         });
}

LogicalResult expectTypes(Operation *op, StringRef what, TypeRange found, TypeRange expected) {
  if (fit(found, expected))
    return success();
  return complain(op) << what << " (" << found << "), expected (" << expected << ")";
}

bool isFilled(Region &region) { return llvm::hasSingleElement(region) && !region.front().empty(); }

LogicalResult checkWhile(Operation *op) {
  if (op->getNumRegions() != 2 || !llvm::all_of(op->getRegions(), isFilled))
    return complain(op) << "it has " << op->getNumRegions() << " regions, expected a condition "
                        << "and a body of one block each";
  Block &test = op->getRegion(0).front(), &body = op->getRegion(1).front();
  TypeRange carried = op->getOperandTypes();
  if (failed(expectTypes(op, "its results are", op->getResultTypes(), carried)) ||
      failed(expectTypes(op, "its condition takes", test.getArgumentTypes(), carried)) ||
      failed(expectTypes(op, "its body takes", body.getArgumentTypes(), carried)) ||
      failed(expectTypes(op, "its body gives", body.back().getOperandTypes(), carried)))
    return failure();
  Type flag = RankedTensorType::get({}, IntegerType::get(op->getContext(), 1));
  return expectTypes(op, "its condition gives", test.back().getOperandTypes(), flag);
}

LogicalResult checkConditional(Operation *op) {
  for (Region &region : op->getRegions()) {
    if (!isFilled(region))
      return complain(op) << "a branch is empty, expected one block";
    if (failed(expectTypes(op, "a branch gives", region.front().back().getOperandTypes(),
                           op->getResultTypes())))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

constexpr StringRef unaryOps[] = {"cbrt",
                                  "ceil",
                                  "cosine",
                                  "count_leading_zeros",
                                  "exponential",
                                  "exponential_minus_one",
                                  "floor",
                                  "log",
                                  "log_plus_one",
                                  "logistic",
                                  "negate",
                                  "not",
                                  "popcnt",
                                  "round_nearest_afz",
                                  "round_nearest_even",
                                  "rsqrt",
                                  "sign",
                                  "sine",
                                  "sqrt",
                                  "tan",
                                  "tanh"};
constexpr StringRef binaryOps[] = {"add",
                                   "and",
                                   "atan2",
                                   "divide",
                                   "maximum",
                                   "minimum",
                                   "multiply",
                                   "or",
                                   "power",
                                   "remainder",
                                   "shift_left",
                                   "shift_right_arithmetic",
                                   "shift_right_logical",
                                   "subtract",
                                   "xor"};

struct CheckRow {
  StringRef op;
  Check check;
};
constexpr CheckRow otherOps[] = {
    {"broadcast_in_dim", checkBroadcast},
    {"case", checkConditional},
    {"clamp", checkClamp},
    {"compare", checkCompare},
    {"concatenate", checkConcatenate},
    {"convert", checkConvert},
    {"dot_general", checkDotGeneral},
    {"dynamic_iota", checkIota},
    {"dynamic_slice", checkDynamicSlice},
    {"dynamic_update_slice", checkDynamicSlice},
    {"if", checkConditional},
    {"iota", checkIota},
    {"pad", checkPad},
    {"reduce", checkReduce},
    {"reshape", checkReshape},
    {"select", checkSelect},
    {"slice", checkSlice},
    {"transpose", checkTranspose},
    {"while", checkWhile},
};

const llvm::StringMap<Check> &checks() {
  static const llvm::StringMap<Check> table = [] {
    llvm::StringMap<Check> rows;
    for (StringRef op : unaryOps)
      rows[op] = checkElementwise<1>;
    for (StringRef op : binaryOps)
      rows[op] = checkElementwise<2>;
    for (const CheckRow &row : otherOps)
      rows[row.op] = row.check;
    return rows;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// Those of an op that is none of StableHLO's; empty where its reader looks at them.
StringRef countsOfOther(StringRef name) {
  if (name == "scan" || name == "ragged_dot")
    return "";
  if (name == "broadcast_select")
    return "3 1 0";
  if (name.starts_with("broadcast_") ||
      llvm::is_contained({"next_after", "polygamma", "zeta", "mulhi"}, name))
    return "2 1 0";
  return name == "top_k" || name == "topk" ? "1 2 0" : "1 1 0";
}

/// The specification's counts of operands, results and regions. Of conditionals there is an older
/// form, which has more operands.
LogicalResult checkCounts(Operation *op) {
  StringRef name = op->getName().stripDialect(), counts = bytecode::countsOf(name);
  if (name == "if" || name == "case" || name == "custom_call" || name == "return")
    return success();
  if (counts.empty())
    counts = countsOfOther(name);
  if (counts.empty())
    return success();
  SmallVector<StringRef> expected;
  counts.split(expected, ' ');
  for (auto [what, count, number] :
       {std::tuple("operands", static_cast<size_t>(op->getNumOperands()), expected[0]),
        std::tuple("results", static_cast<size_t>(op->getNumResults()), expected[1]),
        std::tuple("regions", static_cast<size_t>(op->getNumRegions()), expected[2])})
    if (!bytecode::fitsCount(number, count))
      return complain(op) << "it has " << count << ' ' << what << ", expected " << number;
  return success();
}

/// Whether an op is read without looking at the ranks of its values.
bool takesAnyRank(StringRef name) {
  return llvm::is_contained(unaryOps, name) || llvm::is_contained(binaryOps, name) ||
         llvm::is_contained({"abs", "case", "clamp", "compare", "complex", "composite", "constant",
                             "convert", "custom_call", "dynamic_reshape", "if", "imag", "is_finite",
                             "optimization_barrier", "real", "reduce_precision", "select", "while"},
                            name);
}

LogicalResult checkRanks(Operation *op) {
  auto isUnranked = [](Type type) { return isa<UnrankedTensorType>(type); };
  if ((llvm::any_of(op->getOperandTypes(), isUnranked) ||
       llvm::any_of(op->getResultTypes(), isUnranked)) &&
      !takesAnyRank(op->getName().stripDialect()))
    return unimplementedOp(op) << " of values of unknown rank";
  return success();
}

bool isKnownElement(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return llvm::is_contained({1U, 2U, 4U, 8U, 16U, 32U, 64U}, integer.getWidth());
  if (auto complex = dyn_cast<ComplexType>(element))
    return complex.getElementType().isF32() || complex.getElementType().isF64();
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type, Float8E4M3FNType, Float8E5M2Type,
             Float8E4M3FNUZType, Float8E4M3B11FNUZType, Float8E5M2FNUZType, IndexType, NoneType>(
      element);
}

/// Whether a tensor can be of the type: one that numbers can have, and a token's.
bool isKnown(Type type) {
  bool isTensor = isa<RankedTensorType, UnrankedTensorType>(type);
  return isKnownElement(isTensor ? elementOf(type) : type);
}

} // namespace

LogicalResult hlo::verifyTypes(Operation *op, TypeRange types) {
  for (Type type : types)
    if (!isKnown(type))
      return unimplementedOp(op) << " with values of type " << type;
  return success();
}

LogicalResult hlo::verifyOp(Operation *op) {
  if (failed(verifyTypes(op, op->getResultTypes())))
    return failure();
  for (Region &region : op->getRegions())
    if (!region.empty() && failed(verifyTypes(op, region.front().getArgumentTypes())))
      return failure();
  if (!stablehlo::isHlo(op))
    return success();
  if (failed(checkCounts(op)))
    return failure();
  if (op->getName().getDialectNamespace() == "chlo")
    return success();
  if (failed(checkRanks(op)))
    return failure();
  Check check = checks().lookup(op->getName().stripDialect());
  return check ? check(op) : success();
}
