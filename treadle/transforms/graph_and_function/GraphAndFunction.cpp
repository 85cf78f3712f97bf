// tfg-lift-graph-to-func and tfg-lower-func-to-graph.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/ControlMerger.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_LIFTGRAPHTOFUNC
#define GEN_PASS_DEF_LOWERFUNCTOGRAPH
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

GraphOp graphOf(ModuleOp module) {
  auto graphs = module.getOps<GraphOp>();
  return graphs.empty() ? GraphOp() : *graphs.begin();
}

class Lifter {
public:
  Lifter(GraphOp graph, StringRef name) : graph(graph), name(name), builder(graph) {
    for (Operation &op : graph.getNodes().front())
      if (Node::isNode(&op))
        nodes[Node(&op).name()] = Node(&op);
  }

  /// Finds `x:1`, or all results of `x`.
  LogicalResult find(StringRef text, StringRef what, SmallVectorImpl<OpResult> &values) {
    auto [nodeName, number] = text.split(':');
    Node node = nodes.lookup(nodeName);
    unsigned index = 0;
    if (!node)
      return graph.emitError() << what << " '" << text << "': the graph has no node '" << nodeName
                               << "'";
    if (number.empty()) {
      llvm::append_range(values, node.results());
      return success();
    }
    if (number.getAsInteger(10, index) || index >= node.numResults())
      return graph.emitError() << what << " '" << text << "': '" << nodeName << "' ("
                               << node.opType() << ") has " << node.numResults() << " outputs";
    values.push_back(node->getOpResult(index));
    return success();
  }

  LogicalResult findTarget(StringRef text, SmallVectorImpl<Value> &tokens) {
    if (Node node = nodes.lookup(text.split(':').first)) {
      tokens.push_back(node.controlResult());
      return success();
    }
    return graph.emitError() << "target '" << text << "': the graph has no such node";
  }

  void lift(ArrayRef<OpResult> feeds, ArrayRef<OpResult> fetches, ArrayRef<Value> targets) {
    Type token = controlType();
    NameScope names(graph.getNodes().front());
    SmallVector<Type> argTypes, resultTypes;
    SmallVector<Attribute> argAttrs, resultAttrs, controlAttrs;
    for (OpResult feed : feeds) {
      argTypes.append({feed.getType(), token});
      Attribute lifted[] = {Node(feed.getOwner()).nameAttr(),
                            builder.getIndexAttr(feed.getResultNumber())};
      NamedAttribute attrs[] = {nameAttr(names.unique(slotName(feed))),
                                builder.getNamedAttr(liftedValueKey, builder.getArrayAttr(lifted))};
      argAttrs.append({builder.getDictionaryAttr(attrs), builder.getDictionaryAttr({})});
    }
    llvm::StringSet<> taken;
    for (OpResult fetch : fetches) {
      resultTypes.push_back(fetch.getType());
      std::string base = slotName(fetch), unique = base;
      for (unsigned i = 1; !taken.insert(unique).second; ++i)
        unique = base + "_" + std::to_string(i);
      resultAttrs.push_back(builder.getDictionaryAttr(nameAttr(unique)));
    }
    for (Value target : targets)
      controlAttrs.push_back(
          builder.getDictionaryAttr(nameAttr(Node(target.getDefiningOp()).name())));
    auto function = FuncOp::create(builder, graph.getLoc(), name,
                                   builder.getFunctionType(argTypes, resultTypes));
    function.setArgAttrsAttr(builder.getArrayAttr(argAttrs));
    function.setResAttrsAttr(builder.getArrayAttr(resultAttrs));
    function->setAttr(liftedVersionKey, graph.getVersion());
    if (DictionaryAttr rest = graph->getDiscardableAttrDictionary(); !rest.empty())
      function->setAttr(liftedGraphAttrsKey, rest);
    moveInto(function, feeds);
    SmallVector<Value> results;
    for (OpResult fetch : fetches) {
      auto feed = llvm::find(feeds, fetch);
      results.push_back(feed == feeds.end() ? Value(fetch)
                                            : function.getDataArgument(feed - feeds.begin()));
    }
    builder.setInsertionPointToEnd(&function.getEntry());
    ReturnOp::create(builder, graph.getLoc(), results, targets, builder.getArrayAttr(controlAttrs));
    graph->erase();
  }

private:
  tf_type::ControlType controlType() { return tf_type::ControlType::get(builder.getContext()); }
  NamedAttribute nameAttr(StringRef value) {
    auto *dialect = static_cast<TfgDialect *>(graph->getDialect());
    return NamedAttribute(dialect->argNameKey, builder.getStringAttr(value));
  }
  static std::string slotName(OpResult value) {
    return (Node(value.getOwner()).name() + "_" + Twine(value.getResultNumber())).str();
  }

  void moveInto(FuncOp function, ArrayRef<OpResult> feeds) {
    Block &to = function.getEntry();
    to.getOperations().splice(to.end(), graph.getNodes().front().getOperations());
    for (auto [i, feed] : llvm::enumerate(feeds)) {
      BlockArgument argument = function.getDataArgument(i);
      Value(feed).replaceAllUsesWith(argument);
      // Nodes with a control input from a placeholder wait for the value that replaces it.
      Node node(feed.getOwner());
      if (tfg::isPlaceholder(node) && node.numResults() == 1)
        node.controlResult().replaceAllUsesWith(FuncOp::getControlTokenOf(argument));
    }
  }

