// Rules for known shapes, and for ops that move no data.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/transforms/constant_folding/Simplifier.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

RankedTensorType rankedType(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

RankedTensorType staticType(Value value) {
  RankedTensorType type = rankedType(value);
  return type && type.hasStaticShape() ? type : RankedTensorType();
}

/// Returns a constant of the dtype of the node's result, int32 or int64; nullopt if a value
/// doesn't fit.
template <typename Values>
std::optional<Tensor> integerTensor(DType dtype, Dims dims, const Values &values) {
  if (dtype != DType::Int32 && dtype != DType::Int64)
    return std::nullopt;
  Expected<Tensor> tensor = Tensor::make(dtype, dims);
  if (!tensor)
    return std::nullopt;
  int64_t i = 0;
  for (int64_t value : values) {
    if (dtype == DType::Int64)
      tensor->data<int64_t>()[i++] = value;
    else if (value > std::numeric_limits<int32_t>::max())
      return std::nullopt;
    else
      tensor->data<int32_t>()[i++] = static_cast<int32_t>(value);
  }
  return std::move(*tensor);
}

DType resultDType(Node node) { return valueTypeOf(node->getResult(0).getType()).dtype; }

Node shape(Simplifier &simplifier, Node node) {
  RankedTensorType type = staticType(node->getOperand(0));
  if (!type)
    return {};
  int64_t rank = type.getRank();
  auto tensor = integerTensor(resultDType(node), Dims(&rank, 1), type.getShape());
  return tensor ? simplifier.makeConst(node, *tensor) : Node();
}

Node rank(Simplifier &simplifier, Node node) {
  RankedTensorType type = rankedType(node->getOperand(0));
  if (!type)
    return {};
  auto tensor = integerTensor(DType::Int32, {}, ArrayRef<int64_t>(type.getRank()));
  return simplifier.makeConst(node, *tensor);
}

Node size(Simplifier &simplifier, Node node) {
  RankedTensorType type = staticType(node->getOperand(0));
  if (!type)
    return {};
  auto tensor = integerTensor(resultDType(node), {}, ArrayRef<int64_t>(type.getNumElements()));
  return tensor ? simplifier.makeConst(node, *tensor) : Node();
}

int64_t intAttr(Node node, StringRef key, int64_t otherwise = 0) {
  auto attr = node.attr<IntegerAttr>(key);
  return attr ? attr.getInt() : otherwise;
}

// shape(x)[i] if that dimension is known.
Node dimension(Simplifier &simplifier, Node node) {
  Node shape = simplifier.producer(node->getOperand(0));
  if (!shape || shape.opType() != "Shape" || node.numData() != 4)
    return {};
  RankedTensorType type = rankedType(shape->getOperand(0));
  auto begin = simplifier.constants.integersOf(node->getOperand(1));
  if (!type || !begin || begin->size() != 1 || intAttr(node, "shrink_axis_mask") != 1 ||
      intAttr(node, "new_axis_mask") != 0 || intAttr(node, "begin_mask") != 0 ||
      intAttr(node, "ellipsis_mask") != 0)
    return {};
  int64_t index = begin->front() < 0 ? begin->front() + type.getRank() : begin->front();
  if (index < 0 || index >= type.getRank() || type.isDynamicDim(index))
    return {};
  auto tensor = integerTensor(resultDType(node), {}, ArrayRef<int64_t>(type.getDimSize(index)));
  return tensor ? simplifier.makeConst(node, *tensor) : Node();
}

// A slice of all of x: from the beginning to the end in steps of 1, of existing dimensions only.
Node wholeStridedSlice(Simplifier &simplifier, Node node) {
  if (Node made = dimension(simplifier, node))
    return made;
  RankedTensorType type = rankedType(node->getOperand(0));
  if (!type || node.numData() != 4)
    return {};
  auto begin = simplifier.constants.integersOf(node->getOperand(1));
  auto end = simplifier.constants.integersOf(node->getOperand(2));
  auto strides = simplifier.constants.integersOf(node->getOperand(3));
  if (!begin || !end || !strides || begin->size() > static_cast<size_t>(type.getRank()) ||
      intAttr(node, "shrink_axis_mask") != 0 || intAttr(node, "new_axis_mask") != 0 ||
      intAttr(node, "ellipsis_mask") != 0 ||
      llvm::any_of(*strides, [](int64_t stride) { return stride != 1; }))
    return {};
  int64_t beginMask = intAttr(node, "begin_mask"), endMask = intAttr(node, "end_mask");
  for (auto [i, first, last] : llvm::enumerate(*begin, *end)) {
    bool isFromStart = (beginMask >> i & 1) || first == 0;
    bool isToEnd = (endMask >> i & 1) || (!type.isDynamicDim(i) && last >= type.getDimSize(i));
    if (!isFromStart || !isToEnd)
      return {};
  }
  return simplifier.makeIdentity(node, node->getOperand(0));
}

Node wholeSlice(Simplifier &simplifier, Node node) {
  RankedTensorType type = rankedType(node->getOperand(0));
  auto begin = simplifier.constants.integersOf(node->getOperand(1));
  auto size = simplifier.constants.integersOf(node->getOperand(2));
  if (!type || !begin || !size || static_cast<int64_t>(begin->size()) != type.getRank() ||
      begin->size() != size->size())
    return {};
  for (auto [i, first, length] : llvm::enumerate(*begin, *size))
    if (first != 0 || (length != -1 && length != type.getDimSize(i)))
      return {};
  return simplifier.makeIdentity(node, node->getOperand(0));
}

Node reshape(Simplifier &simplifier, Node node) {
  RankedTensorType type = rankedType(node->getOperand(0));
  auto dims = simplifier.constants.integersOf(node->getOperand(1));
  Tensor constant = simplifier.constants.valueOf(node->getOperand(1));
  // The op itself rejects more dimensions than tensors can have.
  constexpr size_t maxDimensions = 64;
  if (!type || !dims || constant.rank() != 1 || dims->size() > maxDimensions ||
      static_cast<int64_t>(dims->size()) != type.getRank())
    return {};
  // All dimensions are equal, except one that follows from the others.
  int unknown = 0;
  for (auto [dim, own] : llvm::zip(*dims, type.getShape())) {
    if (dim == -1)
      ++unknown;
    else if (dim != own || dim == 0)
      return {};
  }
  if (unknown > 1)
    return {};
  return simplifier.makeIdentity(node, node->getOperand(0));
}

Node squeeze(Simplifier &simplifier, Node node) {
  RankedTensorType type = rankedType(node->getOperand(0));
  auto dims = node.attr<ArrayAttr>("squeeze_dims");
  if (!type || (dims && !dims.empty()) || !type.hasStaticShape() ||
      llvm::is_contained(type.getShape(), 1))
    return {};
  return simplifier.makeIdentity(node, node->getOperand(0));
}

bool isIota(ArrayRef<int64_t> values) {
  for (auto [i, value] : llvm::enumerate(values))
    if (value != static_cast<int64_t>(i))
      return false;
  return true;
}

bool isPermutation(ArrayRef<int64_t> values) {
  SmallVector<int64_t> sorted(values);
  llvm::sort(sorted);
  return isIota(sorted);
}

// Two transposes become one, which may be a no-op.
Node transpose(Simplifier &simplifier, Node node) {
  auto perm = simplifier.constants.integersOf(node->getOperand(1));
  if (!perm || !isPermutation(*perm))
    return {};
  RankedTensorType type = rankedType(node->getOperand(0));
  if (isIota(*perm) && type && type.getRank() == static_cast<int64_t>(perm->size()))
    return simplifier.makeIdentity(node, node->getOperand(0));
  Node inner = simplifier.producer(node->getOperand(0));
  if (!inner || inner.opType() != node.opType())
    return {};
  auto innerPerm = simplifier.constants.integersOf(inner->getOperand(1));
  RankedTensorType innerType = rankedType(inner->getOperand(0));
  if (!innerPerm || innerPerm->size() != perm->size() || !isPermutation(*innerPerm) || !innerType ||
      innerType.getRank() != static_cast<int64_t>(perm->size()))
    return {};
  SmallVector<int64_t> both;
  for (int64_t dim : *perm)
    both.push_back((*innerPerm)[dim]);
  if (isIota(both))
    return simplifier.makeIdentity(node, inner->getOperand(0));
  int64_t size = static_cast<int64_t>(both.size());
  auto tensor =
      integerTensor(valueTypeOf(node->getOperand(1).getType()).dtype, Dims(&size, 1), both);
  Value constant = tensor ? simplifier.constantBeside(node, *tensor) : Value();
  if (!constant)
    return {};
  SmallVector<NamedAttribute> attrs(llvm::make_filter_range(
      node.attrs(), [](NamedAttribute attr) { return !isAboutNode(attr.getName()); }));
  return simplifier.makeOp(node, node.opType(), {inner->getOperand(0), constant}, attrs);
}

/// Ops that return their first input, of any shape, if all elements of the constant second input
/// are `number` (or it is empty).
template <int64_t number> Node unlessOther(Simplifier &simplifier, Node node) {
  auto values = simplifier.constants.integersOf(node->getOperand(1));
  if (!values || llvm::any_of(*values, [](int64_t value) { return value != number; }))
    return {};
  // The op must check that there are as many elements as dimensions, unless that is known.
  RankedTensorType type = rankedType(node->getOperand(0));
  Tensor constant = simplifier.constants.valueOf(node->getOperand(1));
  if (!type || constant.rank() == 0 || constant.dim(0) != type.getRank())
    return {};
  return simplifier.makeIdentity(node, node->getOperand(0));
}

Node reverse(Simplifier &simplifier, Node node) {
  RankedTensorType type = rankedType(node->getOperand(0));
  auto axes = simplifier.constants.integersOf(node->getOperand(1));
  if (!type || !axes || llvm::any_of(*axes, [&](int64_t axis) {
        axis += axis < 0 ? type.getRank() : 0;
        return axis < 0 || axis >= type.getRank() || type.getDimSize(axis) != 1;
      }))
    return {};
  llvm::sort(*axes);
  if (llvm::is_sorted(*axes) && std::adjacent_find(axes->begin(), axes->end()) != axes->end())
    return {};
  return simplifier.makeIdentity(node, node->getOperand(0));
}

Node broadcastTo(Simplifier &simplifier, Node node) {
  RankedTensorType type = staticType(node->getOperand(0));
  auto dims = simplifier.constants.integersOf(node->getOperand(1));
  if (!type || !dims || ArrayRef<int64_t>(*dims) != type.getShape())
    return {};
  return simplifier.makeIdentity(node, node->getOperand(0));
}

Node reduceNothing(Simplifier &simplifier, Node node) {
  Tensor axes = simplifier.constants.valueOf(node->getOperand(1));
  if (!axes || axes.count() != 0)
    return {};
  return simplifier.makeIdentity(node, node->getOperand(0));
}

Node cast(Simplifier &simplifier, Node node) {
  Type from = node->getOperand(0).getType(), to = node->getResult(0).getType();
  DType dtype = valueTypeOf(from).dtype;
  if (dtype == DType::Invalid || dtype != valueTypeOf(to).dtype || valueTypeOf(from).isRef)
    return {};
  return simplifier.makeIdentity(node, node->getOperand(0));
}

// A single part or piece: the value itself.
template <unsigned operand> Node onlyPart(Simplifier &simplifier, Node node) {
  if (node.numResults() != 1 || node.numData() <= operand)
    return {};
  if (Node axis = definingNode(node->getOperand(1 - operand)); !axis || axis.opType() != "Const")
    return {};
  RankedTensorType type = rankedType(node->getOperand(operand));
  if (!type || type.getRank() == 0)
    return {};
  auto axis = simplifier.constants.integersOf(node->getOperand(1 - operand));
  if (!axis || axis->size() != 1 || axis->front() < -type.getRank() ||
      axis->front() >= type.getRank())
    return {};
  return simplifier.makeIdentity(node, node->getOperand(operand));
}

Node concatOne(Simplifier &simplifier, Node node) {
  return node.numData() == 2 ? onlyPart<0>(simplifier, node) : Node();
}

constexpr RuleEntry table[] = {
    {"Shape", shape},
    {"Rank", rank},
    {"Size", size},
    {"StridedSlice", wholeStridedSlice},
    {"Slice", wholeSlice},
    {"Reshape", reshape},
    {"Squeeze", squeeze},
    {"Transpose", transpose},
    {"Tile", unlessOther<1>},
    {"Pad", unlessOther<0>},
    {"PadV2", unlessOther<0>},
    {"MirrorPad", unlessOther<0>},
    {"ReverseV2", reverse},
    {"BroadcastTo", broadcastTo},
    {RuleEntry::reductions, reduceNothing},
    {"cast", cast},
    {"Bitcast", cast},
    {"Split", onlyPart<1>},
    {"ConcatV2", concatOne},
};

} // namespace

ArrayRef<RuleEntry> shapeRules() { return table; }

} // namespace treadle::tfg
