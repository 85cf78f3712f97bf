#include "treadle/transforms/region_to_functional/RegionOutliner.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/Keywords.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Outline.h"
#include "treadle/transforms/region_to_functional/SameFunction.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle::tfg {

using Captures = RegionOutliner::Captures;

//===----------------------------------------------------------------------===//
// Captured values
//===----------------------------------------------------------------------===//

/// Returns the data value for a name in `_operands`, found through a token of its node.
static Value valueBehind(Value token, StringRef name) {
  SmallVector<Value> candidates;
  if (Operation *op = token.getDefiningOp()) {
    candidates.assign(Node(op).results().begin(), Node(op).results().end());
  } else {
    auto argument = cast<BlockArgument>(token);
    Block &body = *argument.getOwner();
    if (isa<FuncOp>(body.getParentOp()))
      candidates.push_back(FuncOp::getDataOf(argument));
    else
      candidates.push_back(body.getArgument(argument.getArgNumber() - body.getNumArguments() / 2));
  }
  auto found = llvm::find_if(candidates, [&](Value value) { return operandName(value) == name; });
  return found == candidates.end() ? Value() : *found;
}

Captures RegionOutliner::capture(Node node, ArrayRef<Value> first) {
  Captures out;
  llvm::DenseSet<Value> found, brought;
  auto add = [&](Value value) {
    out.arguments.push_back(value);
    found.insert(value);
    brought.insert(controlTokenOf(value));
  };
  llvm::for_each(first, add);
  SmallVector<Value> used = capturesOf(node.getOperation());
  for (Value value : used)
    if (!isControl(value) && !found.contains(value))
      add(value);
  for (Value token : used)
    if (isControl(token) && !brought.contains(token))
      out.tokens.push_back(token);
  return out;
}

/// Returns the operands that the functional form had, in order, as far as the op records them.
/// Removes tokens from `control` that represent unused operands.
static SmallVector<Value> valuesTakenBefore(Operation *op, SmallVectorImpl<Value> &control) {
  SmallVector<Value> taken, tokens, before(control.begin(), control.end());
  SmallVector<StringRef> names = operandNames(op);
  if (names.empty())
    return taken;
  llvm::StringMap<Value> byName;
  for (Value value : capturesOf(op))
    if (isControl(value))
      tokens.push_back(value);
    else
      byName.try_emplace(operandName(value), value);
  for (StringRef name : names) {
    bool isUnused = name.consume_front("^"), wasThere = name.consume_front("^");
    Value value = name.empty() ? Value() : byName.lookup(name);
    // Only its token is used, or it is only a control input of the op.
    for (Value token : isUnused ? ArrayRef<Value>(before) : ArrayRef<Value>(tokens))
      if (!value && !name.empty())
        value = valueBehind(token, name);
    if (value && isUnused && !wasThere)
      llvm::erase(control, controlTokenOf(value));
    if (value)
      taken.push_back(value);
  }
  return taken;
}

/// Returns the original predicate if a ToBool was inserted for it, and erases the ToBool.
static Value withoutToBool(OpOperand &use) {
  Node node = definingNode(use.get());
  Value value = use.get();
  if (!node || node.opType() != "ToBool" || !node.attr(regionPredicateKey) || node.numData() != 1 ||
      !value.hasOneUse() || !node.controlResult().use_empty())
    return value;
  Value input = node.data().front();
  use.set(input);
  node->erase();
  return input;
}

static InFlightDiagnostic emitError(Node node) {
  return node->emitError() << "node '" << node.name() << "' (" << node.opType() << "): ";
}

