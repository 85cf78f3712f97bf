// Reference counts: where a reference is needed once more, and where no longer.
//
// The rule is the dialect's. An op borrows what it uses. An edge of the control flow graph hands a
// reference on, to the block argument that it becomes and to the block that goes on using it: a
// block holds exactly one reference of each value that is live in it. So all that has to be found
// is the last use of each value in each block, and for each edge how often a value is wanted beyond
// it.
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"

#include "mlir/Analysis/Liveness.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Whether a value is a reference that is counted.
bool isRef(Value value) {
  return isa<rc::RefType>(value.getType()) && !value.getDefiningOp<rc::LocalOp>();
}

/// Whether an op takes its only reference over: the result is the same one, or in its place, or a
/// word holds it.
bool takesOver(Operation *op) {
  return isa<rc::CastOp, rc::OwnOp, rc::PopOp, rc::StackOp, rc::StoreWordOp, rc::UniqueOp>(op);
}

class Counter {
public:
  explicit Counter(func::FuncOp function)
      : function(function), b(function.getContext()), liveness(function) {}
  void run();

private:
  void countInside(Block &block);
  void countEdges(Block &block);
  void countReturn(Block &block);
  void retain(Value value, int64_t times);
  void release(Value value);

  func::FuncOp function;
  OpBuilder b;
  Liveness liveness;
  Location loc = UnknownLoc::get(function.getContext());
};

void Counter::retain(Value value, int64_t times) {
  for (int64_t i = 0; i < times; ++i)
    rc::RetainOp::create(b, loc, value);
}

void Counter::release(Value value) { rc::ReleaseOp::create(b, loc, value); }

/// The last op of a block that needs `value` to be there: it, or a view of it. Null if none does.
Operation *lastUse(Value value, Block &block) {
  Operation *last = nullptr;
  auto see = [&](Operation *user) {
    user = block.findAncestorOpInBlock(*user);
    if (user && !user->hasTrait<OpTrait::IsTerminator>() && (!last || last->isBeforeInBlock(user)))
      last = user;
  };
  for (Operation *user : value.getUsers()) {
    see(user);
    if (isa<rc::ViewOp>(user) && user->getBlock() == &block)
      for (Operation *reader : user->getUsers())
        see(reader);
  }
  return last;
}

/// Values that the block holds and neither hands on nor returns end at their last use.
void Counter::countInside(Block &block) {
  const LivenessBlockInfo *info = liveness.getLiveness(&block);
  llvm::SetVector<Value> held;
  for (Value value : info->in())
    held.insert(value);
  for (Value argument : block.getArguments())
    held.insert(argument);
  for (Operation &op : block)
    held.insert(op.getResults().begin(), op.getResults().end());
  SmallVector<Value> ordered(llvm::make_filter_range(held, isRef));
  for (Value value : ordered) {
    bool goesOn =
        info->isLiveOut(value) || llvm::is_contained(block.getTerminator()->getOperands(), value);
    Operation *last = lastUse(value, block);
    // Each op that takes the value over needs a reference of its own, but for the last use.
    for (Operation *user : llvm::to_vector(value.getUsers()))
      if (user->getBlock() == &block && takesOver(user) && (goesOn || user != last)) {
        b.setInsertionPoint(user);
        retain(value, 1);
      }
    if (goesOn || (last && takesOver(last)))
      continue;
    if (last)
      b.setInsertionPointAfter(last);
    else if (value.getParentBlock() == &block && value.getDefiningOp())
      b.setInsertionPointAfterValue(value);
    else
      b.setInsertionPointToStart(&block);
    release(value);
  }
}

/// The operands that a branch hands to a successor's arguments.
SmallVector<Value> handedTo(Operation *branch, unsigned successor) {
  SmallVector<Value> handed;
  auto op = cast<BranchOpInterface>(branch);
  for (Value operand : op.getSuccessorOperands(successor).getForwardedOperands())
    if (isRef(operand))
      handed.push_back(operand);
  return handed;
}

void Counter::countEdges(Block &block) {
  Operation *branch = block.getTerminator();
  const LivenessBlockInfo *info = liveness.getLiveness(&block);
  // What the block holds at its end.
  llvm::SetVector<Value> held;
  for (Value value : info->out())
    if (isRef(value))
      held.insert(value);
  for (Value operand : branch->getOperands())
    if (isRef(operand))
      held.insert(operand);
  SmallVector<Value> values = held.takeVector();
  llvm::sort(values, [](Value a, Value c) { // in an order that is the same in each run
    auto key = [](Value v) {
      auto argument = dyn_cast<BlockArgument>(v);
      return std::pair(argument ? argument.getArgNumber() : 0u,
                       argument ? 0u : cast<OpResult>(v).getResultNumber());
    };
    return key(a) < key(c);
  });
  for (unsigned i = 0; i < branch->getNumSuccessors(); ++i) {
    Block *target = branch->getSuccessor(i);
    SmallVector<Value> handed = handedTo(branch, i);
    SmallVector<std::pair<Value, int64_t>> changes;
    for (Value value : values) {
      int64_t wanted = llvm::count(handed, value);
      if (liveness.getLiveness(target)->isLiveIn(value))
        ++wanted;
      if (wanted != 1)
        changes.emplace_back(value, wanted - 1);
    }
    if (changes.empty())
      continue;
    if (branch->getNumSuccessors() > 1) {
      // A block of its own for the edge.
      Block *edge = b.createBlock(target);
      auto op = cast<BranchOpInterface>(branch);
      SmallVector<Value> forwarded(op.getSuccessorOperands(i).getForwardedOperands());
      cf::BranchOp::create(b, loc, target, forwarded);
      op.getSuccessorOperands(i).erase(0, forwarded.size());
      branch->setSuccessor(edge, i);
      b.setInsertionPointToStart(edge);
    } else {
      b.setInsertionPoint(branch);
    }
    for (auto [value, change] : changes)
      change < 0 ? release(value) : retain(value, change);
  }
}

