// Translates ops on small tensors element by element: each element is one of an input's, or
// computed from a few. Rearranging elements needs no code.
#include "treadle/codegen/ConcatByIndex.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Translator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

using Places = SmallVector<int64_t>;

/// Returns the shape of a scalar or small tensor; nullopt for others.
std::optional<Places> shapeOf(const TracedValue &typed) {
  Type type = typed.value.getType();
  if (!isTensor(type))
    return isNative(type) && !typed.list ? std::optional(Places()) : std::nullopt;
  return isSmall(type) ? std::optional(Places(cast<RankedTensorType>(type).getShape()))
                       : std::nullopt;
}

/// Builds a small tensor of this shape, selecting each element by its position. Returns nullopt if
/// it isn't small.
MaybeValues pick(Translator &t, tfg::Node node, const Values &inputs, ArrayRef<int64_t> shape,
                 llvm::function_ref<Value(ArrayRef<int64_t>)> elementAt) {
  Type element = t.elementType(node->getResult(0));
  if (!isNative(element) || (!shape.empty() && !isSmall(RankedTensorType::get(shape, element))))
    return std::nullopt;
  SmallVector<Value> elements;
  Places strides = computeStrides(shape);
  for (int64_t i = 0; i < computeProduct(shape); ++i)
    elements.push_back(elementAt(delinearize(i, strides)));
  return Values{t.small(elements, shape, element, t.outcome(node, inputs))};
}

MaybeValues pack(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> part = shapeOf(inputs[0]);
  auto attr = node.attr<IntegerAttr>("axis");
  auto type = dyn_cast<RankedTensorType>(inputs[0].value.getType());
  int64_t rank = type ? type.getRank() : isTensor(inputs[0].value.getType()) ? -1 : 0;
  std::optional<int64_t> axis = axisOf(attr ? attr.getInt() : 0, rank + 1);
  if (!axis)
    return std::nullopt;
  if (!part)
    return packByIndex(t, node, inputs, *axis);
  SmallVector<SmallVector<Value>> own;
  for (const TracedValue &input : inputs) {
    std::optional<SmallVector<Value>> elements = t.elementsOf(input);
    if (!elements || shapeOf(input) != part)
      return packByIndex(t, node, inputs, *axis);
    own.push_back(std::move(*elements));
  }
  Places shape = *part, strides = computeStrides(*part);
  shape.insert(shape.begin() + *axis, static_cast<int64_t>(inputs.size()));
  return pick(t, node, inputs, shape, [&](ArrayRef<int64_t> at) {
    Places place(at);
    place.erase(place.begin() + *axis);
    return own[at[*axis]][linearize(place, strides)];
  });
}

MaybeValues concat(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> shape = shapeOf(inputs[0]), axes = t.integers(inputs.back());
  std::optional<int64_t> axis =
      axisOf(axes && axes->size() == 1 ? std::optional(axes->front()) : std::nullopt,
             shape ? static_cast<int64_t>(shape->size()) : 0);
  if (!shape || !axis)
    return concatByIndex(t, node, inputs);
  struct ConcatPart {
    SmallVector<Value> elements;
    Places strides;
  };
  SmallVector<std::pair<const ConcatPart *, int64_t>> at; // by position along the axis: the part,
                                                          // and the position in it
  SmallVector<ConcatPart> parts;
  parts.reserve(inputs.size());
  for (const TracedValue &input : ArrayRef(inputs).drop_back()) {
    std::optional<Places> own = shapeOf(input);
    std::optional<SmallVector<Value>> elements = t.elementsOf(input);
    if (!own || !elements || own->size() != shape->size())
      return concatByIndex(t, node, inputs);
    parts.push_back({std::move(*elements), computeStrides(*own)});
    for (int64_t i = 0; i < (*own)[*axis]; ++i)
      at.emplace_back(&parts.back(), i);
    (*own)[*axis] = (*shape)[*axis];
    if (own != shape)
      return std::nullopt;
  }
  (*shape)[*axis] = static_cast<int64_t>(at.size());
  if (!isSmall(RankedTensorType::get(*shape, elementOf(inputs[0].value.getType()))))
    return concatByIndex(t, node, inputs);
  return pick(t, node, inputs, *shape, [&](ArrayRef<int64_t> where) {
    Places place(where);
    auto [part, index] = at[place[*axis]];
    place[*axis] = index;
    return part->elements[linearize(place, part->strides)];
  });
}

