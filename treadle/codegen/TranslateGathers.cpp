// Translates gathers: loops that first read the index.
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Translator.h"
#include "treadle/codegen/Writes.h"
#include "treadle/kernels/arrays/DimensionNumbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

using Places = SmallVector<int64_t>;

std::optional<Places> shapeOf(const TracedValue &typed) {
  Type type = typed.value.getType();
  if (!isNative(elementOf(type)) || typed.list)
    return std::nullopt;
  if (!isTensor(type))
    return Places();
  auto ranked = dyn_cast<RankedTensorType>(type);
  return ranked && ranked.hasStaticShape() ? std::optional(Places(ranked.getShape()))
                                           : std::nullopt;
}

/// The fields of the message GatherDimensionNumbers.
struct GatherNumbers {
  std::vector<int64_t> offset, collapsed, startMap, vectorDim, batching, indicesBatching;

  bool read(tfg::Node node) {
    std::vector<int64_t> *fields[] = {&offset,    &collapsed, &startMap,
                                      &vectorDim, &batching,  &indicesBatching};
    auto bytes = node.attr<StringAttr>("dimension_numbers");
    return bytes && readDimensionNumbers(bytes.getValue(), fields);
  }
};

bool contains(const std::vector<int64_t> &list, int64_t value) {
  return llvm::is_contained(list, value);
}

/// Builds a tensor of this shape, or a scalar.
Values made(Translator &t, tfg::Node node, const Values &inputs, ArrayRef<int64_t> shape,
            Translator::ElementAt elementAt) {
  KnownValue known = t.outcome(node, inputs);
  if (shape.empty())
    return {{elementAt(t.b, t.loc, {}), std::move(known)}};
  SmallVector<Value> sizes = t.asIndices(shape);
  return {t.generate(sizes, elementOf(inputs[0].value.getType()), std::move(known), elementAt)};
}

/// Gathers windows at positions given by indices, clamped to the operand.
MaybeValues xlaGather(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> shape = shapeOf(inputs[0]), indices = shapeOf(inputs[1]),
                        sizes = t.integers(inputs[2]);
  GatherNumbers n;
  if (!shape || shape->empty() || !indices || !sizes || sizes->size() != shape->size() ||
      !n.read(node))
    return std::nullopt;
  auto rank = std::ssize(*shape);
  int64_t vectorDim = n.vectorDim.empty() ? 0 : n.vectorDim.front();
  Places along; // dimensions of the indices, without the vector dimension
  for (int64_t d = 0; d < std::ssize(*indices); ++d)
    if (d != vectorDim)
      along.push_back(d);
  Places windowDims; // dimensions of the operand that are kept in the result
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(n.collapsed, d) && !contains(n.batching, d))
      windowDims.push_back(d);
  bool hasVectors = vectorDim < std::ssize(*indices);
  if (windowDims.size() != n.offset.size() || n.batching.size() != n.indicesBatching.size() ||
      std::ssize(n.startMap) != (hasVectors ? (*indices)[vectorDim] : 1))
    return std::nullopt; // invalid: the kernel reports it
  for (int64_t d = 0; d < rank; ++d) {
    bool isOne = contains(n.collapsed, d) || contains(n.batching, d);
    if ((*sizes)[d] < 0 || (*sizes)[d] > (*shape)[d] || (isOne && (*sizes)[d] != 1))
      return std::nullopt; // invalid or empty
  }
  Places result, isOf; // by dimension of the result: that of the operand, or -1 - that of `along`
  auto resultRank = std::ssize(windowDims) + std::ssize(along);
  size_t nextWindow = 0, nextAlong = 0;
  for (int64_t d = 0; d < resultRank; ++d) {
    bool isOffset = contains(n.offset, d);
    if (isOffset ? nextWindow == windowDims.size() : nextAlong == along.size())
      return std::nullopt; // invalid: the kernel reports it
    if (isOffset) {
      isOf.push_back(windowDims[nextWindow++]);
      result.push_back((*sizes)[isOf.back()]);
    } else {
      isOf.push_back(-1 - static_cast<int64_t>(nextAlong));
      result.push_back((*indices)[along[nextAlong++]]);
    }
  }
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) {
    SmallVector<Value> where(along.size());
    for (auto [index, of] : llvm::zip(at, isOf))
      if (of < 0)
        where[-1 - of] = index;
    SmallVector<Value> place(rank);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    for (Value &index : place)
      index = zero;
    for (auto [k, d] : llvm::enumerate(n.startMap)) {
      SmallVector<Value> vector(where);
      if (hasVectors)
        vector.insert(vector.begin() + vectorDim,
                      arith::ConstantIndexOp::create(b, loc, static_cast<int64_t>(k)));
      Value start = b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(),
                                                       t.elementAt(b, loc, inputs[1], vector));
      Value last = arith::ConstantIndexOp::create(b, loc, (*shape)[d] - (*sizes)[d]);
      start = b.createOrFold<arith::MinSIOp>(loc, start, last);
      place[d] = b.createOrFold<arith::MaxSIOp>(loc, start, zero);
    }
    for (auto [d, dim] : llvm::zip(n.batching, n.indicesBatching))
      place[d] = where[dim - (dim > vectorDim)];
    for (auto [index, of] : llvm::zip(at, isOf))
      if (of >= 0)
        place[of] = b.createOrFold<arith::AddIOp>(loc, place[of], index);
    return t.elementAt(b, loc, inputs[0], place);
  };
  return made(t, node, inputs, result, element);
}

MaybeValues gatherNd(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> shape = shapeOf(inputs[0]), indices = shapeOf(inputs[1]);
  auto policy = node.attr<StringAttr>("bad_indices_policy");
  if (!shape || shape->empty() || !indices || indices->empty() ||
      (policy && policy.getValue() == "IGNORE"))
    return std::nullopt;
  int64_t depth = indices->back(), numAlong = std::ssize(*indices) - 1;
  if (depth > std::ssize(*shape) || !checkBelow(t, inputs[1], ArrayRef(*shape).take_front(depth)))
    return std::nullopt;
  Places result(ArrayRef(*indices).drop_back());
  llvm::append_range(result, ArrayRef(*shape).drop_front(depth));
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) {
    SmallVector<Value> place;
    for (int64_t k = 0; k < depth; ++k) {
      SmallVector<Value> vector(at.take_front(numAlong));
      vector.push_back(arith::ConstantIndexOp::create(b, loc, k));
      place.push_back(b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(),
                                                         t.elementAt(b, loc, inputs[1], vector)));
    }
    llvm::append_range(place, at.drop_front(numAlong));
    return t.elementAt(b, loc, inputs[0], place);
  };
  return made(t, node, inputs, result, element);
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"XlaGather", xlaGather},
    {"GatherNd", gatherNd},
};

} // namespace

LoweringTable gatherLowerings() { return table; }

} // namespace treadle::codegen
