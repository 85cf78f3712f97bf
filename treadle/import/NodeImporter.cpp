// Imports nodes in one pass, then resolves forward references.
#include "treadle/import/NodeImporter.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/Cycles.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/NodeErrorCollector.h"
#include "treadle/import/UnknownFields.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;
using tf_type::UnknownType;

namespace {

/// Limits the results of a node with an unknown op, so that a corrupted index doesn't allocate
/// memory.
constexpr uint64_t maxUnknownResults = 1 << 16;

std::string text(StringRef value) { return value.str(); }

std::string plural(uint64_t count, std::string_view what) {
  return str(count, " ", what, count == 1 ? "" : "s");
}

std::string typeText(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}

std::string elementText(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return typeText(tensor ? tensor.getElementType() : type);
}

/// Whether an op of this name would collide with an operation that isn't a node.
bool isReservedOpName(StringRef op) {
  return op == tfg::GraphOp::getOperationName().drop_front(4) ||
         op == tfg::FuncOp::getOperationName().drop_front(4) ||
         op == tfg::ReturnOp::getOperationName().drop_front(4) ||
         op == tfg::GetResultOp::getOperationName().drop_front(4);
}

} // namespace

ImportState::ImportState(MLIRContext *context)
    : context(context), dialect(context->getOrLoadDialect<tfg::TfgDialect>()),
      location(UnknownLoc::get(context)), types(context), attributes(context, types),
      signatures(context, types), restKey(StringAttr::get(context, graphdef::restKey)),
      outputsKey(StringAttr::get(context, graphdef::outputsKey)) {}

NodeImporter::NodeImporter(ImportState &state, Block &block, Scope scope, StringRef function)
    : state(state), block(block), scope(scope), function(function) {
  OperationState stateOfStandIn(state.location, "tfg._standin");
  stateOfStandIn.addTypes(state.dialect->controlType);
  placeholderOp = Operation::create(stateOfStandIn);
}

NodeImporter::~NodeImporter() {
  // Uses remain only if the import failed.
  placeholderOp->dropAllUses();
  placeholderOp->destroy();
}

// --- names --------------------------------------------------------------------------------------

/// `op` is empty for an argument.
static Expected<void> checkName(StringRef name, StringRef op) {
  if (name.empty())
    return Unexpected(
        invalidArgument(op.empty() ? std::string("an argument") : str("a node (", text(op), ")"),
                        " has an empty name, expected every node and argument to have one"));
  if (name.contains(':') || name.front() == '^')
    return Unexpected(
        invalidArgument("node '", text(name),
                        "': its name contains ':' or begins with '^', which inputs use to "
                        "name outputs and control dependencies; rename it"));
  return {};
}

void NodeImporter::reserve(size_t numNodes) {
  names.reserve(numNodes);
  producers.reserve(numNodes);
}

Expected<void> NodeImporter::addName(StringRef name, Producer producer) {
  auto [it, inserted] = names.try_emplace(llvm::CachedHashStringRef(name), producers.size());
  if (!inserted) {
    const Producer &first = producers[it->second];
    std::string other = first.op ? str("another node (", text(tfg::Node(first.op).opType()), ")")
                                 : std::string("an argument of the function");
    return Unexpected(invalidArgument("node '", text(name), "': its name is used by ", other,
                                      "; names must be unique, rename one of them"));
  }
  producers.push_back(producer);
  return {};
}

Expected<void> NodeImporter::addArgument(StringRef argument, BlockArgument value) {
  TREADLE_TRY(checkName(argument, /*op=*/""));
  Producer producer;
  producer.argument = value;
  return addName(argument, producer);
}

// --- attributes ---------------------------------------------------------------------------------

