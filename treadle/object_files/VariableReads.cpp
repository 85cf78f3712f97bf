#include "treadle/object_files/VariableReads.h"

#include "treadle/dialect/TfType.h"
#include "treadle/rewriting/Rewriting.h"

using namespace mlir;

namespace treadle {
namespace {

/// An op on a variable, the op that does the same to a tensor, and its attributes by theirs.
struct ReadingOp {
  StringLiteral op, onTensor;
  std::array<std::pair<StringLiteral, StringLiteral>, 2> attrs;
};

constexpr ReadingOp readingOps[] = {
    {"ResourceGather", "Gather", {{{"dtype", "Tparams"}, {"Tindices", "Tindices"}}}},
    {"ResourceGatherNd", "GatherNd", {{{"dtype", "Tparams"}, {"Tindices", "Tindices"}}}},
};

const ReadingOp *findReadingOp(tfg::Node node) {
  // Batches of indices have no such twin; the op is named where it is translated.
  if (auto dims = node.attr<IntegerAttr>("batch_dims"); dims && dims.getInt() != 0)
    return nullptr;
  auto it = llvm::find_if(readingOps, [&](const ReadingOp &op) { return op.op == node.opType(); });
  return it == std::end(readingOps) || !node.attr("dtype") ? nullptr : it;
}

void separate(tfg::Node node, const ReadingOp &op, tfg::NameScope &names) {
  OpBuilder b(node.getOperation());
  auto element = cast<TypeAttr>(node.attr("dtype")).getValue();
  tfg::Node read = tfg::NodeBuilder(b, "ReadVariableOp")
                       .name(names.unique((node.name() + "/read").str()))
                       .placedAs(node)
                       .attr("dtype", node.attr("dtype"))
                       .inputs(node->getOperand(0))
                       .control(SmallVector<Value>(node.control()))
                       .results(UnrankedTensorType::get(element))
                       .build();
  SmallVector<Value> inputs = {read->getResult(0)};
  llvm::append_range(inputs, llvm::drop_begin(node.data()));
  tfg::NodeBuilder builder(b, op.onTensor);
  builder.name(node.name())
      .placedAs(node)
      .inputs(inputs)
      .control(SmallVector<Value>(node.control()));
  for (auto [from, to] : op.attrs)
    if (Attribute attr = node.attr(from))
      builder.attr(to, attr);
  tfg::Node made = builder.results(node->getResult(0).getType()).build();
  node->replaceAllUsesWith(made.getOperation());
  node->erase();
}

} // namespace

void separateVariableReads(ModuleOp module) {
  tfg::forEachBody(module, [](Block &body) {
    SmallVector<std::pair<tfg::Node, const ReadingOp *>> found;
    for (Operation &op : body)
      if (tfg::Node::isNode(&op))
        if (const ReadingOp *reading = findReadingOp(tfg::Node(&op)))
          found.emplace_back(tfg::Node(&op), reading);
    if (found.empty())
      return;
    tfg::NameScope names(body);
    for (auto [node, reading] : found)
      separate(node, *reading, names);
  });
}

} // namespace treadle
