// Translates slices: loops that read a different element than they write, which are fused with
// their users. Slices along the first dimension only are left to kernels, which don't copy them.
#include "treadle/codegen/ConcatByIndex.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Translator.h"
#include "treadle/codegen/Writes.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Arithmetic on indices, folded if possible.
struct Indices {
  OpBuilder &b;
  Location loc;

  Value number(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }
  Value divide(Value x, Value y) { return b.createOrFold<arith::DivSIOp>(loc, x, y); }
  Value isLess(Value x, Value y) {
    return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
  }
  Value atLeast(Value x, Value bound) { return select(isLess(x, bound), bound, x); }
  Value atMost(Value x, Value bound) { return select(isLess(bound, x), bound, x); }
  /// Resolves negative indices, which count from the end.
  Value fromFront(Value x, Value size) { return select(isLess(x, number(0)), add(x, size), x); }
};

/// The part of one input dimension that a slice selects.
struct SlicePart {
  Value begin, step, size; // null size: one element, and the dimension is removed
  bool isAll = false;
};

/// The masks of a strided slice, read from the node's attributes.
struct StridedSliceMasks {
  explicit StridedSliceMasks(tfg::Node node)
      : begin(of(node, "begin_mask")), end(of(node, "end_mask")),
        ellipsis(of(node, "ellipsis_mask")), newAxis(of(node, "new_axis_mask")),
        shrink(of(node, "shrink_axis_mask")) {}
  static int64_t of(tfg::Node node, StringRef name) {
    auto attr = node.attr<IntegerAttr>(name);
    return attr ? attr.getInt() : 0;
  }
  int64_t begin, end, ellipsis, newAxis, shrink;
};

SlicePart partOf(Translator &t, Indices &in, const StridedSliceMasks &masks, size_t entry,
                 Value begin, Value end, int64_t step, Value size) {
  int64_t bit = int64_t(1) << entry;
  SlicePart part;
  part.step = in.number(step);
  Value zero = in.number(0);
  if (masks.shrink & bit) {
    part.begin = in.fromFront(begin, size);
    // The comparison is unsigned, so that negative indices are too large.
    t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ult, part.begin, size));
    return part;
  }
  bool fromFirst = masks.begin & bit, toLast = masks.end & bit;
  part.isAll = fromFirst && toLast && step == 1;
  part.begin = fromFirst ? zero : in.atMost(in.atLeast(in.fromFront(begin, size), zero), size);
  Value last = toLast ? size : in.atMost(in.atLeast(in.fromFront(end, size), zero), size);
  Value length = in.atLeast(in.sub(last, part.begin), zero);
  part.size = in.divide(in.add(length, in.number(step - 1)), part.step);
  return part;
}

/// Whether all users of a node's result are loops over elements, which can read from the sliced
/// tensor directly.
bool hasOnlyElementwiseUsers(tfg::Node node) {
  return llvm::all_of(node->getResult(0).getUsers(), [](Operation *user) {
    StringRef op = tfg::Node(user).opType();
    return isElementwise(op) ||
           llvm::is_contained({"ConcatV2", "Slice", "StridedSlice", "Pad", "PadV2", "XlaPad",
                               "ReverseV2", "XlaDynamicUpdateSlice"},
                              op);
  });
}

/// Whether to copy a slice along the first dimension, which a kernel wouldn't copy, element by
/// element: it is so small that the call takes longer.
bool shouldPickElements(tfg::Node node, ArrayRef<Value> sizes, RankedTensorType from,
                        const KnownValue &known) {
  if (from.hasStaticShape() && hasOnlyElementwiseUsers(node))
    return true;
  auto type = RankedTensorType::get(Sizes(sizes, known.shape).shape, from.getElementType());
  return tfg::isCheapToMove(type);
}

