// freeze: replaces variables by constants.
//
// The variable that a handle refers to is resolved in each body separately: a handle that is a
// function argument refers to what the function's callers pass. Reads become constants. The handles
// that calls and loops still pass on are dead then, and passes remove them. If a variable is still
// used afterwards (because it is written, or used in another way), freezing starts over and keeps
// it.
#include "treadle/Freeze.h"
#include "treadle/analysis/effects/Effects.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/VariableName.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/lowering/Constants.h"
#include "treadle/lowering/VariableGather.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/runtime/ValueName.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace treadle {
namespace {

using tfg::Node;
using tfg::ResourceId;

Error unsupportedDtype(Node node) {
  return unimplemented("'", variableName(node), "' (node '", node.name().str(),
                       "') has a dtype that constants don't support");
}

class Freezer {
public:
  /// Keeps the variables named in `kept`.
  Freezer(ModuleOp module, const FreezeRequest &request, const std::set<std::string> &kept)
      : module(module), request(request), kept(kept), effects(module),
        functions(tfg::functionsOf(module)) {
    tfg::forEachBody(module, [&](Block &body) {
      for (Operation &op : body)
        if (Node::isNode(&op))
          visit(Node(&op));
    });
  }

  Expected<void> run() {
    Expected<void> done;
    tfg::forEachBody(module, [&](Block &body) {
      if (done)
        done = freezeBody(body);
    });
    return done;
  }

private:
  /// The state of the replacement in one body.
  struct BodyState {
    explicit BodyState(Block &block) : block(block), names(block) {}
    Block &block;
    tfg::NameScope names;
    llvm::DenseMap<ResourceId, Value> constants;
    llvm::DenseMap<Value, Value>
        enteredValues; // values of handles that an Enter passes into a frame
  };
  /// Builds the replacement of an op that reads or inspects a variable with this value.
  using Replace = Expected<Node> (Freezer::*)(BodyState &, Node, const Tensor &);

  /// Returns the function that replaces the node; null for other ops.
  static Replace replacementOf(Node node) {
    const OpDef *def = lookupOp(node.opType());
    if (!def)
      return nullptr;
    if (def->facts().testsInitialization)
      return &Freezer::isInitialized;
    if (node.opType() == "Identity") // of a reference
      return &Freezer::read;
    if (!def->facts().readsVariables)
      return nullptr;
    return def->onTensor() == "Identity" ? &Freezer::read
           : def->onTensor() == "Shape"  ? &Freezer::shape
                                         : &Freezer::gather;
  }

  void visit(Node node) {
    if (makesVariable(node) && node.numResults() == 1)
      for (ResourceId id : effects.handles(node->getResult(0)))
        variables.try_emplace(id, node);
    std::optional<tfg::FunctionalNode> functional = tfg::FunctionalNode::of(node, functions);
    if (!functional) {
      tfg::forEachFunctionName(node, [&](StringRef name) {
        functionsWithUnknownCallers.insert(functions.lookup(name));
      });
      return;
    }
    for (tfg::FuncOp function : functional->functions)
      for (auto [i, argument] : llvm::enumerate(functional->arguments()))
        for (ResourceId id : effects.handles(argument))
          argumentVariables[{function, static_cast<unsigned>(i)}].insert(id);
  }

  /// Adds the variables that a class of handles may refer to; returns false if they aren't all
  /// known.
  bool addVariables(ResourceId id, llvm::SmallSetVector<ResourceId, 2> &found,
                    llvm::DenseSet<ResourceId> &seen) const {
    if (!seen.insert(id).second)
      return true;
    if (variables.contains(id)) {
      found.insert(id);
      return true;
    }
    const tfg::Resource &resource = effects.resource(id);
    if (resource.kind != tfg::Resource::Argument ||
        functionsWithUnknownCallers.contains(resource.origin))
      return false;
    auto callers = argumentVariables.find({resource.origin, resource.argument});
    return callers != argumentVariables.end() &&
           llvm::all_of(callers->second,
                        [&](ResourceId caller) { return addVariables(caller, found, seen); });
  }

