// The values of the translation: scalars in registers, tensors, and their known properties.
#include "treadle/analysis/shapes/NodeShapes.h"
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Translator.h"
#include "treadle/lowering/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace treadle::codegen {

void Translator::check(Value condition) { rc::CheckOp::create(b, loc, condition); }

Value Translator::boxed(Value value) {
  if (isTensor(value.getType()))
    return value;
  return tensor::FromElementsOp::create(b, loc, RankedTensorType::get({}, value.getType()), value);
}

/// Unboxes scalars of native types to registers.
TracedValue Translator::unboxed(Value value, KnownValue known) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.getRank() == 0 && isNative(type.getElementType()))
    value = tensor::ExtractOp::create(b, loc, value, ValueRange());
  return {value, std::move(known)};
}

/// Converts a value to a more general type, or to a more specific one, which is checked at run
/// time.
Value Translator::coerce(Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (!isTensor(type))
    return tensor::ExtractOp::create(b, loc, coerce(value, RankedTensorType::get({}, type)),
                                     ValueRange());
  value = boxed(value);
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(b, loc, type, value);
}

/// Returns a dimension, read directly after the definition of the value, so that it dominates all
/// uses.
Value Translator::dim(Value value, int64_t index) {
  auto type = cast<RankedTensorType>(value.getType());
  Value &known = dims[{value, index}];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(value);
  if (type.isDynamicDim(index))
    known = tensor::DimOp::create(b, loc, value, index);
  else
    known = arith::ConstantIndexOp::create(b, loc, type.getDimSize(index));
  return known;
}

/// Returns the most specific type that covers both.
Type Translator::joined(Type a, Type b) {
  if (a == b)
    return a;
  auto shape = [](Type type) { return isTensor(type) ? tfg::shapeOf(type) : Shape::scalar(); };
  return tfg::tensorOf(join(shape(a), shape(b)), elementOf(a));
}

std::optional<Form> Translator::joined(const Form &a, const Form &b) {
  Type x = a.type, y = b.type;
  Type handle = RankedTensorType::get({}, tf_type::VariantType::get(this->b.getContext()));
  if (a.list && b.list && a.list->isSameKind(*b.list)) {
    bool areRanked = isTensor(x) && isTensor(y);
    if (areRanked && cast<ShapedType>(x).getRank() != cast<ShapedType>(y).getRank())
      return Form{handle};
    Form form{areRanked ? joined(x, y) : isTensor(x) ? x : y, a.list};
    for (Operation *maker : b.list->makers)
      if (!llvm::is_contained(form.list->makers, maker))
        form.list->makers.push_back(maker);
    return form;
  }
  if (a.list)
    x = handle;
  if (b.list)
    y = handle;
  if (elementOf(x) != elementOf(y))
    return std::nullopt;
  return Form{joined(x, y)};
}

Value Translator::coerce(const TracedValue &typed, const Form &form) {
  if (!form.list)
    return coerce(typed.list ? handleOf(typed).value : typed.value, form.type);
  if (typed.value.getType() == form.type)
    return typed.value;
  if (!isTensor(typed.value.getType()))
    return openList(typed, form.type).value;
  return tensor::CastOp::create(b, loc, form.type, typed.value);
}

/// Reads a number of this type from memory.
static Value elementAt(OpBuilder &b, Location loc, Type type, const char *bytes) {
  auto load = [&](auto value) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  };
  auto floatOf = [&](APInt bits) {
    APFloat value(cast<FloatType>(type).getFloatSemantics(), bits);
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value)).getResult();
  };
  unsigned width = type.getIntOrFloatBitWidth();
  uint64_t bits = width <= 8    ? load(uint8_t())
                  : width == 16 ? load(uint16_t())
                  : width == 32 ? load(uint32_t())
                                : load(uint64_t());
  if (isa<FloatType>(type))
    return floatOf(APInt(width, bits));
  Type computed = computedIn(type);
  return reinterpreted(
      b, loc, arith::ConstantOp::create(b, loc, b.getIntegerAttr(computed, APInt(width, bits))),
      type);
}

