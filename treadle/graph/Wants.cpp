#include "treadle/graph/Wants.h"

#include "treadle/lowering/Constants.h"
#include "treadle/ops/OpTable.h"

namespace treadle {
namespace {

std::string textAttr(tfg::Node node, llvm::StringRef name) {
  auto attr = node.attr<mlir::StringAttr>(name);
  return attr ? attr.getValue().str() : std::string();
}

/// Returns the text of a constant input; empty if it isn't constant.
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
  using Kind = GraphSummary::Want::Kind;
  const OpDef *def = lookupOp(node.opType());
  auto wantFor = [&](Kind kind, std::string path) {
    return GraphSummary::Want{kind, node.opType().str(), node.name().str(), where, std::move(path)};
  };
  if (def && def->facts().runsPython)
    return wantFor(Kind::Python, textAttr(node, "token"));
  if (!def || def->facts().want.kind == OpPermission::Nothing)
    return std::nullopt;
  const OpPermission &want = def->facts().want;
  Kind kind = want.kind == OpPermission::Read    ? Kind::Read
              : want.kind == OpPermission::Write ? Kind::Write
                                                 : Kind::Clock;
  if (def->permissionAttr().empty())
    return wantFor(kind, textInput(node, want.input));
  // These ops access no file unless their attribute names one.
  std::string path = textAttr(node, def->permissionAttr());
  if (kind == Kind::Write) {
    constexpr llvm::StringLiteral toFile = "file://";
    path = llvm::StringRef(path).starts_with(toFile) ? path.substr(toFile.size()) : std::string();
  }
  return path.empty() ? std::nullopt : std::optional(wantFor(kind, std::move(path)));
}

} // namespace treadle
