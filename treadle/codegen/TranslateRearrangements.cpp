// Translates ops that rearrange elements: loops that read a different element than they write,
// which are fused with their users.
#include "treadle/analysis/shapes/NodeShapes.h"
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Translator.h"
#include "treadle/codegen/Writes.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

std::optional<int64_t> constantScalar(Translator &t, const TracedValue &typed) {
  std::optional<SmallVector<Value>> values = t.indices(typed, 0);
  return values && values->size() == 1 ? getConstantIntValue(values->front()) : std::nullopt;
}

int64_t integer(tfg::Node node, StringRef name, int64_t otherwise) {
  auto attr = node.attr<IntegerAttr>(name);
  return attr ? attr.getInt() : otherwise;
}

/// Transposes if the last dimension stays the last, so that rows are read in memory order, or if
/// the tensor is small. Otherwise the kernel is faster, because it works in blocks.
MaybeValues transpose(Translator &t, tfg::Node node, Values inputs) {
  Value from = inputs[0].value;
  auto type = dyn_cast<RankedTensorType>(from.getType());
  std::optional<SmallVector<Value>> order = t.indices(inputs[1]);
  if (!type || !order || type.getRank() < 2 || !isNative(type.getElementType()) ||
      static_cast<int64_t>(order->size()) != type.getRank())
    return std::nullopt;
  SmallVector<int64_t> axes;
  for (Value value : *order) {
    std::optional<int64_t> axis = axisOf(getConstantIntValue(value), type.getRank());
    if (!axis || llvm::is_contained(axes, *axis))
      return std::nullopt;
    axes.push_back(*axis);
  }
  KnownValue known = t.outcome(node, inputs);
  SmallVector<Value> sizes;
  SmallVector<AffineExpr> places(axes.size());
  for (auto [i, axis] : llvm::enumerate(axes)) {
    sizes.push_back(t.dim(from, axis));
    places[axis] = t.b.getAffineDimExpr(static_cast<unsigned>(i));
  }
  SmallVector<int64_t> longAxes;
  llvm::copy_if(axes, std::back_inserter(longAxes),
                [&](int64_t axis) { return type.getDimSize(axis) != 1; });
  if (llvm::is_sorted(longAxes))
    return Values{t.reshape(inputs[0], sizes, std::move(known))};
  if (isSmall(type))
    return Values{t.generate(sizes, type.getElementType(), std::move(known),
                             [&](OpBuilder &b, Location loc, ValueRange at) {
                               SmallVector<Value> place(at.size());
                               for (auto [index, axis] : llvm::zip(at, axes))
                                 place[axis] = index;
                               return t.elementAt(b, loc, inputs[0], place);
                             })};
  if (axes.back() != type.getRank() - 1 && !tfg::isCheapToMove(type))
    return std::nullopt;
  Sizes is(sizes, known.shape);
  auto rank = static_cast<unsigned>(axes.size());
  Value empty = tensor::EmptyOp::create(t.b, t.loc, is.shape, type.getElementType(), is.dynamic);
  auto generic = linalg::GenericOp::create(
      t.b, t.loc, TypeRange(empty.getType()), from, empty,
      ArrayRef(
          {AffineMap::get(rank, 0, places, t.b.getContext()), t.b.getMultiDimIdentityMap(rank)}),
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location at, ValueRange in) {
        linalg::YieldOp::create(inner, at, in[0]);
      });
  Value out = generic.getResult(0);
  for (auto [i, size] : llvm::enumerate(sizes))
    t.dims[{out, i}] = size;
  known.shape = meet(known.shape, tfg::shapeOf(out.getType()));
  return Values{{out, std::move(known)}};
}

/// Checks that indices are below a size. Returns false if that can't be checked.
bool checkIndices(Translator &t, const TracedValue &indices, Value size) {
  std::optional<SmallVector<Value>> values = t.indices(indices);
  std::optional<int64_t> known = getConstantIntValue(size);
  if (!values || t.mustNotBail)
    return known && checkBelow(t, indices, *known);
  // The comparison is unsigned, so that negative indices are too large.
  for (Value value : *values)
    t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ult, value, size));
  return true;
}

