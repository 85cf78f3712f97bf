// Represents lists of tensors with the same shape as one tensor whose rows are the elements. Other
// lists are left to kernels, which use handles.
#include "treadle/analysis/shapes/NodeShapes.h"
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Translator.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>

using namespace mlir;

namespace treadle::codegen {

static bool isRanked(const TracedValue &list) { return isTensor(list.value.getType()); }

/// Whether the element shape is known from the beginning.
static bool isNeverOpen(const ListForm &form) { return form.isExact || form.stated.isStatic(); }

Value Translator::lengthOf(const TracedValue &list) {
  if (!isRanked(list))
    return list.value;
  Value first = dim(list.value, 0);
  if (isNeverOpen(*list.list))
    return first;
  Value zero = index(0),
        isOpen = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, first, zero);
  Value length = arith::SubIOp::create(b, loc, index(-1), first);
  return arith::SelectOp::create(b, loc, isOpen, length, first);
}

TracedValue Translator::openList(const TracedValue &length, Type type) {
  SmallVector<Value> dims = {length.value};
  Value made = rc::ListOp::create(b, loc, TypeRange(type), dims, /*isOpen=*/true).getOutputs()[0];
  return {made, length.known, std::nullopt, length.list};
}

bool Translator::isOfIteration(Value value) const {
  return innermost && innermost->isAncestor(value.getParentBlock()->getParentOp());
}

namespace {

/// Converts the element shape of a list to a tensor; the scalar -1 means unknown rank.
Tensor shapeTensor(const Shape &shape) {
  if (!shape.hasRank())
    return Tensor::scalar<int64_t>(DType::Int64, -1);
  std::vector<int64_t> dims;
  for (int64_t dim : shape.all())
    dims.push_back(dim == Shape::unknown ? -1 : dim);
  return Tensor::vector<int64_t>(DType::Int64, dims);
}

/// Returns the dimensions of a list's elements as i64 values.
SmallVector<Value> rowDims(Translator &t, Value list, Type element) {
  SmallVector<Value> dims;
  for (int64_t i = 1; i < cast<RankedTensorType>(list.getType()).getRank(); ++i)
    dims.push_back(arith::IndexCastOp::create(t.b, t.loc, element, t.dim(list, i)));
  return dims;
}

/// Converts a list to a handle.
class Handle {
public:
  Handle(Translator &t, const TracedValue &list)
      : t(t), list(list), maker(list.list->makers.front()), b(t.b), loc(t.loc),
        type(RankedTensorType::get({}, tf_type::VariantType::get(b.getContext()))) {
    attrs.set("element_dtype", TypeAttr{valueTypeOf(list.list->element).dtype});
  }

  Value make() {
    const ListForm &form = *list.list;
    Value shape =
        form.isExact ? exactShape() : t.boxed(t.constant(shapeTensor(form.stated), {}).value);
    if (!isRanked(list))
      return reserved(shape);
    if (isNeverOpen(form))
      return ofRows(shape);
    Value isOpen =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, t.dim(list.value, 0), t.index(0));
    auto sides = scf::IfOp::create(b, loc, type, isOpen, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(sides.thenBlock());
    scf::YieldOp::create(b, loc, reserved(shape));
    b.setInsertionPointToStart(sides.elseBlock());
    scf::YieldOp::create(b, loc, ofRows(shape));
    return sides.getResult(0);
  }

private:
  Value exactShape() {
    Type element = b.getI64Type();
    SmallVector<Value> dims = rowDims(t, list.value, element);
    auto type = RankedTensorType::get({static_cast<int64_t>(dims.size())}, element);
    return tensor::FromElementsOp::create(b, loc, type, dims);
  }

  Value reserved(Value shape) {
    Value length = arith::IndexCastOp::create(b, loc, b.getI32Type(), t.lengthOf(list));
    return t.kernelFor(maker, "TensorListReserve", attrs, {shape, t.boxed(length)}, type);
  }

  Value ofRows(Value shape) {
    Value rows =
        rc::StackOp::create(b, loc, TypeRange(list.value.getType()), list.value).getOutputs()[0];
    return t.kernelFor(maker, "TensorListFromTensor", attrs, {rows, shape}, type);
  }

