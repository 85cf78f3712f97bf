// EditDistance: Levenshtein distances between pairs of sequences of two sparse tensors.
#include "treadle/kernels/sparse/Sparse.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace treadle {
namespace {

/// Iterates over the sequences of a sparse tensor: runs of entries that differ in the last index
/// only.
class Sequences {
public:
  explicit Sequences(const SparseView &sparse) : sparse(sparse) { advance(); }

  bool isAtEnd() const { return begin == sparse.count; }
  Dims group() const { return {sparse.index(begin), static_cast<size_t>(sparse.rank - 1)}; }
  template <typename T> std::span<const T> values() const {
    return sparse.values->values<T>().subspan(static_cast<size_t>(begin),
                                              static_cast<size_t>(end - begin));
  }
  void advance() {
    begin = end;
    while (
        end < sparse.count &&
        std::equal(sparse.index(begin), sparse.index(begin) + sparse.rank - 1, sparse.index(end)))
      ++end;
  }

private:
  const SparseView &sparse;
  int64_t begin = 0, end = 0;
};

// Computes the table of distances between prefixes row by row.
template <typename T> int64_t distance(std::span<const T> a, std::span<const T> b) {
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t diagonal = std::exchange(row[0], static_cast<int64_t>(i) + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      int64_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

template <typename T> struct EditDistance {
  static void run(OpContext &ctx) {
    auto guess = readSparse(ctx, 0, "hypothesis"), truth = readSparse(ctx, 3, "truth");
    if (!guess || !truth)
      return;
    if (guess->rank != truth->rank || truth->rank < 2)
      return ctx.fail(invalidArgument("hypothesis and truth must have equal ranks of at least 2, "
                                      "but have ",
                                      guess->rank, " and ", truth->rank));
    DimVector dims;
    for (int64_t d = 0; d < truth->rank - 1; ++d)
      dims.push(std::max(guess->dims[d], truth->dims[d]));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Float32, dims));
    std::fill_n(out->data<float>(), out->count(), 0.0f);
    compare(ctx, *guess, *truth, *out);
  }

  static std::optional<SparseView> readSparse(OpContext &ctx, int first, const char *what) {
    const Tensor &indices = ctx.input(first), &values = ctx.input(first + 1),
                 &shape = ctx.input(first + 2);
    if (indices.rank() == 2 && values.rank() == 1 && shape.rank() == 1 &&
        indices.dim(0) == values.count() && indices.dim(1) == shape.count())
      return sparseInput(ctx, first, first + 1, first + 2);
    ctx.fail(invalidArgument(what, " is not a sparse tensor: its components are ",
                             tensorTypeText(indices), ", ", tensorTypeText(values), " and ",
                             tensorTypeText(shape)));
    return std::nullopt;
  }

  // Visits both tensors in index order; a sequence that is missing in one is empty.
  static void compare(OpContext &ctx, const SparseView &guess, const SparseView &truth,
                      Tensor &out) {
    bool normalizes = ctx.state<bool>();
    DimVector strides = rowMajorStrides(out.dims());
    Sequences guesses(guess), truths(truth);
    while (!guesses.isAtEnd() || !truths.isAtEnd()) {
      bool hasGuess = !guesses.isAtEnd(), isTruthConvertible = !truths.isAtEnd();
      if (hasGuess && isTruthConvertible) {
        auto order =
            std::lexicographical_compare_three_way(guesses.group().begin(), guesses.group().end(),
                                                   truths.group().begin(), truths.group().end());
        hasGuess = order <= 0;
        isTruthConvertible = order >= 0;
      }
      Dims at = hasGuess ? guesses.group() : truths.group();
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d)
        offset += at[d] * strides[d];
      if (offset < 0 || offset >= out.count())
        return ctx.fail(internal("an index is ", dimsText(at),
                                 ", outside of the shape of the sequences, ",
                                 dimsText(out.dims())));
      auto guessed = hasGuess ? guesses.values<T>() : std::span<const T>();
      auto wanted = isTruthConvertible ? truths.values<T>() : std::span<const T>();
      auto edits = static_cast<float>(distance(wanted, guessed));
      out.data<float>()[offset] =
          !normalizes ? edits
                      : (wanted.empty() ? std::numeric_limits<float>::infinity()
                                        : edits / static_cast<float>(wanted.size()));
      if (hasGuess)
        guesses.advance();
      if (isTruthConvertible)
        truths.advance();
    }
  }
};

Expected<BoundKernel> bindEditDistance(const BindContext &node) {
  using Types = Join<PlainTypes, TypeList<std::string>>;
  return withState(bindForType<EditDistance, Types>(node, node.inputTypes[1]),
                   node.attrs.getOr("normalize", true));
}

const KernelEntry editDistanceTable[] = {
    {"EditDistance", bindEditDistance},
};

} // namespace

std::span<const KernelEntry> editDistanceKernels() { return editDistanceTable; }

} // namespace treadle
