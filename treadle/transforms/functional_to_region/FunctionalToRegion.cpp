#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/RegionForms.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_FUNCTIONALTOREGION
#include "treadle/transforms/Passes.h.inc"

namespace {

using namespace tfg;

/// XLA and TPUs compile such a function as a unit.
bool isCompiledApart(FuncOp function) {
  for (StringRef key : {xlaCompileKey, tpuReplicateKey, mustCompileKey})
    for (Attribute attr : {function->getAttr(("tf." + key).str()), function->getAttr(key)})
      if (auto flag = dyn_cast_or_null<BoolAttr>(attr); attr && (!flag || flag.getValue()))
        return true;
  return false;
}

/// Returns whether the type is a tensor and not a reference to one, which a call would dereference.
bool isValue(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor && !tf_type::isReference(tensor.getElementType());
}

SmallVector<Type> argumentTypes(FuncOp function) {
  SmallVector<Type> types;
  for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i)
    types.push_back(function.getDataArgument(i).getType());
  return types;
}

/// Renames the names in `_operands` of ops from a function's body: names of its arguments become
/// names of values of the enclosing body. Names of nodes of a conditional hide outer ones; regions
/// of loops use no outer values.
void renameOperands(Block &body, llvm::StringMap<std::string> names) {
  for (Operation &op : body)
    if (Node::isNode(&op))
      names.erase(Node(&op).name());
  for (Operation &op : body) {
    auto form = regionFormOf(&op);
    if (form != RegionForm::If && form != RegionForm::Case)
      continue;
    Builder builder(op.getContext());
    SmallVector<Attribute> renamed;
    for (StringRef entry : operandNames(&op)) {
      StringRef mark = entry.take_while([](char c) { return c == '^'; });
      auto found = names.find(entry.drop_front(mark.size()));
      renamed.push_back(builder.getStringAttr(found == names.end() ? entry : mark + found->second));
    }
    if (!renamed.empty())
      op.setAttr(operandsKey, builder.getArrayAttr(renamed));
    for (Region &region : op.getRegions())
      renameOperands(region.front(), names);
  }
}

class Converter {
public:
  Converter(ModuleOp module, uint64_t maxNodes)
      : module(module), maxNodes(maxNodes), functions(functionsOf(module)) {}

  void run() {
    for (Operation &op : *module.getBody()) {
      if (isa<GraphOp>(op))
        convertBody(op.getRegion(0).front());
      else if (auto function = dyn_cast<FuncOp>(op))
        convert(function);
    }
  }

  unsigned numConverted = 0, numKept = 0;

private:
  enum class State { Untouched, Running, Done };

  /// Returns false while the function is being converted, if it is recursive.
  bool convert(FuncOp function) {
    State &state = states[function];
    if (state == State::Untouched) {
      state = State::Running;
      if (!function.isExternal() && !function.getGeneric())
        sizes[function] = convertBody(function.getEntry());
      states[function] = State::Done;
    }
    return states[function] == State::Done;
  }

  /// Returns the number of nodes of the body after the conversion, including those in regions.
  uint64_t convertBody(Block &body) {
    uint64_t size = std::distance(body.begin(), body.end());
    SmallVector<Node> nodes;
    for (Operation &op : body)
      if (Node::isNode(&op) && hasRegionForm(Node(&op).opType()) && !op.hasAttr(staysFunctionalKey))
        nodes.push_back(Node(&op));
    if (nodes.empty())
      return size;
    NameScope scope(body);
    for (Node node : nodes)
      ++(convertNode(node, scope, size) ? numConverted : numKept);
    return size;
  }

  /// Returns the called functions; empty if they can't become regions.
  SmallVector<tf_type::FuncAttr> calleesOf(Node node, const RegionAttrKeys &keys) {
    SmallVector<tf_type::FuncAttr> callees;
    auto add = [&](Attribute attr) {
      auto callee = dyn_cast_or_null<tf_type::FuncAttr>(attr);
      callees.push_back(callee);
      return callee != nullptr;
    };
    bool areThere = true;
    for (StringRef key : keys.functions) {
      auto list = keys.isList ? node.attr<ArrayAttr>(key) : ArrayAttr();
      areThere = areThere && (keys.isList ? list && !list.empty() && llvm::all_of(list, add)
                                          : add(node.attr(key)));
    }
    if (!areThere)
      callees.clear();
    return callees;
  }