MaybeValues stridedSlice(Translator &t, tfg::Node node, Values inputs) {
  Value from = inputs[0].value;
  auto type = dyn_cast<RankedTensorType>(from.getType());
  std::optional<SmallVector<Value>> begins = t.indices(inputs[1], 1),
                                    ends = t.indices(inputs[2], 1), steps = t.indices(inputs[3], 1);
  if (!type || type.getRank() == 0 || !isNative(type.getElementType()) || !begins || !ends ||
      !steps || begins->size() != ends->size() || begins->size() != steps->size())
    return std::nullopt;
  StridedSliceMasks masks(node);
  // Each entry is a dimension, except for new axes; an ellipsis means all remaining ones.
  auto numEntries = static_cast<int64_t>(begins->size());
  if (!masks.ellipsis)
    masks.ellipsis = int64_t(1) << numEntries++;
  int64_t named = 0;
  for (int64_t i = 0; i < numEntries; ++i)
    named += !((masks.ellipsis | masks.newAxis) >> i & 1);
  int64_t left = type.getRank() - named;
  if (left < 0 || llvm::popcount(static_cast<uint64_t>(masks.ellipsis)) != 1)
    return std::nullopt;
  for (Value step : *steps)
    if (getConstantIntValue(step).value_or(0) < 1)
      return std::nullopt;

  Indices in{t.b, t.loc};
  SmallVector<SlicePart> parts; // by dimension of the input
  SmallVector<Value> sizes;
  SmallVector<int64_t> isFrom; // by dimension of the result: that of the input, or -1
  for (int64_t i = 0; i < numEntries; ++i) {
    if (masks.ellipsis >> i & 1) {
      for (int64_t k = 0; k < left; ++k) {
        Value size = t.dim(from, static_cast<int64_t>(parts.size()));
        isFrom.push_back(static_cast<int64_t>(parts.size()));
        sizes.push_back(size);
        parts.push_back({in.number(0), in.number(1), size, true});
      }
    } else if (masks.newAxis >> i & 1) {
      isFrom.push_back(-1);
      sizes.push_back(in.number(1));
    } else {
      SlicePart part =
          partOf(t, in, masks, i, (*begins)[i], (*ends)[i], *getConstantIntValue((*steps)[i]),
                 t.dim(from, static_cast<int64_t>(parts.size())));
      if (part.size) {
        isFrom.push_back(static_cast<int64_t>(parts.size()));
        sizes.push_back(part.size);
      }
      parts.push_back(part);
    }
  }
  KnownValue known = t.outcome(node, inputs);
  bool isScalar = sizes.empty();
  auto isAll = [](const SlicePart &part) { return part.isAll; };
  if (!isScalar && llvm::all_of(parts, isAll))
    return Values{t.reshape(inputs[0], sizes, std::move(known))};
  if (!isScalar && !shouldPickElements(node, sizes, type, known) &&
      llvm::all_of(ArrayRef(parts).drop_front(), isAll))
    return std::nullopt;
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) -> Value {
    SmallVector<Value> places;
    for (const SlicePart &part : parts)
      places.push_back(part.begin);
    for (auto [place, dim] : llvm::zip(at, isFrom))
      if (dim >= 0) {
        Value scaled = b.createOrFold<arith::MulIOp>(loc, place, parts[dim].step);
        places[dim] = b.createOrFold<arith::AddIOp>(loc, places[dim], scaled);
      }
    return t.elementAt(b, loc, inputs[0], places);
  };
  if (isScalar)
    return Values{{element(t.b, t.loc, {}), std::move(known)}};
  return Values{t.generate(sizes, type.getElementType(), std::move(known), element)};
}

