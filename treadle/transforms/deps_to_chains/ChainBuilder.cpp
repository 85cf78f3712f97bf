#include "treadle/transforms/deps_to_chains/ChainBuilder.h"

#include "treadle/rewriting/LoopVariables.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Builds the chains of all loops of a module, inner loops first.
class Builder {
public:
  Builder(ModuleOp module, MutableArrayRef<LoopOrder> loops)
      : module(module), symbols(module), uses(countFunctionReferences(module)) {
    for (LoopOrder &order : loops)
      in[order.loop.node->getBlock()].push_back(&order);
  }

  void build(LoopOrder &order);
  unsigned numChanged = 0;

private:
  // A function that only this loop calls: the original or a copy, with the mapping from original to
  // copied nodes.
  struct OwnedFunction {
    FuncOp function;
    IRMapping copies;
    bool isCopy = false;
  };

  void buildInside(FuncOp function);
  OwnedFunction takeOwnership(FuncOp function);
  Node find(Node planned, const OwnedFunction &own) const;
  SmallVector<Value> tokensOf(ArrayRef<Node> nodes, const OwnedFunction &own) const;
  void addMissing(const LoopOrder &order, const OwnedFunction &condition,
                  const OwnedFunction &body);
  void addChain(const LoopChain &chain, OwnedFunction &condition, OwnedFunction &body);
  void chainThrough(unsigned variable, const LoopChain &chain, OwnedFunction &body);
  void holdPredicate(const LoopOrder &order, OwnedFunction &condition);
  void removeBarriers(const LoopOrder &order, OwnedFunction &body);
  void replaceLoop(const LoopOrder &order, const OwnedFunction &condition,
                   const OwnedFunction &body);
  Value initialValue(Node loop);
  NameScope &namesOf(Block &block);

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<unsigned> uses;
  llvm::DenseMap<Block *, SmallVector<LoopOrder *>> in;
  llvm::DenseSet<LoopOrder *> done;
  llvm::DenseMap<Operation *, Operation *> replaced;
  llvm::DenseMap<Block *, std::unique_ptr<NameScope>> names;
  unsigned numNew = 0; // chains of the current loop
};

NameScope &Builder::namesOf(Block &block) {
  std::unique_ptr<NameScope> &scope = names[&block];
  if (!scope)
    scope = std::make_unique<NameScope>(block);
  return *scope;
}

Builder::OwnedFunction Builder::takeOwnership(FuncOp function) {
  OwnedFunction own{function, {}, false};
  unsigned &count = uses[function.getName()];
  if (count <= 1)
    return own;
  --count;
  own.isCopy = true;
  own.function = cast<FuncOp>(function->clone(own.copies));
  symbols.insert(own.function, std::next(Block::iterator(function)));
  uses[own.function.getName()] = 1;
  own.function.walk(
      [&](Operation *op) { forEachFunctionName(op, [&](StringRef name) { ++uses[name]; }); });
  return own;
}

/// Returns the current counterpart of a node of the plan.
Node Builder::find(Node planned, const OwnedFunction &own) const {
  // A new loop may be allocated at the address of an erased one, so this doesn't look up
  // repeatedly.
  Operation *op = planned.getOperation();
  if (auto next = replaced.find(op); next != replaced.end())
    op = next->second;
  return own.isCopy ? own.copies.lookup(op) : op;
}

SmallVector<Value> Builder::tokensOf(ArrayRef<Node> nodes, const OwnedFunction &own) const {
  SmallVector<Value> tokens;
  for (Node node : nodes)
    tokens.push_back(find(node, own).controlResult());
  return tokens;
}

void Builder::addMissing(const LoopOrder &order, const OwnedFunction &condition,
                         const OwnedFunction &body) {
  auto add = [&](ArrayRef<OrderEdge> edges, const OwnedFunction &own) {
    for (OrderEdge edge : edges)
      addControl(find(edge.to, own), find(edge.from, own).controlResult());
  };
  add(order.missingInCondition, condition);
  add(order.missing, body);
}

/// Passes the resource's handle on only after all nodes that the chain's next value depends on.
void Builder::chainThrough(unsigned variable, const LoopChain &chain, OwnedFunction &body) {
  ReturnOp end = body.function.getReturn();
  Value handle = end->getOperand(variable);
  for (Node node = definingNode(handle); node && node.numControl() == 0;
       node = definingNode(handle))
    handle = node->getOperand(0);
  OpBuilder builder(end);
  Node next = forwardValues(builder, handle)
                  .name(namesOf(body.function.getEntry())
                            .unique((body.function.getDataArgumentName(variable) + "/next").str()))
                  .control(tokensOf(chain.last, body))
                  .build();
  end->setOperand(variable, next.results()[0]);
}

