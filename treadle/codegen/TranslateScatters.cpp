// Translates scatters: loops over the updates, which write in place if the tensor has no other
// references.
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/ScalarBody.h"
#include "treadle/codegen/Translator.h"
#include "treadle/codegen/Writes.h"
#include "treadle/kernels/arrays/DimensionNumbers.h"
#include "treadle/rewriting/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

using Places = SmallVector<int64_t>;

/// The fields of the message ScatterDimensionNumbers.
struct ScatterNumbers {
  std::vector<int64_t> updateWindow, insertedWindow, toOperand, indexVector, inputBatching,
      indicesBatching;

  bool read(tfg::Node node) {
    std::vector<int64_t> *fields[] = {&updateWindow, &insertedWindow, &toOperand,
                                      &indexVector,  &inputBatching,  &indicesBatching};
    auto bytes = node.attr<StringAttr>("dimension_numbers");
    return bytes && readDimensionNumbers(bytes.getValue(), fields);
  }
};

/// The positions of updates, derived from the op's attributes and shapes.
struct Scatter {
  Scatter(Places shape, Places indexShape, Places updateShape)
      : shape(std::move(shape)), indexShape(std::move(indexShape)),
        updateShape(std::move(updateShape)) {}

  Places shape, indexShape, updateShape;
  /// Dimensions of the updates: scatter dimensions and window dimensions.
  Places along, window;
  /// By dimension of the operand: the size of a window, and the dimension of the updates along
  /// which it lies, or -1.
  Places sizes, windowOf;
  /// By dimension of the operand: the component of an index vector that gives the start of a
  /// window, or -1; and the dimension of `along` that does, or -1.
  Places component, batch;
  /// The dimension of the indices that contains index vectors.
  int64_t vectorDim = 0;

  SmallVector<int64_t> loopSizes() const {
    return llvm::map_to_vector(llvm::concat<const int64_t>(along, window),
                               [&](int64_t d) { return updateShape[d]; });
  }
};

std::optional<Scatter> xlaForm(tfg::Node node, Places shape, Places indexShape,
                               Places updateShape) {
  ScatterNumbers n;
  if (!n.read(node))
    return std::nullopt;
  Scatter s(std::move(shape), std::move(indexShape), std::move(updateShape));
  auto rank = static_cast<int64_t>(s.shape.size()), updates = std::ssize(s.updateShape),
       vectors = std::ssize(s.indexShape);
  s.vectorDim = n.indexVector.empty() ? 0 : n.indexVector.front();
  bool hasVectors = s.vectorDim < vectors;
  auto isBelow = [](const std::vector<int64_t> &list, int64_t end) {
    return llvm::all_of(list, [&](int64_t d) { return d >= 0 && d < end; });
  };
  if (!isBelow(n.updateWindow, updates) || !isBelow(n.insertedWindow, rank) ||
      !isBelow(n.toOperand, rank) || !isBelow(n.inputBatching, rank) ||
      !isBelow(n.indicesBatching, vectors) || n.inputBatching.size() != n.indicesBatching.size() ||
      std::ssize(n.updateWindow) + std::ssize(n.insertedWindow) + std::ssize(n.inputBatching) !=
          rank ||
      std::ssize(n.updateWindow) + vectors - hasVectors != updates ||
      std::ssize(n.toOperand) != (hasVectors ? s.indexShape[s.vectorDim] : 1))
    return std::nullopt; // invalid: the kernel reports it
  for (int64_t d = 0; d < updates; ++d)
    (llvm::is_contained(n.updateWindow, d) ? s.window : s.along).push_back(d);
  s.sizes.assign(rank, 1);
  s.windowOf.assign(rank, -1);
  s.component.assign(rank, -1);
  s.batch.assign(rank, -1);
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (llvm::is_contained(n.insertedWindow, d) || llvm::is_contained(n.inputBatching, d))
      continue;
    s.windowOf[d] = n.updateWindow[next++];
    s.sizes[d] = s.updateShape[s.windowOf[d]];
  }
  for (auto [k, d] : llvm::enumerate(n.toOperand))
    s.component[d] = static_cast<int64_t>(k);
  for (auto [d, dim] : llvm::zip(n.inputBatching, n.indicesBatching))
    s.batch[d] = dim - (dim > s.vectorDim);
  return s;
}