/// Returns an element of a constant of a native type.
static Value elementOf(OpBuilder &b, Location loc, Type type, const Tensor &tensor, int64_t i) {
  auto size = static_cast<int64_t>(dtypeSize(tensor.dtype()));
  const char *bytes = static_cast<const char *>(tensor.raw()) + i * size;
  if (auto complex = dyn_cast<ComplexType>(type)) {
    Type part = complex.getElementType();
    return complexOf(b, loc,
                     {elementAt(b, loc, part, bytes), elementAt(b, loc, part, bytes + size / 2)});
  }
  return elementAt(b, loc, type, bytes);
}

/// Returns whether all elements have the same bits.
static bool hasEqualElements(const Tensor &tensor) {
  const char *bytes = static_cast<const char *>(tensor.raw());
  const size_t size = dtypeSize(tensor.dtype());
  return tensor.bytes() >= size && !std::memcmp(bytes, bytes + size, tensor.bytes() - size);
}

TracedValue Translator::constant(const Tensor &tensor, KnownValue known) {
  RankedTensorType type = tfg::typeOf(tensor, b.getContext());
  Type element = type.getElementType();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&cluster.front());
  if (type.getRank() == 0 && isNative(element))
    return {elementOf(b, loc, element, tensor, 0), std::move(known)};
  if (isSmall(type)) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < tensor.count(); ++i)
      elements.push_back(elementOf(b, loc, element, tensor, i));
    return small(elements, type.getShape(), element, std::move(known));
  }
  TracedValue made{rc::ConstantOp::create(b, loc, type, constantNumber(tensor)), std::move(known)};
  if (isNative(element) && hasEqualElements(tensor))
    made.uniform = elementOf(b, loc, element, tensor, 0);
  return made;
}

/// Returns the number of a constant in the table; equal small constants share one.
int32_t Translator::constantNumber(const Tensor &tensor) {
  constexpr size_t maxHashedBytes = 64 << 10;
  auto number = static_cast<int32_t>(tables.constants.size());
  if (tensor.dtype() != DType::String && tensor.bytes() <= maxHashedBytes) {
    auto bytes = [](const Tensor &tensor) {
      return ArrayRef(static_cast<const uint8_t *>(tensor.raw()), tensor.bytes());
    };
    SmallVector<int32_t, 1> &known = constantNumbers[llvm::xxh3_64bits(bytes(tensor))];
    for (int32_t other : known)
      if (const Tensor &same = tables.constants[other]; same.dtype() == tensor.dtype() &&
                                                        llvm::equal(same.dims(), tensor.dims()) &&
                                                        bytes(same) == bytes(tensor))
        return other;
    known.push_back(number);
  }
  tables.constants.push_back(tensor);
  return number;
}

/// Only ops that are replaced by the variable's value use the handle.
Expected<Values> Translator::handle(tfg::Node node) {
  Tensor value = options.variable(node);
  if (!value)
    return Unexpected(
        unsupported(node, "its variable has no value, unlike in a SavedModel; 'treadle freeze "
                          "GRAPH --setup NODE -o FILE' gives it the value that NODE assigns"));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&cluster.front());
  auto type = RankedTensorType::get({}, elementType(node->getResult(0)));
  int32_t index = static_cast<int32_t>(tables.constants.size());
  tables.constants.push_back(Tensor::scalar<int32_t>(DType::Int32, 0));
  Value made = rc::ConstantOp::create(b, loc, type, index);
  variables[made] = value;
  return Values{{made, KnownValue(Shape::scalar())}};
}

Expected<Values> Translator::readVariable(tfg::Node node, const TracedValue &handle) {
  Tensor value = variables.lookup(handle.value);
  if (!value)
    return Unexpected(unsupported(node, "the variable that it reads isn't known"));
  KnownValue known(tfg::shapeOf(tfg::typeOf(value, b.getContext())));
  return Values{constant(value, std::move(known))};
}

