// Translates elementwise ops to one loop nest each, which are fused later.
#include "treadle/analysis/shapes/NodeShapes.h"
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/FastMath.h"
#include "treadle/codegen/Translator.h"
#include "treadle/ops/OpTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace treadle::codegen {

/// Computes a small tensor, one scalar per element.
std::optional<TracedValue> Translator::inRegisters(ArrayRef<TracedValue> inputs,
                                                   ArrayRef<int64_t> shape, Type result,
                                                   const KnownValue &known, Compute compute) {
  auto type = RankedTensorType::get(shape, result);
  if (!isSmall(type))
    return std::nullopt;
  SmallVector<SmallVector<Value>> operands;
  SmallVector<SmallVector<int64_t>> strides; // 0 along broadcast dimensions
  for (const TracedValue &input : inputs) {
    std::optional<SmallVector<Value>> own = elementsOf(input);
    if (!own)
      return std::nullopt;
    operands.push_back(std::move(*own));
    SmallVector<int64_t> sizes(shape.size(), 1);
    if (auto tensor = dyn_cast<RankedTensorType>(input.value.getType()))
      llvm::copy(tensor.getShape(), sizes.end() - tensor.getRank());
    SmallVector<int64_t> steps = computeStrides(sizes);
    for (auto [step, size] : llvm::zip(steps, sizes))
      step = size == 1 ? 0 : step;
    strides.push_back(std::move(steps));
  }
  if (!mayUnroll(type.getNumElements()))
    return std::nullopt;
  FastMathScope scope(b, options.fastMath);
  SmallVector<Value> elements;
  SmallVector<int64_t> places = computeStrides(shape);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<int64_t> at = delinearize(i, places);
    SmallVector<Value> scalars;
    for (auto [own, steps] : llvm::zip(operands, strides))
      scalars.push_back(own[linearize(at, steps)]);
    elements.push_back(compute(b, loc, scalars));
  }
  return small(elements, shape, result, known);
}

namespace {

/// Derives from a graph where integers can't be zero.
class NeverZero {
public:
  explicit NeverZero(tfg::Constants &constants) : constants(constants) {}

  bool isTrueOf(Value value) {
    if (Tensor constant = constants.valueOf(value))
      return hasNoZero(constant);
    tfg::Node node = tfg::definingNode(value);
    if (!node)
      return false;
    StringRef form = formOf(node);
    if (form == "identity" || node.opType() == "Reshape" || node.opType() == "BroadcastTo")
      return isTrueOf(node.data()[0]);
    return form == "select" && isTrueOf(node.data()[1]) &&
           holdsForZeros(node.data()[0], node.data()[2]);
  }

private:
  static StringRef formOf(tfg::Node node) {
    const OpDef *def = lookupOp(node.opType());
    return def ? def->elementwise() : std::string_view();
  }

  /// Whether a condition is true wherever `value` is zero.
  bool holdsForZeros(Value condition, Value value) {
    tfg::Node node = tfg::definingNode(condition);
    StringRef form = node ? formOf(node) : StringRef();
    if (form == "logical_or")
      return holdsForZeros(node.data()[0], value) || holdsForZeros(node.data()[1], value);
    return form == "equal" && node.data()[0] == value && isZero(node.data()[1]);
  }

  bool isZero(Value value) {
    std::optional<SmallVector<int64_t>> elements = constants.integersOf(value);
    return elements && llvm::all_of(*elements, [](int64_t element) { return element == 0; });
  }

  static bool hasNoZero(const Tensor &constant) {
    std::span<const char> bytes(static_cast<const char *>(constant.raw()), constant.bytes());
    size_t size = constant.count() ? bytes.size() / static_cast<size_t>(constant.count()) : 1;
    for (size_t i = 0; i < bytes.size(); i += size)
      if (llvm::all_of(bytes.subspan(i, size), [](char byte) { return byte == 0; }))
        return false;
    return true;
  }

  tfg::Constants &constants;
};

} // namespace

/// Translates an elementwise op. Returns nullopt if the node isn't a supported one.
MaybeValues Translator::elementwise(tfg::Node node, const Values &inputs) {
  if (node.numResults() != 1 || inputs.empty())
    return std::nullopt;
  SmallVector<Type> elements;
  for (const TracedValue &input : inputs)
    elements.push_back(elementOf(input.value.getType()));
  bool isNativeResult = isNative(elementType(node->getResult(0)));
  const ElementwiseOp *op = isNativeResult ? findElementwise(node, elements) : nullptr;
  return op ? elementwise(*op, node, inputs) : MaybeValues(std::nullopt);
}