  /// Returns the variable to replace that a value is a handle of or a reference to; nullopt for
  /// other values, and if the variable is ambiguous.
  std::optional<ResourceId> variableOf(Value value) const {
    llvm::SmallSetVector<ResourceId, 2> found;
    llvm::DenseSet<ResourceId> seen;
    for (ResourceId id : effects.handles(value))
      if (!addVariables(id, found, seen))
        return std::nullopt;
    bool isReplaced =
        found.size() == 1 && !kept.contains(variableName(variables.lookup(found.front())));
    return isReplaced ? std::optional(found.front()) : std::nullopt;
  }

  Expected<Tensor> valueOf(ResourceId id) const {
    Node node = variables.lookup(id);
    std::string name = variableName(node);
    auto it = std::ranges::find(request.variables, name,
                                [](const auto &variable) { return variable.first; });
    if (it != request.variables.end())
      return it->second;
    return Unexpected(
        Error{Code::FailedPrecondition, str("variable '", name, "' (node '", node.name().str(),
                                            "') has no value; run its initializer first")});
  }

  Expected<void> freezeBody(Block &block) {
    BodyState body(block);
    for (Operation &op : llvm::make_early_inc_range(block))
      if (Node::isNode(&op))
        TREADLE_TRY(freezeNode(body, Node(&op)));
    return {};
  }

  Expected<void> freezeNode(BodyState &body, Node node) {
    for (unsigned i = 0; i < node.numData(); ++i) {
      std::optional<ResourceId> id = variableOf(node.data()[i]);
      if (!id)
        continue;
      bool isReference =
          tf_type::isReference(cast<TensorType>(node.data()[i].getType()).getElementType());
      Replace replace = replacementOf(node);
      // An Identity forwards the same handle under another name.
      bool isHandle = node.opType() == "Identity" && !isReference;
      if (replace && i == 0 && !isHandle) {
        Tensor value = TREADLE_TRY(valueOf(*id));
        Node made = TREADLE_TRY((this->*replace)(body, node, value));
        node->replaceAllUsesWith(made.getOperation());
        node->erase();
        return {};
      }
      // Any op may read a reference. Uses that forward it are checked where they forward to.
      bool isHandedOn = llvm::any_of(
          node.results(), [&](Value result) { return !effects.handles(result).empty(); });
      if (isReference && !isHandedOn && !writes(node, *id)) {
        Value constant = TREADLE_TRY(constantFor(body, node.data()[i], *id));
        node->setOperand(i, constant);
      }
    }
    return {};
  }

  bool writes(Node node, ResourceId id) const {
    return llvm::any_of(effects.of(node), [&](tfg::Effect effect) {
      return effect.writes && effects.mayAlias(effect.resource, id);
    });
  }

  /// Returns the variable's value in the frame of the handle.
  Expected<Value> constantFor(BodyState &body, Value handle, ResourceId id) {
    Operation *op = handle.getDefiningOp();
    if (tfg::entersFrame(op))
      return enteredConstant(body, Node(op), id);
    Value &constant = body.constants[id];
    if (!constant) {
      Tensor value = TREADLE_TRY(valueOf(id));
      Node variable = variables.lookup(id);
      OpBuilder builder(&body.block, body.block.begin());
      std::string name = body.names.unique((variable.name() + "/value").str());
      Node made = tfg::buildConst(builder, name, value, variable, {});
      if (!made)
        return Unexpected(unsupportedDtype(variable));
      constant = made->getResult(0);
    }
    return constant;
  }