  GraphOp graph;
  StringRef name;
  OpBuilder builder;
  llvm::StringMap<Node> nodes;
};

class Lowerer {
public:
  explicit Lowerer(FuncOp function) : function(function), builder(function) {}

  void lower() {
    auto version = function->getAttrOfType<tf_type::VersionAttr>(liftedVersionKey);
    bool wasLifted = version != nullptr;
    if (!version)
      version = tf_type::VersionAttr::get(builder.getContext(), latestProducer, 0, {});
    auto graph = GraphOp::create(builder, function.getLoc(), version);
    if (auto rest = function->getAttrOfType<DictionaryAttr>(liftedGraphAttrsKey))
      graph->setDiscardableAttrs(rest);
    if (graph.getNodes().empty())
      graph.getNodes().emplaceBlock();
    body = &function.getEntry();
    NameScope names(*body);
    for (Operation &op : *body)
      if (Node::isNode(&op))
        nodes[Node(&op).name()] = Node(&op);
    builder.setInsertionPointToStart(body);
    for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i)
      replaceArgument(i);
    ReturnOp results = function.getReturn();
    if (!wasLifted) {
      builder.setInsertionPoint(results);
      for (auto [i, value] : llvm::enumerate(results.getData()))
        nameResult(i, value, names);
    }
    results->erase();
    Block &to = graph.getNodes().front();
    to.getOperations().splice(to.end(), body->getOperations());
    function->erase();
  }

private:
  /// The producer version of TensorFlow 2.21.
  static constexpr int32_t latestProducer = 2286;

  void replaceArgument(unsigned index) {
    BlockArgument argument = function.getDataArgument(index);
    BlockArgument token = FuncOp::getControlTokenOf(argument);
    Value value;
    if (auto lifted = function.getArgAttrOfType<ArrayAttr>(2 * index, liftedValueKey);
        lifted && lifted.size() == 2)
      if (Node node = nodes.lookup(cast<StringAttr>(lifted[0]).getValue())) {
        unsigned number = cast<IntegerAttr>(lifted[1]).getInt();
        if (number < node.numResults())
          value = node->getResult(number);
      }
    if (!value)
      value = makePlaceholder(argument, function.getDataArgumentName(index))->getResult(0);
    argument.replaceAllUsesWith(value);
    ControlMerger control;
    control.replace(token, controlTokenOf(value));
    control.finish();
  }

  Node makePlaceholder(BlockArgument argument, StringRef name) {
    NodeBuilder placeholder(builder, "Placeholder");
    auto type = dyn_cast<TensorType>(argument.getType());
    if (type)
      placeholder.attr("dtype", dtypeAttr(type)).attr("shape", tf_type::ShapeAttr::get(type));
    return placeholder.name(name).results(argument.getType()).build();
  }

  /// Runs fetch a result by its name.
  void nameResult(unsigned index, Value value, NameScope &names) {
    auto name = function.getResultAttrOfType<StringAttr>(index, argNameKeyword);
    if (!name || nodes.contains(name.getValue()))
      return;
    forwardValues(builder, value).name(names.unique(name.getValue())).build();
  }

  FuncOp function;
  OpBuilder builder;
  Block *body = nullptr;
  llvm::StringMap<Node> nodes;
};

} // namespace
} // namespace tfg

namespace {

struct LiftGraphToFunc : impl::LiftGraphToFuncBase<LiftGraphToFunc> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run() {
    tfg::GraphOp graph = tfg::graphOf(getOperation());
    if (!graph)
      return success();
    if (getOperation().lookupSymbol(name))
      return graph.emitError() << "function '" << name
                               << "' already exists; choose another one with name=";
    tfg::Lifter lifter(graph, name);
    SmallVector<OpResult> fed, fetched;
    SmallVector<Value> tokens;
    for (StringRef feed : feeds)
      if (failed(lifter.find(feed, "feed", fed)))
        return failure();
    for (StringRef fetch : fetches)
      if (failed(lifter.find(fetch, "fetch", fetched)))
        return failure();
    for (StringRef target : targets)
      if (failed(lifter.findTarget(target, tokens)))
        return failure();
    lifter.lift(fed, fetched, tokens);
    return success();
  }
};

struct LowerFuncToGraph : impl::LowerFuncToGraphBase<LowerFuncToGraph> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    auto function = getOperation().lookupSymbol<tfg::FuncOp>(name);
    auto refuse = [&](Operation *at, const Twine &why) {
      at->emitError() << "function '" << name << "' can't become the graph: " << why;
      signalPassFailure();
    };
    if (!function)
      return refuse(getOperation(), "it doesn't exist; choose another one with name=");
    if (tfg::GraphOp graph = tfg::graphOf(getOperation()))
      return refuse(graph, "the module already has a graph");
    if (function.getGeneric() || function.isExternal())
      return refuse(function, "it is generic, or has no body");
    tfg::Lowerer(function).lower();
  }
};

} // namespace
} // namespace treadle