void Counter::countReturn(Block &block) {
  Operation *end = block.getTerminator();
  llvm::MapVector<Value, int64_t> wanted;
  for (Value operand : end->getOperands())
    if (isRef(operand))
      ++wanted[operand];
  b.setInsertionPoint(end);
  for (auto [value, count] : wanted)
    retain(value, count - 1);
}

void Counter::run() {
  SmallVector<Block *> blocks;
  for (Block &block : function.getBody())
    blocks.push_back(&block);
  for (Block *block : blocks)
    countInside(*block);
  for (Block *block : blocks) {
    if (block->getTerminator()->getNumSuccessors())
      countEdges(*block);
    else
      countReturn(*block);
  }
}

// --- eliding -----------------------------------------------------------------------------------

bool onlyCounts(Operation &op) { return isa<rc::RetainOp, rc::ReleaseOp, rc::DropOp>(op); }

/// A retain that nothing but counting separates from a release of the same value.
void dropPairs(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto release = dyn_cast<rc::ReleaseOp>(op);
    if (!release)
      continue;
    for (Operation *before = op.getPrevNode(); before; before = before->getPrevNode()) {
      auto retain = dyn_cast<rc::RetainOp>(before);
      if (retain && retain.getRef() == release.getRef()) {
        retain.erase();
        release.erase();
        break;
      }
      // What reads nobody's count, and frees nothing, may see one reference less.
      if (!isa<rc::RetainOp>(before) && !isPure(before))
        break;
    }
  }
}

/// A kernel whose operand ends with it may have the operand for good.
void giveToKernels(Block &block) {
  for (auto kernel : llvm::to_vector(block.getOps<rc::KernelOp>())) {
    SmallVector<bool> takes(kernel.getInputs().size(), false);
    for (Operation *next = kernel->getNextNode(); next && isa<rc::ReleaseOp>(next);) {
      auto release = cast<rc::ReleaseOp>(next);
      next = next->getNextNode();
      if (llvm::count(kernel.getInputs(), release.getRef()) != 1)
        continue;
      takes[llvm::find(kernel.getInputs(), release.getRef()) - kernel.getInputs().begin()] = true;
      release.erase();
    }
    kernel.setTakes(takes);
  }
}

/// The op that fills what an allocation gives: the one that writes into a view of it. Others read.
Operation *fillerOf(rc::AllocOp alloc) {
  for (Operation *user : alloc.getResult().getUsers())
    if (auto view = dyn_cast<rc::ViewOp>(user))
      for (Operation *writer : view->getUsers())
        if (auto generic = dyn_cast<linalg::GenericOp>(writer);
            generic && llvm::is_contained(generic.getOutputs(), view.getResult()))
          return writer;
  return nullptr;
}

/// An allocation serves itself from a model that is released once the new tensor is filled.
void reuseModels(rc::AllocOp alloc) {
  OpBuilder b(alloc);
  Operation *filler = fillerOf(alloc);
  for (Value model : alloc.getModels()) {
    rc::ReleaseOp end;
    for (Operation *next = filler ? filler->getNextNode() : nullptr; next && onlyCounts(*next);
         next = next->getNextNode())
      if (auto release = dyn_cast<rc::ReleaseOp>(next); release && release.getRef() == model)
        end = release;
    if (!end)
      continue;
    auto reuse = rc::ReuseOp::create(b, alloc.getLoc(), alloc.getResult().getType(), b.getI1Type(),
                                     model, alloc.getDims());
    alloc.replaceAllUsesWith(reuse);
    alloc.erase();
    b.setInsertionPoint(end);
    rc::DropOp::create(b, end.getLoc(), model, reuse.getResult());
    end.erase();
    return;
  }
  alloc.getModelsMutable().clear();
}

} // namespace

static void elideCounts(func::FuncOp function) {
  for (Block &block : function.getBody()) {
    dropPairs(block);
    giveToKernels(block);
  }
  SmallVector<rc::AllocOp> allocations;
  function.walk([&](rc::AllocOp alloc) { allocations.push_back(alloc); });
  for (rc::AllocOp alloc : allocations)
    reuseModels(alloc);
}

void insertCounts(ModuleOp module) {
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration())
      Counter(function).run();
}

void elideCounts(ModuleOp module) {
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    elideCounts(function);
}

} // namespace treadle::codegen