MaybeValues gather(Translator &t, tfg::Node node, Values inputs) {
  Value from = inputs[0].value, indices = inputs[1].value;
  auto type = dyn_cast<RankedTensorType>(from.getType());
  auto places = dyn_cast<RankedTensorType>(indices.getType());
  std::optional<int64_t> said = inputs.size() > 2 ? constantScalar(t, inputs[2]) : 0;
  std::optional<int64_t> axis = axisOf(said, type ? type.getRank() : 0);
  if (!type || !axis || !isNative(type.getElementType()) || integer(node, "batch_dims", 0) ||
      (isTensor(indices.getType()) && !places) || !checkIndices(t, inputs[1], t.dim(from, *axis)))
    return std::nullopt;
  int64_t numPlaces = places ? places.getRank() : 0;
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (i != *axis) {
      sizes.push_back(t.dim(from, i));
      continue;
    }
    for (int64_t k = 0; k < numPlaces; ++k)
      sizes.push_back(t.dim(indices, k));
  }
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) -> Value {
    Value place = t.elementAt(b, loc, inputs[1], SmallVector<Value>(at.slice(*axis, numPlaces)));
    SmallVector<Value> all(at.take_front(*axis));
    all.push_back(b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), place));
    llvm::append_range(all, at.drop_front(*axis + numPlaces));
    return t.elementAt(b, loc, inputs[0], all);
  };
  KnownValue known = t.outcome(node, inputs);
  if (sizes.empty())
    return Values{{element(t.b, t.loc, {}), std::move(known)}};
  return Values{t.generate(sizes, type.getElementType(), std::move(known), element)};
}

/// Unpacks a tensor along an axis: scalars, or tensors if it isn't the first axis, along which
/// kernels don't copy.
MaybeValues unpack(Translator &t, tfg::Node node, Values inputs) {
  Value from = inputs[0].value;
  auto type = dyn_cast<RankedTensorType>(from.getType());
  std::optional<int64_t> axis = axisOf(integer(node, "axis", 0), type ? type.getRank() : 0);
  if (!type || !axis || !isNative(type.getElementType()) ||
      (*axis == 0 && type.getRank() > 1 && !isSmall(type)))
    return std::nullopt;
  Value count = t.index(static_cast<int64_t>(node.numResults()));
  t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, t.dim(from, *axis), count));
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != *axis)
      sizes.push_back(t.dim(from, i));
  std::vector<const KnownValue *> given = {&inputs[0].known};
  ShapeResults shapes = tfg::shapesOf(node, given);
  shapes.values.resize(node.numResults());
  Values results;
  for (auto [i, known] : llvm::enumerate(shapes.values)) {
    Value number = t.index(static_cast<int64_t>(i));
    auto element = [&](OpBuilder &b, Location loc, ValueRange at) -> Value {
      SmallVector<Value> places(at);
      places.insert(places.begin() + *axis, number);
      return t.elementAt(b, loc, inputs[0], places);
    };
    if (sizes.empty())
      results.push_back({element(t.b, t.loc, {}), known});
    else
      results.push_back(t.generate(sizes, type.getElementType(), known, element));
  }
  return results;
}

/// Selects one value where the index equals the position along a new dimension, and another one
/// elsewhere.
MaybeValues oneHot(Translator &t, tfg::Node node, Values inputs) {
  Value indices = inputs[0].value, on = inputs[2].value, off = inputs[3].value;
  auto places = dyn_cast<RankedTensorType>(indices.getType());
  Type element = t.elementType(node->getResult(0)), index = elementOf(indices.getType());
  std::optional<SmallVector<Value>> depth = t.indices(inputs[1]);
  if ((isTensor(indices.getType()) && !places) || !depth || depth->size() != 1 ||
      isTensor(inputs[1].value.getType()) || isTensor(on.getType()) || isTensor(off.getType()) ||
      !isNative(element) || !(index.isSignlessInteger(32) || index.isSignlessInteger(64)))
    return std::nullopt;
  int64_t numPlaces = places ? places.getRank() : 0, axis = integer(node, "axis", -1);
  if (axis < -1 || axis > numPlaces)
    return std::nullopt;
  if (axis == -1)
    axis = numPlaces;
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < numPlaces; ++i)
    sizes.push_back(t.dim(indices, i));
  sizes.insert(sizes.begin() + axis, depth->front());
  if (!isValidSize(sizes))
    return std::nullopt; // invalid: the kernel reports it
  t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::sge, depth->front(), t.index(0)));
  auto elementAt = [&](OpBuilder &b, Location loc, ValueRange at) -> Value {
    SmallVector<Value> place(at);
    place.erase(place.begin() + axis);
    Value hot = t.elementAt(b, loc, inputs[0], place);
    Value here = arith::IndexCastOp::create(b, loc, hot.getType(), at[axis]);
    Value isHot = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, hot, here);
    return selected(b, loc, isHot, on, off);
  };
  return Values{t.generate(sizes, element, t.outcome(node, inputs), elementAt)};
}