// Checks that the condition forwards its own arguments, since a While passes these to its body.
static LogicalResult checkCondition(Node node, RegionForm form) {
  if (form != RegionForm::While)
    return success();
  Region &region = node->getRegion(0);
  auto end = cast<ConditionOp>(region.front().back());
  auto arguments = dataArguments(region);
  if (llvm::equal(end.getForwarded(), arguments))
    return success();
  return emitError(node) << "its condition forwards other values than its own arguments, in "
                            "their order; a functional loop can't (unimplemented)";
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Adds a (value, token) pair for each loop variable, then for each captured value. If tokens of
/// captured values aren't mapped, nodes don't wait for them, since the call waits.
static IRMapping addArguments(Block &entry, Region &region,
                              const RegionOutliner::Captures &captures, bool mapsTokens) {
  IRMapping mapping;
  Location location = region.getLoc();
  Type control = tf_type::ControlType::get(region.getContext());
  auto add = [&](Value value, Value token) {
    Value argument = entry.addArgument(value.getType(), location);
    Value argumentToken = entry.addArgument(control, location);
    if (!mapping.contains(value))
      mapping.map(value, argument);
    if (token && !mapping.contains(token))
      mapping.map(token, argumentToken);
  };
  for (BlockArgument argument : dataArguments(region))
    add(argument, tokenOf(region, argument.getArgNumber()));
  for (Value value : captures.arguments)
    add(value, mapsTokens ? controlTokenOf(value) : Value());
  return mapping;
}

/// Drops tokens from outside that belong to no argument, because the op waits for them.
static void moveNodes(Block &from, Block &to, const IRMapping &mapping) {
  to.getOperations().splice(to.end(), from.getOperations());
  for (Operation &op : to) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      Value mapped = mapping.lookupOrDefault(operand);
      if (!isControl(mapped) || mapped.getParentBlock() == &to)
        operands.push_back(mapped);
    }
    if (!llvm::equal(operands, op.getOperands()))
      op.setOperands(operands);
  }
}

static std::string uniqueName(llvm::StringSet<> &taken, StringRef base) {
  std::string name = base.str();
  for (unsigned suffix = 1; !taken.insert(name).second; ++suffix)
    name = (base + "_" + Twine(suffix)).str();
  return name;
}

static Attribute nameAttr(FuncOp function, StringRef name) {
  Builder builder(function.getContext());
  auto *dialect = static_cast<TfgDialect *>(function->getDialect());
  return builder.getDictionaryAttr(
      builder.getNamedAttr(dialect->argNameKey, builder.getStringAttr(name)));
}

/// The last `numCarried` arguments are loop-invariant variables, so they become results as well.
static void endFunction(FuncOp function, unsigned numCarried) {
  Operation &end = function.getEntry().back();
  OpBuilder builder(&end);
  SmallVector<Value> data;
  if (isa<ConditionOp>(end))
    data.push_back(withoutToBool(end.getOpOperand(0)));
  else
    llvm::append_range(data, Node(&end).data());
  unsigned numArguments = function.getEntry().getNumArguments();
  for (unsigned i = 0; i < numCarried; ++i)
    data.push_back(function.getEntry().getArgument(numArguments - 2 * (numCarried - i)));
  SmallVector<Value> control(Node(&end).control());
  llvm::StringSet<> taken;
  SmallVector<Attribute> names;
  for (Value token : control) {
    Node from(token.getDefiningOp());
    names.push_back(
        nameAttr(function, uniqueName(taken, argumentName(from ? from.name() : "arg"))));
  }
  ReturnOp::create(builder, end.getLoc(), data, control, builder.getArrayAttr(names));
  end.erase();
  function.setFunctionType(
      builder.getFunctionType(function.getEntry().getArgumentTypes(), ValueRange(data).getTypes()));
}

/// Returns attributes for `count` arguments or results: those in `known`, then ones with a name.
/// Makes each name unique.
static SmallVector<Attribute> withNames(FuncOp function, unsigned count, ArrayAttr known,
                                        function_ref<std::string(unsigned)> defaultName,
                                        llvm::StringSet<> &taken) {
  StringAttr key = static_cast<TfgDialect *>(function->getDialect())->argNameKey;
  SmallVector<Attribute> attrs;
  for (Attribute own : known ? known.getValue().take_front(count) : ArrayRef<Attribute>()) {
    auto name = cast<DictionaryAttr>(own).getAs<StringAttr>(key);
    bool isFree = !name || taken.insert(name.getValue()).second;
    NamedAttrList list(isFree ? DictionaryAttr() : cast<DictionaryAttr>(own));
    if (!isFree)
      list.set(key, StringAttr::get(key.getContext(), uniqueName(taken, name.getValue())));
    attrs.push_back(isFree ? own : list.getDictionary(key.getContext()));
  }
  while (attrs.size() < count)
    attrs.push_back(nameAttr(function, uniqueName(taken, defaultName(attrs.size()))));
  return attrs;
}