  /// Returns whether regions with the bodies of the functions would verify.
  bool fits(Node node, RegionForm form, ArrayRef<FuncOp> callees) {
    unsigned first = firstArgumentOf(form);
    if (node.numData() < first || !llvm::all_of(node.data().getTypes(), isValue) ||
        !llvm::all_of(node.results().getTypes(), llvm::IsaPred<TensorType>))
      return false;
    SmallVector<Type> arguments(node.data().drop_front(first).getTypes());
    SmallVector<Type> results(node.results().getTypes());
    bool isLoop = form == RegionForm::While || form == RegionForm::For;
    if (isLoop && !areCompatible(arguments, results))
      return false;
    if (form == RegionForm::For)
      arguments.insert(arguments.begin(), node.data().front().getType());
    for (size_t index = 0; index < callees.size(); ++index) {
      FuncOp callee = callees[index];
      if (!callee || callee.isExternal() || callee.getGeneric() || callee.getGradient() ||
          isCompiledApart(callee) || !areCompatible(argumentTypes(callee), arguments))
        return false;
      bool isCondition = form == RegionForm::While && index == 0;
      if (isCondition ? callee.getNumResults() != 1
                      : !areCompatible(callee.getResultTypes(), results))
        return false;
    }
    return true;
  }

  bool convertNode(Node node, NameScope &scope, uint64_t &size) {
    RegionNames names = regionNamesOfFunctional(node.opType());
    const RegionAttrKeys &keys = regionAttrKeys(names.form);
    SmallVector<tf_type::FuncAttr> calleeAttrs = calleesOf(node, keys);
    if (calleeAttrs.empty())
      return false;
    SmallVector<FuncOp> callees;
    for (tf_type::FuncAttr attr : calleeAttrs)
      callees.push_back(functions.lookup(attr.getName().getRootReference()));
    if (!fits(node, names.form, callees))
      return false;
    uint64_t grown = size;
    for (FuncOp callee : callees) {
      if (!convert(callee))
        return false;
      grown += sizes[callee];
    }
    if (grown > maxNodes)
      return false;
    size = grown;
    Operation *op = build(node, names, calleeAttrs, callees, scope);
    bool isLoop = names.form == RegionForm::While || names.form == RegionForm::For;
    SmallVector<bool> isUsed(node.numData(), isLoop);
    for (auto [index, callee] : llvm::enumerate(callees)) {
      if (isLoop)
        fillLoop(op->getRegion(index), callee);
      else
        fillBranch(op->getRegion(index), callee, node, isUsed);
    }
    if (!isLoop)
      noteOperands(op, node, isUsed);
    node->replaceAllUsesWith(op);
    node->erase();
    return true;
  }

  Value predicateOf(Value value, StringRef name, OpBuilder &builder) {
    if (isPredicate(value))
      return value;
    return NodeBuilder(builder, "ToBool")
        .name(name)
        .attr("T", dtypeAttr(value.getType()))
        .attr(regionPredicateKey, builder.getUnitAttr())
        .inputs(value)
        .results(RankedTensorType::get({}, builder.getI1Type()))
        .build()
        .results()
        .front();
  }

  Operation *build(Node node, const RegionNames &names, ArrayRef<tf_type::FuncAttr> calleeAttrs,
                   ArrayRef<FuncOp> callees, NameScope &scope) {
    OpBuilder builder(node.getOperation());
    OperationState state(node->getLoc(), "tfg." + names.region);
    bool isLoop = names.form == RegionForm::While || names.form == RegionForm::For;
    SmallVector<Value> data(node.data());
    if (!isLoop)
      data.resize(1);
    if (names.form == RegionForm::If && !isPredicate(data.front()))
      data.front() =
          predicateOf(data.front(), scope.unique((node.name() + "/ToBool").str()), builder);
    state.addOperands(data);
    state.addOperands(node.control());
    state.addTypes(node->getResultTypes());
    addAttributes(node, names.form, calleeAttrs, callees, state.attributes);
    for (size_t i = 0; i < callees.size(); ++i)
      state.addRegion();
    return builder.create(state);
  }

  void addAttributes(Node node, RegionForm form, ArrayRef<tf_type::FuncAttr> calleeAttrs,
                     ArrayRef<FuncOp> callees, NamedAttrList &out) {
    Builder builder(node->getContext());
    const RegionAttrKeys &keys = regionAttrKeys(form);
    for (NamedAttribute attr : node.attrs())
      if (!llvm::is_contained(keys.types, attr.getName()) &&
          !llvm::is_contained(keys.functions, attr.getName()))
        out.append(attr);
    if (form == RegionForm::While && !out.get("parallel_iterations"))
      out.set("parallel_iterations", builder.getI64IntegerAttr(10));
    bool isLoop = form == RegionForm::While || form == RegionForm::For;
    SmallVector<Attribute> callAttrs, regionAttrs;
    for (auto [attr, callee] : llvm::zip(calleeAttrs, callees)) {
      callAttrs.push_back(attr.getAttrs() ? attr.getAttrs() : builder.getDictionaryAttr({}));
      regionAttrs.push_back(regionAttrsOf(callee, isLoop));
    }
    if (keys.isList) {
      out.set(keys.callAttrs.front(), builder.getArrayAttr(callAttrs));
      out.set(keys.regionAttrs.front(), builder.getArrayAttr(regionAttrs));
      return;
    }
    for (size_t i = 0; i < callees.size(); ++i) {
      out.set(keys.callAttrs[i], callAttrs[i]);
      out.set(keys.regionAttrs[i], regionAttrs[i]);
    }
  }