/// The gradient of a strided slice with known sizes: pads the slice with zeros.
MaybeValues stridedSliceGrad(Translator &t, tfg::Node node, Values inputs) {
  std::optional<SmallVector<int64_t>> shape = t.integers(inputs[0], 1),
                                      begins = t.integers(inputs[1], 1),
                                      ends = t.integers(inputs[2], 1),
                                      steps = t.integers(inputs[3], 1);
  StridedSliceMasks masks(node);
  if (!shape || !begins || !ends || !steps || begins->size() != ends->size() ||
      begins->size() != steps->size() || begins->size() > shape->size() || masks.ellipsis ||
      masks.newAxis || !llvm::all_of(*steps, [](int64_t step) { return step == 1; }))
    return std::nullopt;
  SmallVector<int64_t> before, after, kept, part;
  for (auto [i, size] : llvm::enumerate(*shape)) {
    int64_t bit = int64_t(1) << i, begin = 0, end = size;
    bool isNamed = i < begins->size(), isOne = isNamed && masks.shrink & bit;
    auto fromFront = [&](int64_t place) { return place < 0 ? place + size : place; };
    auto inside = [&](int64_t place) { return std::clamp<int64_t>(fromFront(place), 0, size); };
    if (isOne) {
      begin = fromFront((*begins)[i]);
      end = begin + 1;
    } else if (isNamed) {
      begin = masks.begin & bit ? 0 : inside((*begins)[i]);
      end = masks.end & bit ? size : inside((*ends)[i]);
    }
    if (begin < 0 || begin >= end || end > size)
      return std::nullopt; // empty or invalid
    before.push_back(begin);
    after.push_back(size - end);
    part.push_back(end - begin);
    if (!isOne)
      kept.push_back(end - begin);
  }
  TracedValue given = inputs[4];
  Type type = given.value.getType(), element = elementOf(type);
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (shape->empty() || !isNative(element) ||
      (isTensor(type) ? !ranked || ranked.getShape() != ArrayRef(kept) : !kept.empty()))
    return std::nullopt;
  Value none = zeroOf(t.b, t.loc, element);
  given = t.reshape(given, t.asIndices(part), KnownValue(Shape(part)));
  return padByIndex(t, given, t.outcome(node, inputs), before, after, none);
}

/// Splits a tensor into equal parts along an axis other than the first.
MaybeValues split(Translator &t, tfg::Node node, Values inputs) {
  Value from = inputs[1].value;
  auto type = dyn_cast<RankedTensorType>(from.getType());
  std::optional<SmallVector<Value>> axes = t.indices(inputs[0]);
  std::optional<int64_t> axis =
      axes && axes->size() == 1 ? getConstantIntValue(axes->front()) : std::nullopt;
  if (!type || !axis || !isNative(type.getElementType()))
    return std::nullopt;
  if (*axis < 0)
    *axis += type.getRank();
  if (*axis < 1 || *axis >= type.getRank())
    return std::nullopt;
  Indices in{t.b, t.loc};
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    sizes.push_back(t.dim(from, i));
  Value count = in.number(static_cast<int64_t>(node.numResults()));
  Value part = in.divide(sizes[*axis], count);
  t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, in.mul(part, count),
                                sizes[*axis]));
  sizes[*axis] = part;
  std::vector<const KnownValue *> given;
  for (const TracedValue &input : inputs)
    given.push_back(&input.known);
  ShapeResults shapes = tfg::shapesOf(node, given);
  shapes.values.resize(node.numResults());
  Values results;
  for (auto [i, known] : llvm::enumerate(shapes.values)) {
    Value offset = in.mul(part, in.number(static_cast<int64_t>(i)));
    auto element = [&](OpBuilder &b, Location loc, ValueRange at) -> Value {
      SmallVector<Value> places(at);
      places[*axis] = b.createOrFold<arith::AddIOp>(loc, places[*axis], offset);
      return t.elementAt(b, loc, inputs[1], places);
    };
    results.push_back(t.generate(sizes, type.getElementType(), known, element));
  }
  return results;
}

/// Returns a block with these sizes at these positions, which are in range.
MaybeValues block(Translator &t, tfg::Node node, const Values &inputs, ArrayRef<Value> begins,
                  ArrayRef<Value> sizes) {
  auto type = cast<RankedTensorType>(inputs[0].value.getType());
  KnownValue known = t.outcome(node, inputs);
  Sizes is(sizes, known.shape);
  bool isWholeRows = is.shape == type.getShape();
  if (!isWholeRows && type.getRank() > 0)
    isWholeRows = ArrayRef(is.shape).drop_front() == type.getShape().drop_front();
  if (isWholeRows && !shouldPickElements(node, sizes, type, known))
    return std::nullopt;
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) -> Value {
    SmallVector<Value> places;
    for (auto [place, begin] : llvm::zip(at, begins))
      places.push_back(b.createOrFold<arith::AddIOp>(loc, place, begin));
    return t.elementAt(b, loc, inputs[0], places);
  };
  return Values{t.generate(sizes, type.getElementType(), std::move(known), element)};
}