/// The form of TensorFlow's ops: index vectors lie along the last dimension, and address the
/// leading dimensions of the operand.
std::optional<Scatter> tensorFlowForm(Places shape, Places indexShape, Places updateShape) {
  if (indexShape.empty())
    return std::nullopt;
  Scatter s(std::move(shape), std::move(indexShape), std::move(updateShape));
  auto rank = std::ssize(s.shape);
  s.vectorDim = std::ssize(s.indexShape) - 1;
  int64_t depth = s.indexShape.back();
  if (depth > rank || std::ssize(s.updateShape) != s.vectorDim + rank - depth)
    return std::nullopt; // invalid: the kernel reports it
  for (int64_t d = 0; d < s.vectorDim; ++d)
    s.along.push_back(d);
  for (int64_t d = 0; d < rank; ++d) {
    bool isWindow = d >= depth;
    s.component.push_back(isWindow ? -1 : d);
    s.batch.push_back(-1);
    s.windowOf.push_back(isWindow ? s.vectorDim + d - depth : -1);
    s.sizes.push_back(isWindow ? s.shape[d] : 1);
    if (isWindow)
      s.window.push_back(s.windowOf[d]);
  }
  for (int64_t d = 0; d < std::ssize(s.updateShape); ++d)
    if (s.updateShape[d] != (d < s.vectorDim ? s.indexShape[d] : s.shape[d - s.vectorDim + depth]))
      return std::nullopt; // invalid: the kernel reports it
  return s;
}

/// The start of a window, and whether the window is in range.
struct Target {
  SmallVector<Value> start;
  Value isInside; // null: always
};

/// `at` is the index of an element in the updates, of which only the scatter dimensions matter.
/// Returns nullopt if no window can be in range.
std::optional<Target> targetOf(Translator &t, OpBuilder &b, Location loc, const Scatter &s,
                               const TracedValue &indices, ArrayRef<Value> at) {
  Target target;
  for (size_t d = 0; d < s.shape.size(); ++d) {
    Value start = arith::ConstantIndexOp::create(b, loc, 0);
    if (s.component[d] >= 0) {
      SmallVector<Value> place;
      for (int64_t along : s.along)
        place.push_back(at[along]);
      if (s.vectorDim < std::ssize(s.indexShape))
        place.insert(place.begin() + s.vectorDim,
                     arith::ConstantIndexOp::create(b, loc, s.component[d]));
      start = b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(),
                                                 t.elementAt(b, loc, indices, place));
    } else if (s.batch[d] >= 0) {
      start = at[s.along[s.batch[d]]];
    }
    int64_t numPlaces = s.shape[d] - s.sizes[d] + 1;
    std::optional<int64_t> known = getConstantIntValue(start);
    if (numPlaces <= 0 || (known && (*known < 0 || *known >= numPlaces)))
      return std::nullopt;
    if (!known) {
      // The comparison is unsigned, so that negative starts are too large.
      Value isInside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, start,
                                             arith::ConstantIndexOp::create(b, loc, numPlaces));
      target.isInside = target.isInside
                            ? arith::AndIOp::create(b, loc, target.isInside, isInside).getResult()
                            : isInside;
    }
    target.start.push_back(start);
  }
  return target;
}

/// Returns the position to which an element of the updates is written.
SmallVector<Value> placeOf(OpBuilder &b, Location loc, const Scatter &s, const Target &target,
                           ArrayRef<Value> at) {
  SmallVector<Value> place(target.start);
  for (auto [index, dim] : llvm::zip(place, s.windowOf))
    if (dim >= 0)
      index = b.createOrFold<arith::AddIOp>(loc, index, at[dim]);
  return place;
}

