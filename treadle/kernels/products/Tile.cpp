#include "treadle/kernels/products/Tile.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

// Contraction, as in every library's matrix products: one rounding per multiply-add.
#pragma clang fp contract(fast)

namespace treadle {
namespace {

typedef float Vector __attribute__((vector_size(tileLanes * sizeof(float))));

Vector load(const float *from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void store(float *to, Vector value) { std::memcpy(to, &value, sizeof value); }

bool isKeptInRegisters(Activation activation) {
  using enum Activation;
  return activation == None || activation == Relu || activation == Relu6 || activation == LeakyRelu;
}

/// The sums of a tile. All loops over them are fully unrolled, so that they stay in registers.
template <int rows, int vectors> struct Sums {
  template <typename Visit> [[gnu::always_inline]] void forEach(const Visit &visit) {
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        visit(sum[r][v], r, v);
  }

  [[gnu::always_inline]] void addFrom(float *const (&to)[rows]) {
    forEach([&](Vector &own, int r, int v) { own += treadle::load(to[r] + v * tileLanes); });
  }

  /// Adds `other` to these sums.
  [[gnu::always_inline]] void add(const Sums &other) {
    forEach([&](Vector &own, int r, int v) { own += other.sum[r][v]; });
  }

  [[gnu::always_inline]] void clear() {
    forEach([](Vector &own, int, int) { own = Vector{}; });
  }

  [[gnu::always_inline]] void store(float *const (&to)[rows]) {
    forEach([&](Vector &own, int r, int v) { treadle::store(to[r] + v * tileLanes, own); });
  }

  [[gnu::always_inline]] void addProducts(const float *const (&from)[rows], int64_t i,
                                          const float *panel) {
    Vector right[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      right[v] = treadle::load(panel + v * tileLanes);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const float left = from[r][i];
#pragma unroll
      for (int v = 0; v < vectors; ++v)
        sum[r][v] += left * right[v];
    }
  }

  [[gnu::always_inline]] void addOffset(const float *offset) {
    forEach([&](Vector &own, int, int v) { own += treadle::load(offset + v * tileLanes); });
  }

  [[gnu::always_inline]] void activate(Activation activation, float alpha) {
    const Vector zero = {}, six = zero + 6;
    if (activation == Activation::Relu || activation == Activation::Relu6)
      forEach([&](Vector &x, int, int) { x = x > 0 ? x : zero; });
    if (activation == Activation::Relu6)
      forEach([&](Vector &x, int, int) { x = x < six ? x : six; });
    if (activation == Activation::LeakyRelu)
      forEach([&](Vector &x, int, int) { x = x > 0 ? x : x * alpha; });
  }

  Vector sum[rows][vectors] = {};
};

/// The totals of the partial sums of a tile, in memory.
template <int rows, int vectors> struct Total {
  [[gnu::always_inline]] void take(Sums<rows, vectors> &partial) {
    if (isEmpty)
      sums = partial;
    else
      sums.add(partial);
    isEmpty = false;
    partial.clear();
  }

  Sums<rows, vectors> sums;
  bool isEmpty = true;
};

/// The rows of the left operand at one part of its depth, and the panel that they are multiplied
/// by.
template <int rows, int vectors> struct PartRows {
  [[gnu::always_inline]] PartRows(const TileWork &work, const TilePart &part)
      : panel(work.panel + part.panel * work.depth * vectors * tileLanes) {
#pragma unroll
    for (int r = 0; r < rows; ++r)
      from[r] = work.from + work.fromRows[r] + part.row;
  }

  /// Adds the products of elements [i, end), in order, and prefetches.
  [[gnu::always_inline]] void addTo(Sums<rows, vectors> &sums, int64_t i, int64_t end,
                                    std::span<const char> &ahead, int64_t aheadLines) {
    for (; i + tileStride <= end; i += tileStride) {
      for (int64_t line = 0; line < aheadLines && !ahead.empty(); ++line) {
        __builtin_prefetch(ahead.data(), 0, 2);
        ahead = ahead.subspan(std::min<size_t>(cacheLine, ahead.size()));
      }
#pragma unroll
      for (int64_t j = 0; j < tileStride; ++j, panel += vectors * tileLanes)
        sums.addProducts(from, i + j, panel);
    }
    for (; i < end; ++i, panel += vectors * tileLanes)
      sums.addProducts(from, i, panel);
  }

  const float *from[rows];
  const float *panel;
};

/// Adds the products of all parts, which together are no longer than a partial sum.
template <int rows, int vectors>
[[gnu::always_inline]] inline void addShort(const TileWork &work, float *const (&to)[rows],
                                            Sums<rows, vectors> &sums) {
  std::span<const char> ahead = work.ahead;
  for (const TilePart &part : work.parts)
    PartRows<rows, vectors>(work, part).addTo(sums, 0, work.depth, ahead, work.aheadLines);
  if (work.adds)
    sums.addFrom(to);
}

/// Like `addShort`, but in partial sums, each of which is added to the total.
template <int rows, int vectors>
[[gnu::always_inline]] inline void addLong(const TileWork &work, float *const (&to)[rows],
                                           Sums<rows, vectors> &sums) {
  Total<rows, vectors> total;
  if (work.adds) {
    total.sums.addFrom(to);
    total.isEmpty = false;
  }
  std::span<const char> ahead = work.ahead;
  int64_t room = elementsOfSum; // elements that the partial sum can still take
  for (const TilePart &part : work.parts) {
    PartRows<rows, vectors> at(work, part);
    for (int64_t i = 0, end; i < work.depth; room -= end - i, i = end) {
      if (room == 0) {
        total.take(sums);
        room = elementsOfSum;
      }
      end = std::min(work.depth, i + room);
      at.addTo(sums, i, end, ahead, work.aheadLines);
    }
  }
  if (!total.isEmpty)
    sums.add(total.sums);
}

template <int rows, int vectors> void run(const TileWork &work) {
  float *to[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r)
    to[r] = work.to + work.toRows[r];
  Sums<rows, vectors> sums;
  if (std::ssize(work.parts) * work.depth <= elementsOfSum)
    addShort(work, to, sums);
  else
    addLong(work, to, sums);

  if (work.isLast) {
    if (work.offset)
      sums.addOffset(work.offset);
    sums.activate(work.activation, work.alpha);
  }
  sums.store(to);
  if (work.isLast && !isKeptInRegisters(work.activation))
    for (int r = 0; r < rows; ++r)
      treadle::activate(work.activation, work.alpha, to[r], work.width);
}

using Run = void (*)(const TileWork &);

template <int vectors, int... rows>
constexpr std::array<Run, maxTileRows> runsOf(std::integer_sequence<int, rows...>) {
  return {run<rows + 1, vectors>...};
}

template <int... vectors>
constexpr std::array<std::array<Run, maxTileRows>, maxTileVectors>
allRuns(std::integer_sequence<int, vectors...>) {
  return {runsOf<vectors + 1>(std::make_integer_sequence<int, tileRows(vectors + 1)>())...};
}

constexpr auto runs = allRuns(std::make_integer_sequence<int, maxTileVectors>());

/// Runs a tile whose last vectors have columns that the result lacks.
void runWide(TileWork work) {
  alignas(64) float all[maxTileRows * maxTileVectors * tileLanes] = {};
  alignas(64) float offset[maxTileVectors * tileLanes] = {};
  int64_t rows[maxTileRows], columns = int64_t{work.vectors} * tileLanes;
  for (int r = 0; r < work.rows; ++r) {
    rows[r] = r * columns;
    if (work.adds)
      std::copy_n(work.to + work.toRows[r], work.width, all + rows[r]);
  }
  if (work.offset)
    work.offset = std::copy_n(work.offset, work.width, offset) - work.width;
  float *to = std::exchange(work.to, all);
  const int64_t *toRows = std::exchange(work.toRows, rows);
  runs[work.vectors - 1][work.rows - 1](work);
  for (int r = 0; r < work.rows; ++r)
    std::copy_n(all + rows[r], work.width, to + toRows[r]);
}

} // namespace

void runTile(const TileWork &work) {
  if (work.width < int64_t{work.vectors} * tileLanes)
    return runWide(work);
  runs[work.vectors - 1][work.rows - 1](work);
}

} // namespace treadle
