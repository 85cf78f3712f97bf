// Saving and restoring of checkpoints.
#include "treadle/checkpoint/BundleReader.h"
#include "treadle/checkpoint/BundleWriter.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/kernels/TextInput.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

namespace treadle {
namespace {

/// Inputs that saving and restoring share: a prefix, tensor names, and for slices the shape of the
/// whole tensor and the slice.
struct TensorNames {
  const std::string *prefix;
  std::span<const std::string> names, slices;
};

bool readNames(OpContext &ctx, int64_t count, TensorNames &names) {
  names.prefix = textInput(ctx, 0, "the prefix");
  if (!names.prefix)
    return false;
  for (int i : {1, 2}) {
    const Tensor &in = ctx.input(i);
    if (in.rank() != 1 || in.count() != count) {
      ctx.fail(invalidArgument(i == 1 ? "tensor_names" : "shape_and_slices", " (input ", i,
                               ") must have an element for each of ", count, " tensors, but it is ",
                               tensorTypeText(in)));
      return false;
    }
  }
  names.names = ctx.input(1).values<std::string>();
  names.slices = ctx.input(2).values<std::string>();
  return true;
}

// --- RestoreV2 ---------------------------------------------------------------------------------

struct RestoredTensor {
  std::vector<DType> dtypes;
};

Expected<Tensor> restoreOne(const BundleReader &reader, const std::string &name,
                            const std::string &spec, DType dtype) {
  auto found = reader.index().entries.find(name);
  if (found != reader.index().entries.end() && found->second.dtype != dtype)
    return Unexpected(invalidArgument("tensor '", name, "' is ", dtypeName(found->second.dtype),
                                      " in the checkpoint, but ", dtypeName(dtype),
                                      " is expected"));
  if (spec.empty())
    return reader.read(name);
  ShapeAndSlice part = TREADLE_TRY(ShapeAndSlice::parse(spec));
  if (found != reader.index().entries.end() && found->second.dims != part.dims)
    return Unexpected(invalidArgument("tensor '", name, "' has the shape ",
                                      dimsText(found->second.dims), " in the checkpoint, but ",
                                      dimsText(part.dims), " is expected"));
  return reader.readSlice(name, part.slice);
}

/// The cost of restoring a tensor in ns, such that all but tiny ones are restored in parallel.
double restoreCost(const BundleIndex &index, std::span<const std::string> names) {
  int64_t bytes = 0;
  for (const std::string &name : names)
    if (auto it = index.entries.find(name); it != index.entries.end())
      bytes += it->second.size;
  return 0.2 * static_cast<double>(bytes) / static_cast<double>(std::max<size_t>(1, names.size()));
}

void restore(OpContext &ctx) {
  const auto &state = ctx.state<RestoredTensor>();
  TensorNames names;
  if (!readNames(ctx, std::ssize(state.dtypes), names))
    return;
  auto reader = TREADLE_OR_RETURN(ctx.check(BundleReader::open(*names.prefix, filesOf(ctx))));
  std::mutex mutex;
  int64_t failedAt = std::ssize(names.names); // keep the first error
  Error error;
  double cost = restoreCost(reader.index(), names.names);
  ctx.parallelFor(std::ssize(names.names), cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto at = static_cast<size_t>(i);
      Expected<Tensor> value =
          restoreOne(reader, names.names[at], names.slices[at], state.dtypes[at]);
      std::lock_guard lock(mutex);
      if (value)
        ctx.setOutput(static_cast<int>(i), std::move(*value));
      else if (i < failedAt)
        failedAt = i, error = std::move(value.error());
    }
  });
  if (failedAt < std::ssize(names.names))
    ctx.fail(std::move(error));
}

Expected<BoundKernel> bindRestore(const BindContext &node) {
  return expensive(
      boundWith(restore, RestoredTensor{{node.outputTypes.begin(), node.outputTypes.end()}}));
}

// --- SaveV2 ------------------------------------------------------------------------------------

Expected<void> saveOne(BundleWriter &writer, const std::string &name, const std::string &spec,
                       const Tensor &value) {
  if (spec.empty())
    return writer.add(name, value);
  return ShapeAndSlice::parse(spec).and_then([&](const ShapeAndSlice &part) {
    return writer.addSlice(name, part.dims, part.slice, value);
  });
}

void save(OpContext &ctx) {
  constexpr int firstTensor = 3;
  TensorNames names;
  int count = ctx.numInputs() - firstTensor;
  if (!readNames(ctx, count, names))
    return;
  auto writer = TREADLE_OR_RETURN(ctx.check(BundleWriter::create(*names.prefix, filesOf(ctx))));
  for (int i = 0; i < count; ++i)
    if (Expected<void> ok =
            saveOne(writer, names.names[static_cast<size_t>(i)],
                    names.slices[static_cast<size_t>(i)], ctx.input(firstTensor + i));
        !ok)
      return ctx.fail(std::move(ok.error()));
  if (Expected<void> ok = writer.finish(); !ok)
    ctx.fail(std::move(ok.error()));
}

// --- MergeV2Checkpoints --------------------------------------------------------------------------

struct MergeOptions {
  bool deletesOldFolders, allowsMissingFiles;
};

void removeEmptyFolders(std::span<const std::string> prefixes, const std::string &merged) {
  std::filesystem::path target = std::filesystem::path(merged).parent_path();
  for (const std::string &prefix : prefixes) {
    std::filesystem::path folder = std::filesystem::path(prefix).parent_path();
    std::error_code ignored; // fails for a folder with other files, which is kept
    if (folder != target)
      std::filesystem::remove(folder, ignored);
  }
}

void merge(OpContext &ctx) {
  const auto &options = ctx.state<MergeOptions>();
  const std::string *merged = TREADLE_OR_RETURN(textInput(ctx, 1, "the destination"));
  std::vector<std::string> prefixes;
  for (const std::string &prefix : ctx.input(0).values<std::string>()) {
    if (Expected<void> allowed = filesOf(ctx).mayWrite(BundleIndex::path(prefix)); !allowed)
      return ctx.fail(std::move(allowed.error()));
    if (!options.allowsMissingFiles || std::filesystem::exists(BundleIndex::path(prefix)))
      prefixes.push_back(prefix);
  }
  if (prefixes.empty())
    return ctx.fail(invalidArgument("there is no checkpoint to merge to '", *merged, "'"));
  if (Expected<void> ok = mergeBundles(prefixes, *merged, filesOf(ctx)); !ok)
    return ctx.fail(std::move(ok.error()));
  if (options.deletesOldFolders)
    removeEmptyFolders(prefixes, *merged);
}

Expected<BoundKernel> bindMerge(const BindContext &node) {
  return boundWith(merge, MergeOptions{node.attrs.getOr("delete_old_dirs", true),
                                       node.attrs.getOr("allow_missing_files", false)});
}

const KernelEntry checkpointTable[] = {
    {"MergeV2Checkpoints", bindMerge},
    {"RestoreV2", bindRestore},
    {"SaveV2", bindPlain<save>},
};

} // namespace

std::span<const KernelEntry> checkpointKernels() { return checkpointTable; }

} // namespace treadle
