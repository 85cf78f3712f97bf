// Nodes by the name and op in an error, and their locations.
#include "treadle/graph/Origin.h"

#include "treadle/dialect/SourceLocation.h"
#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle {
namespace {

constexpr size_t mostLines = 3;

struct NamedNode {
  StringRef name, op;
};

/// Of `node 'NAME' (OP): ...`.
std::optional<NamedNode> parse(StringRef message) {
  if (!message.consume_front("node '"))
    return std::nullopt;
  auto [name, rest] = message.split("' (");
  auto [op, text] = rest.split("): ");
  if (rest.empty() || text.empty())
    return std::nullopt;
  return NamedNode{name, op};
}

void addLines(Block &body, NamedNode wanted, SmallVectorImpl<std::string> &lines) {
  for (Operation &op : body) {
    if (!tfg::Node::isNode(&op) || tfg::Node(&op).name() != wanted.name ||
        tfg::Node(&op).opType() != wanted.op)
      continue;
    std::string line = sourceLine(op.getLoc());
    if (!line.empty() && !llvm::is_contained(lines, line))
      lines.push_back(std::move(line));
  }
}

} // namespace

Error withOrigin(Error error, ModuleOp module) {
  std::optional<NamedNode> wanted = parse(error.message);
  if (!wanted)
    return error;
  SmallVector<std::string> lines;
  for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
    addLines(*graph.getBody(), *wanted, lines);
  for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
    if (!function.isExternal())
      addLines(function.getEntry(), *wanted, lines);
  if (!lines.empty() && lines.size() <= mostLines)
    error.message += " (defined at " + llvm::join(lines, " or ") + ")";
  return error;
}

} // namespace treadle