MaybeValues Translator::elementwise(const ElementwiseOp &op, tfg::Node node, const Values &inputs) {
  Type result = elementType(node->getResult(0));
  auto apply = [&](OpBuilder &b, Location loc, ValueRange scalars) {
    return op.apply(b, loc, scalars, result);
  };
  auto applyToMany = [&](OpBuilder &b, Location loc, ValueRange scalars) {
    return op.apply(b, loc, scalars, result, /*isOfMany=*/true);
  };
  if (op.dividesIntegers && isa<IntegerType>(elementOf(inputs.back().value.getType())) &&
      !NeverZero(constants).isTrueOf(node.data().back())) {
    if (mustNotBail)
      return std::nullopt;
    checkNoZeros(inputs.back());
  }
  std::optional<TracedValue> made = map(inputs, result, outcome(node, inputs), apply, applyToMany);
  return made ? MaybeValues(Values{std::move(*made)}) : std::nullopt;
}

std::optional<TracedValue> Translator::map(ArrayRef<TracedValue> inputs, Type result,
                                           KnownValue outcome, Compute compute, Compute many) {
  int64_t rank = 0;
  for (const TracedValue &input : inputs) {
    Type type = input.value.getType();
    if (isa<UnrankedTensorType>(type))
      return std::nullopt;
    if (auto ranked = dyn_cast<RankedTensorType>(type))
      rank = std::max(rank, ranked.getRank());
  }
  SmallVector<Value> values, uniform; // null: elements may differ
  for (const TracedValue &input : inputs) {
    values.push_back(input.value);
    uniform.push_back(scalarOf(input));
  }
  bool areUniform = !llvm::is_contained(uniform, nullptr);
  if (llvm::none_of(values, [](Value value) { return isTensor(value.getType()); })) {
    FastMathScope scope(b, options.fastMath);
    return TracedValue{compute(b, loc, values), std::move(outcome)};
  }
  SmallVector<int64_t> shape(rank, 1);
  SmallVector<Value> sizes(rank);
  // The first input whose dimension may differ from 1 determines the size.
  for (Value value : values)
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (int64_t i = 0; i < type.getRank(); ++i) {
        int64_t at = rank - type.getRank() + i, size = type.getDimSize(i);
        if (size == 1)
          continue;
        if (!sizes[at]) {
          sizes[at] = dim(value, i);
          shape[at] = size;
          continue;
        }
        bool isKnown = size != ShapedType::kDynamic;
        if (isKnown && shape[at] != ShapedType::kDynamic && shape[at] != size)
          return std::nullopt; // invalid: the kernel reports it
        Value own = dim(value, i);
        if (own != sizes[at] && !(isKnown && shape[at] == size))
          check(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, own, sizes[at]));
        if (isKnown) {
          sizes[at] = own;
          shape[at] = size;
        }
      }
  if (std::optional<TracedValue> small = inRegisters(inputs, shape, result, outcome, compute))
    return small;
  for (Value &size : sizes)
    size = size ? size : index(1);
  if (areUniform) {
    FastMathScope scope(b, options.fastMath);
    return filled(sizes, compute(b, loc, uniform), std::move(outcome));
  }
  SmallVector<AffineMap> maps;
  SmallVector<Value> operands;
  for (auto [value, scalar] : llvm::zip(values, uniform)) {
    if (scalar)
      continue; // used without broadcasting
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0; i < type.getRank(); ++i) {
      int64_t at = rank - type.getRank() + i;
      bool isRepeated = type.getDimSize(i) == 1 && shape[at] != 1;
      exprs.push_back(isRepeated ? b.getAffineConstantExpr(0) : b.getAffineDimExpr(at));
    }
    maps.push_back(AffineMap::get(rank, 0, exprs, b.getContext()));
    operands.push_back(value);
  }
  maps.push_back(b.getMultiDimIdentityMap(rank));
  SmallVector<Value> dynamic;
  for (int64_t i = 0; i < rank; ++i)
    if (shape[i] == ShapedType::kDynamic)
      dynamic.push_back(sizes[i]);
  Value empty = tensor::EmptyOp::create(b, loc, shape, result, dynamic);
  auto generic = linalg::GenericOp::create(
      b, loc, TypeRange(empty.getType()), operands, ValueRange(empty), maps,
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location at, ValueRange arguments) {
        SmallVector<Value> scalars;
        size_t next = 0;
        for (Value scalar : uniform)
          scalars.push_back(scalar ? scalar : arguments[next++]);
        FastMathScope scope(inner, options.fastMath);
        linalg::YieldOp::create(inner, at, many(inner, at, scalars));
      });
  Value out = generic.getResult(0);
  for (int64_t i = 0; i < rank; ++i)
    if (shape[i] == ShapedType::kDynamic)
      dims[{out, i}] = sizes[i];
  outcome.shape = meet(outcome.shape, tfg::shapeOf(out.getType()));
  return TracedValue{out, std::move(outcome)};
}

} // namespace treadle::codegen