bool NodeImporter::isCanonical(const Endpoint &endpoint) const {
  if (endpoint.isControl)
    return true;
  if (scope == Scope::Graph)
    return endpoint.output.empty() && endpoint.isPlainIndex &&
           endpoint.hasIndex == (endpoint.index != 0);
  if (!endpoint.output.empty())
    return endpoint.hasIndex && endpoint.isPlainIndex;
  auto it = names.find(llvm::CachedHashStringRef(endpoint.node));
  bool mayBePlain =
      scope == Scope::GenericFunction || (it != names.end() && producers[it->second].argument);
  return mayBePlain && !endpoint.hasIndex;
}

void NodeImporter::addRest(const pb::NodeDef &node, SmallVectorImpl<NamedAttribute> &attrs) {
  auto isOdd = [&](const std::string &input) {
    // Fast path: most inputs are a bare name, which needs no parsing.
    if (scope == Scope::Graph && !StringRef(input).contains(':'))
      return false;
    std::optional<Endpoint> endpoint = parseEndpoint(input);
    return endpoint && !isCanonical(*endpoint);
  };
  auto isReserved = [](const auto &attr) { return tfg::isReserved(attr.first); };
  bool hasOddInput = llvm::any_of(node.input(), isOdd);
  bool hasReserved = llvm::any_of(node.attr(), isReserved);
  if (!hasOddInput && !hasReserved && !node.has_experimental_debug_info() &&
      !hasUnknownFields(node))
    return;
  pb::NodeDef rest;
  if (hasOddInput)
    *rest.mutable_input() = node.input();
  for (const auto &attr : node.attr())
    if (isReserved(attr))
      (*rest.mutable_attr())[attr.first] = attr.second;
  if (node.has_experimental_debug_info())
    *rest.mutable_experimental_debug_info() = node.experimental_debug_info();
  copyUnknownFields(node, rest);
  attrs.emplace_back(state.restKey, state.attributes.message("NodeDef", rest));
}

/// Returns the attributes unsorted, with those of the NodeDef first.
Expected<DictionaryAttr> NodeImporter::convertAttrs(const pb::NodeDef &node) {
  const tfg::TfgDialect &dialect = *state.dialect;
  for (const auto &[key, value] : node.attr()) {
    if (key.empty())
      return Unexpected(invalidArgument("an attribute has an empty name, expected every attribute "
                                        "to have one"));
    if (tfg::isReserved(key))
      continue;
    Expected<Attribute> attr = state.attributes.convert(value);
    if (!attr)
      return Unexpected(invalidArgument("attribute '", key, "': ", attr.error().message));
    attrs.emplace_back(state.attributes.key(key), *attr);
  }
  attrs.emplace_back(dialect.nameKey, state.attributes.string(node.name()));
  if (!node.device().empty())
    attrs.emplace_back(dialect.deviceKey, state.attributes.string(node.device()));
  if (node.has_experimental_type()) {
    Attribute type = state.attributes.convert(node.experimental_type());
    if (!type)
      type = state.attributes.message("FullTypeDef", node.experimental_type());
    attrs.emplace_back(dialect.fullTypeKey, type);
  }
  addRest(node, attrs);
  return DictionaryAttr::get(state.context, attrs);
}

Expected<void> NodeImporter::convertTypes(const OpSignature &signature, Attrs attrs,
                                          const pb::NodeDef &node) {
  if (scope == Scope::GenericFunction) {
    resultTypes.push_back(state.dialect->opaqueTensorType);
  } else if (signature.isKnown()) {
    TREADLE_TRY(state.signatures.checkAttrs(signature, attrs));
    TREADLE_TRY(state.signatures.inputTypes(signature, attrs, inputTypes));
    TREADLE_TRY(state.signatures.outputTypes(signature, attrs, resultTypes));
  }
  resultTypes.push_back(state.dialect->controlType);
  return {};
}

// --- inputs -------------------------------------------------------------------------------------

static Error noSuchOutput(const Endpoint &endpoint, tfg::Node producer, unsigned size) {
  std::string source = text(endpoint.node), output = text(endpoint.output);
  std::string op = text(producer.opType());
  if (output.empty())
    return invalidArgument("is '", source, ":", endpoint.index, "', but '", source, "' (", op,
                           ") has ", plural(size, "output"));
  return invalidArgument("is '", source, ":", output, ":", endpoint.index, "', but output '",
                         output, "' of '", source, "' (", op, ") has ", plural(size, "value"));
}

