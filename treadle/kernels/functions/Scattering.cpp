// XlaScatter and XlaSelectAndScatter: elements are written to computed positions, combined with the
// existing ones by a function.
#include "treadle/kernels/Update.h"
#include "treadle/kernels/arrays/DimensionNumbers.h"
#include "treadle/kernels/arrays/IndexedOffsets.h"
#include "treadle/kernels/arrays/Rearrange.h"
#include "treadle/kernels/functions/ElementFunction.h"
#include "treadle/kernels/functions/TensorFunctions.h"

#include <algorithm>
#include <numeric>

namespace treadle {

using namespace rearrange;

namespace {

/// Iterates over all indices of a shape in row-major order.
class IndexIterator {
public:
  explicit IndexIterator(std::vector<int64_t> dims)
      : dims(std::move(dims)), at(this->dims.size(), 0),
        isOver(std::ranges::find(this->dims, 0) != this->dims.end()) {}
  explicit operator bool() const { return !isOver; }
  int64_t operator[](size_t i) const { return at[i]; }
  void next() {
    for (size_t i = dims.size(); i-- > 0;) {
      if (++at[i] < dims[i])
        return;
      at[i] = 0;
    }
    isOver = true;
  }

private:
  std::vector<int64_t> dims, at;
  bool isOver;
};

/// Gathers the elements `from[places[i]]`, or scatters them if `puts`.
void moveElements(const Tensor &t, void *elements, std::span<const int64_t> places, bool puts) {
  auto move = [&]<typename T>(T) {
    auto *there = static_cast<T *>(const_cast<void *>(t.raw())), *here = static_cast<T *>(elements);
    for (size_t i = 0; i < places.size(); ++i)
      puts ? there[places[i]] = here[i] : here[i] = there[places[i]];
  };
  switch (dtypeSize(t.dtype())) {
  case 1:
    return move(uint8_t{});
  case 2:
    return move(uint16_t{});
  case 4:
    return move(uint32_t{});
  case 8:
    return move(uint64_t{});
  default:
    struct Wide {
      uint64_t parts[2];
    };
    return move(Wide{});
  }
}

Expected<Tensor> taken(const Tensor &t, std::span<const int64_t> places) {
  Expected<Tensor> out = Tensor::make(t.dtype(), {std::ssize(places)});
  if (out)
    moveElements(t, out->raw(), places, false);
  return out;
}

/// Computes target[to[i]] = f(target[to[i]], source[from[i]]), in order for repeated positions:
/// first the first occurrences of all positions with one call, then the second occurrences, and so
/// on.
bool combineAt(OpContext &ctx, const ElementFunction &f, Tensor &target,
               std::span<const int64_t> to, const Tensor &source, std::span<const int64_t> from) {
  std::vector<std::vector<size_t>> rounds;
  std::vector<uint32_t> times(static_cast<size_t>(target.count()), 0);
  for (size_t i = 0; i < to.size(); ++i) {
    uint32_t round = times[to[i]]++;
    if (round >= rounds.size())
      rounds.emplace_back();
    rounds[round].push_back(i);
  }
  for (const std::vector<size_t> &round : rounds) {
    std::vector<int64_t> targets, sources;
    for (size_t i : round) {
      targets.push_back(to[i]);
      sources.push_back(from[i]);
    }
    auto before = ctx.check(taken(target, targets));
    auto added = before ? ctx.check(taken(source, sources)) : std::nullopt;
    if (!added)
      return false;
    int64_t count = before->count();
    auto result = f.call(ctx, {std::move(*before), std::move(*added)}, Dims(&count, 1), 1);
    if (!result)
      return false;
    moveElements(target, (*result)[0].raw(), targets, true);
  }
  return true;
}

// --- XlaScatter --------------------------------------------------------------------------------

/// The message ScatterDimensionNumbers of the attribute.
struct ScatterNumbers {
  std::vector<int64_t> updateWindow, insertedWindow, toOperand, indexVector, inputBatching,
      indicesBatching;
};

struct ScatterState {
  ElementFunction function;
  ScatterNumbers numbers;
  RowsUpdateLoop update; // null: the function is called
};

/// The places of one call at which the windows of the updates are read and written.
class WindowPlaces {
public:
  /// InvalidArgument if the dimension numbers don't fit the tensors.
  static Expected<WindowPlaces> make(const ScatterNumbers &n, const Tensor &x,
                                     const Tensor &indices, const Tensor &updates) {
    if (!fits(n, x, indices, updates))
      return Unexpected(invalidArgument(
          "the dimension numbers don't fit the operand ", tensorTypeText(x), ", the indices ",
          tensorTypeText(indices), " and the updates ", tensorTypeText(updates)));
    return WindowPlaces(n, x, indices, updates);
  }

