#include "treadle/codegen/CodeMeter.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <algorithm>

using namespace llvm;

namespace treadle {

CodeProfile::Work &CodeProfile::Work::operator+=(const Work &other) {
  operations += other.operations;
  inVectors += other.inVectors;
  flops += other.flops;
  bytesRead += other.bytesRead;
  bytesWritten += other.bytesWritten;
  allocations += other.allocations;
  for (const auto &[callee, count] : other.calls)
    calls[callee] += count;
  return *this;
}

namespace codegen {
namespace {

using Work = CodeProfile::Work;

/// Multiplies the work of a block by its execution count.
Work times(const Work &work, int64_t count) {
  Work product{work.operations * count,
               work.inVectors * count,
               work.flops * count,
               work.bytesRead * count,
               work.bytesWritten * count,
               work.allocations * count,
               work.calls};
  for (auto &[callee, calls] : product.calls)
    calls *= count;
  return product;
}

int64_t elementsOf(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector ? vector->getNumElements() : 1;
}

void addOperation(Work &work, const Instruction &instruction, int64_t perElement = 1) {
  Type *type = instruction.getType();
  int64_t results = elementsOf(type) * perElement;
  work.operations += results;
  if (type->isVectorTy())
    work.inVectors += results;
  if (type->isFPOrFPVectorTy())
    work.flops += results;
}

bool isOnStack(const Value *pointer) { return isa<AllocaInst>(getUnderlyingObject(pointer)); }

/// Describes a function of the runtime for users; empty if it isn't worth mentioning.
StringRef describeFunction(StringRef function) {
  return StringSwitch<StringRef>(function)
      .Cases({"treadle_release", "treadle_release_all", "treadle_spread"}, "")
      .Case("treadle_reshape", "reshape")
      .Case("treadle_reuse", "reuse of memory")
      .Case("treadle_unique", "copy of a tensor that others hold")
      .StartsWith("treadle_list", "list operation")
      .Default(function);
}

void addCall(Work &work, const CallInst &call, const MeteredCode::Origin *place) {
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(&call)) {
    if (auto *transfer = dyn_cast<MemTransferInst>(intrinsic)) {
      if (auto *length = dyn_cast<ConstantInt>(transfer->getLength())) {
        work.bytesRead += length->getSExtValue();
        work.bytesWritten += length->getSExtValue();
      }
    } else if (!intrinsic->getType()->isVoidTy() && !intrinsic->getType()->isPointerTy()) {
      bool isFused = intrinsic->getIntrinsicID() == Intrinsic::fma ||
                     intrinsic->getIntrinsicID() == Intrinsic::fmuladd;
      addOperation(work, call, isFused ? 2 : 1);
    }
    return;
  }
  const Function *callee = call.getCalledFunction();
  if (callee && !callee->isDeclaration())
    return; // a piece of the cluster, whose own instructions are counted
  StringRef name = callee ? callee->getName() : "a function";
  if (call.getType()->isFPOrFPVectorTy()) {
    addOperation(work, call); // a math function
  } else if (name == "treadle_allocate") {
    ++work.allocations;
  } else if (name == "treadle_kernel" && place) {
    ++work.calls[str("kernel of '", place->name, "' (", place->op, ")")];
  } else if (StringRef words = describeFunction(name); !words.empty()) {
    ++work.calls[words.str()];
  }
}

void add(Work &work, const Instruction &instruction, const MeteredCode::Origin *place) {
  const DataLayout &layout = instruction.getDataLayout();
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    if (!load->isVolatile() && !isOnStack(load->getPointerOperand()))
      work.bytesRead += layout.getTypeStoreSize(load->getType()).getFixedValue();
  } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    if (!isOnStack(store->getPointerOperand()))
      work.bytesWritten +=
          layout.getTypeStoreSize(store->getValueOperand()->getType()).getFixedValue();
  } else if (auto *call = dyn_cast<CallInst>(&instruction)) {
    addCall(work, *call, place);
  } else if (isa<BinaryOperator, UnaryOperator, CmpInst, SelectInst, CastInst>(instruction) &&
             !instruction.getType()->isPtrOrPtrVectorTy()) {
    addOperation(work, instruction);
  }
}

bool isEmpty(const Work &work) {
  return !work.operations && !work.bytesRead && !work.bytesWritten && !work.allocations &&
         work.calls.empty();
}

/// Compiled code checks in each iteration of a graph loop whether it should stop.
bool beginsIteration(const Instruction &instruction) {
  auto *load = dyn_cast<LoadInst>(&instruction);
  return load && load->isVolatile();
}

/// Returns the origin of an instruction, or -1.
int originOf(const Instruction &instruction) {
  DILocation *location = instruction.getDebugLoc();
  return location ? static_cast<int>(location->getLine()) - 1 : -1;
}