/// Returns the position of a block of known sizes in a tensor of known sizes, clamped to the
/// tensor.
std::optional<SmallVector<Value>> beginsInside(Translator &t, RankedTensorType type,
                                               ArrayRef<int64_t> sizes, const TracedValue &starts) {
  std::optional<SmallVector<Value>> begins = t.indices(starts);
  if (!begins || begins->size() != sizes.size())
    return std::nullopt;
  Indices in{t.b, t.loc};
  for (auto [begin, size, all] : llvm::zip(*begins, sizes, type.getShape()))
    begin = in.atMost(in.atLeast(begin, in.number(0)), in.number(all - size));
  return begins;
}

/// Returns the type of a nonempty tensor with known sizes; null for others.
RankedTensorType fixed(const TracedValue &typed) {
  auto type = dyn_cast<RankedTensorType>(typed.value.getType());
  return type && type.hasStaticShape() && type.getRank() && isNative(type.getElementType())
             ? type
             : RankedTensorType();
}

MaybeValues slice(Translator &t, tfg::Node node, Values inputs) {
  RankedTensorType type = fixed(inputs[0]);
  std::optional<SmallVector<int64_t>> begins = t.integers(inputs[1], 1),
                                      sizes = t.integers(inputs[2], 1);
  if (!type || !begins || !sizes || begins->size() != sizes->size() ||
      static_cast<int64_t>(sizes->size()) != type.getRank())
    return std::nullopt;
  SmallVector<Value> at, lengths;
  for (auto [begin, size, all] : llvm::zip(*begins, *sizes, type.getShape())) {
    if (size == -1)
      size = all - begin;
    if (begin < 0 || size < 0 || size > all - begin)
      return std::nullopt; // invalid: the kernel reports it
    at.push_back(t.index(begin));
    lengths.push_back(t.index(size));
  }
  return block(t, node, inputs, at, lengths);
}

MaybeValues dynamicSlice(Translator &t, tfg::Node node, Values inputs) {
  RankedTensorType type = fixed(inputs[0]);
  std::optional<SmallVector<int64_t>> sizes = t.integers(inputs[2]);
  if (!type || !sizes || static_cast<int64_t>(sizes->size()) != type.getRank())
    return std::nullopt;
  for (auto [size, all] : llvm::zip(*sizes, type.getShape()))
    if (size < 0 || size > all)
      return std::nullopt; // invalid: the kernel reports it
  std::optional<SmallVector<Value>> begins = beginsInside(t, type, *sizes, inputs[1]);
  if (!begins)
    return std::nullopt;
  return block(t, node, inputs, *begins, t.asIndices(*sizes));
}

