// Finds the node that an error names, and its location.
#include "treadle/graph/Origin.h"

#include "treadle/dialect/SourceLocation.h"
#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle {
namespace {

constexpr size_t maxLines = 3;

struct NamedNode {
  StringRef name, op;
};

/// Parses `node 'NAME' (OP): ...`.
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

bool hasNode(Block &body, NamedNode wanted) {
  return llvm::any_of(body, [&](Operation &op) {
    return tfg::Node::isNode(&op) && tfg::Node(&op).name() == wanted.name &&
           tfg::Node(&op).opType() == wanted.op;
  });
}

/// Adds the function that contains a placeholder without a value, if it is in one: no call can feed
/// it.
void addFunction(Error &error, NamedNode wanted, ModuleOp module) {
  for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
    if (hasNode(*graph.getBody(), wanted))
      return;
  for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
    if (!function.isExternal() && hasNode(function.getEntry(), wanted)) {
      error.message += str("; it is in function '", function.getName().str(),
                           "', where it can't be fed: make it an argument of the function");
      error.reason = Reason::Other;
      return;
    }
}

} // namespace

Error withOrigin(Error error, ModuleOp module) {
  std::string message = error.message; // that `wanted` refers to
  std::optional<NamedNode> wanted = parse(message);
  if (!wanted)
    return error;
  if (error.reason == Reason::MissingInput)
    addFunction(error, *wanted, module);
  SmallVector<std::string> lines;
  for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
    addLines(*graph.getBody(), *wanted, lines);
  for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
    if (!function.isExternal())
      addLines(function.getEntry(), *wanted, lines);
  if (!lines.empty() && lines.size() <= maxLines)
    error.message += " (defined at " + llvm::join(lines, " or ") + ")";
  return error;
}

} // namespace treadle
