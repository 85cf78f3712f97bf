#include "treadle/import/TfExecutor.h"

#include "treadle/import/LoopInvariants.h"
#include "treadle/import/TfIslands.h"
#include "treadle/import/TfRegions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;
namespace tfe = treadle::tf_executor;

namespace {

constexpr StringLiteral mainName = "main";

/// Converts one function. The result is inserted before the source, which the caller erases.
class FunctionReader {
public:
  FunctionReader(func::FuncOp func, const llvm::StringSet<> &functions)
      : func(func), functions(functions), builder(func),
        dialect(*func.getContext()->getOrLoadDialect<tfg::TfgDialect>()) {}

  LogicalResult readMain();
  LogicalResult readFunction();

private:
  /// The function's results in the target.
  struct Results {
    SmallVector<Value> data, control;
  };

  LogicalResult check();
  LogicalResult readBody(TfBodyReader &body, Results &results);
  SmallVector<Attribute> convertArgAttrs();
  SmallVector<Attribute> convertResultAttrs();
  void convertFuncAttrs(tfg::FuncOp target);
  ArrayAttr controlAttrs(ValueRange control);
  void restoreOrder(Block &target);
  void addPlaceholders(TfBodyReader &body, ArrayRef<StringRef> inputNames);
  void describeEntry(tfg::GraphOp graph, TfBodyReader &body, ArrayRef<StringRef> outputNames,
                     const Results &results);
  SmallVector<StringRef> entryNames(StringRef key);