  /// Calls `body(to, targets, from, sources, count, width)` for groups of rows of `width` elements:
  /// row i is read at `from + sources[i]` and written at `to + targets[i]`, unless targets[i] is
  /// negative: windows that aren't completely inside are skipped. Rows that overlap come in the
  /// order of the updates. Stops when `body` returns false, and returns that.
  template <typename Body> bool forEachGroup(Body &&body) const {
    bool goesOn = true;
    forEachOffsetBlock(0, targets.count(), [&](int64_t first, int64_t count) {
      int64_t to[offsetsPerBlock], from[offsetsPerBlock];
      targets.compute(first, count, to);
      sources.compute(first, count, from);
      // The rows of one window at a time, if those of another may be the same elements.
      int64_t step = mayOverlap ? 1 : count;
      for (int64_t i = 0; i < count; i += step)
        window.forEachRow([&](int64_t source, int64_t target) {
          goesOn = goesOn && body(target, to + i, source, from + i, step, window.width);
        });
    });
    return goesOn;
  }

private:
  static bool fits(const ScatterNumbers &n, const Tensor &x, const Tensor &indices,
                   const Tensor &updates) {
    int64_t vectorDim = vectorDimOf(n);
    bool hasVectors = vectorDim < indices.rank();
    auto batchRank = static_cast<size_t>(indices.rank() - hasVectors);
    std::vector<int64_t> starts = n.toOperand;
    starts.insert(starts.end(), n.inputBatching.begin(), n.inputBatching.end());
    if (vectorDim < 0 || vectorDim > indices.rank() ||
        !areDistinct(n.updateWindow, updates.rank()) || !areDistinct(n.insertedWindow, x.rank()) ||
        !areDistinct(starts, x.rank()) || !areDistinct(n.indicesBatching, indices.rank()) ||
        contains(n.indicesBatching, vectorDim) ||
        n.inputBatching.size() != n.indicesBatching.size() ||
        n.updateWindow.size() + n.insertedWindow.size() + n.inputBatching.size() !=
            static_cast<size_t>(x.rank()) ||
        n.updateWindow.size() + batchRank != static_cast<size_t>(updates.rank()) ||
        std::ssize(n.toOperand) != (hasVectors ? indices.dim(static_cast<int>(vectorDim)) : 1))
      return false;
    for (size_t k = 0; k < n.inputBatching.size(); ++k)
      if (contains(n.insertedWindow, n.inputBatching[k]) ||
          x.dims()[n.inputBatching[k]] != indices.dims()[n.indicesBatching[k]])
        return false;
    // The other dimensions of the updates are those of the indices.
    int64_t batch = 0;
    for (int64_t d = 0; d < updates.rank(); ++d)
      if (!contains(n.updateWindow, d)) {
        batch += batch == vectorDim;
        if (updates.dims()[d] != indices.dims()[batch++])
          return false;
      }
    return true;
  }

  static int64_t vectorDimOf(const ScatterNumbers &n) {
    return n.indexVector.empty() ? 0 : n.indexVector[0];
  }

  WindowPlaces(const ScatterNumbers &n, const Tensor &x, const Tensor &indices,
               const Tensor &updates)
      : targets(indices, vectorDimOf(n), IndexedOffsets::Bounds::Reject),
        sources(indices, vectorDimOf(n), IndexedOffsets::Bounds::Reject), window({}, {}, {}) {
    DimVector own = rowMajorStrides(x.dims()), update = rowMajorStrides(updates.dims());
    DimVector windowDims, windowTo, windowFrom, last(x.dims());
    size_t next = 0;
    bool isTooLarge = false;
    for (int64_t d = 0; d < x.rank(); ++d) {
      bool isOne = contains(n.insertedWindow, d) || contains(n.inputBatching, d);
      int64_t of = isOne ? -1 : n.updateWindow[next++], size = isOne ? 1 : updates.dims()[of];
      last[d] -= size;
      isTooLarge |= last[d] < 0;
      mayOverlap |= size > 1 && contains(n.toOperand, d);
      if (isOne)
        continue;
      windowDims.push(size);
      windowTo.push(own[d]);
      windowFrom.push(update[of]);
    }
    window = IndexedWindow(windowDims, windowFrom, windowTo);
    for (int64_t d : n.toOperand)
      targets.addCoordinate(own[d], isTooLarge ? -1 : last[d]);
    if (isTooLarge && n.toOperand.empty())
      window = IndexedWindow(DimVector(1, 0), DimVector(1, 0), DimVector(1, 0));
    for (size_t k = 0; k < n.inputBatching.size(); ++k)
      targets.addPosition(n.indicesBatching[k], own[n.inputBatching[k]]);
    int64_t batch = 0;
    for (int64_t d = 0; d < updates.rank(); ++d)
      if (!contains(n.updateWindow, d)) {
        batch += batch == vectorDimOf(n);
        sources.addPosition(batch++, update[d]);
      }
  }

