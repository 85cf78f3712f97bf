#include "treadle/dialect/stablehlo/TypeChecks.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

// --- types --------------------------------------------------------------------------------------

bool stablehlo::fits(int64_t a, int64_t b) { return a == b || isUnknown(a) || isUnknown(b); }

bool stablehlo::fits(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return fits(std::get<0>(pair), std::get<1>(pair));
         });
}

bool stablehlo::haveSameShape(Type a, Type b) {
  auto x = dyn_cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
  return !x || !y || fits(x.getShape(), y.getShape());
}

bool stablehlo::haveSameElement(Type a, Type b) {
  Type x = elementOf(a), y = elementOf(b);
  return x == y || isQuantized(x) || isQuantized(y);
}

bool stablehlo::typesMatch(TypeRange a, TypeRange b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           auto [x, y] = pair;
           return haveSameElement(x, y) && haveSameShape(x, y);
         });
}

std::optional<SmallVector<int64_t>> stablehlo::constantNumbers(Value value) {
  constexpr int64_t most = 64;
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
  return elements && elements.getNumElements() <= most ? std::optional(numbers(elements))
                                                       : std::nullopt;
}

LogicalResult stablehlo::verifySameShapes(Operation *op) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("has no operands");
  Type first = op->getOperand(0).getType();
  for (auto [i, operand] : llvm::enumerate(op->getOperands().drop_front()))
    if (!haveSameShape(operand.getType(), first))
      return op->emitOpError("operand ")
             << i + 1 << " is " << operand.getType() << ", but operand 0 is " << first;
  for (Value result : op->getResults())
    if (!haveSameShape(result.getType(), first))
      return op->emitOpError("its result is ")
             << result.getType() << ", but operand 0 is " << first;
  return success();
}

LogicalResult stablehlo::verifySameTypes(Operation *op) {
  return failure(failed(verifySameShapes(op)) || failed(verifySameElements(op)));
}

LogicalResult stablehlo::verifySameElements(Operation *op) {
  Type first = op->getOperand(0).getType();
  for (auto [i, operand] : llvm::enumerate(op->getOperands().drop_front()))
    if (!haveSameElement(operand.getType(), first))
      return op->emitOpError("operand ")
             << i + 1 << " is " << operand.getType() << ", but operand 0 is " << first;
  for (Value result : op->getResults())
    if (failed(expectElement(op, result, elementOf(first))))
      return failure();
  return success();
}

LogicalResult stablehlo::verifyPairwise(Operation *op) {
  return expectTypes(op, "its results are", op->getResultTypes(), op->getOperandTypes());
}

// --- expectations -------------------------------------------------------------------------------

LogicalResult stablehlo::expectShape(Operation *op, Value result, ArrayRef<int64_t> expected) {
  RankedTensorType type = ranked(result);
  if (!type || fits(type.getShape(), expected))
    return success();
  Type wanted = RankedTensorType::get(expected, type.getElementType());
  return op->emitOpError("its result is ") << type << ", expected " << wanted;
}

LogicalResult stablehlo::expectElement(Operation *op, Value value, Type expected) {
  if (haveSameElement(value.getType(), expected))
    return success();
  return op->emitOpError(isa<OpResult>(value) ? "its result has element type "
                                              : "an operand has element type ")
         << elementOf(value) << ", expected " << expected;
}

LogicalResult stablehlo::expectRank(Operation *op, Value value, StringRef what, int64_t least,
                                    int64_t most) {
  RankedTensorType type = ranked(value);
  if (!type || (type.getRank() >= least && type.getRank() <= most))
    return success();
  InFlightDiagnostic error = op->emitOpError(what) << " is " << Type(type) << ", expected ";
  if (most == 0)
    return error << "a scalar";
  if (least != most)
    return error << (most > least + 1 ? "at least " : "at most ")
                 << (most > least + 1 ? least : most) << " dimensions";
  return error << least << (least == 1 ? " dimension" : " dimensions");
}

LogicalResult stablehlo::expectDim(Operation *op, int64_t dim, int64_t rank, StringRef what) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError(what) << " is " << dim << ", expected one of " << rank << " dimensions";
}

LogicalResult stablehlo::expectDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank,
                                    StringRef what) {
  llvm::SmallSet<int64_t, 8> seen;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return op->emitOpError("an element of ")
             << what << " is " << dim << ", expected one of " << rank << " dimensions";
    if (!seen.insert(dim).second)
      return op->emitOpError(what) << " has " << dim << " twice";
  }
  return success();
}

