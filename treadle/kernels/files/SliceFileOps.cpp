// Save and Restore, the ops of the v1 checkpoint format.
#include "treadle/checkpoint/Files.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/kernels/TextInput.h"
#include "treadle/kernels/files/SliceFile.h"

namespace treadle {
namespace {

/// Parses the slice that a tensor of this shape is; the whole tensor if `spec` is empty.
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

Expected<void> saveAll(OpContext &ctx, const std::string &path, bool hasSlices) {
  int firstTensor = hasSlices ? 3 : 2;
  int64_t count = ctx.numInputs() - firstTensor;
  for (int i = 1; i < firstTensor; ++i)
    if (ctx.input(i).count() != count)
      return Unexpected(invalidArgument("input ", i, " must have a string for each of ", count,
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
  const std::string *path = TREADLE_OR_RETURN(textInput(ctx, 0, "filename"));
  if (Expected<void> saved = saveAll(ctx, *path, hasSlices); !saved)
    ctx.fail(std::move(saved.error()));
}

template <bool hasSlices> Expected<BoundKernel> bindSave(const BindContext &node) {
  for (DType dtype : node.inputTypes)
    if (dtype == DType::Resource || dtype == DType::Variant)
      return unsupportedDType(node, dtype);
  return bindPlain<save<hasSlices>>(node);
}

// --- restoring -----------------------------------------------------------------------------------

Expected<Tensor> restoreOne(const std::string &pattern, const std::string &name,
                            const std::string &spec, OpContext &ctx, DType dtype) {
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
  static const std::string whole;
  const std::string *pattern = textInput(ctx, 0, "file_pattern");
  const std::string *name = pattern ? textInput(ctx, 1, "tensor_name") : nullptr;
  const std::string *spec =
      ctx.numInputs() > 2 && name ? textInput(ctx, 2, "shape_and_slice") : &whole;
  if (!name || !spec)
    return;
  if (auto value = ctx.check(restoreOne(*pattern, *name, *spec, ctx, ctx.state<DType>())))
    ctx.setOutput(0, std::move(*value));
}

Expected<BoundKernel> bindRestore(const BindContext &node) {
  return expensive(boundWith(restore, node.outputTypes[0]));
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