  func::FuncOp func;
  const llvm::StringSet<> &functions;
  OpBuilder builder;
  tfg::TfgDialect &dialect;
  tfe::GraphOp graph; // null if the operations are directly in the function
};

LogicalResult FunctionReader::check() {
  if (func.isExternal())
    return func.emitError("function '") << func.getName() << "' has no body, expected one";
  if (!func.getBody().hasOneBlock())
    return func.emitError("unimplemented: function '")
           << func.getName() << "' has several blocks, expected one; control flow must be in "
           << "functions (tf.While, tf.If) or v1 control flow";
  auto body = func.front().without_terminator();
  for (Operation &op : body)
    if (auto found = dyn_cast<tfe::GraphOp>(op))
      graph = found;
  if (graph && !llvm::hasSingleElement(body))
    return graph.emitError("unimplemented: function '")
           << func.getName()
           << "' contains other ops besides its tf_executor.graph, expected only the graph";
  return success();
}

/// Emits a remark for each loop whose Enters became constant.
static void emitConstantRemarks(ArrayRef<tfe::EnterOp> enters, const TfBodyReader &body) {
  llvm::MapVector<StringAttr, SmallVector<tfe::EnterOp>> loops;
  for (tfe::EnterOp enter : enters)
    loops[enter.getFrameNameAttr()].push_back(enter);
  for (auto &[frame, own] : loops) {
    llvm::sort(own, [](tfe::EnterOp a, tfe::EnterOp b) { return a->isBeforeInBlock(b); });
    std::string names;
    for (auto [i, enter] : llvm::enumerate(own)) {
      auto at = enter->getLoc()->findInstanceOf<FileLineColLoc>();
      Value result = body.dataOf(enter->getResult(0)).front();
      names += str(i == 0                ? ""
                   : i + 1 == own.size() ? " and "
                                         : ", ",
                   "'", tfg::definingNode(result).name().str(), "'",
                   at && at.getLine() ? str(" (line ", at.getLine(), ")") : "");
    }
    bool isOne = own.size() == 1;
    own.front()->emitRemark(isOne ? "Enter " : "Enters ")
        << names << " of loop '" << frame.getValue() << "' " << (isOne ? "is" : "are")
        << " treated as constant: the loop's condition needs "
        << (isOne ? "its value" : "their values")
        << " in every iteration; write 'constant' after the name of the frame, or set the "
           "attribute "
        << notConstantKey << " to keep a value that is present in iteration 0 only";
  }
}

LogicalResult FunctionReader::readBody(TfBodyReader &body, Results &results) {
  Operation *end = func.front().getTerminator();
  body.reserveNames(func.front());
  if (!graph) {
    if (failed(body.readInOrder(func.front(), {}, results.control)))
      return failure();
    results.data = body.dataOf(end->getOperands());
    return success();
  }
  SmallVector<tfe::EnterOp> forgotten = findNonconstantInvariants(graph);
  llvm::erase_if(forgotten, [](tfe::EnterOp enter) { return enter->hasAttr(notConstantKey); });
  for (tfe::EnterOp enter : forgotten)
    enter.setIsConstant(true);
  if (failed(body.readGraph(graph)))
    return failure();
  emitConstantRemarks(forgotten, body);
  ValueRange fetched = graph.getFetch().getFetches();
  for (auto [from, to] : llvm::zip(graph.getResults(), body.dataOf(fetched)))
    body.map(from, to);
  results.data = body.dataOf(end->getOperands());
  results.control = body.tokensOf(fetched);
  return success();
}

/// Restores the original order of the nodes in the graph before it was sorted topologically.
void FunctionReader::restoreOrder(Block &target) {
  auto order = graph ? graph->getAttrOfType<DenseI64ArrayAttr>(orderKey) : DenseI64ArrayAttr();
  if (!order)
    return;
  SmallVector<Operation *> nodes, sorted;
  for (Operation &op : target)
    if (tfg::Node::isNode(&op))
      nodes.push_back(&op);
  if (nodes.size() != static_cast<size_t>(order.size()))
    return;
  sorted.assign(nodes.size(), nullptr);
  for (auto [node, place] : llvm::zip(nodes, order.asArrayRef()))
    if (place >= 0 && place < static_cast<int64_t>(sorted.size()))
      sorted[place] = node;
  if (llvm::is_contained(sorted, nullptr))
    return;
  for (Operation *node : llvm::reverse(sorted))
    node->moveBefore(&target, target.begin());
}

// --- functions ----------------------------------------------------------------------------------

/// Returns the name of an argument: from `tfg.name`, its location, or a user's attribute.
static std::string argumentName(func::FuncOp func, unsigned index) {
  for (StringRef key : {StringRef("tfg.name"), StringRef("tf._user_specified_name")})
    if (auto name = func.getArgAttrOfType<StringAttr>(index, key))
      return name.str();
  std::string name = nameInLocation(func.getArgument(index).getLoc());
  return name.empty() ? "arg" + std::to_string(index) : name;
}

SmallVector<Attribute> FunctionReader::convertArgAttrs() {
  SmallVector<Attribute> result;
  LocationNames names;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    NamedAttrList attrs(func.getArgAttrDict(i));
    attrs.set(dialect.argNameKey, builder.getStringAttr(names.stated(argumentName(func, i))));
    result.push_back(attrs.getDictionary(builder.getContext()));
    result.push_back(builder.getDictionaryAttr({})); // its token
  }
  return result;
}

SmallVector<Attribute> FunctionReader::convertResultAttrs() {
  SmallVector<Attribute> result;
  LocationNames names;
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    NamedAttrList attrs(func.getResultAttrDict(i));
    auto name = dyn_cast_or_null<StringAttr>(attrs.get(dialect.argNameKey));
    std::string wanted = name ? name.str() : "output_" + std::to_string(i);
    attrs.set(dialect.argNameKey, builder.getStringAttr(names.stated(wanted)));
    result.push_back(attrs.getDictionary(builder.getContext()));
  }
  return result;
}

static StringRef fieldOfFunc(StringRef key) {
  StringRef field = key;
  return field.consume_front(funcFieldPrefix) && llvm::is_contained(funcFields, field) ? field
                                                                                       : key;
}

void FunctionReader::convertFuncAttrs(tfg::FuncOp target) {
  for (NamedAttribute attr : func->getDiscardableAttrs()) {
    StringRef key = attr.getName().getValue();
    if (key == isStatefulKey)
      target.setIsStateful(true);
    else if (key != controlResultsKey && key != entryFunctionKey)
      target->setAttr(fieldOfFunc(key), attr.getValue());
  }
}

