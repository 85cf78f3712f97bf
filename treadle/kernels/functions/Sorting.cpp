// XlaVariadicSort sorts rows by a comparator; XlaSort and XlaKeyValueSort by the elements. A stable
// merge sort: runs of 1, 2, 4, ... elements are merged, and the position of each element in a merge
// is found by binary search, for all elements of all runs at once, so that the comparator is called
// with whole tensors a logarithmic number of times. If the keys that the comparator compares are
// known, they are mapped to integers of the same order, which are sorted without calls.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/arrays/Rearrange.h"
#include "treadle/kernels/functions/ElementFunction.h"
#include "treadle/kernels/functions/Families.h"
#include "treadle/kernels/functions/TensorFunctions.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <ranges>
#include <span>

namespace treadle {

using namespace rearrange;

namespace {

/// Returns the elements of `t` (one dimension) in another order.
Expected<Tensor> reordered(const Tensor &t, const std::vector<int64_t> &order) {
  Tensor out = TREADLE_TRY(Tensor::make(t.dtype(), {std::ssize(order)}));
  auto take = [&]<typename T>(T) {
    const T *from = t.data<T>();
    T *to = out.data<T>();
    for (size_t i = 0; i < order.size(); ++i)
      to[i] = from[order[i]];
  };
  switch (dtypeSize(t.dtype())) {
  case 1:
    take(uint8_t{});
    break;
  case 2:
    take(uint16_t{});
    break;
  case 4:
    take(uint32_t{});
    break;
  case 8:
    take(uint64_t{});
    break;
  default:
    struct Wide {
      uint64_t parts[2];
    };
    take(Wide{});
  }
  return out;
}

/// Sorts adjacent rows of `length` elements in each of `columns`.
class Sorter {
public:
  Sorter(OpContext &ctx, const ElementFunction &less, Tensors columns, int64_t length)
      : ctx(ctx), less(less), columns(std::move(columns)), length(length),
        total(this->columns[0].count()) {}

  std::optional<Tensors> run() {
    for (int64_t size = 1; size < length; size *= 2)
      if (!merge(size))
        return std::nullopt;
    return std::move(columns);
  }

private:
  /// The binary search of one element in the adjacent run.
  struct MergeSearch {
    int64_t element, low, high;
    bool isLeft; // the element's run is the left one of the two
  };

  bool merge(int64_t size) {
    std::vector<MergeSearch> open;
    std::vector<int64_t> rank(total, 0);
    for (int64_t row = 0; row < total; row += length)
      for (int64_t left = row; left + size < row + length; left += 2 * size) {
        int64_t middle = left + size, end = std::min(middle + size, row + length);
        for (int64_t i = left; i < end; ++i) {
          bool isLeft = i < middle;
          open.push_back({i, isLeft ? middle : left, isLeft ? end : middle, isLeft});
        }
      }
    std::vector<MergeSearch> searches = open;
    if (!bisect(searches))
      return false;
    std::vector<int64_t> order(total);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = 0; i < searches.size(); ++i) {
      // Elements of the other run that precede it move it up (or, from the right, down).
      const MergeSearch &s = searches[i];
      int64_t other = open[i].low;
      int64_t before = s.low - other;
      int64_t start = s.isLeft ? other - size : other; // of the merged run
      int64_t own = s.element - (s.isLeft ? start : start + size);
      order[start + own + before] = s.element;
    }
    for (Tensor &column : columns) {
      auto sorted = ctx.check(reordered(column, order));
      if (!sorted)
        return false;
      column = std::move(*sorted);
    }
    return true;
  }