/// Keeps the explicit shapes of the region's own arguments only, because the captured values may
/// have changed.
static ArrayAttr inputShapes(FuncOp function, ArrayAttr stated, unsigned numOwnArguments) {
  SmallVector<Attribute> shapes(stated.getValue().take_front(numOwnArguments));
  for (unsigned i = shapes.size(), e = function.getNumDataArguments(); i < e; ++i)
    shapes.push_back(
        tf_type::ShapeAttr::get(cast<ShapedType>(function.getDataArgument(i).getType())));
  return ArrayAttr::get(function.getContext(), shapes);
}

/// `named` are the values whose names the arguments after the region's own get.
static void setAttributes(FuncOp function, RegionAttrsAttr attrs, unsigned numOwnArguments,
                          ArrayRef<Value> named) {
  Builder builder(function.getContext());
  llvm::StringSet<> taken, takenResults;
  for (Operation &op : function.getEntry())
    taken.insert(Node::isNode(&op) ? Node(&op).name() : StringRef());
  auto nameOfArgument = [&](unsigned index) {
    bool isNamed = index >= numOwnArguments && index - numOwnArguments < named.size();
    return isNamed ? argumentName(nameOf(named[index - numOwnArguments]))
                   : "arg" + std::to_string(index);
  };
  auto nameOfResult = [](unsigned index) { return "r" + std::to_string(index); };
  SmallVector<Attribute> arguments;
  for (Attribute own : withNames(function, function.getNumDataArguments(),
                                 attrs ? attrs.getArgAttrs() : ArrayAttr(), nameOfArgument, taken))
    llvm::append_values(arguments, own, Attribute(builder.getDictionaryAttr({})));
  function.setArgAttrsAttr(builder.getArrayAttr(arguments));
  function.setResAttrsAttr(builder.getArrayAttr(withNames(function, function.getNumResults(),
                                                          attrs ? attrs.getResAttrs() : ArrayAttr(),
                                                          nameOfResult, takenResults)));
  for (NamedAttribute attr : attrs ? attrs.getAttrs().getValue() : ArrayRef<NamedAttribute>())
    if (attr.getName() != function.getSymNameAttrName())
      function->setAttr(attr.getName(), attr.getValue());
  if (auto shapes = function->getAttrOfType<ArrayAttr>(graphdef::inputShapesKey))
    function->setAttr(graphdef::inputShapesKey, inputShapes(function, shapes, numOwnArguments));
}

static std::string defaultName(Node node, const RegionAttrKeys &keys, unsigned index) {
  StringRef part = keys.isList ? "branch" : StringRef(keys.functions[index]);
  std::string name = (node.name().empty() ? node.opType() : node.name()).str() + "_" + part.str();
  if (keys.isList)
    name += std::to_string(index);
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name;
}

/// Returns whether `value`, the result `index` of a region, is that result of its only call. A
/// handle that the callee returns unchanged may bypass the call.
bool RegionOutliner::isResultOf(Node call, unsigned index, Value value) {
  if (value == call.results()[index])
    return true;
  FuncOp callee = function(call.attr<tf_type::FuncAttr>("f").getName().getRootReference());
  return callee && !callee.isExternal() && !callee.getGeneric() &&
         index < callee.getNumDataArguments() && value == call.data()[index] &&
         callee.getReturn().getData()[index] == callee.getDataArgument(index);
}

/// Returns the callee if the region does nothing but call it with the arguments that its own
/// function would have.
tf_type::FuncAttr RegionOutliner::forwardedCall(Region &region, const Captures &captures) {
  Block &body = region.front();
  if (body.getOperations().size() != 2)
    return {};
  Node call(&body.front()), end(&body.back());
  SmallVector<Value> arguments(dataArguments(region)), results(end.data());
  llvm::append_range(arguments, captures.arguments);
  if (isa<ConditionOp>(end.getOperation()))
    results.resize(1);
  auto callee = call.attr<tf_type::FuncAttr>("f");
  if (opKind(call.opType()) != OpKind::Call || !callee || !llvm::equal(call.data(), arguments) ||
      results.size() != call.numResults())
    return {};
  for (auto [index, value] : llvm::enumerate(results))
    if (!isResultOf(call, index, value))
      return {};
  return callee;
}