  Expected<Value> enteredConstant(BodyState &body, Node enter, ResourceId id) {
    if (Value known = body.enteredValues.lookup(enter->getResult(0)))
      return known;
    Value outside = TREADLE_TRY(constantFor(body, enter->getOperand(0), id));
    OpBuilder builder(enter.getOperation());
    Node node =
        tfg::enterLike(builder, enter, outside, body.names.unique((enter.name() + "/value").str()));
    return body.enteredValues[enter->getResult(0)] = node->getResult(0);
  }

  // --- replacements ----------------------------------------------------------------------------

  Expected<Node> constant(Node node, const Tensor &value) {
    OpBuilder builder(node.getOperation());
    Node made =
        tfg::buildConst(builder, node.name(), value, node, SmallVector<Value>(node.control()));
    return made ? Expected<Node>(made) : Unexpected(unsupportedDtype(node));
  }

  // A variable that is read once in a body becomes a constant with the read's name.
  Expected<Node> read(BodyState &body, Node node, const Tensor &value) {
    Value handle = node->getOperand(0);
    Operation *op = handle.getDefiningOp();
    ResourceId id = *variableOf(handle);
    if (op && makesVariable(Node(op)) && handle.hasOneUse() && !body.constants.contains(id))
      return constant(node, value);
    Value shared = TREADLE_TRY(constantFor(body, handle, id));
    OpBuilder builder(node.getOperation());
    return tfg::forwardValues(builder, shared)
        .name(node.name())
        .placedAs(node)
        .control(SmallVector<Value>(node.control()))
        .build();
  }

  Expected<Node> isInitialized(BodyState &, Node node, const Tensor &) {
    return constant(node, Tensor::scalar(DType::Bool, true));
  }

  Expected<Node> shape(BodyState &, Node node, const Tensor &value) {
    std::vector<int64_t> dims(value.dims().begin(), value.dims().end());
    DType dtype = valueTypeOf(node->getResult(0).getType()).dtype;
    Tensor out = TREADLE_TRY(Tensor::make(dtype, {std::ssize(dims)}));
    for (size_t i = 0; i < dims.size(); ++i)
      if (dtype == DType::Int64)
        out.data<int64_t>()[i] = dims[i];
      else
        out.data<int32_t>()[i] = static_cast<int32_t>(dims[i]);
    return constant(node, out);
  }

  Expected<Node> gather(BodyState &body, Node node, const Tensor &) {
    Value handle = node->getOperand(0);
    Value table = TREADLE_TRY(constantFor(body, handle, *variableOf(handle)));
    return tfg::gatherFrom(table, node, body.names);
  }

  ModuleOp module;
  const FreezeRequest &request;
  const std::set<std::string> &kept;
  const tfg::EffectAnalysis effects;
  const tfg::FunctionMap functions;
  llvm::DenseMap<ResourceId, Node> variables;
  /// The variables that callers pass, by function and argument.
  llvm::DenseMap<std::pair<Operation *, unsigned>, llvm::SmallSetVector<ResourceId, 2>>
      argumentVariables;
  llvm::DenseSet<Operation *>
      functionsWithUnknownCallers; // functions with calls that can't be analyzed
};

/// If a fetch names a result of a node that calls functions, a new node takes over its name and
/// forwards the results up to that one, so that passes may remove handles from the node itself.
void separateFetches(ModuleOp module, const std::vector<std::string> &fetches) {
  llvm::StringMap<unsigned> numFetched; // by node
  for (const std::string &fetch : fetches)
    if (Expected<ValueName> name = parseValueName(fetch)) {
      unsigned &number = numFetched[name->node];
      number = std::max(number, static_cast<unsigned>(name->output) + 1);
    }
  for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>()) {
    Block &block = graph.getNodes().front();
    tfg::NameScope names(block);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      Node node(&op);
      bool takesHandle = llvm::any_of(node.data(), [](Value input) {
        return isa<tf_type::ResourceType>(getElementTypeOrSelf(input.getType()));
      });
      unsigned number = std::min(numFetched.lookup(node.name()), node.numResults());
      if (!isFunctional(opKind(node.opType())) || !takesHandle || number == 0)
        continue;
      OpBuilder builder(block.getParentOp()->getContext());
      builder.setInsertionPointAfter(&op);
      SmallVector<Value> results(node.results().take_front(number));
      SmallVector<Attribute> types;
      for (Value result : results)
        types.push_back(tfg::dtypeAttr(result.getType()));
      std::string name = node.name().str();
      node.setName(names.unique(name + "/functional"));
      tfg::NodeBuilder(builder, "IdentityN")
          .name(name)
          .placedAs(node)
          .attr("T", builder.getArrayAttr(types))
          .inputs(results)
          .results(TypeRange(ValueRange(results)))
          .build();
    }
  }
}