LogicalResult stablehlo::expectSorted(Operation *op, ArrayRef<int64_t> dims, StringRef what) {
  if (llvm::is_sorted(dims))
    return success();
  return op->emitOpError(what) << " isn't sorted";
}

LogicalResult stablehlo::expectCount(Operation *op, size_t count, size_t expected, StringRef what) {
  if (count == expected)
    return success();
  return op->emitOpError(what) << " has " << count << " numbers, expected " << expected;
}

LogicalResult stablehlo::expectPositive(Operation *op, ArrayRef<int64_t> numbers, StringRef what) {
  const auto *found = llvm::find_if(numbers, [](int64_t number) { return number < 1; });
  if (found == numbers.end())
    return success();
  return op->emitOpError("an element of ") << what << " is " << *found << ", expected 1 or more";
}

LogicalResult stablehlo::expectFields(Operation *op, DictionaryAttr fields,
                                      ArrayRef<StringRef> names) {
  for (NamedAttribute field : fields)
    if (!llvm::is_contained(names, field.getName().strref()) || !areNumbers(field.getValue()))
      return op->emitOpError("its dimension numbers have '")
             << field.getName().strref() << "', expected " << llvm::join(names, ", ")
             << " with numbers";
  return success();
}

LogicalResult stablehlo::expectTypes(Operation *op, StringRef what, TypeRange found,
                                     TypeRange expected) {
  if (typesMatch(found, expected))
    return success();
  return op->emitOpError(what) << " (" << found << "), expected (" << expected << ")";
}

// --- windows ------------------------------------------------------------------------------------

FailureOr<SmallVector<WindowDim>>
stablehlo::windowOf(Operation *op, const WindowAttributes &attributes, size_t rank) {
  SmallVector<WindowDim> dims;
  for (auto [numbers, what] : {std::pair(&attributes.sizes, StringRef("window_dimensions")),
                               std::pair(&attributes.strides, StringRef("window_strides")),
                               std::pair(&attributes.baseDilations, StringRef("base_dilations")),
                               std::pair(&attributes.dilations, StringRef("window_dilations"))})
    if (!numbers->empty() && (failed(expectCount(op, numbers->size(), rank, what)) ||
                              failed(expectPositive(op, *numbers, what))))
      return failure();
  if (!attributes.padding.empty() &&
      failed(expectCount(op, attributes.padding.size(), 2 * rank, "padding")))
    return failure();
  auto at = [](ArrayRef<int64_t> numbers, size_t i, int64_t otherwise) {
    return numbers.empty() ? otherwise : numbers[i];
  };
  for (size_t i = 0; i < rank; ++i)
    dims.push_back({at(attributes.sizes, i, 1), at(attributes.strides, i, 1),
                    at(attributes.padding, 2 * i, 0), at(attributes.padding, 2 * i + 1, 0),
                    at(attributes.baseDilations, i, 1), at(attributes.dilations, i, 1)});
  return dims;
}

// --- regions ------------------------------------------------------------------------------------

/// Whether `to` is a wider type of the same kind, in which elements may be accumulated.
static bool isWidened(Type from, Type to) {
  if (haveSameElement(from, to))
    return true;
  bool areIntegers = isa<IntegerType>(from) && isa<IntegerType>(to) &&
                     from.isUnsignedInteger() == to.isUnsignedInteger();
  bool areFloats = isa<FloatType>(from) && isa<FloatType>(to);
  if (auto x = dyn_cast<ComplexType>(from), y = dyn_cast<ComplexType>(to); x && y)
    return isWidened(x.getElementType(), y.getElementType());
  return (areIntegers || areFloats) && from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
}

LogicalResult stablehlo::expectReducer(Operation *op, Region &region, ArrayRef<Type> elements) {
  Block &block = region.front();
  size_t count = elements.size();
  if (block.getNumArguments() != 2 * count)
    return op->emitOpError("its function takes ")
           << block.getNumArguments() << " values, expected " << 2 * count;
  for (auto [i, argument] : llvm::enumerate(block.getArguments()))
    if (failed(expectRank(op, argument, "an argument of its function", 0)))
      return failure();
    else if (!isWidened(elements[i % count], elementOf(argument)))
      return op->emitOpError("its function takes ")
             << argument.getType() << " for elements of " << elements[i % count];
  return expectTypes(op, "its function returns", block.back().getOperandTypes(),
                     TypeRange(block.getArgumentTypes()).take_front(count));
}