  static RegionAttrsAttr regionAttrsOf(FuncOp function, bool withArguments) {
    Builder builder(function.getContext());
    auto listOf = [&](unsigned count, unsigned step, ArrayAttr from) {
      SmallVector<Attribute> list;
      for (unsigned i = 0; i < count; ++i)
        list.push_back(from && step * i < from.size() ? from[step * i]
                                                      : builder.getDictionaryAttr({}));
      return builder.getArrayAttr(list);
    };
    unsigned numArguments = withArguments ? function.getNumDataArguments() : 0;
    return RegionAttrsAttr::get(function.getContext(), preservedAttrs(function),
                                listOf(numArguments, 2, function.getArgAttrsAttr()),
                                listOf(function.getNumResults(), 1, function.getResAttrsAttr()));
  }

  /// Arguments are replaced with the node's operands; `isUsed` is set for those with uses.
  static void fillBranch(Region &region, FuncOp function, Node node,
                         SmallVectorImpl<bool> &isUsed) {
    IRMapping mapping;
    llvm::StringMap<std::string> names;
    for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i) {
      Value value = node.data()[i + 1];
      BlockArgument argument = function.getDataArgument(i);
      BlockArgument token = FuncOp::getControlTokenOf(argument);
      mapping.map(argument, value);
      mapping.map(token, controlTokenOf(value));
      names[function.getDataArgumentName(i)] = operandName(value);
      isUsed[i + 1] |= !argument.use_empty() || !token.use_empty();
    }
    function.getBody().cloneInto(&region, mapping);
    renameOperands(region.front(), std::move(names));
    yieldResults(region.front());
  }

  static void yieldResults(Block &body) {
    auto end = cast<ReturnOp>(body.back());
    OpBuilder builder(end);
    YieldOp::create(builder, end.getLoc(), end.getData(), end.getControl());
    end->erase();
  }

  /// A function has (value, token) pairs, a region all values first.
  void fillLoop(Region &region, FuncOp function) {
    IRMapping mapping;
    function.getBody().cloneInto(&region, mapping);
    Block &body = region.front();
    unsigned count = function.getNumDataArguments();
    for (unsigned offset : {0, 1})
      for (unsigned i = 0; i < count; ++i) {
        BlockArgument from = body.getArgument(2 * i + offset);
        from.replaceAllUsesWith(body.addArgument(from.getType(), from.getLoc()));
      }
    body.eraseArguments(0, 2 * count);
    bool isCondition = region.getRegionNumber() == 0 && region.getParentOp()->getNumRegions() == 2;
    if (!isCondition)
      return yieldResults(body);
    auto end = cast<ReturnOp>(body.back());
    OpBuilder builder(end);
    Value value = end.getData().front();
    NameScope scope(body);
    Value predicate = predicateOf(
        value, isPredicate(value) ? "" : scope.unique(operandName(value) + "/ToBool"), builder);
    SmallVector<Value> arguments(dataArguments(region));
    ConditionOp::create(builder, end.getLoc(), predicate, arguments, end.getControl());
    end->erase();
  }

  /// The node depended on all of its operands; it keeps a control dependency on those that no
  /// branch uses.
  static void noteOperands(Operation *op, Node node, ArrayRef<bool> isUsed) {
    Builder builder(op->getContext());
    SmallVector<Attribute> names;
    for (auto [index, value] : llvm::drop_begin(llvm::enumerate(node.data()))) {
      Value token = controlTokenOf(value);
      bool isThere = llvm::is_contained(Node(op).control(), token);
      StringRef mark = isUsed[index] ? "" : isThere ? "^^" : "^";
      names.push_back(builder.getStringAttr(mark + operandName(value)));
      if (!isUsed[index])
        addControl(Node(op), token);
    }
    if (!names.empty())
      op->setAttr(operandsKey, builder.getArrayAttr(names));
  }

  ModuleOp module;
  uint64_t maxNodes;
  FunctionMap functions;
  llvm::DenseMap<Operation *, State> states;
  llvm::DenseMap<Operation *, uint64_t> sizes;
};

struct FunctionalToRegion : impl::FunctionalToRegionBase<FunctionalToRegion> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    Converter converter(getOperation(), maxNodes);
    converter.run();
    numConverted += converter.numConverted;
    numKept += converter.numKept;
  }
};

} // namespace
} // namespace treadle