Type Translator::elementType(Type ofGraph) const {
  return types.element(static_cast<int>(valueTypeOf(ofGraph).dtype));
}

std::optional<int64_t> axisOf(std::optional<int64_t> said, int64_t rank) {
  if (said && *said < 0)
    *said += rank;
  return said && *said >= 0 && *said < rank ? said : std::nullopt;
}

Value Translator::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

std::optional<SmallVector<Value>> Translator::indices(const TracedValue &typed,
                                                      std::optional<int64_t> rank) {
  constexpr int64_t most = 16;
  Type type = typed.value.getType();
  Type element = elementOf(type);
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return std::nullopt;
  const Tensor &constant = typed.known.constant;
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!constant && isTensor(type) && !ranked)
    return std::nullopt;
  int64_t own = constant ? constant.rank() : ranked ? ranked.getRank() : 0;
  if (rank ? own != *rank : own > 1)
    return std::nullopt;
  SmallVector<Value> result;
  auto add = [&](Value value) {
    result.push_back(b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), value));
  };
  if (constant) {
    if (constant.count() > most)
      return std::nullopt;
    for (int64_t i = 0; i < constant.count(); ++i)
      result.push_back(index(constant.dtype() == DType::Int32 ? constant.data<int32_t>()[i]
                                                              : constant.data<int64_t>()[i]));
  } else if (std::optional<SmallVector<Value>> elements = elementsOf(typed)) {
    llvm::for_each(*elements, add);
  } else {
    return std::nullopt;
  }
  return result;
}

std::optional<SmallVector<int64_t>> Translator::integers(const TracedValue &typed,
                                                         std::optional<int64_t> rank) {
  std::optional<SmallVector<Value>> values = indices(typed, rank);
  SmallVector<int64_t> found;
  for (Value value : values.value_or(SmallVector<Value>()))
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      found.push_back(*constant);
  if (!values || found.size() != values->size())
    return std::nullopt;
  return found;
}

bool isSmall(Type type) {
  constexpr int64_t most = maxElementsInRegisters;
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isNative(tensor.getElementType()) &&
         llvm::all_of(tensor.getShape(), [](int64_t size) { return size > 0 && size <= most; }) &&
         tensor.getRank() <= 8 && tensor.getNumElements() <= most;
}

/// Complex numbers take two registers.
static void addParts(SmallVectorImpl<Type> &parts, Type scalar, int64_t count) {
  auto complex = dyn_cast<ComplexType>(scalar);
  parts.append(complex ? 2 * count : count, complex ? complex.getElementType() : scalar);
}

bool Translator::mayUnroll(int64_t ops) {
  if (unrolled + ops > options.maxUnrolled)
    return false;
  unrolled += ops;
  return true;
}

SmallVector<Type> Form::parts() const {
  if (list || (isTensor(type) && !isSmall(type)))
    return {type};
  auto tensor = dyn_cast<RankedTensorType>(type);
  SmallVector<Type> parts;
  addParts(parts, elementOf(type), tensor ? tensor.getNumElements() : 1);
  return parts;
}

TracedValue Translator::small(ArrayRef<Value> elements, ArrayRef<int64_t> shape, Type element,
                              KnownValue known) {
  if (shape.empty())
    return {elements.front(), std::move(known)};
  auto type = RankedTensorType::get(shape, element);
  known.shape = meet(known.shape, tfg::shapeOf(type));
  Value value = tensor::FromElementsOp::create(b, loc, type, elements);
  return {value, std::move(known), SmallVector<Value>(elements)};
}

SmallVector<Value> Translator::forEachPlace(ArrayRef<int64_t> shape,
                                            llvm::function_ref<Value(ValueRange)> elementAt) {
  SmallVector<Value> elements;
  SmallVector<int64_t> strides = computeStrides(shape);
  for (int64_t i = 0; i < computeProduct(shape); ++i) {
    SmallVector<Value> place;
    for (int64_t at : delinearize(i, strides))
      place.push_back(index(at));
    elements.push_back(elementAt(place));
  }
  return elements;
}

