// Ops that create tensors from a shape or a few numbers: constants, ranges, one-hot rows.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/kernels/Variants.h"

#include "treadle/checkpoint/Files.h"

#include <cmath>
#include <mutex>
#include <type_traits>

namespace treadle {
namespace {

// Returns false, with ctx failed, unless the input has exactly one element, as a scalar or a
// vector.
bool checkScalar(OpContext &ctx, int i, const char *what) {
  if (ctx.input(i).count() == 1 && ctx.input(i).rank() <= 1)
    return true;
  ctx.fail(invalidArgument(what, " must be a scalar, but it is ", tensorTypeText(ctx.input(i))));
  return false;
}

// --- constants in files ------------------------------------------------------------------------

/// A constant in a file, which is read at its first use.
class FileConstant {
public:
  FileConstant(DType dtype, std::vector<int64_t> dims, std::string path)
      : dtype(dtype), dims(std::move(dims)), path(std::move(path)) {}
  FileConstant(FileConstant &&other) noexcept
      : dtype(other.dtype), dims(std::move(other.dims)), path(std::move(other.path)) {}

  Expected<Tensor> get(const FileAccess &files) const {
    std::lock_guard lock(mutex);
    if (value)
      return value;
    return read(files).map([&](Tensor made) { return value = std::move(made); });
  }

private:
  Expected<Tensor> read(const FileAccess &files) const {
    Expected<Tensor> made = Tensor::make(dtype, dims);
    Expected<InputFile> file = InputFile::open(path, files);
    if (!made || !file)
      return Unexpected(std::move((made ? file.error() : made.error())));
    auto bytes = static_cast<int64_t>(made->bytes());
    if (file->size() < bytes)
      return Unexpected(internal("'", path, "' has ", file->size(), " bytes, expected ", bytes,
                                 " for ", tensorTypeText(*made)));
    TREADLE_TRY(file->read(made->raw(), bytes, 0));
    return made;
  }

  DType dtype;
  std::vector<int64_t> dims;
  std::string path;
  mutable std::mutex mutex;
  mutable Tensor value;
};

void fileConstant(OpContext &ctx) {
  if (auto value = ctx.check(ctx.state<FileConstant>().get(filesOf(ctx))))
    ctx.setOutput(0, std::move(*value));
}

Expected<BoundKernel> bindFileConstant(const BindContext &node) {
  DType dtype = node.outputTypes[0];
  PartialShape shape = node.attrs.getOr("shape", PartialShape());
  if (!isPlain(dtype))
    return unsupportedDType(node, dtype);
  if (shape.hasRank && !shape.isFullyKnown())
    return Unexpected(invalidArgument("attribute 'shape' is ", shape.text(),
                                      "; expected one without unknown dimensions"));
  return boundWith(
      fileConstant,
      FileConstant(dtype, shape.dims, node.attrs.getOr("memory_region_name", std::string())));
}

// --- fills -------------------------------------------------------------------------------------

void fill(OpContext &ctx) {
  const Tensor &shape = ctx.input(0);
  if (shape.rank() > 1)
    return ctx.fail(invalidArgument("dims must be a vector, but it is ", tensorTypeText(shape)));
  if (!checkScalar(ctx, 1, "value"))
    return;
  Tensor *out = ctx.allocateOutput(0, ctx.input(1).dtype(), readIndices(shape));
  if (out)
    fillElements(out->dtype(), out->raw(), ctx.input(1).raw(), out->count());
}

void empty(OpContext &ctx) {
  const Tensor &shape = ctx.input(0);
  if (shape.rank() > 1)
    return ctx.fail(invalidArgument("shape must be a vector, but it is ", tensorTypeText(shape)));
  Tensor *out = ctx.allocateOutput(0, ctx.state<DType>(), readIndices(shape));
  if (out) // zeroed whether `init` is set or not, so that results are deterministic
    zeroElements(out->dtype(), out->raw(), out->count());
}

Expected<BoundKernel> bindEmpty(const BindContext &node) {
  return boundWith(empty, node.outputTypes[0]);
}

// A placeholder output of a branch, whose value is never read. Unknown dimensions are as small as
// possible.
struct FakeValue {
  DType dtype;
  std::vector<int64_t> dims;
};

void fakeParam(OpContext &ctx) {
  const auto &value = ctx.state<FakeValue>();
  if (Tensor *out = ctx.allocateOutput(0, value.dtype, value.dims))
    zeroElements(out->dtype(), out->raw(), out->count());
}

Expected<BoundKernel> bindFakeParam(const BindContext &node) {
  FakeValue value{node.outputTypes[0], node.attrs.getOr("shape", PartialShape()).dims};
  for (int64_t &size : value.dims)
    size = std::max<int64_t>(size, 0);
  return boundWith(fakeParam, std::move(value));
}

void zerosLike(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor *out = ctx.reuseInputOrAllocate(0, 0, in.dtype(), in.dims());
  if (out)
    zeroElements(out->dtype(), out->raw(), out->count());
}

void zerosLikeVariant(OpContext &ctx) {
  if (auto zeros = ctx.check(zerosLikeVariants(ctx.input(0))))
    ctx.setOutput(0, std::move(*zeros));
}

Expected<BoundKernel> bindZerosLike(const BindContext &node) {
  DType dtype = node.inputTypes[0];
  if (dtype == DType::Resource)
    return unsupportedDType(node, dtype);
  return BoundKernel{dtype == DType::Variant ? zerosLikeVariant : zerosLike};
}

template <typename T> struct OnesLike {
  static void run(OpContext &ctx) {
    const Tensor &in = ctx.input(0);
    Tensor *out = ctx.reuseInputOrAllocate(0, 0, in.dtype(), in.dims());
    if (out)
      std::fill_n(out->data<T>(), out->count(), T(1));
  }
};

// --- ranges ------------------------------------------------------------------------------------

// Returns the number of elements of the range [start, limit) with step delta; an error if `delta`
// is 0 or points away from `limit`.
template <typename T> Expected<int64_t> rangeLength(T start, T limit, T delta) {
  if (delta == T(0))
    return Unexpected(invalidArgument("delta must not be 0"));
  if (delta > T(0) ? start > limit : limit > start)
    return Unexpected(invalidArgument("a range with a ", delta > T(0) ? "positive" : "negative",
                                      " delta needs start ", delta > T(0) ? "<=" : ">=", " limit"));
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::make_unsigned_t<std::common_type_t<T, int64_t>>;
    Wide from = static_cast<Wide>(start), to = static_cast<Wide>(limit);
    Wide step = delta > T(0) ? static_cast<Wide>(delta) : Wide(0) - static_cast<Wide>(delta);
    Wide distance = delta > T(0) ? to - from : from - to;
    Wide length = distance / step + (distance % step != 0);
    if (length > static_cast<Wide>(std::numeric_limits<int64_t>::max()))
      return Unexpected(invalidArgument("a range of ", length, " elements is too long"));
    return static_cast<int64_t>(length);
  } else {
    double length = std::ceil(std::abs((double(limit) - double(start)) / double(delta)));
    if (!(length < 9.2e18))
      return Unexpected(invalidArgument("a range of ", length, " elements is too long"));
    return static_cast<int64_t>(length);
  }
}

template <typename T> struct Range {
  static void run(OpContext &ctx) {
    if (!checkScalar(ctx, 0, "start") || !checkScalar(ctx, 1, "limit") ||
        !checkScalar(ctx, 2, "delta"))
      return;
    T start = *ctx.input(0).data<T>(), limit = *ctx.input(1).data<T>();
    T delta = *ctx.input(2).data<T>();
    auto length = TREADLE_OR_RETURN(ctx.check(rangeLength(start, limit, delta)));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, {length}));
    T *to = out->data<T>();
    for (int64_t i = 0; i < length; ++i)
      to[i] = static_cast<T>(start + static_cast<T>(i) * delta);
  }
};

