// XlaScatter and XlaSelectAndScatter: elements are written to computed positions, combined with the
// existing ones by a function.
#include "treadle/kernels/arrays/DimensionNumbers.h"
#include "treadle/kernels/arrays/Rearrange.h"
#include "treadle/kernels/functions/ElementFunction.h"
#include "treadle/kernels/functions/TensorFunctions.h"

#include <algorithm>
#include <numeric>

namespace treadle {

using namespace rearrange;

namespace {

/// Iterates over all indices of a shape in row-major order.
class Counter {
public:
  explicit Counter(std::vector<int64_t> dims)
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
void movePlaces(const Tensor &t, void *elements, std::span<const int64_t> places, bool puts) {
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
    movePlaces(t, out->raw(), places, false);
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
    movePlaces(target, (*result)[0].raw(), targets, true);
  }
  return true;
}

template <typename T> T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

/// Same for sums, without calls; false if the dtype isn't supported.
bool addAt(Tensor &target, std::span<const int64_t> to, const Tensor &source,
           std::span<const int64_t> from) {
  auto add = [&]<typename T>(T) {
    T *out = target.data<T>();
    const T *in = source.data<T>();
    for (size_t i = 0; i < to.size(); ++i)
      out[to[i]] = plus(out[to[i]], in[from[i]]);
    return true;
  };
  switch (target.dtype()) {
  case DType::Float32:
    return add(float{});
  case DType::Float64:
    return add(double{});
  case DType::Int32:
    return add(int32_t{});
  case DType::Int64:
    return add(int64_t{});
  case DType::UInt32:
    return add(uint32_t{});
  default:
    return false;
  }
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
  Combination combination; // for Sum and Second the function needn't be called
};

bool contains(const std::vector<int64_t> &list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

/// The indices with the index vectors in the last dimension, which may be omitted if they have one
/// element.
struct IndexVectors {
  std::vector<int64_t> dims; // without the index vectors
  std::vector<int64_t> strides;
  int64_t vectorStride = 0, vectorSize = 1;

  IndexVectors(const Tensor &indices, int64_t vectorDim) {
    std::vector<int64_t> own = rearrange::strides(indices.dims());
    for (int d = 0; d < indices.rank(); ++d) {
      if (d == vectorDim) {
        vectorStride = own[d];
        vectorSize = indices.dim(d);
      } else {
        dims.push_back(indices.dim(d));
        strides.push_back(own[d]);
      }
    }
  }
};

Expected<void> checkScatter(const ScatterNumbers &n, const Tensor &x, const IndexVectors &vectors,
                            const Tensor &updates) {
  auto isIn = [](const std::vector<int64_t> &list, int64_t end) {
    return std::ranges::all_of(list, [&](int64_t d) { return d >= 0 && d < end; });
  };
  auto rank = static_cast<size_t>(x.rank());
  bool isRight =
      isIn(n.updateWindow, updates.rank()) && isIn(n.insertedWindow, x.rank()) &&
      isIn(n.toOperand, x.rank()) && isIn(n.inputBatching, x.rank()) &&
      isIn(n.indicesBatching, std::ssize(vectors.dims) + 1) &&
      n.inputBatching.size() == n.indicesBatching.size() &&
      n.updateWindow.size() + n.insertedWindow.size() + n.inputBatching.size() == rank &&
      n.updateWindow.size() + vectors.dims.size() == static_cast<size_t>(updates.rank()) &&
      std::ssize(n.toOperand) == vectors.vectorSize;
  if (!isRight)
    return Unexpected(invalidArgument("the dimension numbers don't fit the operand ",
                                      tensorTypeText(x), " and the updates ",
                                      tensorTypeText(updates)));
  return {};
}

/// For each in-range element of the updates: its position in the operand and in the updates.
struct Places {
  std::vector<int64_t> to, from;
};

Expected<Places> placesOf(const ScatterNumbers &n, const Tensor &x, const Tensor &indices,
                          const Tensor &updates) {
  int64_t vectorDim = n.indexVector.empty() ? 0 : n.indexVector[0];
  IndexVectors vectors(indices, vectorDim);
  TREADLE_TRY(checkScatter(n, x, vectors, updates));
  std::vector<int64_t> values = numbers(indices), own = strides(x.dims()),
                       update = strides(updates.dims());
  std::vector<int64_t> windowDims, windowTo, windowFrom, scatterFrom, window(x.rank(), 1);
  size_t next = 0;
  for (int d = 0; d < x.rank(); ++d) {
    if (contains(n.insertedWindow, d) || contains(n.inputBatching, d))
      continue;
    int64_t of = n.updateWindow[next++];
    window[d] = updates.dim(static_cast<int>(of));
    windowDims.push_back(window[d]);
    windowTo.push_back(own[d]);
    windowFrom.push_back(update[of]);
  }
  for (int d = 0; d < updates.rank(); ++d)
    if (!contains(n.updateWindow, d))
      scatterFrom.push_back(update[d]);
  Places places;
  for (Counter at(vectors.dims); at; at.next()) {
    int64_t base = 0, fromBase = 0;
    std::vector<int64_t> start(x.rank(), 0);
    for (size_t i = 0; i < vectors.dims.size(); ++i) {
      base += at[i] * vectors.strides[i];
      fromBase += at[i] * scatterFrom[i];
    }
    for (size_t k = 0; k < n.toOperand.size(); ++k)
      start[n.toOperand[k]] = values[base + static_cast<int64_t>(k) * vectors.vectorStride];
    for (size_t k = 0; k < n.inputBatching.size(); ++k) {
      int64_t dim = n.indicesBatching[k];
      start[n.inputBatching[k]] = at[static_cast<size_t>(dim - (dim > vectorDim))];
    }
    // Windows that aren't completely inside are skipped.
    int64_t toBase = 0;
    bool isInside = true;
    for (int d = 0; d < x.rank(); ++d) {
      isInside &= start[d] >= 0 && start[d] <= x.dim(d) - window[d];
      toBase += start[d] * own[d];
    }
    if (!isInside)
      continue;
    for (Counter w(windowDims); w; w.next()) {
      int64_t to = toBase, from = fromBase;
      for (size_t i = 0; i < windowDims.size(); ++i) {
        to += w[i] * windowTo[i];
        from += w[i] * windowFrom[i];
      }
      places.to.push_back(to);
      places.from.push_back(from);
    }
  }
  return places;
}

void runScatter(OpContext &ctx) {
  const auto &self = ctx.state<ScatterState>();
  auto places = TREADLE_OR_RETURN(
      ctx.check(placesOf(self.numbers, ctx.input(0), ctx.input(1), ctx.input(2))));
  Tensor updates = ctx.input(2), target = ctx.takeInput(0);
  if (!target.isUnique()) {
    auto own = TREADLE_OR_RETURN(ctx.check(target.clone()));
    target = std::move(own);
  }
  if (self.combination == Combination::Second) {
    size_t size = dtypeSize(target.dtype());
    auto *to = static_cast<char *>(target.raw());
    const auto *from = static_cast<const char *>(updates.raw());
    for (size_t i = 0; i < places.to.size(); ++i)
      std::memcpy(to + places.to[i] * static_cast<int64_t>(size),
                  from + places.from[i] * static_cast<int64_t>(size), size);
  } else if (self.combination != Combination::Sum ||
             !addAt(target, places.to, updates, places.from)) {
    if (!combineAt(ctx, self.function, target, places.to, updates, places.from))
      return;
  }
  ctx.setOutput(0, std::move(target));
}

// --- XlaSelectAndScatter -----------------------------------------------------------------------

struct SelectAndScatterState {
  ElementFunction select, scatter;
};

/// For each window, the element that `select` prefers to the others.
struct Choices {
  std::vector<int64_t> dims;
  std::vector<int64_t> places; // in the operand; -1 for a window that covers only padding
  std::vector<int64_t> offsets;
};

std::optional<Choices> chooseElements(OpContext &ctx, const ElementFunction &select,
                                      const Tensor &x, const std::vector<int64_t> &window,
                                      const std::vector<int64_t> &stride,
                                      const std::vector<int64_t> &padding, Dims outDims) {
  size_t rank = window.size();
  Choices choices{{outDims.begin(), outDims.end()}, {}, {}};
  int64_t count = std::accumulate(outDims.begin(), outDims.end(), int64_t{1}, std::multiplies<>());
  choices.places.assign(count, -1);
  choices.offsets.assign(count, -1);
  std::vector<int64_t> own = strides(x.dims());
  int64_t offset = 0;
  for (Counter w(window); w; w.next(), ++offset) {
    std::vector<int64_t> candidates(count, -1), rivals, mine, theirs;
    int64_t i = 0;
    for (Counter at(choices.dims); at; at.next(), ++i) {
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

} // namespace

Expected<BoundKernel> bindXlaScatter(const NodeSpec &spec, FunctionLibrary *library) {
  ElementFunction f =
      TREADLE_TRY(ElementFunction::of(spec, "update_computation", spec.outputTypes, library));
  Combination combination =
      library && !spec.outputTypes.empty()
          ? library->combination(f.callee.function.name, spec.outputTypes[0].dtype)
          : Combination::Other;
  ScatterState state{std::move(f), {}, combination};
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
