#include "treadle/transforms/inline_calls/CallSite.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/Colocation.h"
#include "treadle/rewriting/DeviceName.h"
#include "treadle/rewriting/Dissolving.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/SoftEdges.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle::tfg {

std::string obstacleOfCall(Node call, const Callee &callee) {
  if (!callee.conditionalEffect.empty() && !dissolves(call))
    return callee.conditionalEffect;
  for (StringRef key : {noInlineKey, mustCompileKey})
    if (auto flag = call.attr<BoolAttr>(key); flag && flag.getValue())
      return ("its attribute '" + key + "' is true").str();
  if (auto executor = call.attr<StringAttr>("executor_type"); executor && !executor.empty())
    return "it requests the executor '" + executor.str() + "'";
  FuncOp function = callee.function;
  unsigned numArguments = function.getNumDataArguments();
  if (call.numData() != numArguments || call.numResults() != function.getNumResults())
    return "it has " + llvm::utostr(call.numData()) + " inputs and " +
           llvm::utostr(call.numResults()) + " outputs, but the function has " +
           llvm::utostr(numArguments) + " and " + llvm::utostr(function.getNumResults());
  for (unsigned i = 0; i < numArguments; ++i)
    if (!tf_type::areCompatible(call.data()[i].getType(), function.getDataArgument(i).getType()))
      return "input " + llvm::utostr(i) + " has another type than the argument";
  return "";
}

namespace {

class Expansion {
public:
  Expansion(Node call, const Callee &callee, CallerBody caller)
      : call(call), callee(callee), function(callee.function), caller(caller),
        builder(call.getOperation()), prefix(call.name().str() + "/"),
        isDissolved(dissolves(call)) {}

  void run() {
    Block &body = *call->getBlock();
    Operation *before = call->getPrevNode(), *after = call->getNextNode();
    bool isAfterEffects = caller.afterEffects.contains(call.getOperation());
    mapArguments();
    cloneNodes();
    enterNodes();
    if (isDissolved) {
      dissolve();
    } else {
      enterEffects();
      leaveThroughResults();
    }
    if (isAfterEffects)
      for (auto it = before ? std::next(Block::iterator(before)) : body.begin();
           it != body.end() && &*it != after; ++it)
        caller.afterEffects.insert(&*it);
  }

private:
  NodeBuilder newNode(StringRef op, StringRef suffix) {
    return NodeBuilder(builder, op).placedAs(call).name(caller.names.unique(prefix + suffix.str()));
  }

  Node identity(Value value, std::string name) {
    return forwardValues(builder, value).placedAs(call).name(name).build();
  }

  void mapArguments() {
    SmallVector<Value> before(call.control());
    for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i) {
      Value value = call.data()[i];
      // The token of a Switch doesn't tell which of its outputs is dead, so the token of a node
      // behind it is used.
      if (caller.mayBeDead) {
        Node node =
            identity(value, caller.names.unique(prefix + function.getDataArgumentName(i).str()));
        value = node.results().front();
        if (!isDissolved)
          before.push_back(node.controlResult());
      }
      inputs.push_back(value);
      BlockArgument argument = function.getDataArgument(i);
      mapping.map(argument, value);
    }
    if (before.size() == 1)
      entry = before.front();
    else if (!before.empty())
      entry = newNode("NoOp", "inputs").control(before).build().controlResult();
    for (auto [i, value] : llvm::enumerate(inputs)) {
      Value token = entry && !isDissolved ? entry : controlTokenOf(value);
      mapping.map(FuncOp::getControlTokenOf(function.getDataArgument(i)), token);
    }
  }

  void cloneNodes() {
    for (Operation &op : function.getEntry()) {
      if (!Node::isNode(&op))
        continue;
      Operation *copy = builder.clone(op, mapping);
      copies.emplace_back(copy);
      newNames[Node(&op).name()] = caller.names.unique(prefix + Node(&op).name().str());
    }
    // Nodes may precede the nodes that they use: map operands that weren't copied yet.
    for (Node copy : copies)
      copy->walk([&](Operation *op) {
        for (OpOperand &operand : op->getOpOperands())
          operand.set(mapping.lookupOrDefault(operand.get()));
      });
    for (Node copy : copies)
      adapt(copy);
    followSoftInputs();
  }

  // The soft inputs of the call become soft inputs of the first nodes of the body.
  void followSoftInputs() {
    SmallVector<StringRef> names = softInputs(call);
    if (names.empty())
      return;
    llvm::DenseSet<Operation *> inside;
    for (Node copy : copies)
      inside.insert(copy.getOperation());
    auto isInside = [&](Value operand) { return inside.contains(operand.getDefiningOp()); };
    for (Node copy : copies)
      if (llvm::none_of(copy->getOperands(), isInside))
        addSoftInputs(copy, names);
  }