  /// An element of the left run goes before those of the right run that aren't less than it; one of
  /// the right run goes after those of the left run that it isn't less than.
  bool bisect(std::vector<MergeSearch> &searches) {
    std::vector<size_t> active(searches.size());
    std::iota(active.begin(), active.end(), 0);
    for (;;) {
      std::erase_if(active, [&](size_t i) { return searches[i].low >= searches[i].high; });
      if (active.empty())
        return true;
      std::vector<int64_t> first, second;
      for (size_t i : active) {
        const MergeSearch &s = searches[i];
        int64_t middle = s.low + (s.high - s.low) / 2;
        first.push_back(s.isLeft ? middle : s.element);
        second.push_back(s.isLeft ? s.element : middle);
      }
      Tensors args;
      for (const Tensor &column : columns)
        for (const std::vector<int64_t> *places : {&first, &second}) {
          auto taken = ctx.check(reordered(column, *places));
          if (!taken)
            return false;
          args.push_back(std::move(*taken));
        }
      auto count = std::ssize(active);
      auto answers = less.call(ctx, std::move(args), Dims(&count, 1), 1);
      if (!answers)
        return false;
      const bool *isLess = (*answers)[0].data<bool>();
      for (size_t k = 0; k < active.size(); ++k) {
        MergeSearch &s = searches[active[k]];
        int64_t middle = s.low + (s.high - s.low) / 2;
        (isLess[k] == s.isLeft ? s.low : s.high) = isLess[k] == s.isLeft ? middle + 1 : middle;
      }
    }
  }

  OpContext &ctx;
  const ElementFunction &less;
  Tensors columns;
  int64_t length, total;
};

// --- sorting by keys ---------------------------------------------------------------------------

struct SortState {
  std::optional<ElementFunction> less; // none: total order of the first column
  std::optional<ElementFunction>
      keys;                       // of the rows, most significant first; none: call the comparator
  std::vector<bool> isDescending; // per key
};

/// Maps the bits of a float to an integer of the same order.
template <typename Bits> uint64_t floatCode(Bits bits, Bits nan, bool isTotal) {
  constexpr Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
  if (!isTotal) {
    auto size = static_cast<Bits>(bits & ~sign);
    if (size == 0)
      bits = 0;
    else if (size > nan)
      bits = static_cast<Bits>(~sign);
  }
  return static_cast<Bits>(bits & sign ? ~bits : bits | sign);
}

template <typename Bits> uint64_t signedCode(Bits bits) {
  return static_cast<Bits>(bits ^ (Bits(1) << (8 * sizeof(Bits) - 1)));
}

/// Maps the elements to integers of the same order; nullopt for unsupported types.
std::optional<std::vector<uint64_t>> codesOf(const Tensor &t, bool isTotal) {
  std::vector<uint64_t> codes(static_cast<size_t>(t.count()));
  auto fill = [&]<typename Bits>(Bits, auto code) {
    const Bits *from = t.data<Bits>();
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = code(from[i]);
    return std::move(codes);
  };
  // Bit patterns beyond infinity are NaN.
  auto real = [&]<typename Bits>(Bits infinity) {
    return fill(Bits{}, [=](Bits bits) { return floatCode(bits, infinity, isTotal); });
  };
  auto whole = [&]<typename Bits>(Bits) {
    return fill(Bits{}, [](Bits b) { return uint64_t(b); });
  };
  auto integer = [&]<typename Bits>(Bits) { return fill(Bits{}, signedCode<Bits>); };
  switch (t.dtype()) {
  case DType::Float16:
    return real(uint16_t{0x7C00});
  case DType::BFloat16:
    return real(uint16_t{0x7F80});
  case DType::Float32:
    return real(uint32_t{0x7F800000});
  case DType::Float64:
    return real(uint64_t{0x7FF0000000000000});
  case DType::Bool:
  case DType::UInt8:
    return whole(uint8_t{});
  case DType::UInt16:
    return whole(uint16_t{});
  case DType::UInt32:
    return whole(uint32_t{});
  case DType::UInt64:
    return whole(uint64_t{});
  case DType::Int8:
    return integer(uint8_t{});
  case DType::Int16:
    return integer(uint16_t{});
  case DType::Int32:
    return integer(uint32_t{});
  case DType::Int64:
    return integer(uint64_t{});
  default:
    return std::nullopt;
  }
}

using Codes = std::vector<std::vector<uint64_t>>; // per key, most significant first

/// Sorts a short row by comparisons.
void orderByComparing(const Codes &codes, std::span<int64_t> row) {
  std::ranges::sort(row, [&](int64_t a, int64_t b) {
    for (const std::vector<uint64_t> &code : codes)
      if (code[a] != code[b])
        return code[a] < code[b];
    return a < b;
  });
}

/// Radix sort of rows by the bytes of their codes, least significant first. Each pass is stable;
/// bytes that are the same in all elements are skipped.
class RadixSorter {
public:
  explicit RadixSorter(size_t length) : items(length), next(length) {}

