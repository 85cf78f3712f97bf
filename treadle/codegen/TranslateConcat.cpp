// Translates concatenations, paddings and similar ops: loops in which the index of an element
// determines its source. Loops are split later where the source changes.
#include "treadle/codegen/ConcatByIndex.h"
#include "treadle/codegen/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace treadle::codegen {

namespace {

/// With more parts, kernels copy them one after the other.
constexpr size_t maxParts = 8;

/// Returns the shape of a tensor of native elements if it is fully known.
std::optional<SmallVector<int64_t>> shapeOf(const TracedValue &typed) {
  auto type = dyn_cast<RankedTensorType>(typed.value.getType());
  if (!type || !type.hasStaticShape() || !isNative(type.getElementType()))
    return std::nullopt;
  return SmallVector<int64_t>(type.getShape());
}

using Make = llvm::function_ref<Value(OpBuilder &)>;

/// Emits a choice that only computes the selected value.
Value choose(OpBuilder &b, Location loc, Value condition, Type type, Make first, Make second) {
  auto branch = scf::IfOp::create(b, loc, type, condition, /*withElseRegion=*/true);
  for (bool side : {true, false}) {
    OpBuilder inner = side ? branch.getThenBodyBuilder() : branch.getElseBodyBuilder();
    scf::YieldOp::create(inner, loc, side ? first(inner) : second(inner));
  }
  return branch.getResult(0);
}

Value isLess(OpBuilder &b, Location loc, Value index, int64_t bound) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index,
                               arith::ConstantIndexOp::create(b, loc, bound));
}

Value shifted(OpBuilder &b, Location loc, Value index, int64_t by) {
  if (!by)
    return index;
  return b.createOrFold<arith::AddIOp>(loc, index, arith::ConstantIndexOp::create(b, loc, by));
}

/// Returns the result of `ofPart` for the part that contains an index, among the contiguous parts
/// from `first` on.
using OfPart = llvm::function_ref<Value(OpBuilder &, size_t part)>;
Value ofPartAt(OpBuilder &b, Location loc, Value index, ArrayRef<int64_t> begins, Type type,
               OfPart ofPart, size_t first = 0) {
  if (first + 1 == begins.size())
    return ofPart(b, first);
  return choose(
      b, loc, isLess(b, loc, index, begins[first + 1]), type,
      [&](OpBuilder &inner) { return ofPart(inner, first); },
      [&](OpBuilder &inner) {
        return ofPartAt(inner, loc, index, begins, type, ofPart, first + 1);
      });
}

/// Emits `inside` if all indices are in their ranges, otherwise `outside`.
Value whereInside(OpBuilder &b, Location loc, ArrayRef<Value> at, ArrayRef<int64_t> begins,
                  ArrayRef<int64_t> ends, ArrayRef<int64_t> shape, Type type, Make inside,
                  Make outside) {
  for (auto [i, index] : llvm::enumerate(at)) {
    bool hasBefore = begins[i] > 0;
    if (!hasBefore && ends[i] >= shape[i])
      continue;
    SmallVector<int64_t> leftBegins(begins), leftEnds(ends);
    (hasBefore ? leftBegins[i] : leftEnds[i]) = hasBefore ? 0 : shape[i];
    auto rest = [&](OpBuilder &inner) {
      return whereInside(inner, loc, at, leftBegins, leftEnds, shape, type, inside, outside);
    };
    Value isBelow = isLess(b, loc, index, hasBefore ? begins[i] : ends[i]);
    return hasBefore ? choose(b, loc, isBelow, type, outside, rest)
                     : choose(b, loc, isBelow, type, rest, outside);
  }
  return inside(b);
}

} // namespace

MaybeValues concatByIndex(Translator &t, tfg::Node node, const Values &inputs) {
  ArrayRef<TracedValue> given = ArrayRef(inputs).drop_back();
  std::optional<SmallVector<int64_t>> axes = t.integers(inputs.back()), shape;
  Values parts;
  SmallVector<int64_t> begins;
  std::optional<int64_t> axis;
  for (const TracedValue &part : given) {
    std::optional<SmallVector<int64_t>> own = shapeOf(part);
    if (!own || own->empty() || !axes || axes->size() != 1)
      return std::nullopt;
    axis = axisOf(axes->front(), static_cast<int64_t>(own->size()));
    if (!axis)
      return std::nullopt;
    int64_t size = (*own)[*axis], before = shape ? (*shape)[*axis] : 0;
    (*own)[*axis] = before;
    if (shape && own != shape)
      return std::nullopt; // invalid: the kernel reports it
    if (size) {
      parts.push_back(part);
      begins.push_back(before);
    }
    shape = own;
    (*shape)[*axis] += size;
  }
  if (!shape || parts.empty() || parts.size() > maxParts)
    return std::nullopt;
  Type type = elementOf(parts[0].value.getType());
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) {
    return ofPartAt(b, loc, at[*axis], begins, type, [&](OpBuilder &inner, size_t part) {
      SmallVector<Value> place(at);
      place[*axis] = shifted(inner, loc, place[*axis], -begins[part]);
      return t.elementAt(inner, loc, parts[part], place);
    });
  };
  return Values{t.generate(t.asIndices(*shape), type, t.outcome(node, inputs), element)};
}

