// Save and Restore, the ops of the first format of checkpoints.
#include "treadle/checkpoint/Files.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/Families.h"
#include "treadle/kernels/FilesOfRun.h"
#include "treadle/kernels/files/SliceFile.h"

namespace treadle {
namespace {

Expected<std::string> textInput(OpContext &ctx, int i, const char *what) {
  const Tensor &in = ctx.input(i);
  if (in.count() == 1)
    return in.scalarValue<std::string>();
  return Unexpected(invalidArgument(what, " must be one text, but it is ", tensorTypeText(in)));
}

/// The slice of which a tensor of this shape is; all of it where `spec` is empty.
Expected<ShapeAndSlice> parsePart(const std::string &spec, Dims dims) {
  if (!spec.empty())
    return ShapeAndSlice::parse(spec);
  ShapeAndSlice whole;
  whole.dims.assign(dims.begin(), dims.end());
  whole.sliceDims = whole.dims;
  whole.slice.extents.resize(dims.size());
  return whole;
}

// --- saving --------------------------------------------------------------------------------------

Expected<void> saveAll(OpContext &ctx, bool hasSlices) {
  int firstTensor = hasSlices ? 3 : 2;
  std::string path = TREADLE_TRY(textInput(ctx, 0, "filename"));
  int64_t count = ctx.numInputs() - firstTensor;
  for (int i = 1; i < firstTensor; ++i)
    if (ctx.input(i).count() != count)
      return Unexpected(invalidArgument("input ", i, " must have a text for each of ", count,
                                        " tensors, but it is ", tensorTypeText(ctx.input(i))));
  SliceFileWriter writer;
  for (int64_t k = 0; k < count; ++k) {
    const Tensor &value = ctx.input(firstTensor + static_cast<int>(k));
    std::string spec = hasSlices ? ctx.input(2).data<std::string>()[k] : "";
    ShapeAndSlice part = TREADLE_TRY(parsePart(spec, value.dims()));
    if (!std::ranges::equal(part.sliceDims, value.dims()))
      return Unexpected(invalidArgument("'", spec, "' is a slice of shape ",
                                        dimsText(part.sliceDims), ", but the tensor has ",
                                        dimsText(value.dims())));
    Expected<void> added =
        writer.add(ctx.input(1).data<std::string>()[k], part.dims, part.slice, value);
    if (!added)
      return added;
  }
  return OutputFile::create(path, filesOf(ctx)).and_then([&](OutputFile file) {
    return file.append(writer.finish()).and_then([&] { return file.commit(); });
  });
}

template <bool hasSlices> void save(OpContext &ctx) {
  if (Expected<void> saved = saveAll(ctx, hasSlices); !saved)
    ctx.fail(std::move(saved.error()));
}

template <bool hasSlices> Expected<BoundKernel> bindSave(const BindContext &node) {
  for (DType dtype : node.inputTypes)
    if (dtype == DType::Resource || dtype == DType::Variant)
      return unsupportedDType(node, dtype);
  return bindPlain<save<hasSlices>>(node);
}

// --- restoring -----------------------------------------------------------------------------------

Expected<Tensor> restoreOne(OpContext &ctx, DType dtype) {
  std::string pattern = TREADLE_TRY(textInput(ctx, 0, "file_pattern"));
  std::string name = TREADLE_TRY(textInput(ctx, 1, "tensor_name"));
  std::string spec =
      TREADLE_TRY(ctx.numInputs() > 2 ? textInput(ctx, 2, "shape_and_slice") : std::string());
  SliceFileReader reader = TREADLE_TRY(SliceFileReader::open(pattern, filesOf(ctx)));
  const StoredTensor *stored = reader.find(name);
  if (!stored)
    return Unexpected(notFound("there is no tensor '", name, "' in '", pattern, "'"));
  if (stored->dtype != dtype)
    return Unexpected(invalidArgument("tensor '", name, "' is ", dtypeName(stored->dtype),
                                      " in the checkpoint, but ", dtypeName(dtype),
                                      " is expected"));
  ShapeAndSlice part = TREADLE_TRY(parsePart(spec, stored->dims));
  if (part.dims != stored->dims)
    return Unexpected(invalidArgument("tensor '", name, "' has the shape ", dimsText(stored->dims),
                                      " in the checkpoint, but ", dimsText(part.dims),
                                      " is expected"));
  return reader.read(*stored, part.slice.resolved(stored->dims));
}

void restore(OpContext &ctx) {
  if (auto value = ctx.check(restoreOne(ctx, ctx.state<DType>())))
    ctx.setOutput(0, std::move(*value));
}

Expected<BoundKernel> bindRestore(const BindContext &node) {
  BoundKernel bound = boundWith(restore, node.outputTypes[0]);
  bound.isExpensive = true;
  return bound;
}

const KernelEntry sliceFileTable[] = {
    {"Save", bindSave<false>},
    {"SaveSlices", bindSave<true>},
    {"Restore", bindRestore},
    {"RestoreSlice", bindRestore},
};

} // namespace

std::span<const KernelEntry> sliceFileKernels() { return sliceFileTable; }

} // namespace treadle