/// Scatters a few updates into a tensor in registers: each element is kept, or combined with an
/// update.
std::optional<TracedValue> scatterSmall(Translator &t, const Scatter &s, const Values &inputs,
                                        const Combine &combine, KnownValue known) {
  constexpr int64_t maxChoices = 64;
  auto type = cast<RankedTensorType>(inputs[0].value.getType());
  std::optional<SmallVector<Value>> elements = t.elementsOf(inputs[0]),
                                    updates = t.elementsOf(inputs[2]);
  if (!isSmall(type) || !elements || !updates || !t.elementsOf(inputs[1]) ||
      static_cast<int64_t>(elements->size() * updates->size()) > maxChoices)
    return std::nullopt;
  Places strides = computeStrides(type.getShape()), steps = computeStrides(s.updateShape);
  Places loops = s.loopSizes(), order = computeStrides(loops);
  for (int64_t i = 0; i < std::ssize(*updates); ++i) {
    Places where = delinearize(i, order), place(s.updateShape.size());
    for (auto [k, d] : llvm::enumerate(llvm::concat<const int64_t>(s.along, s.window)))
      place[d] = where[k];
    SmallVector<Value> at = llvm::map_to_vector(place, [&](int64_t x) { return t.index(x); });
    std::optional<Target> target = targetOf(t, t.b, t.loc, s, inputs[1], at);
    if (!target)
      continue;
    SmallVector<Value> goal = placeOf(t.b, t.loc, s, *target, at);
    for (auto [k, element] : llvm::enumerate(*elements)) {
      Value isHere = target->isInside;
      bool isElsewhere = false;
      for (auto [own, wanted] : llvm::zip(delinearize(static_cast<int64_t>(k), strides), goal)) {
        if (std::optional<int64_t> constant = getConstantIntValue(wanted)) {
          isElsewhere |= *constant != own;
          continue;
        }
        Value meets =
            arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::eq, wanted, t.index(own));
        isHere = isHere ? arith::AndIOp::create(t.b, t.loc, isHere, meets).getResult() : meets;
      }
      if (isElsewhere)
        continue;
      std::optional<Value> combined = combine(element, (*updates)[linearize(place, steps)]);
      if (!combined)
        return std::nullopt;
      element = isHere ? selected(t.b, t.loc, isHere, *combined, element) : *combined;
    }
  }
  return t.small(*elements, type.getShape(), type.getElementType(), std::move(known));
}

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

/// Starts a loop with independent iterations, and returns its index.
Value enterLoop(Translator &t, int64_t size, bool isInnermost) {
  if (size == 1)
    return t.index(0);
  auto loop = scf::ForOp::create(t.b, t.loc, t.index(0), t.index(size), t.index(1));
  t.b.setInsertionPointToStart(loop.getBody());
  if (isInnermost)
    rc::ParallelOp::create(t.b, t.loc);
  return loop.getInductionVar();
}

/// Emits a scatter; the inputs are operand, indices and updates.
MaybeValues scattered(Translator &t, KnownValue known, const Values &inputs, const Scatter &s,
                      const Combine &combine, bool replaces) {
  if (!isTensor(inputs[0].value.getType()))
    return std::nullopt;
  if (std::optional<TracedValue> small = scatterSmall(t, s, inputs, combine, known))
    return Values{std::move(*small)};
  SmallVector<Value> sizes =
      llvm::map_to_vector(s.along, [&](int64_t d) { return t.index(s.updateShape[d]); });
  auto type = cast<RankedTensorType>(inputs[0].value.getType());
  auto fill = [&](Value tensor, ValueRange loops) {
    SmallVector<Value> at(s.updateShape.size());
    for (auto [index, d] : llvm::zip(loops, s.along))
      at[d] = index;
    std::optional<Target> target = targetOf(t, t.b, t.loc, s, inputs[1], at);
    if (!target)
      return true;
    OpBuilder::InsertionGuard guard(t.b);
    if (target->isInside)
      t.b.setInsertionPointToStart(scf::IfOp::create(t.b, t.loc, target->isInside).thenBlock());
    for (int64_t d : s.window)
      at[d] = enterLoop(t, s.updateShape[d], d == s.window.back());
    SmallVector<Value> place = placeOf(t.b, t.loc, s, *target, at);
    Value update = t.elementAt(t.b, t.loc, inputs[2], at);
    if (!replaces) {
      Value old = rc::CurrentOp::create(t.b, t.loc, type.getElementType(), tensor, place);
      std::optional<Value> combined = combine(old, update);
      if (!combined)
        return false;
      update = *combined;
    }
    rc::StoreOp::create(t.b, t.loc, tensor, place, update);
    return true;
  };
  Value written = writeTensor(t, inputs[0], sizes, /*isParallel=*/false, fill);
  if (!written)
    return std::nullopt;
  return Values{{written, std::move(known)}};
}