  Translator &t;
  const TracedValue &list;
  tfg::Node maker;
  OpBuilder &b;
  Location loc;
  Type type;
  AttrMap attrs;
};

// --- construction ------------------------------------------------------------------------------

/// Returns the element shape that a constant specifies; nullopt if it isn't a shape.
std::optional<Shape> statedBy(const Tensor &shape) {
  if (!shape || shape.rank() > 1 ||
      (shape.dtype() != DType::Int32 && shape.dtype() != DType::Int64))
    return std::nullopt;
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < shape.count(); ++i)
    dims.push_back(shape.dtype() == DType::Int32 ? shape.data<int32_t>()[i]
                                                 : shape.data<int64_t>()[i]);
  if (llvm::any_of(dims, [](int64_t dim) { return dim < -1; }))
    return std::nullopt;
  if (shape.rank() == 1)
    return Shape(dims);
  return dims.front() == -1 ? std::optional(Shape()) : std::nullopt;
}

/// The element shape that a node specifies for the list it creates, and the sizes if the rank is
/// known; nullopt if the node specifies too little.
struct StatedShape {
  ListForm form;
  SmallVector<Value> sizes;
};

std::optional<StatedShape> stated(Translator &t, tfg::Node node, const TracedValue &shape) {
  auto dtype = node.attr<mlir::TypeAttr>("element_dtype");
  if (!dtype || !isNative(dtype.getValue()) || t.leavesLists(node))
    return std::nullopt;
  StatedShape made;
  made.form.element = t.elementType(dtype.getValue());
  made.form.makers.push_back(node.getOperation());
  if (shape.known.constant) {
    std::optional<Shape> constant = statedBy(shape.known.constant);
    if (!constant)
      return std::nullopt;
    made.form.stated = std::move(*constant);
    for (int64_t dim : made.form.stated.all())
      made.sizes.push_back(t.index(dim == Shape::unknown ? -1 : dim));
    return made;
  }
  std::optional<SmallVector<Value>> sizes = t.indices(shape);
  if (!sizes || !isTensor(shape.value.getType()))
    return std::nullopt;
  for (Value size : *sizes)
    if (getConstantIntValue(size).value_or(0) < 0)
      return std::nullopt;
  for (Value size : *sizes)
    t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::sge, size, t.index(0)));
  made.form.stated = Shape::ofRank(static_cast<int64_t>(sizes->size()));
  made.form.isExact = true;
  made.sizes = std::move(*sizes);
  return made;
}

/// Returns the type of a list of any length with elements of these sizes; -1 is dynamic.
RankedTensorType listType(ArrayRef<Value> sizes, Type element) {
  SmallVector<int64_t> shape = {ShapedType::kDynamic};
  for (Value size : sizes) {
    int64_t known = getConstantIntValue(size).value_or(-1);
    shape.push_back(known < 0 ? ShapedType::kDynamic : known);
  }
  return RankedTensorType::get(shape, element);
}

TracedValue newList(Translator &t, tfg::Node node, const Values &inputs, StatedShape stated,
                    Value length) {
  // The same limit as in the kernel. The comparison is unsigned, so that negative lengths are too
  // large.
  constexpr int64_t most = int64_t(1) << 28;
  t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ule, length, t.index(most)));
  TracedValue open{length, t.outcome(node, inputs), std::nullopt, std::move(stated.form)};
  const ListForm &form = *open.list;
  if (!form.stated.hasRank())
    return open;
  RankedTensorType type = listType(stated.sizes, form.element);
  if (!isNeverOpen(form))
    return t.openList(open, type);
  SmallVector<Value> dims = {length};
  for (auto [i, size] : llvm::enumerate(stated.sizes))
    if (type.isDynamicDim(static_cast<unsigned>(i) + 1))
      dims.push_back(size);
  open.value =
      rc::ListOp::create(t.b, t.loc, TypeRange(type), dims, /*isOpen=*/false).getOutputs()[0];
  return open;
}

std::optional<Value> scalarIndex(Translator &t, const TracedValue &typed) {
  std::optional<SmallVector<Value>> values = t.indices(typed);
  if (!values || values->size() != 1 || isTensor(typed.value.getType()))
    return std::nullopt;
  return values->front();
}

MaybeValues reserve(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Value> length = scalarIndex(t, inputs[1]);
  std::optional<StatedShape> said = length ? stated(t, node, inputs[0]) : std::nullopt;
  if (!said)
    return std::nullopt;
  return Values{newList(t, node, inputs, std::move(*said), *length)};
}

