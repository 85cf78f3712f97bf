#include "treadle/dialect/NodeAttributes.h"
#include "treadle/dialect/stablehlo/StableHlo.h"
#include "treadle/import/File.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/stablehlo/Entry.h"
#include "treadle/import/stablehlo/Import.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/Passes.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_EXPANDPROGRAMS
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

constexpr StringLiteral programOp = "XlaCallModule";

/// The first version of the calling convention with platforms.
constexpr int64_t firstWithPlatforms = 3;

/// The module and calling convention in the attributes of a node. Error messages begin with
/// `unimplemented: ` for valid but unsupported features.
class ProgramNode {
public:
  explicit ProgramNode(Node node) : node(node) {}

  Expected<EntryConvention> convention() const;
  Expected<std::string> functionAt(uint64_t place) const;

private:
  SmallVector<std::string> strings(StringRef key) const;

  Node node;
};

SmallVector<std::string> ProgramNode::strings(StringRef key) const {
  SmallVector<std::string> values;
  if (auto list = node.attr<ArrayAttr>(key))
    for (Attribute value : list)
      if (auto text = dyn_cast<StringAttr>(value))
        values.push_back(text.str());
  return values;
}

Expected<EntryConvention> ProgramNode::convention() const {
  auto version = node.attr<IntegerAttr>("version");
  int64_t number = version ? version.getInt() : 0;
  if (number < oldestConvention || number > newestConvention)
    return Unexpected(unimplemented("its calling convention has version ", number,
                                    ", expected one from ", oldestConvention, " to ",
                                    newestConvention));
  EntryConvention convention;
  bool isChecked = !llvm::is_contained(strings("disabled_checks"), "platform");
  if (number >= firstWithPlatforms)
    convention.platform = TREADLE_TRY(cpuPlatformIndex(strings("platforms"), isChecked));
  for (const std::string &spec : strings("dim_args_spec")) {
    auto [argument, dim] = StringRef(spec).split('.');
    std::pair<uint64_t, uint64_t> size;
    if (argument.getAsInteger(10, size.first) || dim.getAsInteger(10, size.second))
      return Unexpected(invalidArgument("'", spec,
                                        "' in 'dim_args_spec', expected "
                                        "an argument and a dimension: '0.1'"));
    convention.sizes.push_back(size);
  }
  return convention;
}

Expected<std::string> ProgramNode::functionAt(uint64_t place) const {
  auto list = node.attr<ArrayAttr>("function_list");
  auto function =
      list && place < list.size() ? dyn_cast<tf_type::FuncAttr>(list[place]) : tf_type::FuncAttr();
  if (!function)
    return Unexpected(invalidArgument("it calls function ", place, " of the ",
                                      list ? list.size() : 0, " in 'function_list'"));
  return function.getName().getRootReference().str();
}

class Expander {
public:
  explicit Expander(ModuleOp module) : module(module) {
    for (FuncOp function : module.getOps<FuncOp>()) {
      functions[function.getName()] = function;
      taken.push_back(function.getName().str());
    }
  }

  void run();

private:
  void visit(Block &body);
  void reach(StringRef function);
  void expand(Node node);
  Expected<FuncOp> functionOf(Node node);
  Expected<FuncOp> import(Node node);
  LogicalResult nameCallees(ModuleOp program, const ProgramNode &node);
  static Expected<void> checkCall(Node node, FuncOp function);
  void call(Node node, FuncOp function);
  Value checkedShape(OpBuilder &builder, Node node, Value value, Type wanted);

  ModuleOp module;
  FunctionMap functions;
  std::vector<std::string> taken;
  llvm::DenseMap<Attribute, FuncOp> known; // per attributes of the node
  SmallVector<Block *> open;
  llvm::StringSet<> reached;
  std::optional<NameScope> names; // of the current body
};

void Expander::run() {
  for (GraphOp graph : module.getOps<GraphOp>())
    open.push_back(&graph.getNodes().front());
  while (!open.empty()) {
    visit(*open.pop_back_val());
  }
}