  void adapt(Node copy) {
    copy.setName(newNames.lookup(copy.name()));
    renameSoftInputs(copy, newNames);
    copy.setDevice(deviceOf(copy));
    copy->setLoc(CallSiteLoc::get(copy->getLoc(), call->getLoc()));
    if (StringAttr frame = frameName(copy))
      copy->setDiscardableAttr("frame_name", builder.getStringAttr(prefix + frame.str()));
    renameColocations(copy, newNames);
    removeDoubleTokens(copy);
  }

  // Tokens of two arguments may have become the same.
  static void removeDoubleTokens(Node copy) {
    llvm::SmallSetVector<Value, 8> tokens(copy.control().begin(), copy.control().end());
    if (tokens.size() != copy.numControl())
      setControl(copy, tokens.takeVector());
  }

  std::string deviceOf(Node copy) const {
    std::optional<DeviceName> own = DeviceName::parse(copy.device());
    std::optional<DeviceName> callers = DeviceName::parse(call.device());
    if (!own || !callers || call.device().empty())
      return copy.device().str();
    if (copy.device().empty())
      return call.device().str();
    own->fillFrom(*callers);
    return own->str();
  }

  // Nodes without inputs from the body wait for the call's inputs.
  void enterNodes() {
    if (!entry)
      return;
    llvm::DenseSet<Operation *> inside;
    for (Node copy : copies)
      inside.insert(copy.getOperation());
    for (Node copy : copies)
      if (llvm::none_of(copy->getOperands(),
                        [&](Value operand) { return inside.contains(operand.getDefiningOp()); }))
        addControl(copy, entry);
  }

  // The call's side effects came after all dependencies of its inputs, also of those that they
  // don't use. (With v1 control flow, the entry waits for all inputs.)
  void enterEffects() {
    if (callee.firstEffects.empty() || caller.mayBeDead)
      return;
    llvm::SmallSetVector<Value, 4> tokens;
    for (Value value : inputs)
      if (Operation *from = value.getDefiningOp(); from && caller.afterEffects.contains(from))
        tokens.insert(Node(from).controlResult());
    Value all;
    for (Node planned : callee.firstEffects) {
      Node node(mapping.lookup(planned.controlResult()).getDefiningOp());
      SmallVector<Value> missing;
      for (Value token : tokens)
        if (llvm::none_of(node->getOperands(), [&](Value operand) {
              return operand.getDefiningOp() == token.getDefiningOp();
            }))
          missing.push_back(token);
      if (missing.size() > 1) {
        if (!all)
          all = newNode("NoOp", "inputs").control(tokens.getArrayRef()).build().controlResult();
        missing = {all};
      }
      for (Value token : missing)
        addControl(node, token);
    }
  }

  // Replaces each result with its value, and the token with those of the control results.
  void dissolve() {
    SmallVector<Value> values, done;
    for (Value value : function.getReturn().getData())
      values.push_back(mapping.lookup(value));
    for (Value token : function.getReturn().getControl())
      done.push_back(mapping.lookup(token));
    if (done.empty() && entry)
      done.push_back(entry);
    bool isNeeded = caller.keepsNames || !call.controlResult().use_empty();
    if (done.size() != 1 && isNeeded)
      done = {newNode("NoOp", "done").control(done).build().controlResult()};
    call.results().replaceAllUsesWith(values);
    if (isNeeded)
      replaceControl(call.controlResult(), done.front());
    if (caller.keepsNames)
      keptNode(values, done);
    call->erase();
  }

  void leaveThroughResults() {
    SmallVector<Value> values;
    for (auto [value, type] : llvm::zip(function.getReturn().getData(), call.results().getTypes()))
      values.push_back(mapping.lookup(value));
    SmallVector<Value> done;
    for (Node node : callee.lastEffects)
      done.push_back(mapping.lookup(node.controlResult()));
    bool isWaited = !call.controlResult().use_empty() || caller.keepsNames ||
                    llvm::is_contained(callee.resultMustWait, true);
    if (done.size() > 1 && isWaited)
      done = {newNode("NoOp", "done").control(done).build().controlResult()};
    if (caller.keepsNames)
      replaceByKeptNode(values, done);
    else
      replaceByValues(values, done);
  }