MaybeValues packByIndex(Translator &t, tfg::Node node, const Values &inputs, int64_t axis) {
  std::optional<SmallVector<int64_t>> shape = shapeOf(inputs[0]);
  if (!shape || inputs.size() > maxParts ||
      !llvm::all_of(inputs, [&](const TracedValue &input) { return shapeOf(input) == shape; }))
    return std::nullopt;
  shape->insert(shape->begin() + axis, static_cast<int64_t>(inputs.size()));
  SmallVector<int64_t> begins = llvm::to_vector(llvm::seq<int64_t>(std::ssize(inputs)));
  Type type = elementOf(inputs[0].value.getType());
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) {
    return ofPartAt(b, loc, at[axis], begins, type, [&](OpBuilder &inner, size_t part) {
      SmallVector<Value> place(at);
      place.erase(place.begin() + axis);
      return t.elementAt(inner, loc, inputs[part], place);
    });
  };
  return Values{t.generate(t.asIndices(*shape), type, t.outcome(node, inputs), element)};
}

/// Pads a tensor; negative paddings remove elements.
MaybeValues padByIndex(Translator &t, const TracedValue &from, KnownValue known,
                       ArrayRef<int64_t> before, ArrayRef<int64_t> after, Value outside) {
  std::optional<SmallVector<int64_t>> own = shapeOf(from);
  if (!own || own->empty() || before.size() != own->size() || after.size() != own->size())
    return std::nullopt;
  SmallVector<int64_t> shape, ends;
  for (auto [i, size] : llvm::enumerate(*own)) {
    shape.push_back(size + before[i] + after[i]);
    ends.push_back(before[i] + size);
    if (shape.back() < 0)
      return std::nullopt; // invalid: the kernel reports it
  }
  Type type = outside.getType();
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) {
    return whereInside(
        b, loc, SmallVector<Value>(at), before, ends, shape, type,
        [&](OpBuilder &inner) {
          SmallVector<Value> place;
          for (auto [index, by] : llvm::zip(at, before))
            place.push_back(shifted(inner, loc, index, -by));
          return t.elementAt(inner, loc, from, place);
        },
        [&](OpBuilder &) { return outside; });
  };
  return Values{t.generate(t.asIndices(shape), type, std::move(known), element)};
}

std::optional<TracedValue> interiorPadByIndex(Translator &t, const TracedValue &from,
                                              ArrayRef<int64_t> between, Value other) {
  std::optional<SmallVector<int64_t>> own = shapeOf(from);
  if (!own || own->size() != between.size())
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (auto [size, gap] : llvm::zip(*own, between)) {
    int64_t step, all;
    if (llvm::AddOverflow<int64_t>(gap, 1, step) || llvm::MulOverflow(size, step, all))
      return std::nullopt;
    shape.push_back(std::max<int64_t>(all - gap, 0));
  }
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) {
    SmallVector<Value> place(at);
    Value isOne;
    for (auto [index, gap] : llvm::zip(place, between)) {
      if (!gap)
        continue;
      Value step = arith::ConstantIndexOp::create(b, loc, gap + 1);
      Value rest = b.createOrFold<arith::RemUIOp>(loc, index, step);
      Value fits = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, rest,
                                                 arith::ConstantIndexOp::create(b, loc, 0));
      isOne = isOne ? b.createOrFold<arith::AndIOp>(loc, isOne, fits) : fits;
      index = b.createOrFold<arith::DivUIOp>(loc, index, step);
    }
    // The element exists, so it is read unconditionally: a select needs no branch.
    return selected(b, loc, isOne, t.elementAt(b, loc, from, place), other);
  };
  return t.generate(t.asIndices(shape), other.getType(), KnownValue(Shape(shape)), element);
}

MaybeValues reverseByIndex(Translator &t, tfg::Node node, const Values &inputs) {
  std::optional<SmallVector<int64_t>> shape = shapeOf(inputs[0]), axes = t.integers(inputs[1], 1);
  if (!shape || !axes)
    return std::nullopt;
  SmallVector<bool> isReversed(shape->size());
  for (int64_t said : *axes) {
    std::optional<int64_t> axis = axisOf(said, static_cast<int64_t>(shape->size()));
    if (!axis || isReversed[*axis])
      return std::nullopt; // invalid: the kernel reports it
    isReversed[*axis] = true;
  }
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) {
    SmallVector<Value> place(at);
    for (auto [index, size, turned] : llvm::zip(place, *shape, isReversed))
      if (turned)
        index = b.createOrFold<arith::SubIOp>(loc, arith::ConstantIndexOp::create(b, loc, size - 1),
                                              index);
    return t.elementAt(b, loc, inputs[0], place);
  };
  return Values{t.generate(t.asIndices(*shape), elementOf(inputs[0].value.getType()),
                           t.outcome(node, inputs), element)};
}

/// Replaces a block at a known position by another tensor. Both are read; nothing is written in
/// place.
TracedValue blockByIndex(Translator &t, const TracedValue &whole, const TracedValue &part,
                         ArrayRef<int64_t> begins, KnownValue known) {
  auto type = cast<RankedTensorType>(whole.value.getType());
  SmallVector<int64_t> ends;
  for (auto [begin, size] :
       llvm::zip(begins, cast<RankedTensorType>(part.value.getType()).getShape()))
    ends.push_back(begin + size);
  auto element = [&](OpBuilder &b, Location loc, ValueRange at) {
    return whereInside(
        b, loc, SmallVector<Value>(at), begins, ends, type.getShape(), type.getElementType(),
        [&](OpBuilder &inner) {
          SmallVector<Value> place;
          for (auto [index, by] : llvm::zip(at, begins))
            place.push_back(shifted(inner, loc, index, -by));
          return t.elementAt(inner, loc, part, place);
        },
        [&](OpBuilder &inner) { return t.elementAt(inner, loc, whole, SmallVector<Value>(at)); });
  };
  return t.generate(t.asIndices(type.getShape()), type.getElementType(), std::move(known), element);
}

} // namespace treadle::codegen
