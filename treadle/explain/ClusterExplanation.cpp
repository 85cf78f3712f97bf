// Explains which parts of a graph are compiled, by bringing it into the form that plans are made
// from.
#include "treadle/explain/ClusterExplanation.h"
#include "treadle/explain/LoopExplanation.h"
#include "treadle/ops/OpTable.h"
#include "treadle/session/Pipelines.h"

#include "treadle/codegen/Cluster.h"
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/SavedModel.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/transforms/outline_clusters/Compilable.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;

namespace treadle {
namespace {

using tfg::Node;

/// Returns why a node that could be compiled isn't.
std::string reasonToInterpret(Node node, bool hasLoop, bool isTooLarge) {
  if (hasLoop)
    return "no fetch or target of the run needs it";
  if (tfg::isInEpilogue(node))
    return "a kernel computes it together with the product or convolution before it";
  if (tfg::nativeForm(node) == NativeForm::None)
    return "outside of compiled loops its kernel is as fast as compiled code";
  if (isTooLarge)
    return str("too large: outside of loops, a graph or function of more than ", tfg::maxGraphNodes,
               " nodes isn't compiled");
  return str("too small: compilation pays off for loops, and for ", tfg::minCompiledNodes,
             " or more connected elementwise ops");
}

/// Returns whether the node deserves an explanation: it has a kernel and doesn't only forward
/// values.
bool needsExplanation(Node node) {
  const OpDef *def = lookupOp(node.opType());
  return !(def && def->hasNoCost()) && !tfg::isLoopCondition(node);
}

/// Returns the argument class of a call's operand, as far as the graph determines it; an unknown
/// rank becomes `rank`, or stays unknown. Handles are scalars.
codegen::ArgumentClass classOf(Type type, std::optional<int64_t> rank) {
  Type element = getElementTypeOrSelf(type);
  codegen::ArgumentClass made{valueTypeOf(element).dtype, true, {}};
  if (auto ranked = dyn_cast<RankedTensorType>(type)) {
    for (int64_t dim : ranked.getShape())
      made.sizes.push_back(dim == 1 ? 1 : made.any);
  } else if (!isa<tf_type::ResourceType, tf_type::VariantType>(element)) {
    made.isRanked = rank.has_value();
    made.sizes.assign(rank.value_or(0), made.any);
  }
  return made;
}

class ClusterExplainer {
public:
  ClusterExplainer(ModuleOp module, Explanation &out)
      : module(module), compilable(tfg::lookupIn(module)), out(out),
        functions(tfg::functionsOf(module)) {}

  void run() {
    for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
      addBody(graph.getNodes().front(), "");
    for (size_t i = 0; i < reached.size(); ++i) // grows meanwhile
      addBody(tfg::FuncOp(reached[i]).getEntry(), tfg::FuncOp(reached[i]).getName());
    for (auto &[why, nodes] : remaining)
      out.interpreted.push_back({why, std::move(nodes)});
  }

private:
  tfg::FuncOp clusterOf(Node node) {
    if (!node->hasAttr(tfg::clusterKey))
      return {};
    auto function = node.attr<tf_type::FuncAttr>("f");
    return function ? functions.lookup(function.getName().getRootReference()) : tfg::FuncOp();
  }

  template <typename Visit> void forEachCalled(Node node, Visit visit) {
    auto look = [&](StringRef name) {
      if (tfg::FuncOp function = functions.lookup(name); function && !function.isExternal())
        visit(function);
    };
    tfg::forEachCallee(node, look);
  }

  /// Adds the nodes of a body in order, and the functions that they call outside of clusters to
  /// `reached`.
  void addBody(Block &block, StringRef where) {
    const bool isTooLarge = block.getOperations().size() > tfg::maxGraphNodes;
    for (Operation &op : block) {
      if (!Node::isNode(&op))
        continue;
      Node node(&op);
      if (tfg::FuncOp function = clusterOf(node)) {
        addCluster(node, function, where);
        continue;
      }
      if (needsExplanation(node))
        addRemaining(node, isTooLarge);
      forEachCalled(node, [&](tfg::FuncOp function) { reached.insert(function); });
    }
  }