/// Reinterprets the bits as another type of the same width.
MaybeValues bitcast(Translator &t, tfg::Node node, Values inputs) {
  Type from = elementOf(inputs[0].value.getType()), to = t.elementType(node->getResult(0));
  if (!isNative(from) || !isNative(to) || from.isInteger(1) || to.isInteger(1) ||
      isa<ComplexType>(from) || isa<ComplexType>(to) ||
      from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth())
    return std::nullopt;
  static constexpr ElementwiseOp op = {
      [](ArrayRef<Type>) { return true; },
      [](OpBuilder &b, Location loc, ValueRange in, Type type) -> Value {
        Value bits = reinterpreted(b, loc, in[0], computedIn(in[0].getType()));
        return reinterpreted(b, loc, b.createOrFold<arith::BitcastOp>(loc, computedIn(type), bits),
                             type);
      },
      nullptr, /*acceptsAnyType=*/true};
  return t.elementwise(op, node, inputs);
}

/// Whether values of two types may have equal shapes, so that neither is broadcast.
bool mayBeAlike(Type a, Type b) {
  if (!isTensor(a) || !isTensor(b))
    return !isTensor(a) && !isTensor(b);
  auto first = dyn_cast<RankedTensorType>(a), second = dyn_cast<RankedTensorType>(b);
  auto areBothOne = [](auto sizes) {
    return (std::get<0>(sizes) == 1) == (std::get<1>(sizes) == 1);
  };
  return first && second && first.getRank() == second.getRank() &&
         llvm::all_of(llvm::zip(first.getShape(), second.getShape()), areBothOne);
}

/// Rotates elements along axes.
MaybeValues roll(Translator &t, tfg::Node node, Values inputs) {
  auto type = dyn_cast<RankedTensorType>(inputs[0].value.getType());
  std::optional<SmallVector<int64_t>> shifts = t.integers(inputs[1]), axes = t.integers(inputs[2]);
  if (!type || !type.hasStaticShape() || !type.getNumElements() ||
      !isNative(type.getElementType()) || !shifts || !axes || shifts->size() != axes->size())
    return std::nullopt;
  SmallVector<int64_t> offsets(type.getRank());
  for (auto [shift, said] : llvm::zip(*shifts, *axes)) {
    std::optional<int64_t> axis = axisOf(said, type.getRank());
    if (!axis)
      return std::nullopt; // invalid: the kernel reports it
    int64_t size = type.getDimSize(*axis);
    offsets[*axis] = (offsets[*axis] + shift % size + size) % size;
  }
  SmallVector<Value> sizes = t.asIndices(type.getShape());
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) {
    SmallVector<Value> place(at);
    for (auto [index, offset, size] : llvm::zip(place, offsets, type.getShape())) {
      if (!offset)
        continue;
      auto number = [&](int64_t value) {
        return arith::ConstantIndexOp::create(b, loc, value).getResult();
      };
      Value isWrapped =
          b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, index, number(offset));
      Value wrapped = b.createOrFold<arith::AddIOp>(loc, index, number(size - offset));
      Value moved = b.createOrFold<arith::SubIOp>(loc, index, number(offset));
      index = b.createOrFold<arith::SelectOp>(loc, isWrapped, wrapped, moved);
    }
    return t.elementAt(b, loc, inputs[0], place);
  };
  return Values{t.generate(sizes, type.getElementType(), t.outcome(node, inputs), element)};
}