Expected<unsigned> NodeImporter::resultIndex(const Endpoint &endpoint, const Producer &producer) {
  tfg::Node node(producer.op);
  OpSignatures::OutputRange range{0, producer.op->getNumResults() - 1};
  if (!endpoint.output.empty()) {
    auto named = state.signatures.outputRange(*producer.signature, node.attrs(), endpoint.output);
    if (!named)
      return Unexpected(invalidArgument("is '", text(endpoint.node), ":", text(endpoint.output),
                                        "', but '", text(endpoint.node), "' (", text(node.opType()),
                                        ") has no output of that name"));
    range = *named;
  }
  if (endpoint.index >= range.size)
    return Unexpected(noSuchOutput(endpoint, node, range.size));
  return range.begin + endpoint.index;
}

/// In a generic function, tfg.get_result next to the first user selects an output by name.
Expected<Value> NodeImporter::resolveOpaque(const Endpoint &endpoint, const Producer &producer) {
  Value all = producer.op->getResult(0);
  if (endpoint.output.empty() && !endpoint.hasIndex)
    return all;
  if (endpoint.index > INT32_MAX)
    return Unexpected(invalidArgument("is output ", endpoint.index, " of '", text(endpoint.node),
                                      "', expected at most ", INT32_MAX));
  auto output = StringAttr::get(state.context, endpoint.output);
  auto index = static_cast<uint32_t>(endpoint.index);
  Value &value = picked[{producer.op, {output, index}}];
  if (value)
    return value;
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  if (!block.empty() && isa<tfg::ReturnOp>(block.back()))
    builder.setInsertionPoint(&block.back());
  OperationState op(state.location, tfg::GetResultOp::getOperationName());
  op.addOperands(all);
  op.addTypes(state.dialect->opaqueTensorType);
  op.addAttribute("name", output);
  op.addAttribute("number", builder.getI32IntegerAttr(static_cast<int32_t>(index)));
  value = builder.create(op)->getResult(0);
  return value;
}

/// Before the node is rebuilt, records that the output is needed; afterwards, returns it.
Expected<Value> NodeImporter::resolveUnknown(const Endpoint &endpoint, const Producer &producer) {
  unsigned id = names.lookup(llvm::CachedHashStringRef(endpoint.node));
  UnknownOutputs &outputs = unknownOutputs[id];
  uint64_t index = endpoint.index;
  if (scope == Scope::Function) {
    std::string output = str(text(endpoint.output), ":", endpoint.index);
    auto [it, inserted] = outputs.indices.try_emplace(output, outputs.indices.size());
    if (inserted)
      outputs.names.push_back(state.attributes.string(output));
    index = it->second;
  } else if (!endpoint.output.empty()) {
    return Unexpected(invalidArgument("is '", text(endpoint.node), ":", text(endpoint.output),
                                      "', but op ", text(tfg::Node(producer.op).opType()),
                                      " is unknown, so its outputs have no names; name them by "
                                      "number"));
  }
  if (index >= maxUnknownResults)
    return Unexpected(invalidArgument("is output ", index, " of '", text(endpoint.node),
                                      "', expected at most ", maxUnknownResults - 1));
  outputs.numResults = std::max(outputs.numResults, static_cast<unsigned>(index + 1));
  outputs.types.resize(outputs.numResults);
  if (index + 1 < producer.op->getNumResults())
    return producer.op->getResult(index);
  return Value();
}

