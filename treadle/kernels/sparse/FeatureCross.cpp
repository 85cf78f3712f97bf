// Feature crosses: for each row, all combinations of one feature from each column, joined as text
// or hashed. Columns are sparse, ragged or dense matrices of strings or int64.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/sparse/Ragged.h"
#include "treadle/kernels/text/StringHash.h"

#include <algorithm>
#include <numeric>

namespace treadle {
namespace {

using Types = std::vector<DType>;

// --- columns -----------------------------------------------------------------------------------

/// The range of a row's features among a column's values.
struct FeatureRange {
  int64_t begin, count;
};

class Column {
public:
  static Column dense(const Tensor &values) { return {Dense, values}; }
  static Column ragged(const Tensor &values, const Tensor &splits) {
    Column column(Ragged, values);
    for (int64_t i = 0; i < splits.count(); ++i)
      column.places.push_back(indexAt(splits, i));
    return column;
  }
  /// Entries must be sorted by row. An entry whose row is out of order ends the column, or with
  /// `skips` counts for the current row.
  static Column sparse(const Tensor &indices, const Tensor &values, int64_t rows, bool skips) {
    Column column(Sparse, values);
    int64_t reached = 0;
    for (int64_t i = 0; i < values.count(); ++i) {
      int64_t row = indices.data<int64_t>()[i * indices.dim(1)];
      if (row >= rows || (row < reached && !skips))
        break;
      column.places.push_back(reached = std::max(reached, row));
    }
    return column;
  }

  FeatureRange row(int64_t i) const {
    if (kind == Dense)
      return {i * values.dim(1), values.dim(1)};
    if (kind == Ragged)
      return {places[i], places[i + 1] - places[i]};
    auto [begin, end] = std::ranges::equal_range(places, i);
    return {begin - places.begin(), end - begin};
  }
  /// Returns the rows that have entries in a sparse column; nullopt for other columns.
  std::optional<std::vector<int64_t>> rowsWithFeatures() const {
    if (kind != Sparse)
      return std::nullopt;
    std::vector<int64_t> rows = places;
    rows.erase(std::ranges::unique(rows).begin(), rows.end());
    return rows;
  }
  bool isDense() const { return kind == Dense; }
  bool isText() const { return values.dtype() == DType::String; }
  const std::string &text(int64_t i) const { return values.data<std::string>()[i]; }
  int64_t number(int64_t i) const { return values.data<int64_t>()[i]; }

private:
  enum Kind : uint8_t { Dense, Ragged, Sparse };
  Column(Kind kind, Tensor values) : kind(kind), values(std::move(values)) {}

  Kind kind;
  Tensor values;
  std::vector<int64_t> places; // splits (Ragged) or rows of entries (Sparse)
};

// --- results of a combination ------------------------------------------------------------------

using Columns = std::vector<Column>;
using Combination = std::span<const int64_t>; // index of a value in each column

struct JoinedText {
  using Out = std::string;
  std::string separator = "_X_";

  std::string of(const Columns &columns, Combination at) const {
    std::string joined;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i)
        joined += separator;
      joined +=
          columns[i].isText() ? columns[i].text(at[i]) : std::to_string(columns[i].number(at[i]));
    }
    return joined;
  }
};

int64_t bucketOf(uint64_t hash, int64_t buckets) {
  return static_cast<int64_t>(hash % static_cast<uint64_t>(buckets > 0 ? buckets : INT64_MAX));
}

struct ChainedHash {
  using Out = int64_t;
  int64_t buckets;
  uint64_t key;

  int64_t of(const Columns &columns, Combination at) const {
    uint64_t hash = key;
    for (size_t i = 0; i < columns.size(); ++i)
      hash = fingerprintOfTwo(hash, columns[i].isText()
                                        ? farmFingerprint64(columns[i].text(at[i]))
                                        : static_cast<uint64_t>(columns[i].number(at[i])));
    return bucketOf(hash, buckets);
  }
};

