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

bool hasNode(Block &body, NamedNode wanted) {
  return llvm::any_of(body, [&](Operation &op) {
    return tfg::Node::isNode(&op) && tfg::Node(&op).name() == wanted.name &&
           tfg::Node(&op).opType() == wanted.op;
  });
}

/// Of a placeholder without a value: that it stands in a function, if it does. No input gives it
/// one.
void addFunction(Error &error, NamedNode wanted, ModuleOp module) {
  for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
    if (hasNode(*graph.getBody(), wanted))
      return;
  for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
    if (!function.isExternal() && hasNode(function.getEntry(), wanted)) {
      error.message += str("; it stands in function '", function.getName().str(),
                           "', where nothing feeds it: make it an argument of the function");
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
  if (!lines.empty() && lines.size() <= mostLines)
    error.message += " (defined at " + llvm::join(lines, " or ") + ")";
  return error;
}

} // namespace treadle