/// Replaces a block of a small tensor: each element is selected from either.
std::optional<TracedValue> updateSmall(Translator &t, const Values &inputs, ArrayRef<Value> begins,
                                       KnownValue known) {
  constexpr int64_t maxChoices = 128;
  auto type = cast<RankedTensorType>(inputs[0].value.getType());
  auto part = cast<RankedTensorType>(inputs[1].value.getType());
  std::optional<SmallVector<Value>> old = t.elementsOf(inputs[0]), fresh = t.elementsOf(inputs[1]);
  if (!old || !fresh)
    return std::nullopt;
  auto choices = static_cast<int64_t>(old->size() * fresh->size());
  if (llvm::any_of(begins, [](Value begin) { return !getConstantIntValue(begin); }) &&
      (choices > maxChoices || !t.mayUnroll(2 * static_cast<int64_t>(begins.size()) * choices)))
    return std::nullopt;
  SmallVector<int64_t> strides = computeStrides(type.getShape()),
                       steps = computeStrides(part.getShape());
  SmallVector<Value> elements = *old;
  for (auto [i, element] : llvm::enumerate(elements))
    for (auto [k, value] : llvm::enumerate(*fresh)) {
      SmallVector<int64_t> place = delinearize(static_cast<int64_t>(i), strides),
                           within = delinearize(static_cast<int64_t>(k), steps);
      Value isHere = arith::ConstantOp::create(t.b, t.loc, t.b.getBoolAttr(true));
      for (auto [at, inside, begin] : llvm::zip(place, within, begins)) {
        Value meets = t.b.createOrFold<arith::CmpIOp>(t.loc, arith::CmpIPredicate::eq, begin,
                                                      t.index(at - inside));
        isHere = t.b.createOrFold<arith::AndIOp>(t.loc, isHere, meets);
      }
      element = selected(t.b, t.loc, isHere, value, element);
    }
  return t.small(elements, type.getShape(), type.getElementType(), std::move(known));
}

/// Replaces a large block in place, unless the block is most of the tensor and at a known position.
/// In that case both are read, so that the computation of the block can be fused.
MaybeValues updateBlock(Translator &t, const Values &inputs, ArrayRef<Value> begins,
                        KnownValue known) {
  auto type = cast<RankedTensorType>(inputs[0].value.getType());
  auto part = cast<RankedTensorType>(inputs[1].value.getType());
  SmallVector<int64_t> places;
  for (Value begin : begins)
    if (std::optional<int64_t> constant = getConstantIntValue(begin))
      places.push_back(*constant);
  if (places.size() == begins.size() && part.getNumElements() * 4 >= type.getNumElements())
    return Values{blockByIndex(t, inputs[0], inputs[1], places, std::move(known))};
  SmallVector<Value> sizes = t.asIndices(part.getShape());
  Value written =
      writeTensor(t, inputs[0], sizes, /*isParallel=*/true, [&](Value tensor, ValueRange loops) {
        SmallVector<Value> places;
        for (auto [begin, index] : llvm::zip(begins, loops))
          places.push_back(t.b.createOrFold<arith::AddIOp>(t.loc, begin, index));
        Value element = t.elementAt(t.b, t.loc, inputs[1], SmallVector<Value>(loops));
        rc::StoreOp::create(t.b, t.loc, tensor, places, element);
        return true;
      });
  return Values{{written, std::move(known)}};
}

MaybeValues dynamicUpdateSlice(Translator &t, tfg::Node node, Values inputs) {
  RankedTensorType type = fixed(inputs[0]), part = fixed(inputs[1]);
  if (!type || !part || type.getRank() != part.getRank())
    return std::nullopt;
  for (auto [size, all] : llvm::zip(part.getShape(), type.getShape()))
    if (size > all)
      return std::nullopt; // invalid: the kernel reports it
  std::optional<SmallVector<Value>> begins = beginsInside(t, type, part.getShape(), inputs[2]);
  if (!begins)
    return std::nullopt;
  KnownValue known = t.outcome(node, inputs);
  if (isSmall(type))
    if (std::optional<TracedValue> updated = updateSmall(t, inputs, *begins, known))
      return Values{std::move(*updated)};
  if (!isSmall(part))
    return updateBlock(t, inputs, *begins, std::move(known));
  SmallVector<Value> given = *t.elementsOf(inputs[1]);
  Value updated =
      rc::UpdateOp::create(t.b, t.loc, type, inputs[0].value, *begins, given, part.getShape());
  return Values{{updated, std::move(known)}};
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"StridedSlice", stridedSlice},
    {"StridedSliceGrad", stridedSliceGrad},
    {"Split", split},
    {"Slice", slice},
    {"XlaDynamicSlice", dynamicSlice},
    {"XlaDynamicUpdateSlice", dynamicUpdateSlice},
};

} // namespace

LoweringTable sliceLowerings() { return table; }

} // namespace treadle::codegen