/// {tfg.name = ...} for each control result: as stated, or its node's name.
ArrayAttr FunctionReader::controlAttrs(ValueRange control) {
  auto stated = func->getAttrOfType<ArrayAttr>(controlResultsKey);
  if (stated && stated.size() == control.size())
    return stated;
  SmallVector<Attribute> result;
  for (Value token : control) {
    tfg::Node node = tfg::definingNode(token);
    StringAttr name = node ? node.nameAttr() : StringAttr();
    NamedAttrList attrs;
    if (name)
      attrs.append(dialect.argNameKey, name);
    result.push_back(attrs.getDictionary(builder.getContext()));
  }
  return builder.getArrayAttr(result);
}

LogicalResult FunctionReader::readFunction() {
  if (failed(check()))
    return failure();
  SmallVector<Type> inputs;
  for (Type type : func.getArgumentTypes())
    inputs.append({type, dialect.controlType});
  auto target =
      tfg::FuncOp::create(builder, func.getLoc(), func.getName(),
                          FunctionType::get(builder.getContext(), inputs, func.getResultTypes()));
  target.setArgAttrsAttr(builder.getArrayAttr(convertArgAttrs()));
  target.setResAttrsAttr(builder.getArrayAttr(convertResultAttrs()));
  convertFuncAttrs(target);
  TfBodyReader body(target.getEntry(), functions);
  for (auto [i, argument] : llvm::enumerate(func.getArguments())) {
    body.map(argument, target.getDataArgument(i));
    body.nodeNames().stated(target.getDataArgumentName(i));
  }
  Results results;
  if (failed(readBody(body, results)))
    return failure();
  builder.setInsertionPointToEnd(&target.getEntry());
  tfg::ReturnOp::create(builder, func.getLoc(), results.data, results.control,
                        controlAttrs(results.control));
  restoreOrder(target.getEntry());
  return success();
}

// --- @main --------------------------------------------------------------------------------------

/// Returns the names that `tf.entry_function` lists.
SmallVector<StringRef> FunctionReader::entryNames(StringRef key) {
  SmallVector<StringRef> names;
  auto entry = func->getAttrOfType<DictionaryAttr>(entryFunctionKey);
  if (auto list = entry ? entry.getAs<StringAttr>(key) : StringAttr())
    list.getValue().split(names, ',', -1, /*KeepEmpty=*/false);
  return names;
}

static Attribute shapeOf(Type type) { return tf_type::ShapeAttr::get(cast<ShapedType>(type)); }

void FunctionReader::addPlaceholders(TfBodyReader &body, ArrayRef<StringRef> inputNames) {
  auto nameOf = [&](unsigned index) {
    return index < inputNames.size() ? inputNames[index].split(':').first.str()
                                     : argumentName(func, index);
  };
  for (BlockArgument argument : func.getArguments()) {
    NodeParts parts;
    parts.op = "Placeholder";
    parts.name = nameOf(argument.getArgNumber());
    parts.attrs.append("dtype", TypeAttr::get(getElementTypeOrSelf(argument.getType())));
    if (isa<ShapedType>(argument.getType()))
      parts.attrs.append("shape", shapeOf(argument.getType()));
    tfg::Node node = body.addNode(std::move(parts), argument.getLoc(), {}, {}, argument.getType());
    body.map(argument, node.results().front());
  }
}

/// Returns `name:output`, the syntax of fetches.
static std::string endpointOf(Value value) {
  auto result = cast<OpResult>(value);
  return (tfg::Node(result.getOwner()).name() + ":" + Twine(result.getResultNumber())).str();
}