/// Returns the origin of the innermost graph loop around a block, or -1. Used for instructions that
/// lost their own origin when they were merged or moved.
int enclosingLoopOrigin(const BasicBlock &block, const LoopInfo &loops) {
  for (const Loop *loop = loops.getLoopFor(&block); loop; loop = loop->getParentLoop())
    for (const BasicBlock *inside : loop->blocks())
      if (loops.getLoopFor(inside) == loop)
        for (const Instruction &instruction : *inside)
          if (beginsIteration(instruction) && originOf(instruction) >= 0)
            return originOf(instruction);
  return -1;
}

} // namespace

void MeteredCode::instrument(Module &module) {
  struct Counted {
    BasicBlock *block;
    size_t number;
  };
  SmallVector<Counted> counted;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (BasicBlock &block : function) {
      int around = enclosingLoopOrigin(block, loops);
      std::map<int, OriginWork> byPlace;
      for (const Instruction &instruction : block) {
        int place = originOf(instruction);
        if (place < 0)
          place = around;
        OriginWork &share = byPlace[place];
        share.iterations += beginsIteration(instruction);
        add(share.work, instruction, place < 0 ? nullptr : &originTable[place]);
      }
      size_t number = counted.size();
      for (auto &[place, share] : byPlace)
        if (share.iterations || !isEmpty(share.work))
          shares.push_back({number, place, share.work, share.iterations});
      counted.push_back({&block, number});
    }
  }
  counts.assign(counted.size(), 0);
  StripDebugInfo(module);
  Type *word = Type::getInt64Ty(module.getContext());
  for (const Counted &one : counted) {
    IRBuilder<> b(one.block, one.block->getFirstInsertionPt());
    auto address = reinterpret_cast<uintptr_t>(&counts[one.number]);
    Value *pointer = b.CreateIntToPtr(ConstantInt::get(word, address), b.getPtrTy());
    b.CreateAtomicRMW(AtomicRMWInst::Add, pointer, ConstantInt::get(word, 1), MaybeAlign(8),
                      AtomicOrdering::Monotonic);
  }
}

CodeProfile::Cluster MeteredCode::read() const {
  CodeProfile::Cluster cluster{this->cluster, {}, {}};
  std::vector<int64_t> iterations(originTable.size());
  std::vector<Work> works(originTable.size());
  for (const OriginWork &share : shares) {
    auto count = static_cast<int64_t>(__atomic_load_n(&counts[share.block], __ATOMIC_RELAXED));
    Work work = times(share.work, count);
    if (share.place < 0) {
      cluster.outside += work;
      continue;
    }
    works[share.place] += work;
    iterations[share.place] += share.iterations * count;
  }
  // Origins of loops precede those of their bodies. A loop that was translated several times has
  // several origins, of which only one has code.
  std::map<int, int> loopAt;
  for (int place = 0; place < static_cast<int>(originTable.size()); ++place) {
    auto outer = loopAt.find(originTable[place].loop);
    int around = outer == loopAt.end() ? -1 : outer->second;
    if (iterations[place]) {
      loopAt[place] = static_cast<int>(cluster.loops.size());
      cluster.loops.push_back(
          {originTable[place].name, originTable[place].op, around, iterations[place], {}, {}});
      around = loopAt[place];
    }
    if (isEmpty(works[place]))
      continue;
    if (around < 0) {
      cluster.outside += works[place];
      continue;
    }
    auto &nodes = cluster.loops[around].nodes;
    auto known = std::ranges::find_if(nodes, [&](const CodeProfile::Node &node) {
      return node.name == originTable[place].name && node.where == originTable[place].where;
    });
    if (known == nodes.end())
      known = nodes.insert(
          nodes.end(),
          {originTable[place].name, originTable[place].op, originTable[place].where, {}});
    known->work += works[place];
    for (int loop = around; loop >= 0; loop = cluster.loops[loop].outer)
      cluster.loops[loop].work += works[place];
  }
  auto weight = [](const CodeProfile::Node &node) {
    return node.work.operations + node.work.bytesRead + node.work.bytesWritten;
  };
  for (CodeProfile::Loop &loop : cluster.loops)
    std::ranges::stable_sort(loop.nodes, std::greater(), weight);
  return cluster;
}

std::shared_ptr<MeteredCode> CodeMeter::add(std::string cluster) {
  std::lock_guard lock(mutex);
  return codes.emplace_back(std::make_shared<MeteredCode>(std::move(cluster)));
}

CodeProfile CodeMeter::read() const {
  std::lock_guard lock(mutex);
  CodeProfile profile;
  for (const auto &code : codes)
    profile.clusters.push_back(code->read());
  return profile;
}

} // namespace codegen
} // namespace treadle
