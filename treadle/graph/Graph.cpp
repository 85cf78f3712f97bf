// Reads, writes and summarizes graphs.
#include "treadle/graph/GraphImpl.h"

#include "treadle/export/File.h"
#include "treadle/export/GraphDef.h"
#include "treadle/graph/Dependencies.h"
#include "treadle/graph/VariableName.h"
#include "treadle/graph/Wants.h"
#include "treadle/import/File.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/Rewriting.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

namespace treadle {
namespace {

Expected<Graph> makeGraph(std::unique_ptr<mlir::MLIRContext> context,
                          Expected<mlir::OwningOpRef<mlir::ModuleOp>> module,
                          GraphSource place = {}) {
  if (!module)
    return Unexpected(std::move(module.error()));
  Graph graph;
  graph.impl =
      std::make_shared<const Graph::Impl>(std::move(context), std::move(*module), std::move(place));
  return graph;
}

PartialShape shapeAttr(tfg::Node node) {
  if (auto shape = node.attr<tf_type::ShapeAttr>("shape")) {
    PartialShape out{shape.hasRank(), {}};
    for (int64_t d : shape.getDims())
      out.dims.push_back(mlir::ShapedType::isDynamic(d) ? -1 : d);
    return out;
  }
  return {};
}

Graph::Value describe(tfg::Node node, unsigned output) {
  Graph::Value value;
  value.name = str(node.name().str(), ":", output);
  value.dtype = valueTypeOf(node->getResult(output).getType()).dtype;
  // The type of the result is more precise if a pass has inferred shapes.
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(node->getResult(output).getType());
  PartialShape shape = type ? PartialShape::ranked({type.getShape().begin(), type.getShape().end()})
                            : shapeAttr(node);
  for (int64_t &dim : shape.dims)
    dim = std::max<int64_t>(dim, -1);
  value.hasRank = shape.hasRank;
  value.dims = std::move(shape.dims);
  return value;
}

template <typename Visit> void forEachNode(const ModuleIndex &index, Visit visit) {
  if (!index.graph())
    return;
  for (mlir::Operation &op : index.graph()->getRegion(0).front())
    visit(tfg::Node(&op));
}

} // namespace

PartialShape feedShape(const ModuleIndex &index, llvm::StringRef name) {
  tfg::Node node = index.node(name);
  if (!node || !isPlaceholder(node))
    return {};
  PartialShape shape = shapeAttr(node);
  // Older graphs couldn't express unknown shapes and left the shape empty.
  constexpr int firstWithUnknownShapes = 24;
  if (shape.dims.empty() && index.graph().getVersion().getProducer() < firstWithUnknownShapes)
    return {};
  return shape;
}

GraphSource GraphSource::of(const std::string &path) {
  if (path == "-")
    return {};
  std::error_code ignored;
  std::filesystem::path place = std::filesystem::absolute(path, ignored);
  if (std::filesystem::is_directory(place, ignored))
    return {place.string(), true};
  return {place.parent_path().string(), false};
}

/// Returns the result of `import(context)` with its remarks attached as notes.
template <typename Import>
static Expected<Graph> importGraph(Import import, GraphSource place, const std::string &path = {}) {
  auto context = makeContext();
  auto module = [&] {
    mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Remark)
        place.notes.push_back(str(path, path.empty() ? "" : ": ", diagnostic.str()));
    });
    return import(*context);
  }();
  return makeGraph(std::move(context), std::move(module), std::move(place));
}

Expected<Graph> Graph::fromFile(const std::string &path) {
  auto import = [&](mlir::MLIRContext &context) { return importFile(context, path); };
  return importGraph(import, GraphSource::of(path), path == "-" ? "standard input" : path);
}

Expected<Graph> Graph::fromBytes(std::string_view bytes) {
  auto import = [&](mlir::MLIRContext &context) { return importBytes(context, bytes); };
  return importGraph(import, {});
}

const std::vector<std::string> &Graph::notes() const { return impl->place.notes; }

// Only the textual form can represent regions.
Expected<void> Graph::toFile(const std::string &path) const {
  if (llvm::StringRef(path).ends_with(".mlir"))
    return exportFile(*impl->module, path);
  return withoutRegions(*this).and_then(
      [&](const Graph &graph) { return exportFile(*graph.impl->module, path); });
}

Expected<std::string> Graph::toGraphDef() const {
  return withoutRegions(*this).and_then(
      [](const Graph &graph) { return exportGraphDefBytes(*graph.impl->module); });
}

std::string Graph::text() const { return printMlir(*impl->module); }

std::vector<Graph::Value> Graph::inputs() const {
  std::vector<Value> out;
  forEachNode(impl->index(), [&](tfg::Node node) {
    if (isPlaceholder(node) && node.numResults() == 1)
      out.push_back(describe(node, 0));
  });
  return out;
}

/// Returns the values that the graph lists as its results (`x:0,y:1`). A graph that was imported
/// from a function has such a list.
static std::vector<Graph::Value> listedOutputs(const ModuleIndex &index) {
  std::vector<Graph::Value> out;
  mlir::DictionaryAttr entry;
  if (index.graph())
    entry = index.graph()->getAttrOfType<mlir::DictionaryAttr>("tf.entry_function");
  auto list = entry ? entry.getAs<mlir::StringAttr>("outputs") : mlir::StringAttr();
  if (!list)
    return out;
  for (llvm::StringRef endpoint : llvm::split(list.getValue(), ',')) {
    auto [name, number] = endpoint.split(':');
    tfg::Node node = index.node(name);
    unsigned output = 0;
    if (node && (number.empty() || !number.getAsInteger(10, output)) && output < node.numResults())
      out.push_back(describe(node, output));
  }
  return out;
}