void Builder::addChain(const LoopChain &chain, OwnedFunction &condition, OwnedFunction &body) {
  if (chain.variable)
    return chainThrough(*chain.variable, chain, body);
  ++numNew;
  Type type = RankedTensorType::get({}, Float32Type::get(module.getContext()));
  auto append = [&](OwnedFunction &own, ArrayRef<Node> waiting) {
    std::string name = namesOf(own.function.getEntry()).unique("chain");
    BlockArgument value = appendArgument(own.function, name, type);
    for (Node node : waiting)
      addControl(find(node, own), FuncOp::getControlTokenOf(value));
    return value;
  };
  append(condition, chain.inCondition);
  BlockArgument value = append(body, chain.inBody);
  OpBuilder builder(body.function.getReturn());
  std::string name = body.function.getDataArgumentName(value.getArgNumber() / 2).str();
  Node next = forwardValues(builder, Value(value))
                  .name(namesOf(body.function.getEntry()).unique(name + "/next"))
                  .control(tokensOf(chain.last, body))
                  .build();
  appendResult(body.function, name + "_next", next.results()[0]);
}

void Builder::holdPredicate(const LoopOrder &order, OwnedFunction &condition) {
  if (order.beforePredicate.empty())
    return;
  ReturnOp end = condition.function.getReturn();
  Value predicate = end->getOperand(0);
  OpBuilder builder(end);
  Node held = forwardValues(builder, predicate)
                  .name(namesOf(condition.function.getEntry()).unique("predicate"))
                  .control(tokensOf(order.beforePredicate, condition))
                  .build();
  end->setOperand(0, held.results()[0]);
}

/// Removes the dependencies that only delay the next iteration until the end of this one, including
/// the body's control results.
void Builder::removeBarriers(const LoopOrder &order, OwnedFunction &body) {
  ReturnOp end = body.function.getReturn();
  SmallVector<Value> data(end.getData());
  OpBuilder builder(end);
  ReturnOp::create(builder, end.getLoc(), data, ValueRange(), builder.getArrayAttr({}));
  end.erase();
  for (Node planned : order.barriers) {
    Node barrier = find(planned, body);
    Value token = barrier.controlResult();
    for (Operation *user : llvm::make_early_inc_range(token.getUsers())) {
      SmallVector<Value> kept(Node(user).control());
      llvm::erase(kept, token);
      setControl(Node(user), kept);
    }
    barrier->erase();
  }
}

// The Const depends on the loop's first input: without any input it would be outside the frame that
// contains the loop.
Value Builder::initialValue(Node loop) {
  SmallVector<Value, 1> waits;
  if (loop.numData() != 0)
    waits.push_back(controlTokenOf(loop.data().front()));
  auto type = RankedTensorType::get({}, Float32Type::get(module.getContext()));
  OpBuilder builder(loop.getOperation());
  return NodeBuilder(builder, "Const")
      .placedAs(loop)
      .name(namesOf(*loop->getBlock()).unique((loop.name() + "/chain").str()))
      .attr("dtype", dtypeAttr(type))
      .attr("value", DenseElementsAttr::get(type, 0.0f))
      .control(waits)
      .results(type)
      .build()
      .results()[0];
}

void Builder::replaceLoop(const LoopOrder &order, const OwnedFunction &condition,
                          const OwnedFunction &body) {
  Node loop = find(order.loop.node, {});
  MLIRContext *context = module.getContext();
  auto setFunction = [&](StringRef key, FuncOp function) {
    auto old = loop.attr<tf_type::FuncAttr>(key);
    loop->setDiscardableAttr(
        key, tf_type::FuncAttr::get(context, SymbolRefAttr::get(function), old.getAttrs()));
  };
  setFunction("cond", condition.function);
  setFunction("body", body.function);
  if (numNew == 0)
    return;
  Value initial = initialValue(loop);
  Node fresh = withVariables(loop, SmallVector<Value>(numNew, initial));
  replaced[order.loop.node.getOperation()] = fresh.getOperation();
}

void Builder::buildInside(FuncOp function) {
  auto inner = in.find(&function.getEntry());
  if (inner == in.end())
    return;
  for (LoopOrder *order : SmallVector<LoopOrder *>(inner->second))
    build(*order);
}

void Builder::build(LoopOrder &order) {
  if (!done.insert(&order).second || !order.needsChange())
    return;
  for (FuncOp function : order.loop.functions)
    buildInside(function);
  numNew = 0;
  ++numChanged;
  OwnedFunction condition = takeOwnership(order.loop.functions[0]),
                body = takeOwnership(order.loop.functions[1]);
  addMissing(order, condition, body);
  holdPredicate(order, condition);
  removeBarriers(order, body);
  for (const LoopChain &chain : order.chains)
    addChain(chain, condition, body);
  replaceLoop(order, condition, body);
}

} // namespace

unsigned buildChains(ModuleOp module, MutableArrayRef<LoopOrder> loops) {
  Builder builder(module, loops);
  for (LoopOrder &order : loops)
    builder.build(order);
  return builder.numChanged;
}

} // namespace treadle::tfg
