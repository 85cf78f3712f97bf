#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/Keywords.h"
#include "treadle/rewriting/Outline.h"
#include "treadle/rewriting/RegionForms.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/region_to_functional/SameFunction.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_REGIONTOFUNCTIONAL
#include "treadle/transforms/Passes.h.inc"

namespace {

using namespace tfg;

/// What the functions of one op get beside the values that a loop carries anyway.
struct Captures {
  SmallVector<Value> arguments;
  SmallVector<Value> tokens; // that no argument brings along: the op waits for them
};

/// The data value that a name in `_operands` stands for, found by a token of its node.
Value valueBehind(Value token, StringRef name) {
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

/// The values in the order in which functions took them, if that is known, then the others. Tokens
/// that stood for values nobody used leave `control`.
Captures findCaptures(Operation *op, SmallVectorImpl<Value> &control) {
  Captures out;
  SmallVector<Value> data, tokens;
  llvm::StringMap<Value> byName;
  for (Value value : capturesOf(op)) {
    (isControl(value) ? tokens : data).push_back(value);
    if (!isControl(value))
      byName.try_emplace(operandName(value), value);
  }
  llvm::DenseSet<Value> found, brought;
  auto add = [&](Value value) {
    out.arguments.push_back(value);
    found.insert(value);
    brought.insert(controlTokenOf(value));
  };
  SmallVector<Value> before(control.begin(), control.end());
  for (StringRef name : operandNames(op)) {
    bool isUnused = name.consume_front("^"), wasThere = name.consume_front("^");
    Value value = name.empty() ? Value() : byName.lookup(name);
    // Its token alone is used, or nothing but the op itself waits for it.
    for (Value token : isUnused ? ArrayRef<Value>(before) : ArrayRef<Value>(tokens))
      if (!value && !name.empty())
        value = valueBehind(token, name);
    if (value && isUnused && !wasThere)
      llvm::erase(control, controlTokenOf(value));
    if (value)
      add(value);
  }
  for (Value value : data)
    if (!found.contains(value))
      add(value);
  for (Value token : tokens)
    if (!brought.contains(token))
      out.tokens.push_back(token);
  return out;
}

/// Where the functional form asked for no boolean: what it asked for. The ToBool goes.
Value withoutToBool(OpOperand &use) {
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

class Converter {
public:
  explicit Converter(ModuleOp module) : module(module), functions(functionsOf(module)) {
    for (const auto &[name, function] : functions)
      candidates[name].push_back(function);
  }

  LogicalResult run() {
    SmallVector<Operation *> bodies;
    for (Operation &op : *module.getBody())
      if (isa<GraphOp, FuncOp>(op))
        bodies.push_back(&op);
    for (Operation *op : bodies)
      if (failed(convertBody(op)))
        return failure();
    return success();
  }

  unsigned numConverted = 0, numReused = 0;

private:
  /// The graph or a function; inner ops first.
  LogicalResult convertBody(Operation *op) {
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

  LogicalResult convertNode(Operation *op) {
    Node node(op);
    RegionNames names = regionNamesOfRegion(node.opType());
    if (failed(checkCondition(node, names.form)))
      return failure();
    SmallVector<Value> control(node.control());
    Captures captures = findCaptures(op, control);
    for (Value value : captures.arguments)
      if (tf_type::isReference(getElementTypeOrSelf(value.getType())))
        return emitError(node) << "its regions use the reference '" << operandName(value)
                               << "', which no function can take; use a resource variable";
    SmallVector<FuncOp> made;
    for (Region &region : op->getRegions()) {
      FailureOr<FuncOp> function = outline(node, names.form, region, captures);
      if (failed(function))
        return failure();
      made.push_back(*function);
    }
    for (Value token : captures.tokens)
      if (!llvm::is_contained(control, token))
        control.push_back(token);
    if (names.form == RegionForm::If)
      (void)withoutToBool(op->getOpOperand(0));
    SmallVector<Value> data(node.data());
    llvm::append_range(data, captures.arguments);
    replace(node, names, data, control, made);
    ++numConverted;
    return success();
  }

  static InFlightDiagnostic emitError(Node node) {
    return node->emitError() << "node '" << node.name() << "' (" << node.opType() << "): ";
  }

  // A While calls its body with what the condition got.
  static LogicalResult checkCondition(Node node, RegionForm form) {
    if (form != RegionForm::While)
      return success();
    Region &region = node->getRegion(0);
    auto end = cast<ConditionOp>(region.front().back());
    auto arguments = dataArguments(region);
    if (llvm::equal(end.getForwarded(), arguments))
      return success();
    return emitError(node) << "its condition hands on other values than its own arguments, in "
                              "their order; a functional loop can't (unimplemented)";
  }

  /// The function for one region, which is left without nodes.
  FailureOr<FuncOp> outline(Node node, RegionForm form, Region &region, const Captures &captures) {
    Block &body = region.front();
    unsigned index = region.getRegionNumber();
    const RegionAttrKeys &keys = regionAttrKeys(form);
    auto attrs = dyn_cast_or_null<RegionAttrsAttr>(
        regionAttr(node->getAttrDictionary(), keys, keys.regionAttrs, index));
    OpBuilder builder(node->getContext());
    auto function =
        FuncOp::create(builder, node->getLoc(), "region", builder.getFunctionType({}, {}), false);
    Block &entry = function.getEntry();
    IRMapping mapping = addArguments(entry, region, captures);
    moveNodes(body, entry, mapping);
    bool isBody = form == RegionForm::For || (form == RegionForm::While && index == 1);
    endFunction(function, isBody ? captures.arguments.size() : 0);
    setAttributes(function, attrs, body.getNumArguments() / 2);
    std::string base = attrs && attrs.getAttrs().get("sym_name")
                           ? attrs.getAttrs().getAs<StringAttr>("sym_name").str()
                           : defaultName(node, keys, index);
    return settle(function, base, form == RegionForm::If || form == RegionForm::Case);
  }

  /// A pair for each value of a loop, then for each captured one; the region's arguments are
  /// mapped.
  static IRMapping addArguments(Block &entry, Region &region, const Captures &captures) {
    IRMapping mapping;
    Location location = region.getLoc();
    Type control = tf_type::ControlType::get(region.getContext());
    auto add = [&](Value value, Value token) {
      Value argument = entry.addArgument(value.getType(), location);
      Value argumentToken = entry.addArgument(control, location);
      if (!mapping.contains(value))
        mapping.map(value, argument);
      if (!mapping.contains(token))
        mapping.map(token, argumentToken);
    };
    for (BlockArgument argument : dataArguments(region))
      add(argument, tokenOf(region, argument.getArgNumber()));
    for (Value value : captures.arguments)
      add(value, controlTokenOf(value));
    return mapping;
  }

  /// Tokens from outside that no argument brings are dropped: the op waits for them.
  static void moveNodes(Block &from, Block &to, const IRMapping &mapping) {
    to.getOperations().splice(to.end(), from.getOperations());
    for (Operation &op : to) {
      SmallVector<Value> operands;
      for (Value operand : op.getOperands()) {
        Value mapped = mapping.lookupOrDefault(operand);
        if (!isControl(mapped) || mapped.getParentBlock() == &to)
          operands.push_back(mapped);
      }
      op.setOperands(operands);
    }
  }

  /// The last `numCarried` arguments are results too: values that a loop never changes.
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
      names.push_back(nameAttr(function, unique(taken, argumentName(from ? from.name() : "arg"))));
    }
    ReturnOp::create(builder, end.getLoc(), data, control, builder.getArrayAttr(names));
    end.erase();
    function.setFunctionType(builder.getFunctionType(function.getEntry().getArgumentTypes(),
                                                     ValueRange(data).getTypes()));
  }

  static std::string unique(llvm::StringSet<> &taken, StringRef base) {
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

  static void takeNames(ArrayAttr attrs, llvm::StringSet<> &taken) {
    for (auto own : attrs.getAsRange<DictionaryAttr>())
      if (auto name = own.getAs<StringAttr>(argNameKeyword))
        taken.insert(name.getValue());
  }

  static void setAttributes(FuncOp function, RegionAttrsAttr attrs, unsigned numOwnArguments) {
    Builder builder(function.getContext());
    llvm::StringSet<> taken;
    for (Operation &op : function.getEntry())
      taken.insert(Node::isNode(&op) ? Node(&op).name() : StringRef());
    SmallVector<Attribute> arguments, results;
    if (attrs)
      takeNames(attrs.getArgAttrs(), taken);
    for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i) {
      bool isKnown = attrs && i < numOwnArguments && i < attrs.getArgAttrs().size();
      arguments.push_back(isKnown ? attrs.getArgAttrs()[i]
                                  : nameAttr(function, unique(taken, "arg" + std::to_string(i))));
      arguments.push_back(builder.getDictionaryAttr({}));
    }
    llvm::StringSet<> takenResults;
    if (attrs)
      takeNames(attrs.getResAttrs(), takenResults);
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
      results.push_back(attrs && i < attrs.getResAttrs().size()
                            ? attrs.getResAttrs()[i]
                            : nameAttr(function, unique(takenResults, "r" + std::to_string(i))));
    function.setArgAttrsAttr(builder.getArrayAttr(arguments));
    function.setResAttrsAttr(builder.getArrayAttr(results));
    for (NamedAttribute attr : attrs ? attrs.getAttrs().getValue() : ArrayRef<NamedAttribute>())
      if (attr.getName() != function.getSymNameAttrName())
        function->setAttr(attr.getName(), attr.getValue());
    if (auto shapes = function->getAttrOfType<ArrayAttr>(graphdef::inputShapesKey))
      function->setAttr(graphdef::inputShapesKey, inputShapes(function, shapes, numOwnArguments));
  }

  /// Those of the region's own arguments as stated; what is captured now needn't be what was.
  static ArrayAttr inputShapes(FuncOp function, ArrayAttr stated, unsigned numOwnArguments) {
    SmallVector<Attribute> shapes(stated.getValue().take_front(numOwnArguments));
    for (unsigned i = shapes.size(), e = function.getNumDataArguments(); i < e; ++i)
      shapes.push_back(
          tf_type::ShapeAttr::get(cast<ShapedType>(function.getDataArgument(i).getType())));
    return ArrayAttr::get(function.getContext(), shapes);
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

  /// A function of that name that says the same, or this one under a name of its own.
  FailureOr<FuncOp> settle(FuncOp function, StringRef base, bool isConditional) {
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
    if (isConditional) // arguments are listed by number
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

  void replace(Node node, const RegionNames &names, ArrayRef<Value> data, ArrayRef<Value> control,
               ArrayRef<FuncOp> made) {
    OpBuilder builder(node.getOperation());
    // What a loop never changes is a result as well.
    SmallVector<Type> types(node.results().getTypes());
    unsigned first = firstArgumentOf(names.form);
    bool isLoop = names.form == RegionForm::While || names.form == RegionForm::For;
    if (isLoop)
      for (Value value : data.drop_front(first + types.size()))
        types.push_back(value.getType());
    StringRef opType = names.functional;
    opType.consume_front("Stateful");
    Node fresh = NodeBuilder(builder, opType)
                     .placedAs(node)
                     .attrs(attributes(node, names.form, data, types, made))
                     .inputs(data)
                     .control(control)
                     .results(types)
                     .build();
    for (auto [from, to] : llvm::zip(node.results(), fresh.results()))
      from.replaceAllUsesWith(to);
    node.controlResult().replaceAllUsesWith(fresh.controlResult());
    node->erase();
  }

  static SmallVector<NamedAttribute> attributes(Node node, RegionForm form, ArrayRef<Value> data,
                                                ArrayRef<Type> results, ArrayRef<FuncOp> made) {
    Builder builder(node->getContext());
    const RegionAttrKeys &keys = regionAttrKeys(form);
    NamedAttrList out;
    for (NamedAttribute attr : node->getAttrs())
      if (!llvm::is_contained(keys.callAttrs, attr.getName()) &&
          !llvm::is_contained(keys.regionAttrs, attr.getName()) && attr.getName() != operandsKey)
        out.append(attr);
    SmallVector<Attribute> callees;
    for (auto [index, function] : llvm::enumerate(made)) {
      auto callAttrs = dyn_cast_or_null<DictionaryAttr>(
          regionAttr(node->getAttrDictionary(), keys, keys.callAttrs, index));
      auto callee = tf_type::FuncAttr::get(
          node->getContext(), SymbolRefAttr::get(node->getContext(), FuncOp(function).getName()),
          callAttrs ? callAttrs : builder.getDictionaryAttr({}));
      callees.push_back(callee);
      if (!keys.isList)
        out.set(keys.functions[index], callee);
    }
    if (keys.isList)
      out.set(keys.functions.front(), builder.getArrayAttr(callees));
    addShapes(node, results, out);
    auto dtypes = [&](auto values) {
      return builder.getArrayAttr(
          llvm::map_to_vector(values, [](Type type) { return Attribute(dtypeAttr(type)); }));
    };
    SmallVector<Type> arguments(ValueRange(data).drop_front(firstArgumentOf(form)).getTypes());
    for (StringRef key : keys.types)
      out.set(key, key == "Tcond"  ? Attribute(dtypeAttr(data.front().getType()))
                   : key == "Tout" ? dtypes(results)
                                   : dtypes(arguments));
    return SmallVector<NamedAttribute>(out.getAttrs());
  }

  /// Attributes that list something for each result follow, where there are more results now.
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

  ModuleOp module;
  FunctionMap functions;
  llvm::StringMap<SmallVector<FuncOp>> candidates; // by the name that a region's attributes say
  llvm::StringMap<unsigned> suffixes;
  llvm::DenseSet<Operation *> entered, done;
};

struct RegionToFunctional : impl::RegionToFunctionalBase<RegionToFunctional> {
  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    Converter converter(getOperation());
    if (failed(converter.run()))
      return signalPassFailure();
    numConverted += converter.numConverted;
    numReused += converter.numReused;
  }
};

} // namespace
} // namespace treadle