  void addRemaining(Node node, bool isTooLarge) {
    bool hasBody = false;
    forEachCalled(node, [&](tfg::FuncOp) { hasBody = true; });
    std::string why = compilable.of(node).obstacle;
    if (hasBody && (why.empty() || !compilable.hasLoop(node)))
      return; // its nodes are explained separately
    if (why.empty())
      why = reasonToInterpret(node, compilable.hasLoop(node), isTooLarge);
    remaining[why].push_back(LoopExplainer::describe(node));
  }

  /// Returns the dtype of the variable that a handle refers to, from the nodes that use it.
  DType variableDtype(Value handle, llvm::SmallPtrSetImpl<Value> &seen) {
    if (!seen.insert(handle).second)
      return DType::Invalid;
    for (OpOperand &use : handle.getUses()) {
      Node node(use.getOwner());
      if (!Node::isNode(use.getOwner()))
        continue;
      DType found = DType::Invalid;
      for (StringRef key : {"dtype", "T"})
        if (auto type = node.attr<mlir::TypeAttr>(key); type && found == DType::Invalid)
          found = valueTypeOf(type.getValue()).dtype;
      if (found == DType::Resource) // an Identity forwards it
        found = node.numResults() == 1 ? variableDtype(node->getResult(0), seen) : DType::Invalid;
      if (found == DType::Invalid)
        found = dtypeInCalls(use, seen);
      if (found != DType::Invalid)
        return found;
    }
    return DType::Invalid;
  }

  /// Returns the dtype for the argument that a use passes the handle to.
  DType dtypeInCalls(OpOperand &use, llvm::SmallPtrSetImpl<Value> &seen) {
    Node node(use.getOwner());
    const OpDef *def = lookupOp(node.opType());
    int first = def ? def->facts().firstArgument : 0;
    DType found = DType::Invalid;
    unsigned place = use.getOperandNumber() - static_cast<unsigned>(first);
    if (first >= 0)
      forEachCalled(node, [&](tfg::FuncOp called) {
        if (found == DType::Invalid && place < called.getNumDataArguments())
          found = variableDtype(called.getDataArgument(place), seen);
      });
    return found;
  }

  DType variableDtype(Value handle) {
    llvm::SmallPtrSet<Value, 8> seen;
    return variableDtype(handle, seen);
  }

  /// Returns the shape of a variable's value, from the node that creates its handle.
  static std::optional<std::vector<int64_t>> sizesOfVariable(Value handle) {
    Node node = tfg::definingNode(handle);
    auto shape = node ? node.attr<tf_type::ShapeAttr>("shape") : tf_type::ShapeAttr();
    if (!shape || !shape.hasRank())
      return std::nullopt;
    std::vector<int64_t> sizes;
    for (int64_t dim : shape.getDims())
      sizes.push_back(dim == 1 ? 1 : codegen::ArgumentClass::any);
    return sizes;
  }

  /// Returns the argument classes of a call, as far as the graph determines them. Values of
  /// variables of unknown rank count as scalars, or get `rank`.
  SmallVector<codegen::ArgumentClass> classesOf(Node call, tfg::FuncOp function,
                                                std::optional<int64_t> rank) {
    SmallVector<codegen::ArgumentClass> classes;
    for (auto [i, input] : llvm::enumerate(call.data())) {
      codegen::ArgumentClass &made = classes.emplace_back(classOf(input.getType(), rank));
      DType dtype = made.dtype == DType::Resource ? variableDtype(function.getDataArgument(i))
                                                  : DType::Invalid;
      if (dtype != DType::Invalid)
        made.variable = {dtype, sizesOfVariable(input).value_or(std::vector<int64_t>(
                                    rank.value_or(0), codegen::ArgumentClass::any))};
    }
    return classes;
  }