MaybeValues empty(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Value> given = scalarIndex(t, inputs[1]);
  std::optional<int64_t> most = given ? getConstantIntValue(*given) : std::nullopt;
  std::optional<StatedShape> said = most ? stated(t, node, inputs[0]) : std::nullopt;
  if (!said)
    return std::nullopt;
  said->form.most = *most < 0 ? -1 : *most;
  return Values{newList(t, node, inputs, std::move(*said), t.index(0))};
}

/// Checks dimensions against a shape, as far as it is known. Returns false if they contradict it or
/// can't be checked.
bool checkDims(Translator &t, Value of, int64_t first, const Shape &shape) {
  auto type = cast<RankedTensorType>(of.getType());
  if (!shape.hasRank())
    return true;
  if (shape.rank() != type.getRank() - first)
    return false;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    int64_t wanted = shape.dim(i), is = type.getDimSize(first + i);
    if (wanted == Shape::unknown || wanted == is)
      continue;
    if (is != ShapedType::kDynamic)
      return false;
    t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, t.dim(of, first + i),
                                  t.index(wanted)));
  }
  return true;
}

MaybeValues fromTensor(Translator &t, tfg::Node node, Values inputs) {
  Value rows = inputs[0].value;
  auto type = dyn_cast<RankedTensorType>(rows.getType());
  std::optional<StatedShape> said = stated(t, node, inputs[1]);
  if (!said || !type || type.getRank() == 0 || type.getElementType() != said->form.element)
    return std::nullopt;
  if (said->form.isExact) {
    if (static_cast<int64_t>(said->sizes.size()) != type.getRank() - 1)
      return std::nullopt;
    for (auto [i, size] : llvm::enumerate(said->sizes))
      t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, size,
                                    t.dim(rows, static_cast<int64_t>(i) + 1)));
  } else if (!checkDims(t, rows, 1, said->form.stated)) {
    return std::nullopt;
  }
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = ShapedType::kDynamic;
  for (auto [i, dim] : llvm::enumerate(said->form.stated.all()))
    if (dim != Shape::unknown)
      shape[i + 1] = dim;
  auto listed = RankedTensorType::get(shape, type.getElementType());
  if (listed != type)
    rows = tensor::CastOp::create(t.b, t.loc, listed, rows);
  return Values{{rows, t.outcome(node, inputs), std::nullopt, std::move(said->form)}};
}

// --- elements ----------------------------------------------------------------------------------

MaybeValues length(Translator &t, tfg::Node node, Values inputs) {
  if (!inputs[0].list)
    return std::nullopt;
  Value length = arith::IndexCastOp::create(t.b, t.loc, t.b.getI32Type(), t.lengthOf(inputs[0]));
  return Values{{length, t.outcome(node, inputs)}};
}

/// Returns an element in the form of the list's elements: a register for a scalar, otherwise a
/// tensor with all known sizes. Null if it doesn't fit.
Value elementFor(Translator &t, const TracedValue &list, const TracedValue &element) {
  Type given = element.value.getType();
  auto type = cast<RankedTensorType>(list.value.getType());
  if (elementOf(given) != type.getElementType())
    return {};
  auto row = RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
  auto ranked =
      isTensor(given) ? dyn_cast<RankedTensorType>(given) : RankedTensorType::get({}, given);
  if (!ranked || !tensor::CastOp::areCastCompatible(TypeRange(ranked), TypeRange(row)))
    return {};
  if (row.getRank() == 0)
    return t.coerce(element.value, row.getElementType());
  // A cast alone isn't guaranteed to check.
  if (!checkDims(t, element.value, 0, tfg::shapeOf(row)))
    return {};
  return t.coerce(element.value, row);
}

/// Returns a list that accepts this element: a list of unknown rank gets the element's rank.
TracedValue ranked(Translator &t, TracedValue list, const TracedValue &element) {
  Type type = element.value.getType();
  if (isRanked(list) || (isTensor(type) && !isa<RankedTensorType>(type)))
    return list;
  int64_t rank = isTensor(type) ? cast<RankedTensorType>(type).getRank() : 0;
  SmallVector<int64_t> shape(rank + 1, ShapedType::kDynamic);
  return t.openList(list, RankedTensorType::get(shape, list.list->element));
}