  void order(const Codes &codes, std::span<int64_t> row) {
    for (size_t i = 0; i < row.size(); ++i)
      items[i].place = row[i];
    for (const std::vector<uint64_t> &code : std::views::reverse(codes))
      orderBy(code);
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = items[i].place;
  }

private:
  static constexpr size_t numBytes = sizeof(uint64_t), numValues = 256;
  struct Item {
    uint64_t code;
    int64_t place;
    size_t byte(size_t number) const { return code >> (8 * number) & 0xFF; }
  };

  void orderBy(const std::vector<uint64_t> &code) {
    std::array<std::array<size_t, numValues>, numBytes> counts{};
    for (Item &item : items) {
      item.code = code[item.place];
      for (size_t number = 0; number < numBytes; ++number)
        ++counts[number][item.byte(number)];
    }
    for (size_t number = 0; number < numBytes; ++number)
      if (counts[number][items[0].byte(number)] != items.size())
        pass(number, counts[number]);
  }

  void pass(size_t number, std::array<size_t, numValues> &counts) {
    std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), size_t{0});
    for (const Item &item : items)
      next[counts[item.byte(number)]++] = item;
    std::swap(items, next);
  }

  std::vector<Item> items, next;
};

/// Returns the order of the elements of each row by the codes of all keys. Stable.
std::vector<int64_t> orderBy(const Codes &codes, int64_t length) {
  constexpr int64_t longestCompared = 96; // beyond which counting bytes pays off
  std::vector<int64_t> order(codes[0].size());
  std::iota(order.begin(), order.end(), 0);
  RadixSorter radix(length > longestCompared ? static_cast<size_t>(length) : 0);
  for (auto begin = order.begin(); begin != order.end(); begin += length) {
    std::span<int64_t> row(begin, static_cast<size_t>(length));
    if (length > longestCompared)
      radix.order(codes, row);
    else
      orderByComparing(codes, row);
  }
  return order;
}

/// Returns the sort keys; nullopt, with ctx failed, on errors.
std::optional<Tensors> keysOf(OpContext &ctx, const SortState &state, const Tensors &columns) {
  if (!state.keys)
    return Tensors{columns[0]};
  Tensors rows;
  for (const Tensor &column : columns)
    rows.insert(rows.end(), 2, column);
  int64_t count = columns[0].count();
  return state.keys->call(ctx, std::move(rows), Dims(&count, 1), state.isDescending.size());
}

/// Sorts by keys; false if the comparator must be called, or ctx has failed.
bool sortByKeys(OpContext &ctx, const SortState &state, Tensors &columns, int64_t length) {
  std::optional<Tensors> keys = keysOf(ctx, state, columns);
  if (!keys)
    return false;
  Codes codes;
  for (size_t i = 0; i < keys->size(); ++i) {
    auto code = codesOf((*keys)[i], /*isTotal=*/!state.keys);
    if (!code || std::ssize(*code) != columns[0].count())
      return false;
    for (uint64_t &number : *code)
      number = state.isDescending[i] ? ~number : number;
    codes.push_back(std::move(*code));
  }
  std::vector<int64_t> order = orderBy(codes, length);
  for (Tensor &column : columns) {
    auto sorted = ctx.check(reordered(column, order));
    if (!sorted)
      return false;
    column = std::move(*sorted);
  }
  return true;
}