/// Moves the nodes of a region into a new function.
FailureOr<FuncOp> RegionOutliner::outlineRegion(Node node, RegionForm form, Region &region,
                                                const Captures &captures) {
  Block &body = region.front();
  unsigned index = region.getRegionNumber();
  const RegionAttrKeys &keys = regionAttrKeys(form);
  auto attrs = dyn_cast_or_null<RegionAttrsAttr>(
      regionAttr(node->getAttrDictionary(), keys, keys.regionAttrs, index));
  OpBuilder builder(node->getContext());
  auto function =
      FuncOp::create(builder, node->getLoc(), "region", builder.getFunctionType({}, {}), false);
  Block &entry = function.getEntry();
  IRMapping mapping = addArguments(entry, region, captures, /*mapsTokens=*/!isRaised);
  moveNodes(body, entry, mapping);
  bool isBody = form == RegionForm::For || (form == RegionForm::While && index == 1);
  endFunction(function, isBody ? captures.arguments.size() : 0);
  setAttributes(function, attrs, body.getNumArguments() / 2,
                isRaised ? captures.arguments : ArrayRef<Value>());
  std::string base = attrs && attrs.getAttrs().get("sym_name")
                         ? attrs.getAttrs().getAs<StringAttr>("sym_name").str()
                         : defaultName(node, keys, index);
  return reuseOrAdd(function, base, form == RegionForm::If || form == RegionForm::Case);
}

/// Returns an existing function of that name with the same body, or adds this one with a unique
/// name.
FailureOr<FuncOp> RegionOutliner::reuseOrAdd(FuncOp function, StringRef base, bool isConditional) {
  SmallVector<FuncOp> &known = candidates[base];
  for (FuncOp candidate : known) {
    if (failed(convertBody(candidate))) {
      function.erase();
      return failure();
    }
    if (done.contains(candidate) && isSameFunction(candidate, function)) {
      function.erase();
      ++numReused;
      return candidate;
    }
  }
  if (isConditional) // these list arguments by index
    for (StringRef key : {"resource_arg_unique_ids_keys", "resource_arg_unique_ids_values"})
      function->removeAttr(key);
  std::string name = base.str();
  for (unsigned &suffix = suffixes[base]; functions.contains(name);)
    name = (base + "_" + Twine(++suffix)).str();
  function.setName(name);
  module.push_back(function);
  functions[name] = function;
  entered.insert(function);
  done.insert(function);
  candidates[base].push_back(function);
  return function;
}