  IndexedOffsets targets, sources;
  IndexedWindow window;
  bool mayOverlap = false;
};

/// Updates the windows by calls of the function.
bool combineWindows(OpContext &ctx, const ElementFunction &f, Tensor &target, const Tensor &updates,
                    const WindowPlaces &places) {
  std::vector<int64_t> to, from;
  places.forEachGroup([&](int64_t toBase, const int64_t *targets, int64_t fromBase,
                          const int64_t *sources, int64_t count, int64_t width) {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = 0; targets[i] >= 0 && k < width; ++k) {
        to.push_back(toBase + targets[i] + k);
        from.push_back(fromBase + sources[i] + k);
      }
    return true;
  });
  return combineAt(ctx, f, target, to, updates, from);
}

void runScatter(OpContext &ctx) {
  const auto &self = ctx.state<ScatterState>();
  auto places = TREADLE_OR_RETURN(
      ctx.check(WindowPlaces::make(self.numbers, ctx.input(0), ctx.input(1), ctx.input(2))));
  Tensor updates = ctx.input(2), target = ctx.takeInput(0);
  if (!target.isUnique()) {
    auto own = TREADLE_OR_RETURN(ctx.check(target.clone()));
    target = std::move(own);
  }
  DType dtype = target.dtype();
  if (self.update)
    places.forEachGroup([&](int64_t to, const int64_t *targets, int64_t from,
                            const int64_t *sources, int64_t count, int64_t width) {
      return self.update(elementAt(dtype, target.raw(), to), targets,
                         elementAt(dtype, updates.raw(), from), sources, count, width);
    });
  else if (!combineWindows(ctx, self.function, target, updates, places))
    return;
  ctx.setOutput(0, std::move(target));
}

// --- XlaSelectAndScatter -----------------------------------------------------------------------

struct SelectAndScatterState {
  ElementFunction select, scatter;
};

/// For each window, the element that `select` prefers to the others.
struct SelectedElements {
  std::vector<int64_t> dims;
  std::vector<int64_t> places; // in the operand; -1 for a window that covers only padding
  std::vector<int64_t> offsets;
};

std::optional<SelectedElements> chooseElements(OpContext &ctx, const ElementFunction &select,
                                               const Tensor &x, const std::vector<int64_t> &window,
                                               const std::vector<int64_t> &stride,
                                               const std::vector<int64_t> &padding, Dims outDims) {
  size_t rank = window.size();
  SelectedElements choices{{outDims.begin(), outDims.end()}, {}, {}};
  int64_t count = std::accumulate(outDims.begin(), outDims.end(), int64_t{1}, std::multiplies<>());
  choices.places.assign(count, -1);
  choices.offsets.assign(count, -1);
  std::vector<int64_t> own = strides(x.dims());
  int64_t offset = 0;
  for (IndexIterator w(window); w; w.next(), ++offset) {
    std::vector<int64_t> candidates(count, -1), rivals, mine, theirs;
    int64_t i = 0;
    for (IndexIterator at(choices.dims); at; at.next(), ++i) {
      int64_t place = 0;
      bool isInside = true;
      for (size_t d = 0; d < rank; ++d) {
        int64_t index = at[d] * stride[d] + w[d] - padding[2 * d];
        isInside &= index >= 0 && index < x.dim(static_cast<int>(d));
        place += index * own[d];
      }
      if (!isInside)
        continue;
      if (choices.places[i] < 0) {
        choices.places[i] = place;
        choices.offsets[i] = offset;
        continue;
      }
      candidates[i] = place;
      rivals.push_back(i);
      mine.push_back(choices.places[i]);
      theirs.push_back(place);
    }
    if (rivals.empty())
      continue;
    auto chosen = ctx.check(taken(x, mine)), other = ctx.check(taken(x, theirs));
    if (!chosen || !other)
      return std::nullopt;
    int64_t size = chosen->count();
    auto stays = select.call(ctx, {std::move(*chosen), std::move(*other)}, Dims(&size, 1), 1);
    if (!stays)
      return std::nullopt;
    for (size_t r = 0; r < rivals.size(); ++r)
      if (!(*stays)[0].data<bool>()[r]) {
        choices.places[rivals[r]] = theirs[r];
        choices.offsets[rivals[r]] = offset;
      }
  }
  return choices;
}

void runSelectAndScatter(OpContext &ctx) {
  const auto &self = ctx.state<SelectAndScatterState>();
  const Tensor &x = ctx.input(0), &source = ctx.input(4), &init = ctx.input(5);
  std::vector<int64_t> window = numbers(ctx.input(1)), stride = numbers(ctx.input(2)),
                       padding = numbers(ctx.input(3));
  auto rank = static_cast<size_t>(x.rank());
  if (window.size() != rank || stride.size() != rank || padding.size() != 2 * rank ||
      static_cast<size_t>(source.rank()) != rank)
    return ctx.fail(invalidArgument("the window's sizes, strides and padding don't have the rank "
                                    "of ",
                                    tensorTypeText(x)));
  auto choices = chooseElements(ctx, self.select, x, window, stride, padding, source.dims());
  auto target = choices ? ctx.check(filled(init, x.dims())) : std::nullopt;
  if (!target)
    return;
  std::vector<int64_t> to, from;
  for (size_t i = 0; i < choices->places.size(); ++i)
    if (choices->places[i] >= 0) {
      to.push_back(choices->places[i]);
      from.push_back(static_cast<int64_t>(i));
    }
  if (combineAt(ctx, self.scatter, *target, to, source, from))
    ctx.setOutput(0, std::move(*target));
}

/// Returns the loop that combines elements as a function of two does; null if there is none.
RowsUpdateLoop loopOf(Combination combination, DType dtype) {
  switch (combination) {
  case Combination::Second:
    return rowsUpdateLoop(Update::Assign, dtype);
  case Combination::Sum:
    return rowsUpdateLoop(Update::Add, dtype);
  case Combination::Product:
    return rowsUpdateLoop(Update::Mul, dtype);
  case Combination::Min:
    return rowsUpdateLoop(Update::Min, dtype);
  case Combination::Max:
    return rowsUpdateLoop(Update::Max, dtype);
  case Combination::Other:
    break;
  }
  return nullptr;
}

} // namespace

