#include "treadle/kernels/arrays/Pad.h"

#include "treadle/runtime/Kernel.h"

#include <algorithm>

namespace treadle {
namespace {

/// The result as rows: a row spans the last dimension that is padded, and those behind it.
class PaddedRows {
public:
  PaddedRows(const Tensor &in, std::span<const PadRange> ranges, const void *value, Tensor &out)
      : in(in), ranges(ranges), value(value), out(out) {
    for (size_t d = ranges.size(); d-- > 0;)
      if (ranges[d].kept != out.dims()[d] || in.dims()[d] != out.dims()[d]) {
        outer = d;
        break;
      }
    int64_t inner = countBetween(out.dims(), std::min(outer + 1, ranges.size()), ranges.size());
    PadRange last = ranges.empty() ? PadRange{0, 1, 0} : ranges[outer];
    before = last.before * inner;
    kept = last.kept * inner;
    rowSize = ranges.empty() ? 1 : out.dims()[outer] * inner;
    firstKept = last.skipped * inner;
    inStrides = rowMajorStrides(in.dims());
  }

  /// Writes the elements [begin, end) of the result.
  void write(int64_t begin, int64_t end) const {
    DimVector at(outer);
    for (int64_t row = begin / rowSize, d = static_cast<int64_t>(outer); d-- > 0;) {
      at[static_cast<size_t>(d)] = row % out.dims()[d];
      row /= out.dims()[d];
    }
    while (begin < end) {
      int64_t start = begin / rowSize * rowSize, stop = std::min(end, start + rowSize);
      writeRow(start, begin - start, stop - start, sourceOf(at));
      begin = stop;
      for (size_t d = outer; d-- > 0;) {
        if (++at[d] < out.dims()[d])
          break;
        at[d] = 0;
      }
    }
  }

private:
  /// Returns the offset in the input of what a row keeps; -1 if it keeps nothing.
  int64_t sourceOf(const DimVector &at) const {
    int64_t offset = firstKept;
    for (size_t d = 0; d < outer; ++d) {
      int64_t position = at[d] - ranges[d].before;
      if (position < 0 || position >= ranges[d].kept)
        return -1;
      offset += (position + ranges[d].skipped) * inStrides[d];
    }
    return kept > 0 ? offset : -1;
  }

  /// Writes the elements [begin, end) of the row that starts at `start`.
  void writeRow(int64_t start, int64_t begin, int64_t end, int64_t source) const {
    int64_t from = std::clamp(source < 0 ? end : before, begin, end);
    int64_t to = std::clamp(source < 0 ? end : before + kept, begin, end);
    fill(start + begin, from - begin);
    if (from < to)
      copyElements(out.dtype(), elementAt(out.dtype(), out.raw(), start + from),
                   elementAt(in.dtype(), in.raw(), source + from - before), to - from);
    fill(start + to, end - to);
  }

  void fill(int64_t at, int64_t count) const {
    void *to = elementAt(out.dtype(), out.raw(), at);
    if (value)
      fillElements(out.dtype(), to, value, count);
    else
      zeroElements(out.dtype(), to, count);
  }

  const Tensor &in;
  const std::span<const PadRange> ranges;
  const void *const value;
  Tensor &out;
  size_t outer = 0; // dimensions before those of a row
  int64_t before, kept, rowSize, firstKept;
  DimVector inStrides;
};

} // namespace

void copyPadded(OpContext *ctx, const Tensor &in, std::span<const PadRange> ranges,
                const void *value, Tensor &out) {
  if (out.count() == 0)
    return;
  PaddedRows rows(in, ranges, value, out);
  if (ctx)
    ctx->parallelFor(out.count(), 0.25,
                     [&](int64_t begin, int64_t end) { rows.write(begin, end); });
  else
    rows.write(0, out.count());
}

} // namespace treadle