/// The hash of SparseCrossHashed. Numbers are hashed by their lower four bytes, except in dense
/// columns with weak hashing, where they are used as they are: TensorFlow does this, and models
/// depend on it.
struct SaltedHash {
  using Out = int64_t;
  int64_t buckets;
  bool isStrong;
  uint64_t salt[2];

  uint64_t feature(const Column &column, int64_t i) const {
    if (column.isText())
      return bytes(column.text(i));
    int64_t number = column.number(i);
    if (!isStrong && column.isDense())
      return static_cast<uint64_t>(number);
    return bytes({reinterpret_cast<const char *>(&number), 4});
  }
  int64_t of(const Columns &columns, Combination at) const {
    uint64_t hash = feature(columns[0], at[0]);
    for (size_t i = 1; i < columns.size(); ++i)
      hash = fingerprintOfTwo(hash, feature(columns[i], at[i]));
    return bucketOf(hash, buckets);
  }

private:
  uint64_t bytes(std::string_view text) const {
    return isStrong ? sipHash24(text, salt[0], salt[1]) : farmFingerprint64(text);
  }
};

// --- enumeration -------------------------------------------------------------------------------

/// Returns the rows that may have crosses. A sparse column may declare many more rows than it has
/// entries, so its rows are taken if there is one.
std::vector<int64_t> rowsToCross(const Columns &columns, int64_t rows) {
  for (const Column &column : columns)
    if (auto some = column.rowsWithFeatures())
      return std::move(*some);
  std::vector<int64_t> all(static_cast<size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Returns the offsets of each row's crosses, and the total; nullopt after failing the op if there
/// are too many.
std::optional<std::vector<int64_t>> crossSplits(OpContext &ctx, const Columns &columns,
                                                std::span<const int64_t> rows) {
  std::vector<int64_t> splits{0};
  for (int64_t row : rows) {
    int64_t count = 1, next = 0;
    bool isEmpty = std::ranges::any_of(columns, [&](auto &c) { return !c.row(row).count; });
    bool isTooLarge = false;
    for (const Column &column : columns)
      isTooLarge |= !isEmpty && __builtin_mul_overflow(count, column.row(row).count, &count);
    if (isTooLarge || __builtin_add_overflow(splits.back(), isEmpty ? 0 : count, &next)) {
      ctx.fail(invalidArgument("row ", row, " has more crosses than an int64 can count"));
      return std::nullopt;
    }
    splits.push_back(next);
  }
  return splits;
}

// The features of the last column vary fastest.
template <typename Cross>
void crossRow(const Columns &columns, int64_t row, const Cross &cross,
              std::span<typename Cross::Out> out) {
  std::vector<int64_t> at;
  for (const Column &column : columns)
    at.push_back(column.row(row).begin);
  for (auto &value : out) {
    value = cross.of(columns, at);
    for (size_t i = columns.size(); i-- > 0;) {
      FeatureRange stretch = columns[i].row(row);
      if (++at[i] < stretch.begin + stretch.count)
        break;
      at[i] = stretch.begin;
    }
  }
}

template <typename Cross>
void crossRows(OpContext &ctx, const Columns &columns, std::span<const int64_t> rows,
               std::span<const int64_t> splits, const Cross &cross, Tensor &out) {
  constexpr double costOfRow = 2000;
  auto *values = out.data<typename Cross::Out>();
  ctx.parallelFor(std::ssize(rows), costOfRow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      crossRow(columns, rows[i], cross,
               {values + splits[i], static_cast<size_t>(splits[i + 1] - splits[i])});
  });
}

// --- SparseCross, SparseCrossV2, SparseCrossHashed ---------------------------------------------

struct SparseCrossState {
  int sparse, dense; // number of columns
  int64_t buckets;
  uint64_t key;
  bool takesTextOnly;
};

/// Checks that all columns are matrices with the same number of rows, and returns that.
std::optional<int64_t> checkSparseCross(OpContext &ctx, const SparseCrossState &state) {
  auto fail = [&](std::string_view what, int i, std::string_view expected) {
    ctx.fail(
        invalidArgument(what, " ", i, " has an unsupported type or shape, expected ", expected));
    return std::nullopt;
  };
  int64_t rows = -1;
  auto hasOther = [&](int64_t count) { return (rows < 0 ? rows = count : rows) != count; };
  auto hasWrongDtype = [&](const Tensor &t) {
    return state.takesTextOnly && t.dtype() != DType::String;
  };
  for (int i = 0; i < state.sparse; ++i) {
    const Tensor &indices = ctx.input(i), &values = ctx.input(state.sparse + i),
                 &shape = ctx.input(2 * state.sparse + i);
    if (indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 ||
        values.dim(0) != indices.dim(0) || shape.rank() != 1 || shape.count() != 2 ||
        hasWrongDtype(values))
      return fail("sparse column", i, "indices [n,2], values [n] and a shape [2]");
    if (shape.data<int64_t>()[0] < 0 || hasOther(shape.data<int64_t>()[0]))
      return fail("sparse column", i, str("a batch of ", std::max<int64_t>(rows, 0), " rows"));
  }
  for (int i = 0; i < state.dense; ++i) {
    const Tensor &values = ctx.input(3 * state.sparse + i);
    if (values.rank() != 2 || hasWrongDtype(values))
      return fail("dense column", i, "a matrix");
    if (hasOther(values.dim(0)))
      return fail("dense column", i, str("a batch of ", rows, " rows"));
  }
  return std::max<int64_t>(rows, 0);
}

template <typename Cross> void setCrosses(OpContext &ctx, const Cross &cross) {
  const auto &state = ctx.state<SparseCrossState>();
  auto count = TREADLE_OR_RETURN(checkSparseCross(ctx, state));
  Columns columns;
  for (int i = 0; i < state.sparse; ++i)
    columns.push_back(Column::sparse(ctx.input(i), ctx.input(state.sparse + i), count, false));
  for (int i = 0; i < state.dense; ++i)
    columns.push_back(Column::dense(ctx.input(3 * state.sparse + i)));
  std::vector<int64_t> rows = rowsToCross(columns, count);
  auto splits = TREADLE_OR_RETURN(crossSplits(ctx, columns, rows));
  Tensor *indices = ctx.allocateOutput(0, DType::Int64, {splits.back(), 2});
  Tensor *values = TREADLE_OR_RETURN(
      indices ? ctx.allocateOutput(1, dtypeOf<typename Cross::Out>, {splits.back()}) : nullptr);
  int64_t *index = indices->data<int64_t>(), largest = 0;
  for (size_t k = 0; k < rows.size(); ++k) {
    int64_t crosses = splits[k + 1] - splits[k];
    largest = std::max(largest, crosses);
    for (int64_t i = 0; i < crosses; ++i) {
      *index++ = rows[k];
      *index++ = i;
    }
  }
  crossRows(ctx, columns, rows, splits, cross, *values);
  ctx.setOutput(2, Tensor::vector<int64_t>(DType::Int64, std::array{count, largest}));
}

void sparseCrossText(OpContext &ctx) { setCrosses(ctx, JoinedText()); }
void sparseCrossHash(OpContext &ctx) {
  const auto &state = ctx.state<SparseCrossState>();
  setCrosses(ctx, ChainedHash{state.buckets, state.key});
}

/// Parameters follow the columns.
const Tensor &parameter(OpContext &ctx, int i) {
  const auto &state = ctx.state<SparseCrossState>();
  return ctx.input(3 * state.sparse + state.dense + i);
}

void sparseCrossV2(OpContext &ctx) {
  const Tensor &separator = parameter(ctx, 0);
  if (separator.rank() != 0)
    return ctx.fail(
        invalidArgument("sep is ", tensorTypeText(separator), ", expected a string scalar"));
  setCrosses(ctx, JoinedText{separator.scalarValue<std::string>()});
}

void sparseCrossHashed(OpContext &ctx) {
  const Tensor &buckets = parameter(ctx, 0), &isStrong = parameter(ctx, 1),
               &salt = parameter(ctx, 2);
  if (buckets.count() != 1 || isStrong.count() != 1 || salt.count() != 2)
    return ctx.fail(invalidArgument("num_buckets, strong_hash and salt are ",
                                    tensorTypeText(buckets), ", ", tensorTypeText(isStrong),
                                    " and ", tensorTypeText(salt),
                                    ", expected scalars and two numbers"));
  const auto *key = salt.data<int64_t>();
  setCrosses(ctx, SaltedHash{buckets.scalarValue<int64_t>(),
                             isStrong.scalarValue<bool>(),
                             {static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1])}});
}

