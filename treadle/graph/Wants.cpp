#include "treadle/graph/Wants.h"

#include "treadle/lowering/Constants.h"

#include "llvm/ADT/StringMap.h"

namespace treadle {
namespace {

using Kind = GraphSummary::Want::Kind;

struct Row {
  llvm::StringLiteral op;
  Kind kind;
  int path = -1;                 // the input that names a file
  llvm::StringLiteral attr = ""; // or the attribute that does, or names a function of Python
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
    {"FixedUnigramCandidateSampler", Kind::Read, -1, "vocab_file"},
    {"ImmutableConst", Kind::Read, -1, "memory_region_name"},
    {"PrintV2", Kind::Write, -1, "output_stream"},
    {"PyFunc", Kind::Python, -1, "token"},
    {"PyFuncStateless", Kind::Python, -1, "token"},
    {"EagerPyFunc", Kind::Python, -1, "token"},
};

/// Null for an op that asks for nothing.
const Row *rowOf(llvm::StringRef op) {
  static const auto rows = [] {
    llvm::StringMap<const Row *> byOp;
    for (const Row &row : table)
      byOp[row.op] = &row;
    return byOp;
  }();
  return rows.lookup(op);
}

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
  const Row *row = rowOf(node.opType());
  if (!row)
    return std::nullopt;
  std::string path = row->attr.empty() ? textInput(node, row->path) : textAttr(node, row->attr);
  // Without a file that they name, these ops read and write none.
  bool mayNameNone = !row->attr.empty() && row->kind != Kind::Python;
  if (row->kind == Kind::Write && mayNameNone) {
    constexpr llvm::StringLiteral toFile = "file://";
    path = llvm::StringRef(path).starts_with(toFile) ? path.substr(toFile.size()) : std::string();
  }
  if (mayNameNone && path.empty())
    return std::nullopt;
  return GraphSummary::Want{row->kind, node.opType().str(), node.name().str(), where,
                            std::move(path)};
}

} // namespace treadle