std::vector<Graph::Value> Graph::outputs() const {
  std::vector<Value> out = listedOutputs(impl->index());
  if (!out.empty())
    return out;
  forEachNode(impl->index(), [&](tfg::Node node) {
    if (!node->use_empty() || isPlaceholder(node))
      return;
    for (unsigned i = 0; i < node.numResults(); ++i)
      out.push_back(describe(node, i));
  });
  return out;
}

// --- summary -----------------------------------------------------------------------------------

namespace {

class Summarizer {
public:
  /// Visits the block's nodes, or only those in `needed` unless it is null.
  void visitBlock(mlir::Block &block, const std::string &where,
                  const std::set<mlir::Operation *> *needed = nullptr) {
    for (mlir::Operation &op : block) {
      if (!tfg::Node::isNode(&op) || (needed && !needed->contains(&op)))
        continue;
      visit(tfg::Node(&op), where);
      for (mlir::Region &region : op.getRegions())
        visitBlock(region.front(), where);
    }
  }

  GraphSummary finish() {
    for (auto &[op, count] : counts)
      out.ops.push_back({op, count});
    std::sort(out.ops.begin(), out.ops.end(), [](const auto &a, const auto &b) {
      return std::tie(b.count, a.op) < std::tie(a.count, b.op);
    });
    return std::move(out);
  }

  GraphSummary out;

private:
  void visit(tfg::Node node, const std::string &where) {
    llvm::StringRef op = node.opType();
    ++counts[op.str()];
    out.controlEdges += node.numControl();
    if (std::optional<GraphSummary::Want> want = wantOf(node, where))
      out.wants.push_back(std::move(*want));
    llvm::StringRef plain = op;
    plain.consume_back("Region");
    OpKind kind = opKind(plain);
    if (isLoop(kind))
      out.loops.push_back({node.name().str(), op.str(), where, tfg::parallelIterations(node)});
    else if (tfg::entersFrame(node.getOperation()))
      visitEnter(node, where);
    else if (isConditional(kind))
      out.conditionals.push_back({node.name().str(), op.str(), where, 1});
    else if (makesVariable(node))
      visitVariable(node);
  }

  // A frame is named by its Enter nodes.
  void visitEnter(tfg::Node node, const std::string &where) {
    mlir::StringAttr name = tfg::frameName(node);
    if (!name)
      return;
    for (const auto &loop : out.loops)
      if (loop.kind == "frame" && loop.name == name.getValue() && loop.where == where)
        return;
    out.loops.push_back({name.getValue().str(), "frame", where, tfg::parallelIterations(node)});
  }

  void visitVariable(tfg::Node node) {
    Graph::Value value;
    auto shared = node.attr<mlir::StringAttr>("shared_name");
    value.name = shared && !shared.empty() ? shared.getValue().str() : node.name().str();
    if (auto dtype = node.attr<mlir::TypeAttr>("dtype"))
      value.dtype = valueTypeOf(dtype.getValue()).dtype;
    PartialShape shape = shapeAttr(node);
    value.hasRank = shape.hasRank;
    value.dims = std::move(shape.dims);
    out.variables.push_back(std::move(value));
  }

  std::map<std::string, int64_t> counts;
};

} // namespace

/// Counts nodes, including those in regions.
static int64_t numNodes(mlir::Block &block, const std::set<mlir::Operation *> *needed = nullptr) {
  int64_t count = 0;
  for (mlir::Operation &op : block)
    if (!needed || needed->contains(&op))
      op.walk([&](mlir::Operation *inner) { count += tfg::Node::isNode(inner); });
  return count;
}

/// `needed` restricts the summary to these nodes of the graph and the functions that they call;
/// null for all.
static GraphSummary summarize(const Graph &graph, const std::set<mlir::Operation *> *needed) {
  Summarizer summarizer;
  const ModuleIndex &index = graph.impl->index();
  if (tfg::GraphOp nodes = index.graph()) {
    mlir::Block &block = nodes->getRegion(0).front();
    summarizer.out.nodes = numNodes(block, needed);
    summarizer.out.producer = nodes.getVersion().getProducer();
    summarizer.out.minConsumer = nodes.getVersion().getMinConsumer();
    summarizer.visitBlock(block, "", needed);
  }
  llvm::StringSet<> called = needed ? functionsCalledBy(index, *needed) : llvm::StringSet<>();
  for (mlir::Operation &op : graph.impl->module->getBody()->getOperations()) {
    auto function = mlir::dyn_cast<tfg::FuncOp>(op);
    if (!function || function->getRegion(0).empty() ||
        (needed && !called.contains(function.getName())))
      continue;
    mlir::Block &body = function->getRegion(0).front();
    int64_t results = 0;
    if (mlir::Operation *end = body.getTerminator())
      for (mlir::Value operand : end->getOperands())
        results += !tfg::isControl(operand);
    summarizer.out.functions.push_back({function.getName().str(), numNodes(body),
                                        static_cast<int64_t>(body.getNumArguments() / 2), results,
                                        function.getGeneric()});
    summarizer.visitBlock(body, function.getName().str());
  }
  return summarizer.finish();
}

GraphSummary summarize(const Graph &graph) { return summarize(graph, nullptr); }

Expected<GraphSummary> summarize(const Graph &graph, const std::vector<std::string> &asked) {
  return dependenciesOf(graph.impl->index(), asked)
      .map([&](const std::set<mlir::Operation *> &needed) { return summarize(graph, &needed); });
}

} // namespace treadle