MaybeValues xlaScatter(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> shape = shapeOf(inputs[0]), indices = shapeOf(inputs[1]),
                        updates = shapeOf(inputs[2]);
  if (!shape || !indices || !updates)
    return std::nullopt;
  std::optional<Scatter> form = xlaForm(node, *shape, *indices, *updates);
  if (!form)
    return std::nullopt;
  tfg::FuncOp function = scalarFunction(t, node, "update_computation");
  bool replaces =
      tfg::returnsSecond(function, t.find) &&
      t.elementType(function.getReturn()->getOperand(0)) == elementOf(inputs[0].value.getType());
  Combine combine = [&](Value old, Value update) -> std::optional<Value> {
    std::optional<SmallVector<Value>> made =
        inlineScalars(t, node, "update_computation", {old, update});
    return made ? std::optional(made->front()) : std::nullopt;
  };
  return scattered(t, t.outcome(node, inputs), inputs, *form, combine, replaces);
}

/// The combining function of a TensorFlow op.
using Emit = Value (*)(OpBuilder &b, Location loc, Value old, Value update);

template <typename FloatOp, typename IntOp>
Value emit(OpBuilder &b, Location loc, Value old, Value update) {
  if (isa<ComplexType>(old.getType())) {
    Parts x = partsOf(b, loc, old), y = partsOf(b, loc, update);
    return complexOf(
        b, loc,
        {FloatOp::create(b, loc, x.first, y.first), FloatOp::create(b, loc, x.second, y.second)});
  }
  if (isa<FloatType>(old.getType()))
    return FloatOp::create(b, loc, old, update);
  return IntOp::create(b, loc, old, update);
}

/// Returns null if the update replaces the element.
Emit emitOf(StringRef op) {
  if (op == "TensorScatterUpdate")
    return nullptr;
  if (op == "TensorScatterSub")
    return emit<arith::SubFOp, arith::SubIOp>;
  return emit<arith::AddFOp, arith::AddIOp>;
}

bool ignoresBadIndices(tfg::Node node) {
  auto policy = node.attr<StringAttr>("bad_indices_policy");
  return policy && policy.getValue() == "IGNORE";
}

/// Updates the elements of a tensor with the op's function. Windows out of range are errors that
/// the interpreter reports; so are updates of an empty tensor, even empty ones.
MaybeValues tensorFlowScatter(Translator &t, tfg::Node node, KnownValue known, const Values &inputs,
                              Emit emit) {
  std::optional<Places> shape = shapeOf(inputs[0]), indices = shapeOf(inputs[1]),
                        updates = shapeOf(inputs[2]);
  Type element = elementOf(inputs[0].value.getType());
  if (!shape || !indices || !updates || ignoresBadIndices(node) || llvm::is_contained(*shape, 0) ||
      (emit && (element.isInteger(1) || element.isUnsignedInteger() || isHalf(element))))
    return std::nullopt;
  std::optional<Scatter> form = tensorFlowForm(*shape, *indices, *updates);
  if (!form || !checkBelow(t, inputs[1], ArrayRef(*shape).take_front(indices->back())))
    return std::nullopt;
  Combine combine = [&](Value old, Value update) {
    return std::optional(emit ? emit(t.b, t.loc, old, update) : update);
  };
  return scattered(t, std::move(known), inputs, *form, combine, /*replaces=*/!emit);
}

MaybeValues tensorScatter(Translator &t, tfg::Node node, Values inputs) {
  return tensorFlowScatter(t, node, t.outcome(node, inputs), inputs, emitOf(node.opType()));
}

/// Scatters into a tensor of zeros.
MaybeValues scatterNd(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> shape = t.integers(inputs[2], 1);
  Type element = elementOf(inputs[1].value.getType());
  if (!shape || shape->empty() || !isNative(element) || element.isUnsignedInteger() ||
      llvm::any_of(*shape, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  SmallVector<Value> sizes = t.asIndices(*shape);
  Value zero = zeroOf(t.b, t.loc, element);
  TracedValue zeros =
      t.generate(sizes, element, {}, [&](OpBuilder &, Location, ValueRange) { return zero; });
  return tensorFlowScatter(t, node, t.outcome(node, inputs), {zeros, inputs[0], inputs[1]},
                           emitOf(node.opType()));
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"XlaScatter", xlaScatter},
    {"TensorScatterUpdate", tensorScatter},
    {"TensorScatterAdd", tensorScatter},
    {"TensorScatterSub", tensorScatter},
    {"ScatterNd", scatterNd},
};

} // namespace

LoweringTable scatterLowerings() { return table; }

} // namespace treadle::codegen