template <int parameters> Expected<SparseCrossState> crossState(const BindContext &node) {
  auto sparse = node.attrs.getOr<int64_t>("N", 0);
  auto dense = static_cast<int64_t>(node.inputTypes.size()) - 3 * sparse - parameters;
  if (dense < 0 || node.attrs.getOr("sparse_types", Types()).size() != static_cast<size_t>(sparse))
    return Unexpected(invalidArgument("sparse_types must name one dtype for each of the ", sparse,
                                      " sparse columns"));
  return SparseCrossState{static_cast<int>(sparse), static_cast<int>(dense),
                          node.attrs.getOr<int64_t>("num_buckets", 0),
                          static_cast<uint64_t>(node.attrs.getOr<int64_t>("hash_key", 0)), false};
}

template <KernelFn fn, int parameters> Expected<BoundKernel> bindCross(const BindContext &node) {
  return crossState<parameters>(node).map(
      [](const SparseCrossState &state) { return boundWith(fn, state); });
}

Expected<BoundKernel> bindSparseCross(const BindContext &node) {
  return crossState<0>(node).map([&](SparseCrossState state) {
    state.takesTextOnly = node.attrs.getOr("internal_type", DType::Int64) == DType::String;
    return boundWith(node.outputTypes[1] == DType::String ? sparseCrossText : sparseCrossHash,
                     state);
  });
}