/// Stores an element at an index.
MaybeValues put(Translator &t, tfg::Node node, const Values &inputs, Value index,
                const TracedValue &element, bool grows) {
  TracedValue list = ranked(t, inputs[0], element);
  Value item = isRanked(list) ? elementFor(t, list, element) : Value();
  if (!item)
    return std::nullopt;
  list.value = rc::SetOp::create(t.b, t.loc, list.value.getType(), list.value, index, item, grows);
  list.known = t.outcome(node, inputs);
  return Values{std::move(list)};
}

MaybeValues setItem(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Value> index = scalarIndex(t, inputs[1]);
  if (!inputs[0].list || !index || inputs[2].list)
    return std::nullopt;
  auto grows = node.attr<BoolAttr>("resize_if_index_out_of_bounds");
  return put(t, node, inputs, *index, inputs[2], grows && grows.getValue());
}

MaybeValues pushBack(Translator &t, tfg::Node node, Values inputs) {
  if (!inputs[0].list || inputs[1].list)
    return std::nullopt;
  Value length = t.lengthOf(inputs[0]);
  if (int64_t most = inputs[0].list->most; most >= 0)
    t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::slt, length, t.index(most)));
  return put(t, node, inputs, length, inputs[1], /*grows=*/true);
}

/// Whether the list's elements have the dtype that the node specifies; otherwise the kernel reports
/// the error.
bool givesElements(Translator &t, tfg::Node node, const TracedValue &list, unsigned result) {
  return list.list && isRanked(list) &&
         t.elementType(node->getResult(result)) == list.list->element;
}

/// Returns the element at an index. An open list has none; the kernel determines the result then.
std::optional<TracedValue> elementAt(Translator &t, const TracedValue &list, Value index,
                                     KnownValue known) {
  auto type = cast<RankedTensorType>(list.value.getType());
  SmallVector<int64_t> shape(type.getShape().drop_front());
  auto row = RankedTensorType::get(shape, type.getElementType());
  auto wanted = dyn_cast<RankedTensorType>(tfg::tensorOf(known.shape, type.getElementType()));
  if (wanted && !tensor::CastOp::areCastCompatible(TypeRange(row), TypeRange(wanted)))
    return std::nullopt;
  if (row.getRank() > 0) {
    bool copies = t.isOfIteration(list.value);
    Value element =
        rc::RowOp::create(t.b, t.loc, TypeRange(row), list.value, index, copies).getOutputs()[0];
    Shape both = meet(known.shape, tfg::shapeOf(row));
    element = t.coerce(element, tfg::tensorOf(both, type.getElementType()));
    known.shape = std::move(both);
    return TracedValue{element, std::move(known)};
  }
  Value first = t.dim(list.value, 0);
  t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::sge, index, t.index(0)));
  t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::slt, index, first));
  known.shape = Shape::scalar();
  return TracedValue{tensor::ExtractOp::create(t.b, t.loc, list.value, index), std::move(known)};
}

MaybeValues getItem(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Value> index = scalarIndex(t, inputs[1]);
  if (!givesElements(t, node, inputs[0], 0) || !index)
    return std::nullopt;
  std::optional<TracedValue> element = elementAt(t, inputs[0], *index, t.outcome(node, inputs));
  if (!element)
    return std::nullopt;
  return Values{std::move(*element)};
}

/// Whether the list may have elements that were never set, whose shape follows from the others. If
/// the last set element is removed, the kernel no longer knows the shape.
bool mayLoseItsShape(const ListForm &form) {
  return !isNeverOpen(form) && llvm::any_of(form.makers, [](Operation *maker) {
    return tfg::Node(maker).opType() == "TensorListReserve";
  });
}

