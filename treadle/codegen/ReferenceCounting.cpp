// Inserts and elides reference counting: finds where a reference is needed once more, and where no
// longer.
//
// The dialect defines the ownership rule. An op borrows its operands. An edge of the control flow
// graph passes references on, to block arguments and to blocks that continue to use a value: a
// block owns exactly one reference of each value that is live in it. So it suffices to find the
// last use of each value in each block and, for each edge, the number of references needed beyond
// it.
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"

#include "mlir/Analysis/Liveness.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Whether a value is a counted reference.
bool isRef(Value value) {
  return isa<rc::RefType>(value.getType()) && !value.getDefiningOp<rc::LocalOp>();
}

/// Whether an op consumes its reference: the result is the same tensor, replaces it, or a slot
/// holds it.
bool consumesReference(Operation *op) {
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

  /// Values, by how many references a block adds to each.
  using Changes = std::vector<std::pair<Value, int64_t>>;
  struct ByAddress {
    bool operator()(const std::pair<Block *, Changes> &a,
                    const std::pair<Block *, Changes> &c) const {
      auto key = [](const std::pair<Value, int64_t> &change) {
        return std::pair(change.first.getAsOpaquePointer(), change.second);
      };
      if (a.first != c.first)
        return a.first < c.first;
      return std::ranges::lexicographical_compare(a.second, c.second, {}, key, key);
    }
  };

  func::FuncOp function;
  OpBuilder b;
  Liveness liveness;
  std::map<std::pair<Block *, Changes>, Block *, ByAddress> edges;
  Location loc = UnknownLoc::get(function.getContext());
};

void Counter::retain(Value value, int64_t times) {
  for (int64_t i = 0; i < times; ++i)
    rc::RetainOp::create(b, loc, value);
}

void Counter::release(Value value) { rc::ReleaseOp::create(b, loc, value); }

/// Returns the last op of a block that needs `value` to be alive, directly or through a view; null
/// if there is none.
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

/// Values that the block owns and neither passes on nor returns are released after their last use.
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
    bool isPassedOn =
        info->isLiveOut(value) || llvm::is_contained(block.getTerminator()->getOperands(), value);
    Operation *last = lastUse(value, block);
    // Each consuming op needs its own reference, except for the last use.
    for (Operation *user : llvm::to_vector(value.getUsers()))
      if (user->getBlock() == &block && consumesReference(user) && (isPassedOn || user != last)) {
        b.setInsertionPoint(user);
        retain(value, 1);
      }
    if (isPassedOn || (last && consumesReference(last)))
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

/// Returns the operands that a branch passes to the arguments of a successor.
SmallVector<Value> operandsFor(Operation *branch, unsigned successor) {
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
  // The references that the block owns at its end.
  llvm::SetVector<Value> held;
  for (Value value : info->out())
    if (isRef(value))
      held.insert(value);
  for (Value operand : branch->getOperands())
    if (isRef(operand))
      held.insert(operand);
  SmallVector<Value> values = held.takeVector();
  llvm::sort(values, [](Value a, Value c) { // in a deterministic order
    auto key = [](Value v) {
      auto argument = dyn_cast<BlockArgument>(v);
      return std::pair(argument ? argument.getArgNumber() : 0u,
                       argument ? 0u : cast<OpResult>(v).getResultNumber());
    };
    return key(a) < key(c);
  });
  for (unsigned i = 0; i < branch->getNumSuccessors(); ++i) {
    Block *target = branch->getSuccessor(i);
    SmallVector<Value> handed = operandsFor(branch, i);
    Changes changes;
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
      // Creates a block for the edge, which exits that release the same values share.
      Block *own = nullptr;
      Block *&edge = target->getNumArguments() ? own : edges[{target, changes}];
      if (edge) {
        branch->setSuccessor(edge, i);
        continue;
      }
      edge = b.createBlock(target);
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

/// Removes a retain followed by a release of the same value with only counting in between.
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
      // Ops that neither read counts nor free anything may run with one reference less.
      if (!isa<rc::RetainOp>(before) && !isPure(before))
        break;
    }
  }
}

/// Passes ownership of an operand to a kernel if it is the last use.
void passOwnershipToKernels(Block &block) {
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

/// Returns the op that fills an allocation: the one that writes into a view of it; others only
/// read.
Operation *fillerOf(rc::AllocOp alloc) {
  for (Operation *user : alloc.getResult().getUsers())
    if (auto view = dyn_cast<rc::ViewOp>(user))
      for (Operation *writer : view->getUsers())
        if (auto generic = dyn_cast<linalg::GenericOp>(writer);
            generic && llvm::is_contained(generic.getOutputs(), view.getResult()))
          return writer;
  return nullptr;
}

/// Lets an allocation reuse the buffer of a tensor that is released once the new tensor is filled.
void reuseBuffers(rc::AllocOp alloc) {
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
    passOwnershipToKernels(block);
  }
  SmallVector<rc::AllocOp> allocations;
  function.walk([&](rc::AllocOp alloc) { allocations.push_back(alloc); });
  for (rc::AllocOp alloc : allocations)
    reuseBuffers(alloc);
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