/// Returns the sorted columns; nullopt, with ctx failed, on errors.
std::optional<Tensors> sorted(OpContext &ctx, Tensors columns, int64_t length) {
  const auto &state = ctx.state<SortState>();
  if ((state.keys || !state.less) && columns[0].count() > 0) {
    if (sortByKeys(ctx, state, columns, length))
      return columns;
    if (ctx.hasFailed())
      return std::nullopt;
  }
  if (!state.less)
    return columns; // no elements
  return Sorter(ctx, *state.less, std::move(columns), length).run();
}

void runSort(OpContext &ctx) {
  int numColumns = ctx.numOutputs();
  const Tensor &first = ctx.input(0);
  std::vector<int64_t> given;
  if (ctx.numInputs() > numColumns)
    given = numbers(ctx.input(numColumns));
  int64_t axis = given.empty() ? -1 : given[0];
  if (axis < 0)
    axis += first.rank();
  if (axis < 0 || axis >= first.rank())
    return ctx.fail(invalidArgument("dimension ", axis, " is not in [0, ", first.rank(), ")"));
  // Moves the axis to the end, so that rows are contiguous.
  std::vector<int64_t> order, back(first.rank());
  for (int64_t d = 0; d < first.rank(); ++d)
    if (d != axis)
      order.push_back(d);
  order.push_back(axis);
  for (size_t i = 0; i < order.size(); ++i)
    back[order[i]] = static_cast<int64_t>(i);
  Tensors columns;
  std::vector<int64_t> moved;
  moved.reserve(order.size());
  for (int64_t d : order)
    moved.push_back(first.dim(static_cast<int>(d)));
  for (int i = 0; i < numColumns; ++i) {
    const Tensor &x = ctx.input(i);
    if (!std::ranges::equal(x.dims(), first.dims()))
      return ctx.fail(invalidArgument("input ", i, " is ", tensorTypeText(x), ", and input 0 ",
                                      tensorTypeText(first), ", expected the same shape"));
    if (!isPlain(x.dtype()))
      return ctx.fail(unimplemented("tensors of ", dtypeName(x.dtype()), " cannot be sorted"));
    auto column = TREADLE_OR_RETURN(ctx.check(permuted(x, order)));
    int64_t count = column.count();
    columns.push_back(column.withDims(Dims(&count, 1)));
  }
  auto results = sorted(ctx, std::move(columns), moved.back());
  for (int i = 0; results && i < numColumns; ++i) {
    auto column = TREADLE_OR_RETURN(ctx.check(permuted((*results)[i].withDims(moved), back)));
    ctx.setOutput(i, std::move(column));
  }
}

/// Sorts rows in the total order of the first input.
Expected<BoundKernel> bindSort(const BindContext &node) {
  DType dtype = node.inputTypes[0];
  if (Expected<Tensor> none = Tensor::make(dtype, {0}); !none || !codesOf(*none, true))
    return unsupportedDType(node, dtype);
  return boundWith(runSort, SortState{std::nullopt, std::nullopt, {false}});
}

const KernelEntry sortTable[] = {{"XlaKeyValueSort", bindSort}, {"XlaSort", bindSort}};

} // namespace

std::span<const KernelEntry> sortKernels() { return sortTable; }

Expected<BoundKernel> bindVariadicSort(const NodeSpec &spec, FunctionLibrary *library) {
  if (spec.outputTypes.empty() || spec.inputs.size() != spec.outputTypes.size() + 1)
    return Unexpected(invalidArgument("the op has ", spec.inputs.size(), " inputs and ",
                                      spec.outputTypes.size(),
                                      " outputs, expected one more input than outputs"));
  ElementFunction less =
      TREADLE_TRY(ElementFunction::of(spec, "comparator", {ValueType{DType::Bool}}, library));
  const std::string &name = less.callee.function.name;
  SortOrder order = library ? TREADLE_TRY(library->sortOrder(name)) : SortOrder{};
  std::optional<ElementFunction> keys;
  if (order.keys)
    keys.emplace(less.caller, Callee(name, std::move(order.keys)), /*isElementwise=*/true);
  return boundWith(runSort,
                   SortState{std::move(less), std::move(keys), std::move(order.isDescending)});
}

} // namespace treadle
