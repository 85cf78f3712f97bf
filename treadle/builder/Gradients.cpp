// Gradients of values of the innermost body, added to that body.
#include "treadle/builder/BuilderImpl.h"

#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/gradients/AddGradients.h"
#include "treadle/lowering/Attributes.h"

using namespace mlir;

namespace treadle::builder {
namespace {

/// A temporary terminator for an open function body, which passes require.
class TemporaryTerminator {
public:
  explicit TemporaryTerminator(BodyState &body) {
    if (!body.outline)
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(body.block);
    end = tfg::ReturnOp::create(builder, UnknownLoc::get(builder.getContext()), ValueRange(),
                                ValueRange());
  }
  ~TemporaryTerminator() {
    if (end)
      end->erase();
  }

private:
  mlir::Operation *end = nullptr;
};

} // namespace

void BuilderImpl::replaceModuleByCopy() {
  index.reset();
  graph = derivedGraph(graph, graph.impl->copy());
  module = *graph.impl->module;
  refreshValues();
}

void BuilderImpl::refreshValues() {
  index = std::make_unique<EditIndex>(*graph.impl);
  functionNames = std::make_unique<tfg::FunctionNames>(module);
  if (current == root)
    root->block = &index->graph.getNodes().front();
  llvm::StringMap<tfg::Node> nodes;
  for (mlir::Operation &op : *current->block)
    if (tfg::Node::isNode(&op))
      nodes[tfg::Node(&op).name()] = tfg::Node(&op);
  llvm::DenseMap<mlir::Value, mlir::Value> tokens;
  for (OperationSlot &node : operations) {
    // A discarded node is missing, or another node, with a slot of its own, has its name.
    tfg::Node found = node.body == current ? nodes.lookup(node.name) : tfg::Node();
    if (!found || found.numResults() < node.outputs.size())
      continue;
    tokens[node.token] = found.controlResult();
    node.token = found.controlResult();
    for (auto [i, output] : llvm::enumerate(node.outputs))
      slot(output).value = found->getResult(i);
  }
  for (auto &waits : current->waits)
    for (mlir::Value &token : waits)
      token = tokens.lookup(token);
}

Output BuilderImpl::gradientOutput(mlir::Value value, const Shape &shape) {
  if (!value)
    return {};
  tfg::Node node = tfg::definingNode(value);
  if (!node) // an argument that is itself the gradient
    return newOutput({value, current, tfg::nameOf(value).str(), valueTypeOf(value.getType()).dtype,
                      KnownValue(shape)});
  operations.push_back({node.name().str(), current, node.controlResult(), {}});
  Operation made(this, static_cast<uint32_t>(operations.size() - 1));
  for (auto [i, result] : llvm::enumerate(node.results())) {
    KnownValue known(tfg::shapeOf(result.getType()));
    if (result == value)
      known.shape = meet(known.shape, shape);
    operations.back().outputs.push_back(
        newOutput({result, current, str(node.name().str(), ":", i),
                   valueTypeOf(result.getType()).dtype, std::move(known), made}));
  }
  return made.output(cast<OpResult>(value).getResultNumber());
}

Expected<std::vector<Output>> BuilderImpl::gradients(const std::vector<Input> &ys,
                                                     const std::vector<Input> &xs,
                                                     const std::vector<Input> &dys) {
  if (!dys.empty() && dys.size() != ys.size())
    return Unexpected(invalidArgument("there are ", dys.size(), " gradients of ", ys.size(),
                                      " ys; expected one for each, or none"));
  auto resolved = [&](const std::vector<Input> &inputs, const char *what,
                      bool areHandles) -> Expected<std::vector<Output>> {
    std::vector<Output> out;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      Input found = areHandles && input.variable ? Input(input.variable.handle()) : input;
      Output at = TREADLE_TRY(value(found, DType::Invalid, str(what, "_", i), str(what, " ", i)));
      out.push_back(at);
    }
    return out;
  };
  for (const auto *inputs : {&ys, &xs, &dys})
    if (llvm::any_of(*inputs, isEmpty))
      return std::vector<Output>();
  auto outputsY = resolved(ys, "y", false), outputsX = resolved(xs, "x", true),
       outputsDy = resolved(dys, "grad_y", false);
  for (const auto *outputs : {&outputsY, &outputsX, &outputsDy})
    if (!*outputs)
      return Unexpected(outputs->error());

  // A failure leaves the module inconsistent: for the graph it is discarded. Open bodies can't be
  // copied.
  Graph before = graph;
  bool isGraph = current == root;
  if (isGraph)
    replaceModuleByCopy();
  tfg::GradientsRequest request;
  for (auto [outputs, values] :
       {std::pair(&*outputsY, &request.ys), std::pair(&*outputsX, &request.xs),
        std::pair(&*outputsDy, &request.dys)})
    for (const Output &output : *outputs)
      values->push_back(slot(output).value);
  Expected<SmallVector<mlir::Value>> found = [&] {
    TemporaryTerminator end(*current);
    return tfg::addGradients(module, *current->block, request);
  }();
  if (!found && isGraph) {
    index.reset();
    graph = before;
    module = *graph.impl->module;
  }
  refreshValues();
  if (!found) {
    isBroken = !isGraph;
    return Unexpected(std::move(found.error()));
  }
  for (mlir::Operation &op : *current->block) {
    tfg::Node node(&op);
    if (!current->names.insert(node.name()).second)
      continue;
    if (current->outline)
      current->outline->uniqueName(node.name());
    const OpDef *def = lookupOp(std::string_view(node.opType()));
    current->isStateful |= !def || def->isStateful();
  }
  std::vector<Output> out;
  for (auto [x, value] : llvm::zip(*outputsX, *found)) {
    const KnownValue &known = slot(x).known;
    out.push_back(gradientOutput(value, known.held.empty() ? known.shape : known.held.front()));
  }
  return out;
}

std::vector<Output> Builder::gradients(const std::vector<Input> &ys, const std::vector<Input> &xs,
                                       const std::vector<Input> &gradYs) {
  return impl->unwrapOrRecord(impl->gradients(ys, xs, gradYs));
}

} // namespace treadle::builder