/// Removes unused variables; nodes with a control dependency on one inherit its control
/// dependencies.
void dropUnused(ModuleOp module) {
  tfg::forEachBody(module, [](Block &body) {
    for (Operation &op : llvm::make_early_inc_range(body))
      if (Node::isNode(&op) && makesVariable(Node(&op)) &&
          llvm::all_of(Node(&op).results(), [](Value result) { return result.use_empty(); }))
        tfg::eraseKeepingOrder(Node(&op));
  });
}

/// Builds the node that initializes variables and tables with their contents.
class InitializerBuilder {
public:
  InitializerBuilder(tfg::GraphOp graph, const FreezeRequest &request)
      : block(graph.getNodes().front()), names(block), request(request),
        builder(OpBuilder::atBlockEnd(&block)) {}

  /// Adds the initialization of this node's variable or table, once for each name.
  Expected<void> add(Node node) {
    std::string name = variableName(node);
    if (!done.insert(name).second)
      return {};
    if (makesVariable(node)) {
      auto value = std::ranges::find(request.variables, name, &Session::Feeds::value_type::first);
      return value == request.variables.end() ? Expected<void>() : assign(node, value->second);
    }
    auto table = std::ranges::find(request.tables, name, &Session::TableContents::name);
    if (table == request.tables.end())
      return Unexpected(
          Error{Code::FailedPrecondition, str("table '", name, "' (node '", node.name().str(),
                                              "') is empty; run its initializer first")});
    return fill(node, *table);
  }

  /// Returns the name of the initializer node; empty if nothing was added.
  std::string finish() {
    if (tokens.empty())
      return "";
    std::string name = names.unique("init");
    tfg::NodeBuilder(builder, "NoOp").name(name).control(tokens).build();
    return name;
  }

private:
  Expected<void> assign(Node variable, const Tensor &value) {
    bool isReference = resourceFamily(variable.opType()) == "reference variable";
    Value constant = TREADLE_TRY(constantFor(variable, "value", value));
    tfg::NodeBuilder made(builder, isReference ? "Assign" : "AssignVariableOp");
    made.attr(isReference ? "T" : "dtype", tfg::dtypeAttr(constant.getType()));
    if (isReference)
      made.results(variable->getResult(0).getType());
    finish(made, variable, {constant});
    return {};
  }

  Expected<void> fill(Node table, const Session::TableContents &contents) {
    Value keys = TREADLE_TRY(constantFor(table, "keys", contents.keys));
    Value values = TREADLE_TRY(constantFor(table, "values", contents.values));
    Type handle = getElementTypeOrSelf(table->getResult(0).getType());
    tfg::NodeBuilder made(builder, isa<tf_type::ResourceType>(handle) ? "LookupTableImportV2"
                                                                      : "LookupTableImport");
    made.attr("Tin", tfg::dtypeAttr(keys.getType())).attr("Tout", tfg::dtypeAttr(values.getType()));
    finish(made, table, {keys, values});
    return {};
  }

  Expected<Value> constantFor(Node node, StringRef what, const Tensor &value) {
    Node made =
        tfg::buildConst(builder, names.unique(str(node.name().str(), "/", what.str(), "/initial")),
                        value, node, {});
    if (!made)
      return Unexpected(unsupportedDtype(node));
    return made->getResult(0);
  }