std::optional<SmallVector<Value>> Translator::elementsOf(const TracedValue &typed) {
  if (typed.elements)
    return typed.elements;
  if (typed.list || variables.contains(typed.value))
    return std::nullopt;
  if (!isTensor(typed.value.getType()))
    return SmallVector<Value>{typed.value};
  if (!isSmall(typed.value.getType()))
    return std::nullopt;
  return forEachPlace(
      cast<RankedTensorType>(typed.value.getType()).getShape(),
      [&](ValueRange place) { return b.createOrFold<tensor::ExtractOp>(loc, typed.value, place); });
}

Value Translator::scalarOf(const TracedValue &typed) {
  if (typed.uniform)
    return typed.uniform;
  if (typed.elements)
    return typed.elements->size() == 1 ? typed.elements->front() : nullptr;
  return isTensor(typed.value.getType()) || typed.list ? nullptr : typed.value;
}

TracedValue Translator::filled(ArrayRef<Value> sizes, Value scalar, KnownValue known) {
  TracedValue made = generate(sizes, scalar.getType(), std::move(known),
                              [&](OpBuilder &, Location, ValueRange) { return scalar; });
  made.uniform = scalar;
  return made;
}

Value Translator::elementAt(OpBuilder &b, Location loc, const TracedValue &from,
                            ArrayRef<Value> indices) {
  constexpr size_t few = 8;
  if (!isTensor(from.value.getType()))
    return from.value;
  if (from.uniform)
    return from.uniform;
  if (!from.elements)
    return tensor::ExtractOp::create(b, loc, from.value, indices);
  Value place = arith::ConstantIndexOp::create(b, loc, 0);
  for (auto [i, size] :
       llvm::zip(indices, cast<RankedTensorType>(from.value.getType()).getShape())) {
    Value length = arith::ConstantIndexOp::create(b, loc, size);
    place =
        b.createOrFold<arith::AddIOp>(loc, b.createOrFold<arith::MulIOp>(loc, place, length), i);
  }
  // Indices out of range have already failed a check.
  if (std::optional<int64_t> constant = getConstantIntValue(place))
    return *constant >= 0 && *constant < std::ssize(*from.elements) ? (*from.elements)[*constant]
                                                                    : from.elements->front();
  if (from.elements->size() > few)
    return tensor::ExtractOp::create(b, loc, from.value, indices);
  Value chosen = from.elements->front();
  for (auto [i, element] : llvm::enumerate(ArrayRef(*from.elements).drop_front())) {
    Value number = arith::ConstantIndexOp::create(b, loc, static_cast<int64_t>(i) + 1);
    Value isHere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, place, number);
    chosen = selected(b, loc, isHere, element, chosen);
  }
  return chosen;
}

void Translator::split(const TracedValue &typed, const Form &form, SmallVectorImpl<Value> &parts) {
  if (form.list || (isTensor(form.type) && !isSmall(form.type)))
    return parts.push_back(coerce(typed, form));
  bool isAsItIs = typed.elements && typed.value.getType() == form.type;
  for (Value element : isAsItIs ? *typed.elements : *elementsOf({coerce(typed, form), {}})) {
    if (!isa<ComplexType>(element.getType())) {
      parts.push_back(element);
      continue;
    }
    auto [re, im] = partsOf(b, loc, element);
    parts.append({re, im});
  }
}

TracedValue Translator::joinedFrom(const Form &form, ValueRange parts, KnownValue known) {
  if (form.list || (isTensor(form.type) && !isSmall(form.type)))
    return {parts.front(), std::move(known), std::nullopt, form.list};
  Type element = elementOf(form.type);
  SmallVector<Value> elements(parts);
  if (isa<ComplexType>(element)) {
    elements.clear();
    for (size_t i = 0; i < parts.size(); i += 2)
      elements.push_back(complexOf(b, loc, {parts[i], parts[i + 1]}));
  }
  auto type = dyn_cast<RankedTensorType>(form.type);
  return small(elements, type ? type.getShape() : ArrayRef<int64_t>(), element, std::move(known));
}