Expected<BoundKernel> bindXlaScatter(const NodeSpec &spec, FunctionLibrary *library) {
  ElementFunction f =
      TREADLE_TRY(ElementFunction::of(spec, "update_computation", spec.outputTypes, library));
  RowsUpdateLoop update = nullptr;
  if (library && !spec.outputTypes.empty())
    update = loopOf(library->combination(f.callee.function.name, spec.outputTypes[0].dtype),
                    spec.outputTypes[0].dtype);
  ScatterState state{std::move(f), {}, update};
  ScatterNumbers &n = state.numbers;
  std::vector<int64_t> *fields[] = {&n.updateWindow, &n.insertedWindow, &n.toOperand,
                                    &n.indexVector,  &n.inputBatching,  &n.indicesBatching};
  if (!readDimensionNumbers(spec.attrs.getOr("dimension_numbers", std::string()), fields))
    return Unexpected(
        invalidArgument("attribute 'dimension_numbers' does not parse as ScatterDimensionNumbers"));
  return boundWith(runScatter, std::move(state));
}

Expected<BoundKernel> bindSelectAndScatter(const NodeSpec &spec, FunctionLibrary *library) {
  Expected<ElementFunction> select =
      ElementFunction::of(spec, "select", {ValueType{DType::Bool}}, library);
  Expected<ElementFunction> scatter =
      ElementFunction::of(spec, "scatter", spec.outputTypes, library);
  if (!select || !scatter)
    return Unexpected(std::move((select ? scatter : select).error()));
  return boundWith(runSelectAndScatter,
                   SelectAndScatterState{std::move(*select), std::move(*scatter)});
}

} // namespace treadle
