// Changed vocabularies: GenerateVocabRemapping maps words of a new vocabulary to their positions in
// the old one, LoadAndRemapMatrix reads a checkpoint's matrix in that order.
#include "treadle/checkpoint/BundleReader.h"
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/kernels/TextInput.h"
#include "treadle/kernels/state/VocabularyFile.h"

#include <algorithm>
#include <unordered_map>

namespace treadle {
namespace {

const std::string *nameInput(OpContext &ctx, int i, const char *what) {
  const std::string *name = textInput(ctx, i, what);
  if (!name || !name->empty())
    return name;
  ctx.fail(invalidArgument(what, " (input ", i, ") is empty, expected a name"));
  return nullptr;
}

// --- GenerateVocabRemapping ----------------------------------------------------------------------

struct Vocabularies {
  int64_t firstNew, countNew;
  int64_t sizeOld; // number of lines to read; -1: all
};

/// Reads the words of a file, one per line. Returns nullopt after failing the op.
std::optional<Tensor> readWords(OpContext &ctx, int i, const char *what, int64_t lines) {
  const Tensor &in = ctx.input(i);
  if (!in.isScalar()) {
    ctx.fail(invalidArgument(what, " must be a scalar, but it is ", tensorTypeText(in)));
    return std::nullopt;
  }
  const std::string *path = nameInput(ctx, i, what);
  if (!path)
    return std::nullopt;
  VocabularyFormat format{VocabularyFormat::wholeLine, VocabularyFormat::lineNumber, lines, 0,
                          "\t"};
  auto words = ctx.check(readVocabulary(*path, format, DType::String, DType::Int64, filesOf(ctx)));
  return words ? std::optional(std::move(words->first)) : std::nullopt;
}

void remapVocabulary(OpContext &ctx) {
  const auto &how = ctx.state<Vocabularies>();
  auto fresh = TREADLE_OR_RETURN(readWords(ctx, 0, "new_vocab_file", -1));
  if (how.firstNew < 0 || how.countNew < 0 || how.firstNew > fresh.count() - how.countNew)
    return ctx.fail(invalidArgument("new_vocab_file has ", fresh.count(), " lines, expected ",
                                    how.countNew, " from line ", how.firstNew));
  auto old = TREADLE_OR_RETURN(readWords(ctx, 1, "old_vocab_file", how.sizeOld));
  std::unordered_map<std::string_view, int64_t> lineOf;
  for (const std::string &word : old.values<std::string>())
    if (!lineOf.emplace(word, static_cast<int64_t>(lineOf.size())).second)
      return ctx.fail(failedPrecondition("'", word, "' is in two lines of old_vocab_file"));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Int64, {how.countNew}));
  int32_t present = 0;
  for (int64_t i = 0; i < how.countNew; ++i) {
    auto found = lineOf.find(fresh.data<std::string>()[how.firstNew + i]);
    out->data<int64_t>()[i] = found == lineOf.end() ? -1 : found->second;
    present += found != lineOf.end();
  }
  ctx.setOutput(1, Tensor::scalar(DType::Int32, present));
}

Expected<BoundKernel> bindVocabulary(const BindContext &node) {
  return boundWith(remapVocabulary, Vocabularies{node.attrs.getOr<int64_t>("new_vocab_offset", 0),
                                                 node.attrs.getOr<int64_t>("num_new_vocab", 0),
                                                 node.attrs.getOr<int64_t>("old_vocab_size", -1)});
}

// --- LoadAndRemapMatrix --------------------------------------------------------------------------

struct MatrixSize {
  int64_t rows, columns;
};

/// Returns the position in the checkpoint of each row or column of the result (negative: none).
/// InvalidArgument if there aren't `count`.
Expected<std::span<const int64_t>> readPositions(const Tensor &in, const char *what,
                                                 int64_t count) {
  if (in.rank() != 1 || in.count() != count)
    return Unexpected(invalidArgument(what, " must be a vector of ", count, " elements, but it is ",
                                      tensorTypeText(in)));
  std::unordered_map<int64_t, int64_t> taken;
  for (int64_t i = 0; i < count; ++i) {
    int64_t old = in.data<int64_t>()[i];
    if (old >= 0 && !taken.emplace(old, i).second)
      return Unexpected(unimplemented(what, " maps ", old, " to both ", taken[old], " and ", i));
  }
  return in.values<int64_t>();
}

Expected<Tensor> readMatrix(const std::string &path, const std::string &name,
                            const FileAccess &files) {
  BundleReader reader = TREADLE_TRY(BundleReader::open(path, files));
  Expected<Tensor> matrix = reader.read(name);
  if (matrix && (matrix->dtype() != DType::Float32 || matrix->rank() != 2))
    return Unexpected(invalidArgument("tensor '", name, "' is ", tensorTypeText(*matrix),
                                      " in the checkpoint, expected a matrix of float32"));
  return matrix;
}

void remapMatrix(OpContext &ctx) {
  const auto &size = ctx.state<MatrixSize>();
  auto rows = TREADLE_OR_RETURN(ctx.check(readPositions(ctx.input(2), "row_remapping", size.rows)));
  std::span<const int64_t> columns;
  if (ctx.input(3).count()) {
    auto given =
        TREADLE_OR_RETURN(ctx.check(readPositions(ctx.input(3), "col_remapping", size.columns)));
    columns = given;
  }
  const std::string *path = nameInput(ctx, 0, "ckpt_path");
  const std::string *name = path ? nameInput(ctx, 1, "old_tensor_name") : nullptr;
  auto old = name ? ctx.check(readMatrix(*path, *name, filesOf(ctx))) : std::nullopt;
  if (!old)
    return;
  if (columns.empty() && old->dim(1) != size.columns)
    return ctx.fail(invalidArgument("tensor '", *name, "' has ", old->dim(1),
                                    " columns in the checkpoint, expected ", size.columns));
  int64_t lastRow = size.rows ? std::ranges::max(rows) : -1;
  if (lastRow >= old->dim(0))
    return ctx.fail(invalidArgument("row_remapping names row ", lastRow, " of '", *name,
                                    "', which has ", old->dim(0)));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Float32, {size.rows, size.columns}));
  const Tensor &fill = ctx.input(4);
  int64_t filled = 0;
  for (int64_t r = 0; r < size.rows; ++r)
    for (int64_t c = 0; c < size.columns; ++c) {
      int64_t row = rows[static_cast<size_t>(r)];
      int64_t column = columns.empty() ? c : columns[static_cast<size_t>(c)];
      float &to = out->data<float>()[r * size.columns + c];
      if (row >= 0 && column >= 0)
        to = column < old->dim(1) ? old->data<float>()[row * old->dim(1) + column] : 0;
      else if (filled < fill.count())
        to = fill.data<float>()[filled++];
      else
        return ctx.fail(invalidArgument("initializing_values has only ", fill.count(),
                                        " elements, but more are missing"));
    }
  if (filled != fill.count())
    ctx.fail(invalidArgument("initializing_values has ", fill.count(), " elements, but only ",
                             filled, " are missing"));
}

Expected<BoundKernel> bindMatrix(const BindContext &node) {
  return expensive(boundWith(remapMatrix, MatrixSize{node.attrs.getOr<int64_t>("num_rows", 0),
                                                     node.attrs.getOr<int64_t>("num_cols", 1)}));
}

const KernelEntry remappingTable[] = {
    {"GenerateVocabRemapping", bindVocabulary},
    {"LoadAndRemapMatrix", bindMatrix},
};

} // namespace

std::span<const KernelEntry> remappingKernels() { return remappingTable; }

} // namespace treadle