  /// Returns why a cluster can't be compiled; empty if it can be, or could be for scalars or
  /// vectors instead of inputs of unknown rank.
  std::string obstacle(Node call, tfg::FuncOp function) {
    auto find = [&](StringRef name) { return functions.lookup(name); };
    std::string why;
    for (std::optional<int64_t> rank :
         {std::optional<int64_t>(), std::optional<int64_t>(0), std::optional<int64_t>(1)}) {
      SmallVector<codegen::ArgumentClass> classes = classesOf(call, function, rank);
      Expected<codegen::TensorProgram> program =
          codegen::translate(function, classes, find, *module.getContext());
      if (program)
        return {};
      if (why.empty())
        why = program.error().message;
      if (!rank &&
          llvm::all_of(classes, [](const auto &one) { return one.isRanked && !one.variable; }))
        break; // no rank is unknown
    }
    return why;
  }

  void addCluster(Node call, tfg::FuncOp function, StringRef where) {
    Explanation::Cluster cluster;
    cluster.where = where;
    for (Value input : call.data())
      cluster.inputs.push_back(typeText(input.getType()));
    llvm::StringSet<> counted;
    for (Operation &op : function.getEntry())
      if (Node::isNode(&op) && needsExplanation(Node(&op))) {
        cluster.nodes.push_back(LoopExplainer::describe(Node(&op)));
        cluster.nodes.back().where = where;
      }
    if (std::string why = obstacle(call, function); !why.empty()) {
      std::vector<Explanation::Op> &nodes = remaining[str("can't be compiled: ", why)];
      nodes.insert(nodes.end(), cluster.nodes.begin(), cluster.nodes.end());
      return;
    }
    cluster.ops = countOps(function, counted);
    out.clusters.push_back(std::move(cluster));
  }

  int64_t countOps(tfg::FuncOp function, llvm::StringSet<> &counted) {
    if (!counted.insert(function.getName()).second)
      return 0;
    int64_t count = 0;
    for (Operation &op : function.getEntry())
      if (Node::isNode(&op) && needsExplanation(Node(&op))) {
        ++count;
        forEachCalled(Node(&op), [&](tfg::FuncOp called) { count += countOps(called, counted); });
      }
    return count;
  }

  ModuleOp module;
  tfg::Compilable compilable;
  Explanation &out;
  tfg::FunctionMap functions;
  llvm::SetVector<tfg::FuncOp> reached;
  llvm::MapVector<std::string, std::vector<Explanation::Op>, std::map<std::string, unsigned>>
      remaining; // by reason
};

} // namespace

std::string typeText(Type type) {
  auto tensor = cast<TensorType>(type);
  std::string text(dtypeName(valueTypeOf(tensor.getElementType()).dtype));
  if (!tensor.hasRank())
    return text + "[*]";
  std::string dims;
  for (int64_t dim : tensor.getShape())
    dims += str(dims.empty() ? "" : ",", ShapedType::isDynamic(dim) ? "?" : str(dim));
  return str(text, "[", dims, "]");
}

Expected<void> explainClusters(const Graph &graph, const ExplainRequest &request,
                               Explanation &out) {
  OwningOpRef<ModuleOp> module = graph.impl->copy();
  SmallVector<ModuleOp> modules = metaGraphs(*module);
  if (modules.empty())
    modules.push_back(*module);
  Request asked{.feeds = {}, .fetches = request.fetches, .targets = request.targets};
  bool asksForAll = asked.fetches.empty() && asked.targets.empty();
  if (asksForAll)
    for (const Graph::Value &value : graph.outputs())
      asked.fetches.push_back(value.name);
  std::string pipeline = clusterPipeline(asked, /*prunes=*/!asksForAll);
  for (ModuleOp each : modules) {
    TREADLE_TRY(runOn(each, pipeline));
    ClusterExplainer(each, out).run();
  }
  return {};
}

} // namespace treadle