  void finish(tfg::NodeBuilder &made, Node node, ArrayRef<Value> contents) {
    SmallVector<Value> inputs = {handleOf(node)};
    llvm::append_range(inputs, contents);
    tokens.push_back(made.name(names.unique((node.name() + "/initialize").str()))
                         .placedAs(node)
                         .inputs(inputs)
                         .build()
                         .controlResult());
  }

  /// Returns the node's handle; for a node in a function, the handle of a copy in the graph.
  Value handleOf(Node node) {
    if (node->getBlock() == &block)
      return node->getResult(0);
    return tfg::NodeBuilder(builder, node.opType())
        .name(names.unique(node.name()))
        .placedAs(node)
        .attrs(llvm::to_vector(node.attrs()))
        .results(node->getResult(0).getType())
        .build()
        ->getResult(0);
  }

  Block &block;
  tfg::NameScope names;
  const FreezeRequest &request;
  OpBuilder builder;
  std::set<std::string> done;
  SmallVector<Value> tokens;
};

/// Returns the nodes that create variables and tables, in the graph and in functions.
SmallVector<Node> statefulNodes(ModuleOp module) {
  SmallVector<Node> nodes;
  tfg::forEachBody(module, [&](Block &body) {
    for (Operation &op : body)
      if (Node::isNode(&op) &&
          (makesVariable(Node(&op)) || resourceFamily(Node(&op).opType()) == "table"))
        nodes.push_back(Node(&op));
  });
  return nodes;
}

/// Returns the graph `part` with constants instead of all variables except those named in `kept`.
Expected<Graph> frozenExcept(const Graph &part, const FreezeRequest &request,
                             const std::vector<std::string> &fetches,
                             const std::set<std::string> &kept) {
  std::string prune = str("tfg-prune{fetches=", llvm::join(fetches, ","), "}");
  Graph flat = TREADLE_TRY(
      part.runPasses("tfg-region-to-functional,tfg-select-implementations,tfg-inline," + prune));
  ModuleOp module = *flat.impl->module;
  separateFetches(module, fetches);
  TREADLE_TRY(Freezer(module, request, kept).run());
  std::vector<std::string> nodes;
  for (const std::string &fetch : fetches)
    nodes.push_back(nodeOf(fetch));
  // Runs in place: a copy would duplicate all values.
  TREADLE_TRY(runOn(
      module, str("tfg-prune-arguments{graph=true keep=", llvm::join(nodes, ","), "},", prune)));
  dropUnused(module);
  return flat;
}

} // namespace

Expected<Graph> freeze(const Graph &graph, const FreezeRequest &request, std::string *initializer) {
  std::vector<std::string> fetches = request.fetches;
  if (fetches.empty())
    return Unexpected(invalidArgument("the list of fetches is empty; expected at least one"));
  Graph part = TREADLE_TRY(extract(graph, fetches, request.feeds));
  std::set<std::string> kept;
  Graph frozen = TREADLE_TRY(frozenExcept(part, request, fetches, kept));
  for (size_t known = SIZE_MAX; known != kept.size();) {
    known = kept.size();
    for (Node node : statefulNodes(*frozen.impl->module))
      if (makesVariable(node))
        kept.insert(variableName(node));
    if (kept.size() != known)
      frozen = TREADLE_TRY(frozenExcept(part, request, fetches, kept));
  }
  std::string name;
  SmallVector<Node> stateful = statefulNodes(*frozen.impl->module);
  for (tfg::GraphOp body : frozen.impl->module->getOps<tfg::GraphOp>()) {
    InitializerBuilder builder(body, request);
    for (Node node : stateful)
      TREADLE_TRY(builder.add(node));
    name = builder.finish();
  }
  if (initializer)
    *initializer = name;
  return frozen;
}

} // namespace treadle