KnownValue Translator::outcome(tfg::Node node, const Values &inputs) {
  std::vector<const KnownValue *> known;
  for (const TracedValue &input : inputs)
    known.push_back(&input.known);
  ShapeResults shapes = tfg::shapesOf(node, known);
  // A computation that can't succeed fails, and the interpreter reports the error.
  if (!shapes.conflict.empty())
    check(arith::ConstantOp::create(b, loc, b.getBoolAttr(false)));
  return shapes.values.empty() ? KnownValue() : std::move(shapes.values.front());
}

Sizes::Sizes(ArrayRef<Value> sizes, const Shape &known) {
  bool isKnown = known.hasRank() && known.all().size() == sizes.size();
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (std::optional<int64_t> constant = getConstantIntValue(size)) {
      shape.push_back(*constant);
    } else if (isKnown && known.all()[i] != Shape::unknown) {
      shape.push_back(known.all()[i]);
    } else {
      shape.push_back(ShapedType::kDynamic);
      dynamic.push_back(size);
    }
  }
}

bool isValidSize(ArrayRef<Value> sizes) {
  int64_t count = 1;
  for (Value size : sizes)
    if (int64_t known = getConstantIntValue(size).value_or(1);
        known < 0 || llvm::MulOverflow(count, known, count))
      return false;
  return true;
}

TracedValue Translator::generate(ArrayRef<Value> sizes, Type element, KnownValue known,
                                 ElementAt elementAt) {
  Sizes is(sizes, known.shape);
  auto rank = static_cast<int64_t>(sizes.size());
  if (auto type = RankedTensorType::get(is.shape, element); isSmall(type)) {
    SmallVector<Value> elements =
        forEachPlace(type.getShape(), [&](ValueRange place) { return elementAt(b, loc, place); });
    return small(elements, type.getShape(), element, std::move(known));
  }
  Value empty = tensor::EmptyOp::create(b, loc, is.shape, element, is.dynamic);
  auto generic = linalg::GenericOp::create(
      b, loc, TypeRange(empty.getType()), ValueRange(), ValueRange(empty),
      ArrayRef(b.getMultiDimIdentityMap(rank)),
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location at, ValueRange) {
        SmallVector<Value> places;
        for (int64_t i = 0; i < rank; ++i)
          places.push_back(linalg::IndexOp::create(inner, at, i));
        linalg::YieldOp::create(inner, at, elementAt(inner, at, places));
      });
  Value out = generic.getResult(0);
  for (auto [i, size] : llvm::enumerate(sizes))
    dims[{out, i}] = size;
  known.shape = meet(known.shape, tfg::shapeOf(out.getType()));
  return {out, std::move(known)};
}

TracedValue Translator::reshape(const TracedValue &from, ArrayRef<Value> sizes, KnownValue known) {
  Sizes is(sizes, known.shape);
  if (auto type = RankedTensorType::get(is.shape, elementOf(from.value.getType())); isSmall(type))
    if (std::optional<SmallVector<Value>> elements = elementsOf(from);
        elements && static_cast<int64_t>(elements->size()) == type.getNumElements())
      return small(*elements, is.shape, type.getElementType(), std::move(known));
  Value value = boxed(from.value);
  auto type = RankedTensorType::get(is.shape, elementOf(value.getType()));
  auto made = rc::ReshapeOp::create(b, loc, TypeRange(type), value, is.dynamic);
  Value out = made->getResult(0);
  for (auto [i, size] : llvm::enumerate(sizes))
    dims[{out, i}] = size;
  known.shape = meet(known.shape, tfg::shapeOf(out.getType()));
  return {out, std::move(known), std::nullopt, std::nullopt, from.uniform};
}

} // namespace treadle::codegen