MaybeValues popBack(Translator &t, tfg::Node node, Values inputs) {
  if (!givesElements(t, node, inputs[0], 1))
    return std::nullopt;
  TracedValue list = inputs[0];
  if (mayLoseItsShape(*list.list)) {
    t.wanted.insert_range(list.list->makers);
    return std::nullopt;
  }
  std::vector<const KnownValue *> known;
  for (const TracedValue &input : inputs)
    known.push_back(&input.known);
  ShapeResults shapes = tfg::shapesOf(node, known);
  shapes.values.resize(2);
  // An empty list has no element at -1.
  Value last = arith::SubIOp::create(t.b, t.loc, t.lengthOf(list), t.index(1));
  std::optional<TracedValue> element = elementAt(t, list, last, std::move(shapes.values[1]));
  if (!element)
    return std::nullopt;
  list.value =
      rc::PopOp::create(t.b, t.loc, TypeRange(list.value.getType()), list.value).getOutputs()[0];
  list.known = std::move(shapes.values[0]);
  return Values{std::move(list), std::move(*element)};
}

// --- whole lists -------------------------------------------------------------------------------

/// Checks that elements have the shape that an op asks for. Returns false if that can't be checked.
bool checkAsked(Translator &t, const TracedValue &list, const TracedValue &asked) {
  if (asked.known.constant) {
    std::optional<Shape> shape = statedBy(asked.known.constant);
    return shape && checkDims(t, list.value, 1, *shape);
  }
  std::optional<SmallVector<Value>> sizes = t.indices(asked);
  int64_t rank = cast<RankedTensorType>(list.value.getType()).getRank() - 1;
  if (!sizes || !isTensor(asked.value.getType()) || static_cast<int64_t>(sizes->size()) != rank)
    return false;
  for (auto [i, size] : llvm::enumerate(*sizes))
    t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, size,
                                  t.dim(list.value, static_cast<int64_t>(i) + 1)));
  return true;
}

MaybeValues stack(Translator &t, tfg::Node node, Values inputs) {
  if (!givesElements(t, node, inputs[0], 0) || !checkAsked(t, inputs[0], inputs[1]))
    return std::nullopt;
  const TracedValue &list = inputs[0];
  KnownValue known = t.outcome(node, inputs);
  Value length = t.dim(list.value, 0);
  if (auto count = node.attr<IntegerAttr>("num_elements"); count && count.getInt() >= 0)
    t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, length,
                                  t.index(count.getInt())));
  // Only its elements determine the shape.
  if (!isNeverOpen(*list.list) && !known.shape.drop(1).isStatic())
    t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::sgt, length, t.index(0)));
  auto type = cast<RankedTensorType>(list.value.getType());
  Value rows = rc::StackOp::create(t.b, t.loc, TypeRange(type), list.value).getOutputs()[0];
  known.shape = meet(known.shape, tfg::shapeOf(type));
  return Values{{t.coerce(rows, tfg::tensorOf(known.shape, type.getElementType())), known}};
}

MaybeValues elementShape(Translator &t, tfg::Node node, Values inputs) {
  Type integer = t.elementType(node->getResult(0));
  if (!inputs[0].list)
    return std::nullopt;
  const TracedValue &list = inputs[0];
  KnownValue known = t.outcome(node, inputs);
  if (list.list->isExact && list.list->stated.rank() > 0)
    return Values{t.vector(rowDims(t, list.value, integer), integer, std::move(known))};
  Tensor wide = shapeTensor(list.list->stated), shape = wide;
  if (integer.isInteger(32)) {
    shape = *Tensor::make(DType::Int32, wide.dims());
    std::copy_n(wide.data<int64_t>(), wide.count(), shape.data<int32_t>());
  }
  known.constant = shape;
  return Values{t.constant(shape, std::move(known))};
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"EmptyTensorList", empty},           {"TensorListElementShape", elementShape},
    {"TensorListFromTensor", fromTensor}, {"TensorListGetItem", getItem},
    {"TensorListLength", length},         {"TensorListPopBack", popBack},
    {"TensorListPushBack", pushBack},     {"TensorListReserve", reserve},
    {"TensorListSetItem", setItem},       {"TensorListStack", stack},
};

} // namespace

TracedValue Translator::handleOf(const TracedValue &list) {
  if (innermost || list.list->most >= 0)
    wanted.insert_range(list.list->makers);
  return {Handle(*this, list).make(), list.known};
}

LoweringTable listLowerings() { return table; }

bool takesLists(StringRef op) {
  static const llvm::StringSet<> ops = [] {
    llvm::StringSet<> ops = {"Identity", "IdentityN"};
    for (auto [name, lowering] : table)
      ops.insert(name);
    return ops;
  }();
  return isFunctional(opKind(op)) || ops.contains(op);
}

} // namespace treadle::codegen