/// Adds tensors of one known shape.
MaybeValues addAll(Translator &t, tfg::Node node, Values inputs) {
  Type type = inputs[0].value.getType();
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!llvm::all_of(inputs,
                    [&](const TracedValue &input) { return input.value.getType() == type; }) ||
      (isTensor(type) && !(ranked && ranked.hasStaticShape())) || !isNative(elementOf(type)))
    return std::nullopt;
  TracedValue sum = inputs[0];
  for (const TracedValue &next : ArrayRef(inputs).drop_front()) {
    NamedAttribute dtype = t.b.getNamedAttr("T", mlir::TypeAttr::get(elementOf(type)));
    sum = TREADLE_TRY(t.resultOf("AddV2", dtype, {sum, next}, elementOf(type), node)).front();
  }
  sum.known = t.outcome(node, inputs);
  return Values{std::move(sum)};
}

/// Returns the diagonal of a matrix of known size.
MaybeValues diagonal(Translator &t, tfg::Node node, Values inputs) {
  auto type = dyn_cast<RankedTensorType>(inputs[0].value.getType());
  std::optional<SmallVector<int64_t>> number =
      inputs.size() > 1 ? t.integers(inputs[1]) : SmallVector<int64_t>{0};
  if (!type || !type.hasStaticShape() || type.getRank() != 2 || !isNative(type.getElementType()) ||
      !number || number->size() != 1 || number->front() != 0)
    return std::nullopt;
  Value size = t.index(std::min(type.getDimSize(0), type.getDimSize(1)));
  return Values{t.generate(size, type.getElementType(), t.outcome(node, inputs),
                           [&](OpBuilder &b, Location loc, ValueRange at) {
                             return t.elementAt(b, loc, inputs[0], {at[0], at[0]});
                           })};
}

/// The old form of Select: the condition is a scalar, has the shape of the values, or is a vector
/// with one element per row.
MaybeValues select(Translator &t, tfg::Node node, Values inputs) {
  Type conditions = inputs[0].value.getType(), chosen = inputs[1].value.getType();
  if (!mayBeAlike(chosen, inputs[2].value.getType()))
    return std::nullopt;
  if (!isTensor(conditions) || mayBeAlike(conditions, chosen))
    return t.elementwise(node, inputs);
  auto vector = dyn_cast<RankedTensorType>(conditions);
  auto rows = dyn_cast<RankedTensorType>(chosen);
  if (!vector || !rows || vector.getRank() != 1 || rows.getRank() < 2 ||
      (vector.getDimSize(0) == 1) != (rows.getDimSize(0) == 1))
    return std::nullopt;
  SmallVector<Value> sizes(rows.getRank(), t.index(1));
  sizes[0] = t.dim(inputs[0].value, 0);
  inputs[0] = t.reshape(inputs[0], sizes, {});
  return t.elementwise(node, inputs);
}

/// Elementwise ops whose inputs must have equal shapes.
MaybeValues pairwise(Translator &t, tfg::Node node, Values inputs) {
  if (!mayBeAlike(inputs[0].value.getType(), inputs[1].value.getType()))
    return std::nullopt;
  return t.elementwise(node, inputs);
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"SigmoidGrad", pairwise},
    {"TanhGrad", pairwise},
    {"SqrtGrad", pairwise},
    {"RsqrtGrad", pairwise},
    {"ReciprocalGrad", pairwise},
    {"InvGrad", pairwise},
    {"ReluGrad", pairwise},
    {"Relu6Grad", pairwise},
    {"EluGrad", pairwise},
    {"SoftplusGrad", pairwise},
    {"SoftsignGrad", pairwise},
    {"Transpose", transpose},
    {"Gather", gather},
    {"GatherV2", gather},
    {"Unpack", unpack},
    {"AddN", addAll},
    {"MatrixDiagPart", diagonal},
    {"MatrixDiagPartV3", diagonal},
    {"Roll", roll},
    {"OneHot", oneHot},
    {"Select", select},
    {"Bitcast", bitcast},
};

} // namespace

LoweringTable moveLowerings() { return table; }

} // namespace treadle::codegen