// --- RaggedCross -------------------------------------------------------------------------------

struct RaggedCrossState {
  int ragged, sparse, dense; // number of columns
  std::string order;         // R, S or D for each column
  int64_t buckets;
  uint64_t key;
  DType splitsDType;
};

Expected<int64_t> checkRaggedCross(OpContext &ctx, const RaggedCrossState &s) {
  int sparse = 2 * s.ragged, dense = sparse + 3 * s.sparse;
  std::vector<int64_t> rows;
  for (int i = 0; i < s.ragged; ++i) {
    const Tensor &values = ctx.input(i), &splits = ctx.input(s.ragged + i);
    if (values.rank() != 1)
      return Unexpected(invalidArgument("ragged column ", i, " has values ", tensorTypeText(values),
                                        ", expected a vector"));
    TREADLE_TRY(checkRagged({&splits, 1}, values));
    rows.push_back(splits.count() - 1);
  }
  for (int i = 0; i < s.dense; ++i) {
    const Tensor &values = ctx.input(dense + i);
    if (values.rank() != 2)
      return Unexpected(invalidArgument("dense column ", i, " is ", tensorTypeText(values),
                                        ", expected a matrix"));
    rows.push_back(values.dim(0));
  }
  for (int i = 0; i < s.sparse; ++i) {
    const Tensor &indices = ctx.input(sparse + i), &values = ctx.input(sparse + s.sparse + i),
                 &shape = ctx.input(sparse + 2 * s.sparse + i);
    if (indices.rank() != 2 || indices.dim(1) < 1 || values.rank() != 1 ||
        indices.dim(0) != values.dim(0) || shape.rank() != 1 || shape.count() != 2)
      return Unexpected(invalidArgument("sparse column ", i, " is not a sparse matrix"));
    rows.push_back(shape.data<int64_t>()[0]);
  }
  for (int64_t count : rows)
    if (count < 0 || count != rows[0])
      return Unexpected(
          invalidArgument("a column has ", count, " rows, but the first has ", rows[0]));
  return rows.empty() ? 0 : rows[0];
}