void Expander::reach(StringRef name) {
  FuncOp function = functions.lookup(name);
  if (function && !function.isExternal() && reached.insert(name).second)
    open.push_back(&function.getEntry());
}

void Expander::visit(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!Node::isNode(&op))
      continue;
    Node node(&op);
    forEachCallee(node, [&](StringRef name) { reach(name); });
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        visit(inner);
    if (node.opType() == programOp)
      expand(node);
  }
  names.reset();
}

void Expander::expand(Node node) {
  Expected<FuncOp> function = functionOf(node).and_then(
      [&](FuncOp found) { return checkCall(node, found).map([&] { return found; }); });
  if (function) {
    call(node, *function);
    return;
  }
  const Error &error = function.error();
  node->setAttr(problemKey, ProblemAttr::get(node->getContext(), error.code == Code::Unimplemented,
                                             "its program: " + error.message));
}

/// Nodes whose attributes differ in names only share a function.
Expected<FuncOp> Expander::functionOf(Node node) {
  NamedAttrList key;
  for (StringRef name :
       {"module", "version", "platforms", "dim_args_spec", "function_list", "disabled_checks"})
    if (Attribute value = node.attr(name))
      key.append(name, value);
  Attribute attributes = key.getDictionary(node->getContext());
  if (FuncOp function = known.lookup(attributes))
    return function;
  return import(node).map([&](FuncOp made) { return known[attributes] = made; });
}

