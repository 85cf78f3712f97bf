#include "treadle/graph/Wants.h"

#include "treadle/lowering/Constants.h"

#include <algorithm>
#include <iterator>

namespace treadle {
namespace {

using Kind = GraphSummary::Want::Kind;

struct Row {
  llvm::StringLiteral op;
  Kind kind;
  int path = -1; // the input that names a file
};

constexpr Row table[] = {
    {"ReadFile", Kind::Read, 0},
    {"MatchingFiles", Kind::Read, 0},
    {"RestoreV2", Kind::Read, 0},
    {"Restore", Kind::Read, 0},
    {"RestoreSlice", Kind::Read, 0},
    {"LoadAndRemapMatrix", Kind::Read, 0},
    {"GenerateVocabRemapping", Kind::Read, 0},
    {"InitializeTableFromTextFile", Kind::Read, 1},
    {"InitializeTableFromTextFileV2", Kind::Read, 1},
    {"WholeFileReader", Kind::Read},
    {"WholeFileReaderV2", Kind::Read},
    {"TextLineReader", Kind::Read},
    {"TextLineReaderV2", Kind::Read},
    {"TFRecordReader", Kind::Read},
    {"TFRecordReaderV2", Kind::Read},
    {"FixedLengthRecordReader", Kind::Read},
    {"FixedLengthRecordReaderV2", Kind::Read},
    {"WriteFile", Kind::Write, 0},
    {"SaveV2", Kind::Write, 0},
    {"Save", Kind::Write, 0},
    {"SaveSlices", Kind::Write, 0},
    {"MergeV2Checkpoints", Kind::Write, 1},
    {"CreateSummaryFileWriter", Kind::Write, 1},
    {"Timestamp", Kind::Clock},
    {"PyFunc", Kind::Python},
    {"PyFuncStateless", Kind::Python},
    {"EagerPyFunc", Kind::Python},
};

std::string textAttr(tfg::Node node, llvm::StringRef name) {
  auto attr = node.attr<mlir::StringAttr>(name);
  return attr ? attr.getValue().str() : std::string();
}

/// The text that an input is, where that is known without a run.
std::string textInput(tfg::Node node, int input) {
  if (input < 0 || node->getNumOperands() <= static_cast<unsigned>(input))
    return {};
  tfg::Constants constants;
  Tensor value = constants.valueOf(node->getOperand(static_cast<unsigned>(input)));
  bool isText = value && value.dtype() == DType::String && value.count() == 1;
  return isText ? *value.data<std::string>() : std::string();
}

} // namespace

std::optional<GraphSummary::Want> wantOf(tfg::Node node, const std::string &where) {
  llvm::StringRef op = node.opType();
  GraphSummary::Want want{Kind::Read, op.str(), node.name().str(), where, {}};
  if (const auto *row = std::ranges::find(table, op, &Row::op); row != std::end(table)) {
    want.kind = row->kind;
    want.path = row->kind == Kind::Python ? textAttr(node, "token") : textInput(node, row->path);
    return want;
  }
  constexpr llvm::StringLiteral toFile = "file://";
  if (std::string stream = textAttr(node, "output_stream");
      llvm::StringRef(stream).starts_with(toFile)) {
    want.kind = Kind::Write;
    want.path = stream.substr(toFile.size());
    return want;
  }
  for (llvm::StringRef attr : {"vocab_file", "memory_region_name"})
    if (want.path = textAttr(node, attr); !want.path.empty())
      return want;
  return std::nullopt;
}

} // namespace treadle