template <typename T> struct LinSpace {
  static void run(OpContext &ctx) {
    if (!checkScalar(ctx, 0, "start") || !checkScalar(ctx, 1, "stop") ||
        !checkScalar(ctx, 2, "num"))
      return;
    T start = *ctx.input(0).data<T>(), stop = *ctx.input(1).data<T>();
    int64_t num = indexAt(ctx.input(2), 0);
    if (num <= 0)
      return ctx.fail(invalidArgument("num is ", num, ", expected more than 0"));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, {num}));
    T *to = out->data<T>();
    to[0] = start;
    if (num == 1)
      return;
    T step = (stop - start) / static_cast<T>(num - 1);
    for (int64_t i = 1; i + 1 < num; ++i)
      to[i] = start + step * static_cast<T>(i);
    to[num - 1] = stop;
  }
};

// --- one-hot -----------------------------------------------------------------------------------

void oneHot(OpContext &ctx) {
  const Tensor &indices = ctx.input(0);
  if (!checkScalar(ctx, 1, "depth") || !checkScalar(ctx, 2, "on_value") ||
      !checkScalar(ctx, 3, "off_value"))
    return;
  int64_t depth = indexAt(ctx.input(1), 0), asked = ctx.state<int64_t>();
  if (depth < 0)
    return ctx.fail(invalidArgument("depth is ", depth, ", expected 0 or more"));
  int64_t axis = asked == -1 ? indices.rank() : asked;
  if (axis < 0 || axis > indices.rank())
    return ctx.fail(
        invalidArgument("axis is ", asked, ", expected -1 or one in [0, ", indices.rank(), "]"));
  DimVector dims;
  for (int i = 0; i <= indices.rank(); ++i)
    dims.push(i == axis ? depth : indices.dim(i < axis ? i : i - 1));
  DType dtype = ctx.input(2).dtype();
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtype, dims));
  fillElements(dtype, out->raw(), ctx.input(3).raw(), out->count());
  int64_t inner = countBetween(indices.dims(), axis, indices.rank());
  for (int64_t i = 0, n = out->count() ? indices.count() : 0; i < n; ++i) {
    int64_t hot = indexAt(indices, i);
    if (hot >= 0 && hot < depth)
      copyElements(dtype,
                   elementAt(dtype, out->raw(), (i / inner * depth + hot) * inner + i % inner),
                   ctx.input(2).raw(), 1);
  }
}

Expected<BoundKernel> bindOneHot(const BindContext &node) {
  return boundWith(oneHot, node.attrs.getOr<int64_t>("axis", -1));
}

using RangeTypes = Join<FloatTypes, Join<SignedTypes, TypeList<uint16_t, uint32_t, uint64_t>>>;

const KernelEntry fillTable[] = {
    {"ImmutableConst", bindFileConstant},
    {"Empty", bindEmpty},
    {"FakeParam", bindFakeParam},
    {"Fill", bindPlain<fill>},
    {"LinSpace", bindByType<LinSpace, FloatTypes>},
    {"OneHot", bindOneHot},
    {"OnesLike", bindByType<OnesLike, PlainTypes>},
    {"Range", bindByType<Range, RangeTypes>},
    {"ZerosLike", bindZerosLike},
};

} // namespace

std::span<const KernelEntry> fillKernels() { return fillTable; }

} // namespace treadle