/// Lists the inputs and outputs. A result with a different name than its tensor gets an Identity of
/// that name.
void FunctionReader::describeEntry(tfg::GraphOp target, TfBodyReader &body,
                                   ArrayRef<StringRef> outputNames, const Results &results) {
  SmallVector<std::string> inputs, outputs, controls;
  for (Operation &op : target.getBody()->getOperations())
    if (inputs.size() < func.getNumArguments())
      inputs.push_back(tfg::Node(&op).name().str());
  for (auto [i, value] : llvm::enumerate(results.data)) {
    std::string endpoint = endpointOf(value);
    StringRef name = i < outputNames.size() ? outputNames[i].split(':').first : StringRef();
    if (!name.empty() && name != StringRef(endpoint).split(':').first) {
      NodeParts parts;
      parts.op = "Identity";
      parts.name = name.str();
      parts.attrs.append("T", TypeAttr::get(tf_type::dereference(getElementTypeOrSelf(value))));
      tfg::Node node = body.addNode(std::move(parts), func.getLoc(), value, {}, value.getType());
      endpoint = endpointOf(node.results().front());
    }
    outputs.push_back(endpoint);
  }
  for (Value token : results.control)
    if (tfg::Node node = tfg::definingNode(token))
      controls.push_back(node.name().str());
  if (inputs.empty() && outputs.empty() && controls.empty())
    return;
  auto list = [&](ArrayRef<std::string> names) {
    return builder.getStringAttr(llvm::join(names, ","));
  };
  target->setDiscardableAttr(
      entryFunctionKey,
      builder.getDictionaryAttr({builder.getNamedAttr("control_outputs", list(controls)),
                                 builder.getNamedAttr("inputs", list(inputs)),
                                 builder.getNamedAttr("outputs", list(outputs))}));
}

/// Returns the version in `tf.versions` of the module.
static tf_type::VersionAttr versionOf(ModuleOp module) {
  auto versions = module->getAttrOfType<DictionaryAttr>(versionsKey);
  auto number = [&](StringRef key) -> int32_t {
    auto attr = versions ? versions.getAs<IntegerAttr>(key) : IntegerAttr();
    return attr ? static_cast<int32_t>(attr.getValue().getSExtValue()) : 0;
  };
  SmallVector<int32_t> bad;
  if (auto list = versions ? versions.getAs<ArrayAttr>("bad_consumers") : ArrayAttr())
    for (auto consumer : list.getAsRange<IntegerAttr>())
      bad.push_back(static_cast<int32_t>(consumer.getInt()));
  return tf_type::VersionAttr::get(module.getContext(), number("producer"), number("min_consumer"),
                                   bad);
}

LogicalResult FunctionReader::readMain() {
  if (failed(check()))
    return failure();
  auto module = func->getParentOfType<ModuleOp>();
  auto target = tfg::GraphOp::create(builder, func.getLoc(), versionOf(module));
  for (NamedAttribute attr : func->getDiscardableAttrs())
    if (attr.getName() != entryFunctionKey && attr.getName() != isStatefulKey)
      target->setDiscardableAttr(attr.getName(), attr.getValue());
  TfBodyReader body(*target.getBody(), functions);
  SmallVector<StringRef> inputs = entryNames("inputs"), outputs = entryNames("outputs");
  for (ArrayRef<StringRef> names : {ArrayRef(inputs), ArrayRef(outputs)})
    for (StringRef name : names)
      body.nodeNames().reserve(name.split(':').first);
  addPlaceholders(body, inputs);
  Results results;
  if (failed(readBody(body, results)))
    return failure();
  describeEntry(target, body, outputs, results);
  restoreOrder(*target.getBody());
  return success();
}

} // namespace

/// Returns the function that becomes the graph: @main, otherwise the only one with
/// `tf.entry_function`.
static func::FuncOp mainOf(ModuleOp module) {
  if (auto main = module.lookupSymbol<func::FuncOp>(mainName))
    return main;
  auto entries = llvm::make_filter_range(module.getOps<func::FuncOp>(), [](func::FuncOp func) {
    return func->hasAttrOfType<DictionaryAttr>(entryFunctionKey);
  });
  return llvm::hasSingleElement(entries) ? *entries.begin() : func::FuncOp();
}

bool treadle::hasTfExecutor(ModuleOp module) { return !module.getOps<func::FuncOp>().empty(); }

LogicalResult treadle::importTfExecutor(ModuleOp module) {
  module.getContext()->loadDialect<tfg::TfgDialect, tf_type::TfTypeDialect>();
  if (failed(outlineTfRegions(module)))
    return failure();
  llvm::StringSet<> functions;
  for (Operation &op : *module.getBody())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      functions.insert(symbol.getName());
  func::FuncOp main = mainOf(module);
  for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    FunctionReader reader(func, functions);
    if (failed(func == main ? reader.readMain() : reader.readFunction()))
      return failure();
    func.erase();
  }
  module->removeAttr(versionsKey);
  return success();
}