  // Returns the inputs that a result must wait for without depending on them, since the call's
  // results came after all of its inputs. (If the body has side effects, these wait: see
  // enterEffects.)
  SmallVector<Value> inputsMissedBy(unsigned result) const {
    SmallVector<Value> missed;
    if (!callee.lastEffects.empty() || caller.mayBeDead)
      return missed;
    for (auto [i, value] : llvm::enumerate(inputs)) {
      Operation *from = value.getDefiningOp();
      bool isNeeded = i < 64 && callee.resultArguments[result] >> i & 1;
      if (from && !isNeeded && caller.afterEffects.contains(from))
        missed.push_back(Node(from).controlResult());
    }
    return missed;
  }

  // A result that is an argument must wait, as it did for the call.
  bool mustWait(unsigned index, Value value) const {
    return callee.resultMustWait[index] || (entry && llvm::is_contained(inputs, value)) ||
           !inputsMissedBy(index).empty();
  }

  // Nodes with side effects wait for the entry, so one of the two is enough.
  ArrayRef<Value> doneOrEntry(ArrayRef<Value> done) const {
    return done.empty() && entry ? ArrayRef(entry) : done;
  }

  void addWaits(unsigned index, ArrayRef<Value> done,
                llvm::SmallSetVector<Value, 4> &tokens) const {
    tokens.insert_range(doneOrEntry(done));
    tokens.insert_range(inputsMissedBy(index));
  }

  // Nodes with a control input from the call wait for all of its inputs, including unused ones.
  void addUnneededInputs(llvm::SmallSetVector<Value, 4> &tokens) const {
    if (entry && caller.mayBeDead)
      return;
    for (auto [isNeeded, value] : llvm::zip(callee.argumentIsNeeded, inputs))
      if (Value token = isNeeded ? Value() : controlTokenOf(value))
        tokens.insert(token);
  }

  /// Creates another node with the name of the call, which is removed afterwards.
  Node keptNode(ArrayRef<Value> values, ArrayRef<Value> tokens) {
    return forwardValues(builder, values, call.results().getTypes())
        .placedAs(call)
        .name(call.name().str())
        .control(tokens)
        .build();
  }

  void replaceByKeptNode(ArrayRef<Value> values, ArrayRef<Value> done) {
    llvm::SmallSetVector<Value, 4> tokens;
    for (auto [i, value] : llvm::enumerate(values))
      if (mustWait(i, value))
        addWaits(i, done, tokens);
    if (values.empty())
      tokens.insert_range(doneOrEntry(done));
    if (!call.controlResult().use_empty())
      addUnneededInputs(tokens);
    Node node = keptNode(values, tokens.getArrayRef());
    for (auto [i, value] : llvm::enumerate(values)) {
      bool isDirect = values.size() > 1 && !mustWait(i, value);
      call.results()[i].replaceAllUsesWith(isDirect ? value : Value(node.results()[i]));
    }
    replaceControl(call.controlResult(), node.controlResult());
    call->erase();
  }

  void replaceByValues(ArrayRef<Value> values, ArrayRef<Value> done) {
    llvm::SmallSetVector<Value, 4> tokens(done.begin(), done.end());
    for (auto [i, value] : llvm::enumerate(values)) {
      Value result = value;
      if (mustWait(i, value)) {
        Node node = identity(value, caller.names.unique(prefix + resultName(i)));
        llvm::SmallSetVector<Value, 4> waits;
        addWaits(i, done, waits);
        setControl(node, waits.getArrayRef());
        result = node.results().front();
      }
      call.results()[i].replaceAllUsesWith(result);
      if (Value token = controlTokenOf(result))
        tokens.insert(token);
    }
    if (tokens.empty() && entry)
      tokens.insert(entry);
    addUnneededInputs(tokens);
    if (tokens.empty() && !call.controlResult().use_empty())
      tokens.insert(newNode("NoOp", "done").build().controlResult());
    replaceControl(call.controlResult(), tokens.getArrayRef());
    call->erase();
  }

  std::string resultName(unsigned index) {
    auto name = function.getResultAttrOfType<StringAttr>(index, call.dialect().argNameKey);
    return name ? name.str() : "result_" + llvm::utostr(index);
  }

  Node call;
  const Callee &callee;
  FuncOp function;
  CallerBody caller;
  OpBuilder builder;
  std::string prefix;
  bool isDissolved;
  Value entry; // waits for all control inputs of the call; null if there are none
  SmallVector<Value> inputs;
  SmallVector<Node> copies;
  llvm::StringMap<std::string> newNames;
  IRMapping mapping;
};

} // namespace

void expandCall(Node call, const Callee &callee, CallerBody caller) {
  Expansion(call, callee, caller).run();
}

} // namespace treadle::tfg