FailureOr<RegionOutliner::Outlined> RegionOutliner::outline(Node node, const Captures &captures) {
  RegionForm form = *regionFormOf(node.getOperation());
  const RegionAttrKeys &keys = regionAttrKeys(form);
  MLIRContext *context = node->getContext();
  Outlined out;
  for (Region &region : node->getRegions()) {
    if (tf_type::FuncAttr callee =
            isRaised ? forwardedCall(region, captures) : tf_type::FuncAttr()) {
      out.callees.push_back(callee);
      continue;
    }
    FailureOr<FuncOp> function = outlineRegion(node, form, region, captures);
    if (failed(function))
      return failure();
    auto attrs = dyn_cast_or_null<DictionaryAttr>(
        regionAttr(node->getAttrDictionary(), keys, keys.callAttrs, region.getRegionNumber()));
    out.callees.push_back(tf_type::FuncAttr::get(context,
                                                 SymbolRefAttr::get(context, function->getName()),
                                                 attrs ? attrs : DictionaryAttr::get(context)));
    out.made.push_back(*function);
  }
  out.data.assign(node.data().begin(), node.data().end());
  llvm::append_range(out.data, captures.arguments);
  out.control.assign(node.control().begin(), node.control().end());
  for (Value token : captures.tokens)
    if (!llvm::is_contained(out.control, token))
      out.control.push_back(token);
  return out;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Extends attributes that list something for each result, if there are more results now.
static void addShapes(Node node, ArrayRef<Type> results, NamedAttrList &out) {
  if (results.size() == node.numResults())
    return;
  out.erase(node.dialect().fullTypeKey);
  for (StringRef key : {StringLiteral("output_shapes"), outputShapesKey}) {
    auto list = dyn_cast_or_null<ArrayAttr>(out.get(key));
    if (!list || list.size() != node.numResults())
      continue;
    SmallVector<Attribute> shapes(list.begin(), list.end());
    for (Type type : results.drop_front(node.numResults()))
      shapes.push_back(tf_type::ShapeAttr::get(cast<ShapedType>(type)));
    out.set(key, ArrayAttr::get(node->getContext(), shapes));
  }
}

static SmallVector<NamedAttribute> attributes(Node node, RegionForm form, ArrayRef<Type> results,
                                              const RegionOutliner::Outlined &outlined) {
  Builder builder(node->getContext());
  const RegionAttrKeys &keys = regionAttrKeys(form);
  NamedAttrList out;
  for (NamedAttribute attr : node->getAttrs())
    if (!llvm::is_contained(keys.callAttrs, attr.getName()) &&
        !llvm::is_contained(keys.regionAttrs, attr.getName()) && attr.getName() != operandsKey)
      out.append(attr);
  SmallVector<Attribute> callees(outlined.callees.begin(), outlined.callees.end());
  if (keys.isList)
    callees = {builder.getArrayAttr(callees)};
  for (auto [key, callee] : llvm::zip_equal(keys.functions, callees))
    out.set(key, callee);
  addShapes(node, results, out);
  auto dtypes = [&](auto values) {
    return builder.getArrayAttr(
        llvm::map_to_vector(values, [](Type type) { return Attribute(dtypeAttr(type)); }));
  };
  SmallVector<Type> arguments(
      ValueRange(outlined.data).drop_front(firstArgumentOf(form)).getTypes());
  for (StringRef key : keys.types)
    out.set(key, key == "Tcond"  ? Attribute(dtypeAttr(outlined.data.front().getType()))
                 : key == "Tout" ? dtypes(results)
                                 : dtypes(arguments));
  return SmallVector<NamedAttribute>(out.getAttrs());
}

Node RegionOutliner::replace(Node node, StringRef opType, const Outlined &outlined) {
  RegionForm form = *regionFormOf(node.getOperation());
  OpBuilder builder(node.getOperation());
  // Loop-invariant variables are results as well.
  SmallVector<Type> types(node.results().getTypes());
  if (form == RegionForm::While || form == RegionForm::For)
    for (Value value : ArrayRef(outlined.data).drop_front(firstArgumentOf(form) + types.size()))
      types.push_back(value.getType());
  Node fresh = NodeBuilder(builder, opType)
                   .placedAs(node)
                   .attrs(attributes(node, form, types, outlined))
                   .inputs(outlined.data)
                   .control(outlined.control)
                   .results(types)
                   .build();
  for (auto [from, to] : llvm::zip(node.results(), fresh.results()))
    from.replaceAllUsesWith(to);
  node.controlResult().replaceAllUsesWith(fresh.controlResult());
  node->erase();
  return fresh;
}

//===----------------------------------------------------------------------===//
// Whole modules
//===----------------------------------------------------------------------===//

RegionOutliner::RegionOutliner(ModuleOp module, bool isRaised)
    : module(module), isRaised(isRaised), functions(functionsOf(module)) {
  for (const auto &[name, function] : functions)
    candidates[name].push_back(function);
}

LogicalResult RegionOutliner::convertAll() {
  SmallVector<Operation *> bodies;
  for (Operation &op : *module.getBody())
    if (isa<GraphOp, FuncOp>(op))
      bodies.push_back(&op);
  for (Operation *op : bodies)
    if (failed(convertBody(op)))
      return failure();
  return success();
}

/// Converts the graph or a function, inner ops first.
LogicalResult RegionOutliner::convertBody(Operation *op) {
  if (!entered.insert(op).second)
    return success();
  SmallVector<Operation *> found;
  op->walk<WalkOrder::PostOrder>([&](Operation *inner) {
    if (regionFormOf(inner))
      found.push_back(inner);
  });
  for (Operation *inner : found)
    if (failed(convertNode(inner)))
      return failure();
  done.insert(op);
  return success();
}

LogicalResult RegionOutliner::convertNode(Operation *op) {
  Node node(op);
  RegionNames names = regionNamesOfRegion(node.opType());
  if (failed(checkCondition(node, names.form)))
    return failure();
  SmallVector<Value> control(node.control());
  Captures captures = capture(node, valuesTakenBefore(op, control));
  setControl(node, control);
  for (Value value : captures.arguments)
    if (tf_type::isReference(getElementTypeOrSelf(value.getType())))
      return emitError(node) << "its regions use the reference '" << operandName(value)
                             << "', which can't be passed to a function; use a resource variable";
  if (names.form == RegionForm::If)
    (void)withoutToBool(op->getOpOperand(0));
  FailureOr<Outlined> outlined = outline(node, captures);
  if (failed(outlined))
    return failure();
  StringRef opType = names.functional;
  opType.consume_front("Stateful");
  replace(node, opType, *outlined);
  ++numConverted;
  return success();
}

} // namespace treadle::tfg