/// Calls of functions of the graph refer to these by their index in a list.
LogicalResult Expander::nameCallees(ModuleOp program, const ProgramNode &node) {
  WalkResult result = program.walk([&](Operation *op) {
    auto target = op->getAttrOfType<StringAttr>("call_target_name");
    if (!target || target.getValue() != callTfFunction)
      return WalkResult::advance();
    auto config = op->getAttrOfType<DictionaryAttr>("tf.backend_config");
    auto place = config ? config.getAs<IntegerAttr>("called_index") : IntegerAttr();
    Expected<std::string> name =
        place ? node.functionAt(static_cast<uint64_t>(place.getInt()))
              : Unexpected(invalidArgument("it has a call without the name of a function"));
    if (!name) {
      op->emitError(name.error().message);
      return WalkResult::interrupt();
    }
    op->setAttr(calledFunctionKey, StringAttr::get(op->getContext(), *name));
    reach(*name);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Appends a copy of a function of another context to the module.
static Expected<FuncOp> importedInto(ModuleOp module, FuncOp function) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(writeBytecodeToFile(function, stream)) ||
      failed(readBytecodeFile(llvm::MemoryBufferRef(bytes, "function"), module.getBody(),
                              module.getContext())))
    return Unexpected(internal("the functions of a program can't be copied"));
  return cast<FuncOp>(module.getBody()->back());
}

Expected<FuncOp> Expander::import(Node node) {
  ProgramNode attributes(node);
  EntryConvention convention = TREADLE_TRY(attributes.convention());
  auto bytes = node.attr<StringAttr>("module");
  if (!bytes)
    return Unexpected(invalidArgument("its attribute 'module' is missing"));
  std::string entry;
  auto convert = [&](ModuleOp program) -> LogicalResult {
    FailureOr<func::FuncOp> main = entryOf(program);
    if (failed(main) || failed(bindEntry(*main, convention)) ||
        failed(nameCallees(program, attributes)))
      return failure();
    FailureOr<std::string> name = importStableHloFunctions(program, taken);
    if (succeeded(name))
      entry = *name;
    return success(succeeded(name));
  };
  // Importing a module loads dialects, which must not be loaded into the graph's context while
  // others use it.
  MLIRContext own(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> program = TREADLE_TRY(importProgram(own, bytes.getValue(), convert));
  if (entry.empty())
    return Unexpected(invalidArgument("it is not a StableHLO module"));
  for (FuncOp foreign : program->getOps<FuncOp>()) {
    FuncOp made = TREADLE_TRY(importedInto(module, foreign));
    functions[made.getName()] = made;
    taken.push_back(made.getName().str());
  }
  return functions.lookup(entry);
}

Expected<void> Expander::checkCall(Node node, FuncOp function) {
  unsigned numArguments = function.getNumDataArguments();
  size_t numResults = function.getResultTypes().size();
  if (node.data().size() != numArguments || node.results().size() != numResults)
    return Unexpected(invalidArgument("it has ", numArguments, " arguments and ", numResults,
                                      " results, but the node ", node.data().size(), " and ",
                                      node.results().size()));
  auto isOf = [](Type type, Type wanted) {
    return getElementTypeOrSelf(type) == getElementTypeOrSelf(wanted);
  };
  for (unsigned i = 0; i < numArguments; ++i)
    if (Type wanted = function.getDataArgument(i).getType();
        !isOf(node.data()[i].getType(), wanted))
      return Unexpected(
          invalidArgument("input ", i, " of the node doesn't have the dtype of argument ", i));
  for (unsigned i = 0; i < numResults; ++i)
    if (!isOf(node.results()[i].getType(), function.getResultTypes()[i]))
      return Unexpected(
          invalidArgument("output ", i, " of the node doesn't have the dtype of result ", i));
  return {};
}

/// Checks that a value has the shape that the module is specialized for.
Value Expander::checkedShape(OpBuilder &builder, Node node, Value value, Type wanted) {
  auto from = dyn_cast<RankedTensorType>(value.getType()), to = dyn_cast<RankedTensorType>(wanted);
  bool isSure = !to || (from && from.getRank() == to.getRank() &&
                        llvm::all_of(llvm::zip(from.getShape(), to.getShape()), [](auto sizes) {
                          auto [is, must] = sizes;
                          return ShapedType::isDynamic(must) || is == must;
                        }));
  if (isSure)
    return value;
  if (!names)
    names.emplace(*node->getBlock());
  Type type = to.clone(getElementTypeOrSelf(value.getType()));
  return NodeBuilder(builder, "EnsureShape")
      .placedAs(node)
      .name(names->unique(node.name().str() + "/argument"))
      .attr("T", dtypeAttr(value.getType()))
      .attr("shape", tf_type::ShapeAttr::get(to))
      .inputs(value)
      .results(type)
      .build()
      .results()[0];
}

void Expander::call(Node node, FuncOp function) {
  OpBuilder builder(node.getOperation());
  SmallVector<Value> inputs;
  SmallVector<Attribute> in, out;
  for (auto [i, input] : llvm::enumerate(node.data())) {
    Type wanted = function.getDataArgument(static_cast<unsigned>(i)).getType();
    inputs.push_back(checkedShape(builder, node, input, wanted));
    in.push_back(dtypeAttr(input.getType()));
  }
  SmallVector<Type> types(node.results().getTypes());
  for (Type type : types)
    out.push_back(dtypeAttr(type));
  bool hasEffects = function.getIsStateful();
  Node made = NodeBuilder(builder, hasEffects ? "StatefulPartitionedCall" : "PartitionedCall")
                  .placedAs(node)
                  .name(node.name())
                  .attr("Tin", builder.getArrayAttr(in))
                  .attr("Tout", builder.getArrayAttr(out))
                  .attr("f", tf_type::FuncAttr::get(builder.getContext(), function.getName(),
                                                    builder.getDictionaryAttr({})))
                  .inputs(inputs)
                  .control(ValueRange(node.control()))
                  .results(types)
                  .build();
  node->replaceAllUsesWith(made.getOperation());
  node->erase();
}

} // namespace
} // namespace tfg

namespace {

struct ExpandPrograms : impl::ExpandProgramsBase<ExpandPrograms> {
  void runOnOperation() override { tfg::Expander(getOperation()).run(); }
};

} // namespace
} // namespace treadle
