#include "treadle/import/TfOps.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/tfg_to_tf_executor/BodyWriter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace treadle::graphdef;
namespace tfe = treadle::tf_executor;

namespace treadle {

#define GEN_PASS_DEF_TFGTOTFEXECUTOR
#include "treadle/transforms/Passes.h.inc"

namespace {

/// The arguments and results of @main: placeholders and values of the graph.
struct Entry {
  SmallVector<tfg::Node> inputs;
  SmallVector<Value> outputs, controls;
};

/// Returns whether an argument can express everything about the node.
bool isArgument(tfg::Node node) {
  if (node.opType() != "Placeholder" || node->getNumOperands() != 0 || node.numResults() != 1)
    return false;
  auto type = dyn_cast<TensorType>(node.results().front().getType());
  auto shape = node.attr<tf_type::ShapeAttr>("shape");
  auto dtype = node.attr<TypeAttr>("dtype");
  // Only the attributes for name, dtype and shape.
  return type && shape && dtype && node.attrs().size() == 3 &&
         shape.tensorOf(dtype.getValue()) == type;
}

/// Reads `tf.entry_function`; returns nullopt if it refers to nodes that don't exist.
std::optional<Entry> entryOf(tfg::GraphOp graph) {
  auto attr = graph->getAttrOfType<DictionaryAttr>(entryFunctionKey);
  if (!attr)
    return std::nullopt;
  llvm::StringMap<tfg::Node> nodes;
  for (Operation &op : *graph.getBody())
    nodes[tfg::Node(&op).name()] = tfg::Node(&op);
  auto listOf = [&](StringRef key) {
    SmallVector<StringRef> names;
    if (auto list = attr.getAs<StringAttr>(key))
      list.getValue().split(names, ',', -1, /*KeepEmpty=*/false);
    return names;
  };
  Entry entry;
  for (StringRef name : listOf("inputs")) {
    tfg::Node node = nodes.lookup(name);
    if (!node || !isArgument(node))
      return std::nullopt;
    entry.inputs.push_back(node);
  }
  for (StringRef name : listOf("outputs")) {
    auto [nodeName, number] = name.split(':');
    tfg::Node node = nodes.lookup(nodeName);
    unsigned index = 0;
    if (!node || (!number.empty() && number.getAsInteger(10, index)) || index >= node.numResults())
      return std::nullopt;
    entry.outputs.push_back(node.results()[index]);
  }
  for (StringRef name : listOf("control_outputs")) {
    tfg::Node node = nodes.lookup(name);
    if (!node)
      return std::nullopt;
    entry.controls.push_back(node.controlResult());
  }
  return entry;
}

struct TfgToTfExecutor : impl::TfgToTfExecutorBase<TfgToTfExecutor> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (Operation &op : *module.getBody())
      if (auto symbol = dyn_cast<SymbolOpInterface>(op))
        functions.insert(symbol.getName());
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (failed(convert(&op)))
        return signalPassFailure();
  }

private:
  LogicalResult convert(Operation *op) {
    if (auto graph = dyn_cast<tfg::GraphOp>(op))
      return convertGraph(graph);
    auto func = dyn_cast<tfg::FuncOp>(op);
    // Generic functions can't be converted, because their values have no types.
    if (!func || func.getGeneric())
      return success();
    return convertFunc(func);
  }

  /// Creates a function that contains an empty graph with `results` and a return.
  tfe::GraphOp makeFunction(Operation *source, StringRef name, FunctionType type) {
    OpBuilder builder(source);
    target = func::FuncOp::create(builder, source->getLoc(), name, type);
    builder.setInsertionPointToEnd(target.addEntryBlock());
    auto graph = tfe::GraphOp::create(builder, source->getLoc(), type.getResults());
    graph.getBody().emplaceBlock();
    func::ReturnOp::create(builder, source->getLoc(), graph.getResults());
    return graph;
  }

