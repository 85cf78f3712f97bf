// Space to batch or depth and back, and orders of dimensions by name.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>
#include <limits>

namespace treadle {
namespace {

// --- space and batch ---------------------------------------------------------------------------

// For each blocked dimension: the block size, and the padding (or crops) around the space.
struct Blocks {
  DimVector size, before, after;
  int64_t product = 1;
};

Expected<Blocks> readBlocks(const Tensor &in, const DimVector &sizes, const Tensor &margins) {
  auto n = static_cast<int64_t>(sizes.size());
  if (in.rank() < 1 + n || margins.rank() != 2 || margins.dim(0) != n || margins.dim(1) != 2)
    return Unexpected(invalidArgument("input is ", tensorTypeText(in), " with ", n,
                                      " block sizes and margins ", tensorTypeText(margins),
                                      ", expected rank ", n + 1, " or more and margins of shape [",
                                      n, ",2]"));
  Blocks blocks{sizes, {}, {}, 1};
  for (int64_t d = 0; d < n; ++d) {
    int64_t before = indexAt(margins, 2 * d), after = indexAt(margins, 2 * d + 1);
    int64_t size = sizes[static_cast<size_t>(d)];
    if (size < 1 || before < 0 || after < 0 ||
        __builtin_mul_overflow(blocks.product, size, &blocks.product))
      return Unexpected(invalidArgument("block ", d, " has size ", size, " and margins ", before,
                                        " and ", after,
                                        ", expected a positive size and non-negative margins"));
    blocks.before.push(before);
    blocks.after.push(after);
  }
  return blocks;
}

// Copies between the space [batch, space..., depth] and the batch [blocks * batch, space /
// block..., depth], one element of a block after another. Elements without a counterpart in the
// space are left unchanged.
void moveBlocks(const Blocks &blocks, const Tensor &from, Tensor &to, bool toBatch) {
  Dims space = toBatch ? from.dims() : to.dims(), batch = toBatch ? to.dims() : from.dims();
  DimVector spaceStrides = rowMajorStrides(space), batchStrides = rowMajorStrides(batch);
  DType dtype = from.dtype();
  size_t n = blocks.size.size();
  for (int64_t block = 0; block < blocks.product; ++block) {
    DimVector dims(space), spaceSteps = spaceStrides;
    int64_t spaceAt = 0, batchAt = block * space[0] * batchStrides[0], rest = block;
    for (size_t d = n; d-- > 0; rest /= blocks.size[d]) {
      int64_t size = blocks.size[d], offset = rest % size - blocks.before[d];
      // Positions j of the batch for which offset + j * size is inside the space.
      int64_t first = offset < 0 ? (-offset + size - 1) / size : 0;
      int64_t room = space[d + 1] - offset;
      int64_t end = std::min(batch[d + 1], room > 0 ? (room + size - 1) / size : 0);
      dims[d + 1] = std::max<int64_t>(end - first, 0);
      spaceSteps[d + 1] *= size;
      spaceAt += (offset + first * size) * spaceStrides[d + 1];
      batchAt += first * batchStrides[d + 1];
    }
    if (std::ranges::find(dims, 0) != dims.end())
      continue;
    if (toBatch)
      copyStrided(dtype, dims, elementAt(dtype, to.raw(), batchAt), batchStrides,
                  elementAt(dtype, from.raw(), spaceAt), spaceSteps);
    else
      copyStrided(dtype, dims, elementAt(dtype, to.raw(), spaceAt), spaceSteps,
                  elementAt(dtype, from.raw(), batchAt), batchStrides);
  }
}

void spaceToBatch(OpContext &ctx, const DimVector &sizes, const Tensor &paddings) {
  const Tensor &in = ctx.input(0);
  auto blocks = TREADLE_OR_RETURN(ctx.check(readBlocks(in, sizes, paddings)));
  DimVector dims(in.dims());
  if (__builtin_mul_overflow(dims[0], blocks.product, &dims[0]))
    return ctx.fail(invalidArgument("a batch of ", in.dim(0), " times ", blocks.product,
                                    " blocks overflows 64 bits"));
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t padded;
    if (__builtin_add_overflow(dims[d + 1], blocks.before[d], &padded) ||
        __builtin_add_overflow(padded, blocks.after[d], &padded) || padded % sizes[d])
      return ctx.fail(invalidArgument("dimension ", d + 1, " of ", dims[d + 1], " padded by ",
                                      blocks.before[d], " and ", blocks.after[d],
                                      " is not a multiple of its block size, ", sizes[d]));
    dims[d + 1] = padded / sizes[d];
  }
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), dims));
  zeroElements(in.dtype(), out->raw(), out->count());
  if (in.count())
    moveBlocks(blocks, in, *out, true);
}