Columns raggedCrossColumns(OpContext &ctx, const RaggedCrossState &s, int64_t rows) {
  int ragged = 0, sparse = 2 * s.ragged, dense = sparse + 3 * s.sparse;
  Columns columns;
  for (char kind : s.order) {
    if (kind == 'R') {
      columns.push_back(Column::ragged(ctx.input(ragged), ctx.input(s.ragged + ragged)));
      ++ragged;
    } else if (kind == 'S') {
      columns.push_back(
          Column::sparse(ctx.input(sparse), ctx.input(s.sparse + sparse), rows, true));
      ++sparse;
    } else {
      columns.push_back(Column::dense(ctx.input(dense++)));
    }
  }
  return columns;
}

/// Expands the splits of some rows to all rows.
void fillSplits(std::span<const int64_t> rows, std::span<const int64_t> splits, Tensor &out) {
  auto fill = [&]<typename T>() {
    T *to = out.data<T>();
    size_t k = 0;
    for (int64_t row = 0; row < out.count(); ++row) {
      while (k < rows.size() && rows[k] < row)
        ++k;
      to[row] = static_cast<T>(splits[k]);
    }
  };
  out.dtype() == DType::Int64 ? fill.template operator()<int64_t>()
                              : fill.template operator()<int32_t>();
}

template <typename Cross> void setRaggedCrosses(OpContext &ctx, const Cross &cross) {
  const auto &state = ctx.state<RaggedCrossState>();
  auto count = TREADLE_OR_RETURN(ctx.check(checkRaggedCross(ctx, state)));
  // The splits of all rows are allocated before anything else, since their number isn't bounded by
  // entries.
  Tensor *out = TREADLE_OR_RETURN(
      ctx.allocateOutput(1, state.splitsDType, {std::min(count, INT64_MAX - 1) + 1}));
  Columns columns = raggedCrossColumns(ctx, state, count);
  std::vector<int64_t> rows = rowsToCross(columns, count);
  auto splits = crossSplits(ctx, columns, rows);
  Tensor *values = TREADLE_OR_RETURN(
      splits ? ctx.allocateOutput(0, dtypeOf<typename Cross::Out>, {splits->back()}) : nullptr);
  crossRows(ctx, columns, rows, *splits, cross, *values);
  fillSplits(rows, *splits, *out);
}

void raggedCrossText(OpContext &ctx) { setRaggedCrosses(ctx, JoinedText()); }
void raggedCrossHash(OpContext &ctx) {
  const auto &state = ctx.state<RaggedCrossState>();
  setRaggedCrosses(ctx, ChainedHash{state.buckets, state.key});
}

Expected<BoundKernel> bindRaggedCross(const BindContext &node) {
  auto size = [&](const char *attr) {
    return static_cast<int>(node.attrs.getOr(attr, Types()).size());
  };
  RaggedCrossState state{size("ragged_values_types"),
                         size("sparse_values_types"),
                         size("dense_types"),
                         node.attrs.getOr("input_order", std::string()),
                         node.attrs.getOr<int64_t>("num_buckets", 0),
                         static_cast<uint64_t>(node.attrs.getOr<int64_t>("hash_key", 0)),
                         node.outputTypes[1]};
  bool isGood = state.ragged == size("ragged_splits_types") &&
                state.sparse == node.attrs.getOr<int64_t>("Nsparse", 0) &&
                std::ranges::count(state.order, 'R') == state.ragged &&
                std::ranges::count(state.order, 'S') == state.sparse &&
                std::ranges::count(state.order, 'D') == state.dense &&
                std::ssize(state.order) == state.ragged + state.sparse + state.dense;
  if (!isGood)
    return Unexpected(invalidArgument("input_order is '", state.order,
                                      "', expected R, S and D for ", state.ragged, " ragged, ",
                                      state.sparse, " sparse and ", state.dense, " dense columns"));
  return boundWith(node.outputTypes[0] == DType::String ? raggedCrossText : raggedCrossHash,
                   std::move(state));
}

const KernelEntry featureCrossTable[] = {
    {"RaggedCross", bindRaggedCross},
    {"SparseCross", bindSparseCross},
    {"SparseCrossHashed", bindCross<sparseCrossHashed, 3>},
    {"SparseCrossV2", bindCross<sparseCrossV2, 1>},
};

} // namespace

std::span<const KernelEntry> featureCrossKernels() { return featureCrossTable; }

} // namespace treadle
