#include "treadle/transforms/shape_inference/FunctionCalls.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

struct CallOp {
  StringRef op;
  CallInfo::Kind kind;
  ArrayRef<StringRef> attrs;
  unsigned firstOperand;
};

constexpr StringRef call[] = {"f"};
constexpr StringRef twoBranches[] = {"then_branch", "else_branch"};
constexpr StringRef allBranches[] = {"branches"};
constexpr StringRef loop[] = {"cond", "body"};

constexpr CallOp callOps[] = {
    {"PartitionedCall", CallInfo::Call, call, 0},
    {"StatefulPartitionedCall", CallInfo::Call, call, 0},
    {"If", CallInfo::Branches, twoBranches, 1},
    {"StatelessIf", CallInfo::Branches, twoBranches, 1},
    {"Case", CallInfo::Branches, allBranches, 1},
    {"StatelessCase", CallInfo::Branches, allBranches, 1},
    {"While", CallInfo::Loop, loop, 0},
    {"StatelessWhile", CallInfo::Loop, loop, 0},
};

} // namespace

CallInfo callInfoOf(Node node, const FunctionsByName &functions) {
  CallInfo info;
  if (FuncOp function = functions.lookup(node.opType())) {
    info.kind = CallInfo::Call;
    info.callees.push_back(function);
    return info;
  }
  for (const CallOp &row : callOps) {
    if (node.opType() != row.op)
      continue;
    info.kind = row.kind;
    info.firstOperand = row.firstOperand;
    for (StringRef key : row.attrs)
      if (Attribute attr = node.attr(key))
        attr.walk([&](tf_type::FuncAttr callee) {
          info.callees.push_back(functions.lookup(callee.getName().getRootReference().getValue()));
          return WalkResult::skip();
        });
    if (info.kind == CallInfo::Loop && info.callees.size() != 2)
      info.kind = CallInfo::None;
    break;
  }
  return info;
}

} // namespace treadle::tfg