  void setVersions(tf_type::VersionAttr version) {
    Builder builder(&getContext());
    SmallVector<Attribute> bad;
    for (int32_t consumer : version.getBadConsumers())
      bad.push_back(builder.getI32IntegerAttr(consumer));
    getOperation()->setAttr(
        versionsKey,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("bad_consumers", builder.getArrayAttr(bad)),
             builder.getNamedAttr("min_consumer",
                                  builder.getI32IntegerAttr(version.getMinConsumer())),
             builder.getNamedAttr("producer", builder.getI32IntegerAttr(version.getProducer()))}));
  }

  LogicalResult convertGraph(tfg::GraphOp graph) {
    if (functions.contains("main"))
      return graph.emitError("unimplemented: function 'main' has the name of the graph in "
                             "tf_executor; rename it");
    std::optional<Entry> stated = entryOf(graph);
    Entry entry = stated.value_or(Entry());
    SmallVector<Type> inputs, outputs;
    for (tfg::Node node : entry.inputs)
      inputs.push_back(node.results().front().getType());
    for (Value value : entry.outputs)
      outputs.push_back(value.getType());
    tfe::GraphOp body =
        makeFunction(graph, "main", FunctionType::get(&getContext(), inputs, outputs));
    for (NamedAttribute attr : graph->getDiscardableAttrs())
      target->setAttr(attr.getName(), attr.getValue());
    setVersions(graph.getVersion());
    BodyWriter writer(body, "", functions);
    for (auto [node, argument] : llvm::zip(entry.inputs, target.getArguments())) {
      writer.mapPlaceholder(node, argument);
      argument.setLoc(NameLoc::get(node.nameAttr()));
    }
    return finish(graph, writer, *graph.getBody(), entry.outputs, entry.controls);
  }

  /// Argument attributes exist for data arguments only, types for (value, token) pairs.
  LogicalResult convertFunc(tfg::FuncOp func) {
    SmallVector<Type> inputs;
    SmallVector<Attribute> argAttrs;
    Builder builder(&getContext());
    for (unsigned i = 0; i < func.getNumDataArguments(); ++i) {
      inputs.push_back(func.getDataArgument(i).getType());
      DictionaryAttr attrs = func.getArgAttrDict(2 * i);
      argAttrs.push_back(attrs ? attrs : builder.getDictionaryAttr({}));
    }
    // A result may have a more precise type than the function's signature.
    auto type = FunctionType::get(&getContext(), inputs, func.getReturn().getData().getTypes());
    tfe::GraphOp body = makeFunction(func, func.getName(), type);
    target.setPrivate();
    target.setArgAttrsAttr(builder.getArrayAttr(argAttrs));
    if (ArrayAttr attrs = func.getResAttrsAttr())
      target.setResAttrsAttr(attrs);
    convertFuncAttrs(func);
    BodyWriter writer(body, func.getName(), functions);
    for (auto [i, argument] : llvm::enumerate(target.getArguments()))
      writer.mapArgument(func.getDataArgument(i), argument);
    tfg::ReturnOp end = func.getReturn();
    return finish(func, writer, func.getEntry(), SmallVector<Value>(end.getData()),
                  SmallVector<Value>(end.getControl()));
  }

  void convertFuncAttrs(tfg::FuncOp func) {
    for (NamedAttribute attr : func->getDiscardableAttrs())
      target->setAttr(attr.getName(), attr.getValue());
    for (StringRef field : funcFields)
      if (Attribute value = func->getAttr(field))
        target->setAttr((funcFieldPrefix + field).str(), value);
    Builder builder(&getContext());
    if (func.getIsStateful())
      target->setAttr(isStatefulKey, builder.getUnitAttr());
    if (!areControlResultsNamedByNodes(func))
      target->setAttr(controlResultsKey, func.getReturn().getControlRetAttrs());
  }

  /// Returns whether each control result is named like its node and has no other attributes.
  static bool areControlResultsNamedByNodes(tfg::FuncOp func) {
    tfg::ReturnOp end = func.getReturn();
    return llvm::all_of(llvm::zip(end.getControl(), end.getControlRetAttrs()), [&](auto pair) {
      auto [token, attr] = pair;
      tfg::Node node = tfg::definingNode(token);
      auto attrs = cast<DictionaryAttr>(attr);
      return node && node.nameAttr() && attrs.size() == 1 &&
             attrs.get(node.dialect().argNameKey) == node.nameAttr();
    });
  }

  LogicalResult finish(Operation *source, BodyWriter &writer, Block &nodes, ArrayRef<Value> data,
                       ArrayRef<Value> control) {
    if (failed(writer.writeNodes(nodes)))
      return failure();
    auto lookup = [&](Value value) { return writer.lookup(value); };
    writer.writeFetch(llvm::map_to_vector(data, lookup), llvm::map_to_vector(control, lookup));
    source->erase();
    return success();
  }

  llvm::StringSet<> functions;
  func::FuncOp target;
};

} // namespace
} // namespace treadle