Expected<Value> NodeImporter::resolve(const Endpoint &endpoint, const Producer &producer) {
  if (producer.argument) {
    if (endpoint.isControl)
      return tfg::controlTokenOf(producer.argument);
    if (endpoint.output.empty() && endpoint.index == 0)
      return producer.argument;
    return Unexpected(invalidArgument("refers to an output of '", text(endpoint.node),
                                      "', but that is an argument of the function, which is a "
                                      "single value"));
  }
  if (endpoint.isControl)
    return tfg::Node(producer.op).controlResult();
  if (scope == Scope::GenericFunction)
    return resolveOpaque(endpoint, producer);
  if (!producer.signature->isKnown())
    return resolveUnknown(endpoint, producer);
  unsigned index = TREADLE_TRY(resultIndex(endpoint, producer));
  return producer.op->getResult(index);
}

Expected<Value> NodeImporter::resolve(StringRef source, bool isLast) {
  std::optional<Endpoint> endpoint = parseEndpoint(source);
  if (!endpoint)
    return Unexpected(invalidArgument("is '", text(source), "', whose index is too large"));
  if (endpoint->node.empty())
    return Unexpected(invalidArgument("is '", text(source), "', which doesn't name a node"));
  auto it = names.find(llvm::CachedHashStringRef(endpoint->node));
  if (it != names.end())
    return resolve(*endpoint, producers[it->second]);
  if (isLast)
    return Unexpected(invalidArgument("is '", text(source), "', but there is no node '",
                                      text(endpoint->node), "'"));
  return Value();
}

Expected<void> NodeImporter::checkType(Value value, Type expected) {
  Type type = value.getType();
  if (type == expected || !expected)
    return {};
  auto given = dyn_cast<TensorType>(type), wanted = dyn_cast<TensorType>(expected);
  if (!given || !wanted)
    return {};
  bool isRefMissing = tf_type::isReference(wanted.getElementType()) &&
                      !tf_type::isReference(given.getElementType()) &&
                      !isa<UnknownType>(given.getElementType());
  if (!isRefMissing && tf_type::areCompatible(given, wanted))
    return {};
  std::string producer = "an argument";
  if (tfg::Node node = tfg::definingNode(value))
    producer = str("'", text(node.name()), "' (", text(node.opType()), ")");
  return Unexpected(invalidArgument("comes from ", producer, " and has type ", elementText(given),
                                    ", expected ", elementText(wanted)));
}

Error NodeImporter::atUser(Operation *user, unsigned operand, Error error) {
  if (isa<tfg::ReturnOp>(user)) {
    unsigned numData = user->getParentOfType<tfg::FuncOp>().getResultTypes().size();
    std::string which =
        operand < numData ? str("result ", operand) : str("control result ", operand - numData);
    return Error{error.code, str(which, " ", error.message)};
  }
  tfg::Node node(user);
  return Error{error.code, str("input ", operand, " ", error.message)}.atNode(
      std::string_view(node.name()), std::string_view(node.opType()));
}

Expected<void> NodeImporter::checkInputCount(const OpSignature &signature, size_t numData) {
  if (scope == Scope::GenericFunction || !signature.isKnown() || numData == inputTypes.size())
    return {};
  return Unexpected(
      invalidArgument("has ", plural(numData, "data input"), ", expected ", inputTypes.size()));
}

// --- nodes --------------------------------------------------------------------------------------

Expected<void> NodeImporter::recorded(Error error) {
  Error told = error;
  if (!function.empty())
    told.message = str("function '", text(function), "': ", error.message);
  if (!NodeErrorCollector::note(told))
    return Unexpected(std::move(error));
  if (!firstFault)
    firstFault = std::move(error);
  return {};
}

Expected<void> NodeImporter::addNode(const pb::NodeDef &node) {
  size_t firstPending = pending.size();
  Expected<void> added = importNode(node);
  if (added)
    return added;
  TREADLE_TRY(recorded(std::move(added.error())));
  pending.resize(firstPending);
  // A node with an unknown op gets all outputs that its users refer to.
  pb::NodeDef other;
  other.set_name(node.name());
  other.set_op("Malformed");
  std::ignore = importNode(other); // unless the name itself is malformed
  return {};
}