MaybeValues padded(Translator &t, tfg::Node node, const Values &inputs, ArrayRef<int64_t> before,
                   ArrayRef<int64_t> after, Value outside) {
  std::optional<Places> own = shapeOf(inputs[0]);
  std::optional<SmallVector<Value>> elements = t.elementsOf(inputs[0]);
  Places shape = own.value_or(Places());
  if (!own || !elements || before.size() != own->size() || after.size() != own->size())
    return padByIndex(t, inputs[0], t.outcome(node, inputs), before, after, outside);
  for (auto [size, low, high] : llvm::zip(shape, before, after)) {
    size += low + high;
    if (size < 0)
      return std::nullopt; // invalid: the kernel reports it
  }
  if (shape.empty() || !isSmall(RankedTensorType::get(shape, outside.getType())))
    return padByIndex(t, inputs[0], t.outcome(node, inputs), before, after, outside);
  Places strides = computeStrides(*own);
  return pick(t, node, inputs, shape, [&](ArrayRef<int64_t> at) {
    Places place(at);
    for (auto [index, low, size] : llvm::zip(place, before, *own)) {
      index -= low;
      if (index < 0 || index >= size)
        return outside;
    }
    return (*elements)[linearize(place, strides)];
  });
}

MaybeValues pad(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> paddings = t.integers(inputs[1], 2);
  auto pairs = dyn_cast<RankedTensorType>(inputs[1].value.getType());
  Type element = t.elementType(node->getResult(0));
  if (!paddings || !pairs || pairs.getDimSize(1) != 2 || !isNative(element) ||
      (inputs.size() > 2 && isTensor(inputs[2].value.getType())) ||
      llvm::any_of(*paddings, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  Places before, after;
  for (auto [i, size] : llvm::enumerate(*paddings))
    (i % 2 ? after : before).push_back(size);
  Value outside;
  if (inputs.size() > 2)
    outside = inputs[2].value;
  else
    outside = zeroOf(t.b, t.loc, element);
  return padded(t, node, inputs, before, after, outside);
}

/// Pads, also negatively; elements with interior padding are spread first.
MaybeValues xlaPad(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> before = t.integers(inputs[2]), after = t.integers(inputs[3]),
                        between = t.integers(inputs[4]);
  Type element = t.elementType(node->getResult(0));
  if (!before || !after || !between || !isNative(element) || isTensor(inputs[1].value.getType()) ||
      llvm::any_of(*between, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  if (llvm::any_of(*between, [](int64_t size) { return size > 0; })) {
    std::optional<TracedValue> apart = interiorPadByIndex(t, inputs[0], *between, inputs[1].value);
    if (!apart)
      return std::nullopt;
    return padByIndex(t, *apart, t.outcome(node, inputs), *before, *after, inputs[1].value);
  }
  return padded(t, node, inputs, *before, *after, inputs[1].value);
}

MaybeValues reverse(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> shape = shapeOf(inputs[0]), axes = t.integers(inputs[1], 1);
  std::optional<SmallVector<Value>> elements = t.elementsOf(inputs[0]);
  if (!shape || !axes || !elements)
    return reverseByIndex(t, node, inputs);
  SmallVector<bool> isReversed(shape->size());
  for (int64_t said : *axes) {
    std::optional<int64_t> axis = axisOf(said, static_cast<int64_t>(shape->size()));
    if (!axis || isReversed[*axis])
      return std::nullopt; // invalid: the kernel reports it
    isReversed[*axis] = true;
  }
  Places strides = computeStrides(*shape);
  return pick(t, node, inputs, *shape, [&](ArrayRef<int64_t> at) {
    Places place(at);
    for (auto [index, size, turned] : llvm::zip(place, *shape, isReversed))
      index = turned ? size - 1 - index : index;
    return (*elements)[linearize(place, strides)];
  });
}

MaybeValues tile(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> own = shapeOf(inputs[0]), times = t.integers(inputs[1], 1);
  std::optional<SmallVector<Value>> elements = t.elementsOf(inputs[0]);
  if (!own || !times || !elements || times->size() != own->size())
    return std::nullopt;
  Places shape = *own, strides = computeStrides(*own);
  for (auto [size, count] : llvm::zip(shape, *times))
    if (count < 0 || llvm::MulOverflow(size, count, size))
      return std::nullopt; // invalid: the kernel reports it
  return pick(t, node, inputs, shape, [&](ArrayRef<int64_t> at) {
    Places place(at);
    for (auto [index, size] : llvm::zip(place, *own))
      index %= size;
    return (*elements)[linearize(place, strides)];
  });
}

/// Elements are broadcast where they are read.
MaybeValues broadcastTo(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> shape = t.integers(inputs[1], 1);
  Type type = inputs[0].value.getType();
  auto from = dyn_cast<RankedTensorType>(type);
  if (!shape || !isNative(elementOf(type)) || (isTensor(type) && !from) ||
      (from && (!from.hasStaticShape() || from.getRank() > static_cast<int64_t>(shape->size()))))
    return std::nullopt;
  size_t added = shape->size() - (from ? from.getRank() : 0);
  for (auto [i, size] : llvm::enumerate(*shape)) {
    int64_t own = i < added ? 1 : from.getDimSize(i - added);
    if (size < 0 || (own != size && own != 1))
      return std::nullopt; // invalid: the kernel reports it
  }
  SmallVector<Value> sizes;
  for (int64_t size : *shape)
    sizes.push_back(t.index(size));
  if (!isValidSize(sizes))
    return std::nullopt; // invalid: the kernel reports it
  KnownValue known = t.outcome(node, inputs);
  if (sizes.empty())
    return Values{{inputs[0].value, std::move(known)}};
  if (Value scalar = t.scalarOf(inputs[0]))
    return Values{t.filled(sizes, scalar, std::move(known))};
  return Values{t.generate(
      sizes, elementOf(type), std::move(known), [&](OpBuilder &b, Location loc, ValueRange at) {
        SmallVector<Value> place;
        for (auto [i, index] : llvm::enumerate(at.drop_front(added)))
          place.push_back(from.getDimSize(static_cast<int64_t>(i)) == 1
                              ? arith::ConstantIndexOp::create(b, loc, 0).getResult()
                              : index);
        return t.elementAt(b, loc, inputs[0], place);
      })};
}

/// Builds a range with constant bounds.
MaybeValues range(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> begin = t.integers(inputs[0]), end = t.integers(inputs[1]),
                        step = t.integers(inputs[2]);
  Type element = t.elementType(node->getResult(0));
  int64_t count = 0;
  if (!begin || !end || !step || begin->size() != 1 || end->size() != 1 || step->size() != 1 ||
      step->front() != 1 || end->front() < begin->front() ||
      llvm::SubOverflow(end->front(), begin->front(), count) ||
      !(element.isSignlessInteger(32) || element.isSignlessInteger(64)))
    return std::nullopt;
  Value first = t.index(begin->front());
  return Values{t.generate(t.index(count), element, t.outcome(node, inputs),
                           [&](OpBuilder &b, Location loc, ValueRange at) {
                             Value number = b.createOrFold<arith::AddIOp>(loc, at.front(), first);
                             return b.createOrFold<arith::IndexCastOp>(loc, element, number);
                           })};
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"Pack", pack}, {"ConcatV2", concat},         {"Pad", pad},
    {"PadV2", pad}, {"XlaPad", xlaPad},           {"ReverseV2", reverse},
    {"Tile", tile}, {"BroadcastTo", broadcastTo}, {"Range", range},
};

} // namespace

LoweringTable smallLowerings() { return table; }

} // namespace treadle::codegen