void batchToSpace(OpContext &ctx, const DimVector &sizes, const Tensor &crops) {
  const Tensor &in = ctx.input(0);
  auto blocks = TREADLE_OR_RETURN(ctx.check(readBlocks(in, sizes, crops)));
  DimVector dims(in.dims());
  if (dims[0] % blocks.product)
    return ctx.fail(invalidArgument("a batch of ", dims[0], " is not a multiple of ",
                                    blocks.product, ", the number of elements of a block"));
  dims[0] /= blocks.product;
  for (size_t d = 0; d < sizes.size(); ++d) {
    int64_t whole, cropped;
    if (__builtin_mul_overflow(dims[d + 1], sizes[d], &whole) ||
        __builtin_add_overflow(blocks.before[d], blocks.after[d], &cropped) || whole < cropped)
      return ctx.fail(invalidArgument("dimension ", d + 1, " of ", dims[d + 1], " blocks of ",
                                      sizes[d], " cannot be cropped by ", blocks.before[d], " and ",
                                      blocks.after[d]));
    dims[d + 1] = whole - cropped;
  }
  Tensor *out = ctx.allocateOutput(0, in.dtype(), dims);
  if (out && out->count())
    moveBlocks(blocks, in, *out, false);
}

using MoveFn = void (*)(OpContext &, const DimVector &, const Tensor &);

template <MoveFn move> void blocksFromInput(OpContext &ctx) {
  if (ctx.input(1).rank() != 1)
    return ctx.fail(
        invalidArgument("block_shape must be a vector, but it is ", tensorTypeText(ctx.input(1))));
  move(ctx, readIndices(ctx.input(1)), ctx.input(2));
}

// The first versions of the ops: square blocks of images.
template <MoveFn move> void squareBlocks(OpContext &ctx) {
  if (ctx.input(0).rank() != 4)
    return ctx.fail(
        invalidArgument("expected rank 4, but the input is ", tensorTypeText(ctx.input(0))));
  move(ctx, DimVector(2, ctx.state<int64_t>()), ctx.input(1));
}

template <KernelFn fn> Expected<BoundKernel> bindBlockSize(const BindContext &node) {
  auto size = TREADLE_TRY(node.attrs.get<int64_t>("block_size"));
  if (size < 2)
    return Unexpected(invalidArgument("block_size is ", size, ", expected 2 or more"));
  return boundWith(fn, size);
}

// --- space and depth ---------------------------------------------------------------------------

// Moves blocks into the depth: [batch, height, width, depth] as [batch, height, block, width,
// block, depth], with the block moved in front of the depth; or the inverse.
template <bool toDepth> void moveDepth(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  int64_t block = ctx.state<int64_t>(), square;
  if (in.rank() != 4)
    return ctx.fail(invalidArgument("expected rank 4, but the input is ", tensorTypeText(in)));
  bool overflows = __builtin_mul_overflow(block, block, &square);
  if (overflows || (toDepth ? in.dim(1) % block || in.dim(2) % block : in.dim(3) % square != 0))
    return ctx.fail(invalidArgument("input has shape ", dimsText(in.dims()), ", expected its ",
                                    toDepth ? "height and width" : "depth",
                                    " to be a multiple of the block, ", block,
                                    toDepth ? "" : " squared"));
  int64_t height = toDepth ? in.dim(1) / block : in.dim(1);
  int64_t width = toDepth ? in.dim(2) / block : in.dim(2);
  int64_t depth = toDepth ? in.dim(3) : in.dim(3) / square;
  int64_t shallow[] = {in.dim(0), height * block, width * block, depth};
  int64_t deep[] = {in.dim(0), height, width, depth * square};
  Tensor *out = ctx.allocateOutput(0, in.dtype(), Dims(toDepth ? deep : shallow));
  if (!out || !out->count())
    return;
  // In the order batch, row, row in the block, column, column in the block, depth.
  int64_t dims[] = {in.dim(0), height, block, width, block, depth}, row = width * block * depth;
  int64_t shallowSteps[] = {height * block * row, block * row, row, block * depth, depth, 1};
  int64_t deepSteps[] = {height * block * row, block * row, block * depth,
                         depth * square,       depth,       1};
  copyStrided(in.dtype(), dims, out->raw(), Dims(toDepth ? deepSteps : shallowSteps), in.raw(),
              Dims(toDepth ? shallowSteps : deepSteps));
}

template <KernelFn fn> Expected<BoundKernel> bindDepth(const BindContext &node) {
  if (std::string format = node.attrs.getOr("data_format", std::string("NHWC")); format != "NHWC")
    return Unexpected(unimplemented("op '", node.op, "' has no kernel for data_format ", format));
  return bindBlockSize<fn>(node);
}

// --- dimension orders --------------------------------------------------------------------------

struct Formats {
  std::string from, to;
};