Expected<void> NodeImporter::importNode(const pb::NodeDef &node) {
  auto fail = [&](const Error &error) {
    return Unexpected(Error(error).atNode(node.name(), node.op()));
  };
  if (node.op().empty() || isReservedOpName(node.op()) || node.op().find('\0') != std::string::npos)
    return Unexpected(invalidArgument("node '", node.name(), "': its op is '", node.op(),
                                      "', expected the name of an op"));
  TREADLE_TRY(checkName(node.name(), node.op()));
  const OpSignature &signature = state.signatures.lookup(node.op());
  operands.clear(), inputTypes.clear(), resultTypes.clear(), attrs.clear();

  Expected<DictionaryAttr> dictionary = convertAttrs(node);
  if (!dictionary)
    return fail(dictionary.error());
  if (Expected<void> ok = convertTypes(signature, attrs, node); !ok)
    return fail(ok.error());

  unsigned numData = 0;
  size_t firstPending = pending.size();
  for (const std::string &input : node.input()) {
    unsigned index = operands.size();
    bool isControlInput = !input.empty() && input.front() == '^';
    if (!isControlInput && numData != index)
      return fail(invalidArgument("input ", index, " is '", input,
                                  "', a data input after a control "
                                  "input; control inputs ('^...') come last"));
    numData += !isControlInput;
    Type expected = !isControlInput && index < inputTypes.size() ? inputTypes[index] : Type();
    Expected<Value> value = resolve(input, /*isLast=*/false);
    if (value && *value) {
      if (Expected<void> ok = checkType(*value, expected); !ok)
        return fail(Error{ok.error().code, str("input ", index, " ", ok.error().message)});
    } else if (value) {
      pending.push_back({nullptr, index, input, expected});
      *value = placeholderOp->getResult(0);
    } else {
      return fail(Error{value.error().code, str("input ", index, " ", value.error().message)});
    }
    operands.push_back(*value);
  }
  if (Expected<void> ok = checkInputCount(signature, numData); !ok)
    return fail(ok.error());

  Location location =
      state.debugInfo ? state.debugInfo->locationOf(node, function) : state.location;
  Operation *op = Operation::create(location, signature.name, resultTypes, operands, *dictionary,
                                    /*properties=*/nullptr, /*successors=*/{},
                                    /*numRegions=*/0);
  block.push_back(op);
  for (PendingOperand &entry : llvm::MutableArrayRef(pending).drop_front(firstPending))
    entry.user = op;
  Producer producer;
  producer.op = op;
  producer.signature = &signature;
  TREADLE_TRY(addName(tfg::Node(op).name(), producer));
  if (!signature.isKnown() && scope != Scope::GenericFunction)
    unknownOutputs[producers.size() - 1];
  if (signature.origin == OpSignature::Origin::Model && scope == Scope::Function)
    nameOutputs(op, signature);
  return {};
}

/// Records the names of the op's outputs, which only this file defines.
void NodeImporter::nameOutputs(Operation *op, const OpSignature &signature) {
  SmallVector<Attribute> outputNames;
  for (unsigned i = 0; i + 1 < op->getNumResults(); ++i)
    if (auto place = state.signatures.outputAt(signature, tfg::Node(op).attrs(), i))
      outputNames.push_back(state.attributes.string(str(place->output.str(), ":", place->index)));
  op->setDiscardableAttr(state.outputsKey, ArrayAttr::get(state.context, outputNames));
  op->setDiscardableAttr(allOutputsKey, UnitAttr::get(state.context));
}

Expected<void> NodeImporter::addReturn(ArrayRef<Return> data, ArrayRef<Return> control,
                                       ArrayAttr controlAttrs) {
  SmallVector<Value> dataValues(data.size(), placeholderOp->getResult(0));
  SmallVector<Value> controlValues(control.size(), placeholderOp->getResult(0));
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  auto returnOp =
      tfg::ReturnOp::create(builder, state.location, dataValues, controlValues, controlAttrs);
  for (auto [index, result] : llvm::enumerate(data))
    pending.push_back({returnOp, static_cast<unsigned>(index), text(result.source), result.type});
  for (auto [index, result] : llvm::enumerate(control))
    pending.push_back(
        {returnOp, static_cast<unsigned>(data.size() + index), "^" + text(result.source), Type()});
  return {};
}

// --- forward references -------------------------------------------------------------------------

/// Rebuilds the node with as many results as its users refer to.
void NodeImporter::rebuild(unsigned id, const UnknownOutputs &outputs) {
  if (outputs.numResults == 0)
    return;
  Operation *old = producers[id].op;
  SmallVector<Type> types;
  for (Type type : outputs.types)
    types.push_back(type ? type : state.types.tensor(UnknownType::get(state.context)));
  types.push_back(state.dialect->controlType);
  Operation *op = Operation::create(old->getLoc(), old->getName(), types, old->getOperands(),
                                    old->getDiscardableAttrDictionary(), nullptr, {}, 0);
  if (!outputs.names.empty())
    op->setDiscardableAttr(state.outputsKey, ArrayAttr::get(state.context, outputs.names));
  block.getOperations().insert(old->getIterator(), op);
  old->getResults().back().replaceAllUsesWith(op->getResults().back());
  producers[id].op = op;
  rebuilt[old] = op;
  old->erase();
}

/// An output of an unknown op has the type that its first user expects; kernels rely on it.
void NodeImporter::recordType(StringRef source, Type wanted) {
  auto tensor = dyn_cast_or_null<TensorType>(wanted);
  std::optional<Endpoint> endpoint = parseEndpoint(source);
  if (!tensor || !endpoint || endpoint->isControl || tf_type::isReference(tensor.getElementType()))
    return;
  auto it = names.find(llvm::CachedHashStringRef(endpoint->node));
  auto unknown = it == names.end() ? unknownOutputs.end() : unknownOutputs.find(it->second);
  if (unknown == unknownOutputs.end())
    return;
  UnknownOutputs &outputs = unknown->second;
  uint64_t index = scope == Scope::Function
                       ? outputs.indices.lookup(str(text(endpoint->output), ":", endpoint->index))
                       : endpoint->index;
  if (index < outputs.types.size() && !outputs.types[index])
    outputs.types[index] = state.types.tensor(tensor.getElementType());
}

Expected<void> NodeImporter::countUnknownOutputs() {
  if (unknownOutputs.empty())
    return {};
  // Each resolution records the outputs that it needs.
  for (const PendingOperand &entry : pending) {
    Expected<Value> value = resolve(entry.source, /*isLast=*/true);
    if (value)
      recordType(entry.source, entry.expected);
    else
      TREADLE_TRY(recorded(atUser(entry.user, entry.operand, value.error())));
  }
  for (const auto &[id, outputs] : unknownOutputs)
    rebuild(id, outputs);
  for (PendingOperand &entry : pending)
    if (auto it = rebuilt.find(entry.user); it != rebuilt.end())
      entry.user = it->second;
  return {};
}

Expected<void> NodeImporter::connect(const PendingOperand &entry) {
  Expected<Value> value = resolve(entry.source, /*isLast=*/true);
  if (!value)
    return Unexpected(atUser(entry.user, entry.operand, value.error()));
  if (Expected<void> ok = checkType(*value, entry.expected); !ok)
    return Unexpected(atUser(entry.user, entry.operand, ok.error()));
  entry.user->setOperand(entry.operand, *value);
  return {};
}

Expected<void> NodeImporter::finish() {
  TREADLE_TRY(countUnknownOutputs());
  for (const PendingOperand &entry : pending)
    if (Expected<void> connected = connect(entry); !connected)
      TREADLE_TRY(recorded(std::move(connected.error())));
  if (firstFault)
    return Unexpected(std::move(*firstFault));
  // Without a forward reference there is no cycle.
  bool hasForwardEdge = llvm::any_of(
      pending, [](const PendingOperand &entry) { return !isa<tfg::ReturnOp>(entry.user); });
  pending.clear();
  return hasForwardEdge ? checkCycles(block, state.signatures) : Expected<void>();
}