// Maps the source's dimension x to its position in the destination.
template <typename T> struct DimMap {
  static void run(OpContext &ctx) {
    const auto &[from, to] = ctx.state<Formats>();
    Tensor in = ctx.input(0);
    Tensor *out = TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, in.dtype(), in.dims()));
    auto n = static_cast<int64_t>(from.size());
    std::ranges::transform(in.values<T>(), out->data<T>(), [&](int64_t x) {
      int64_t axis = normalizedAxis(x, n);
      return static_cast<T>(to.find(from[static_cast<size_t>(axis < 0 ? n - 1 : axis)]));
    });
  }
};

// Reorders a vector with one entry per dimension.
void vecPermute(OpContext &ctx) {
  auto [from, to] = ctx.state<Formats>();
  const Tensor &in = ctx.input(0);
  auto n = static_cast<int64_t>(from.size());
  int64_t entries = in.rank() ? in.dim(0) : 0;
  if (in.rank() < 1 || in.rank() > 2 || (entries != n && entries != n - 2) ||
      (in.rank() == 2 && in.dim(1) != 2))
    return ctx.fail(invalidArgument("input is ", tensorTypeText(in), ", expected [", n, "] or [",
                                    n - 2, "], or pairs of them"));
  if (entries == n - 2) // spatial dimensions only
    for (std::string *format : {&from, &to})
      std::erase_if(*format, [](char c) { return c == 'N' || c == 'C'; });
  if (static_cast<int64_t>(from.size()) != entries)
    return ctx.fail(invalidArgument("format ", ctx.state<Formats>().from, " does not have ",
                                    entries, " spatial dimensions"));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), in.dims()));
  int64_t width = in.count() / entries;
  for (int64_t i = 0; i < entries; ++i) {
    auto source = static_cast<int64_t>(from.find(to[static_cast<size_t>(i)]));
    copyElements(in.dtype(), elementAt(in.dtype(), out->raw(), i * width),
                 elementAt(in.dtype(), in.raw(), source * width), width);
  }
}

Expected<Formats> readFormats(const BindContext &node) {
  Formats formats{node.attrs.getOr("src_format", std::string("NHWC")),
                  node.attrs.getOr("dst_format", std::string("NCHW"))};
  bool fits = formats.from.size() >= 3 && formats.from.size() <= 5 &&
              std::ranges::is_permutation(formats.from, formats.to);
  if (!fits)
    return Unexpected(invalidArgument("src_format is '", formats.from, "' and dst_format '",
                                      formats.to, "', expected a permutation of each other"));
  return formats;
}

Expected<BoundKernel> bindDimMap(const BindContext &node) {
  return readFormats(node).and_then([&](Formats formats) {
    return bindByType<DimMap, TypeList<int32_t, int64_t>>(node).map(
        [&](BoundKernel bound) { return boundWith(bound.fn, formats); });
  });
}

Expected<BoundKernel> bindVecPermute(const BindContext &node) {
  return readFormats(node).map(
      [](Formats formats) { return boundWith(vecPermute, std::move(formats)); });
}

// --- sampling ------------------------------------------------------------------------------------

// Takes every n-th row and column, which precede the channels; dimensions that are missing or of
// size 1 are broadcast.
void sampleImage(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  int64_t step = ctx.state<int64_t>();
  DimVector dims(in.dims()), from = rowMajorStrides(in.dims());
  for (auto d = std::max<int64_t>(in.rank() - 3, 0); d < in.rank() - 1; ++d) {
    auto i = static_cast<size_t>(d);
    if (dims[i] <= 1)
      continue;
    int64_t every = std::min(step, dims[i]);
    dims[i] = dims[i] / every + (dims[i] % every != 0);
    from[i] *= every;
  }
  if (std::ranges::equal(Dims(dims), in.dims()))
    return ctx.setOutput(0, ctx.takeInput(0));
  if (Tensor *out = ctx.allocateOutput(0, in.dtype(), dims))
    copyStrided(ctx, in.dtype(), dims, out->raw(), rowMajorStrides(dims), in.raw(), from);
}

Expected<BoundKernel> bindSampleImage(const BindContext &node) {
  int64_t step = node.attrs.getOr("step", int64_t{1});
  if (step < 1 || step > std::numeric_limits<int32_t>::max())
    return Unexpected(invalidArgument("step is ", step, ", expected a positive number"));
  return boundWith(sampleImage, step);
}

const KernelEntry spaceTable[] = {
    {"BatchToSpace", bindBlockSize<squareBlocks<batchToSpace>>},
    {"BatchToSpaceND", bindPlain<blocksFromInput<batchToSpace>>},
    {"DataFormatDimMap", bindDimMap},
    {"DataFormatVecPermute", bindVecPermute},
    {"DepthToSpace", bindDepth<moveDepth<false>>},
    {"SpaceToBatch", bindBlockSize<squareBlocks<spaceToBatch>>},
    {"SpaceToBatchND", bindPlain<blocksFromInput<spaceToBatch>>},
    {"SpaceToDepth", bindDepth<moveDepth<true>>},
    {"_SampleImage", bindSampleImage},
};

} // namespace

std::span<const KernelEntry> spaceKernels() { return spaceTable; }

} // namespace treadle
