// The last lowering step in MLIR: references become pointers to tensor blocks of the runtime.
#include "treadle/codegen/CallFrame.h"
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/tensor/Tensor.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/DialectConversion.h"

#include <cstddef>

using namespace mlir;

namespace treadle::codegen {
namespace {

DType dtypeOf(rc::RefType type) { return valueTypeOf(type.getTensor().getElementType()).dtype; }

/// Builds the LLVM operations of one rc op.
class OpEmitter {
public:
  OpEmitter(OpBuilder &b, Operation *op) : b(b), loc(op->getLoc()), op(op) {}

  LLVM::LLVMFuncOp function() const { return op->getParentOfType<LLVM::LLVMFuncOp>(); }
  /// The frame is the first argument, except of a part, which finds it before its captures.
  Value frame() {
    Value first = function().getArgument(0);
    return function()->hasAttr(rc::partAttr) ? load(pointer(), first, 0) : first;
  }
  Type pointer() const { return LLVM::LLVMPointerType::get(b.getContext()); }

  Value number(Type type, int64_t value) {
    return LLVM::ConstantOp::create(b, loc, type, b.getIntegerAttr(type, value));
  }
  Value field(Value base, int64_t offset) {
    return LLVM::GEPOp::create(b, loc, pointer(), b.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  }
  Value load(Type type, Value base, int64_t offset, bool isVolatile = false) {
    return LLVM::LoadOp::create(b, loc, type, field(base, offset), 0, isVolatile);
  }
  void store(Value value, Value base, int64_t offset) {
    LLVM::StoreOp::create(b, loc, value, field(base, offset));
  }
  /// Allocates an array for the duration of the call; in the entry block, so that loops don't
  /// allocate repeatedly.
  Value array(int64_t size) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&function().getBody().front());
    return LLVM::AllocaOp::create(b, loc, pointer(), b.getI64Type(),
                                  number(b.getI64Type(), std::max<int64_t>(size, 1)));
  }
  Value call(StringRef name, Type result, ValueRange arguments) {
    auto module = op->getParentOfType<ModuleOp>();
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      callee = LLVM::LLVMFuncOp::create(
          b, loc, name, LLVM::LLVMFunctionType::get(result, llvm::to_vector(arguments.getTypes())));
    }
    auto made = LLVM::CallOp::create(b, loc, callee, arguments);
    return made.getNumResults() ? made.getResult() : Value();
  }

  OpBuilder &b;
  Location loc;
  Operation *op;
};

template <typename Op> class RcPattern : public ConvertOpToLLVMPattern<Op> {
public:
  using Adaptor = typename Op::Adaptor;
  using Lower = void (*)(Op, Adaptor, ConversionPatternRewriter &, const LLVMTypeConverter &);
  RcPattern(const LLVMTypeConverter &types, Lower lower)
      : ConvertOpToLLVMPattern<Op>(types), lower(lower) {}

  LogicalResult matchAndRewrite(Op op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    lower(op, adaptor, rewriter, *this->getTypeConverter());
    return success();
  }

private:
  Lower lower;
};

using Rewriter = ConversionPatternRewriter;
using Types = LLVMTypeConverter;

constexpr int64_t referencesOffset = offsetof(TensorBlock, references),
                  ownerOffset = offsetof(TensorBlock, owner),
                  rankOffset = offsetof(TensorBlock, rank),
                  dataOffset = offsetof(TensorBlock, data),
                  countOffset = offsetof(TensorBlock, count),
                  dimsOffset = offsetof(TensorBlock, dims);

void retain(OpEmitter &e, Value block) {
  LLVM::AtomicRMWOp::create(e.b, e.loc, LLVM::AtomicBinOp::add, block,
                            e.number(e.b.getI32Type(), 1), LLVM::AtomicOrdering::monotonic);
}

void lowerConstant(rc::ConstantOp op, rc::ConstantOp::Adaptor, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Value table = e.load(e.pointer(), e.frame(), 8);
  Value block = e.load(e.pointer(), table, 8 * op.getIndex());
  retain(e, block);
  rewriter.replaceOp(op, block);
}

void lowerRetain(rc::RetainOp op, rc::RetainOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  retain(e, in.getRef());
  rewriter.eraseOp(op);
}

void lowerRelease(rc::ReleaseOp op, rc::ReleaseOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  e.call("treadle_release", LLVM::LLVMVoidType::get(rewriter.getContext()), {in.getRef()});
  rewriter.eraseOp(op);
}

/// Returns the address of a slot.
Value wordAt(OpEmitter &e, Value words, int64_t word) {
  return e.field(MemRefDescriptor(words).alignedPtr(e.b, e.loc), 8 * word);
}

/// Pieces get the slots of the cluster.
void lowerCall(rc::CallOp op, rc::CallOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Type i32 = rewriter.getI32Type();
  Value left = LLVM::CallOp::create(rewriter, op.getLoc(), i32, op.getPiece(),
                                    ValueRange{e.frame(), wordAt(e, in.getWords(), 0)})
                   .getResult();
  rewriter.replaceOpWithNewOp<LLVM::ICmpOp>(op, LLVM::ICmpPredicate::eq, left, e.number(i32, 0));
}

void lowerStoreWord(rc::StoreWordOp op, rc::StoreWordOp::Adaptor in, Rewriter &rewriter,
                    const Types &) {
  OpEmitter e(rewriter, op);
  e.store(in.getValue(), wordAt(e, in.getWords(), op.getWord()), 0);
  rewriter.eraseOp(op);
}

void lowerLoadWord(rc::LoadWordOp op, rc::LoadWordOp::Adaptor in, Rewriter &rewriter,
                   const Types &types) {
  OpEmitter e(rewriter, op);
  Value place = wordAt(e, in.getWords(), op.getWord());
  Value value = e.load(types.convertType(op.getType()), place, 0);
  if (op.getTakes())
    e.store(LLVM::ZeroOp::create(rewriter, op.getLoc(), e.pointer()), place, 0);
  else if (isa<rc::RefType>(op.getType()))
    retain(e, value);
  rewriter.replaceOp(op, value);
}

void lowerClearWords(rc::ClearWordsOp op, rc::ClearWordsOp::Adaptor in, Rewriter &rewriter,
                     const Types &) {
  OpEmitter e(rewriter, op);
  LLVM::MemsetOp::create(rewriter, op.getLoc(), wordAt(e, in.getWords(), 0),
                         e.number(rewriter.getI8Type(), 0),
                         e.number(rewriter.getI64Type(), 8 * static_cast<int64_t>(op.getCount())),
                         /*isVolatile=*/false);
  rewriter.eraseOp(op);
}

void lowerReleaseWords(rc::ReleaseWordsOp op, rc::ReleaseWordsOp::Adaptor in, Rewriter &rewriter,
                       const Types &) {
  OpEmitter e(rewriter, op);
  e.call("treadle_release_all", LLVM::LLVMVoidType::get(rewriter.getContext()),
         {wordAt(e, in.getWords(), 0),
          e.number(rewriter.getI64Type(), static_cast<int64_t>(op.getCount()))});
  rewriter.eraseOp(op);
}

void lowerRunning(rc::RunningOp op, rc::RunningOp::Adaptor, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Value flag = e.load(e.pointer(), e.frame(), 0);
  Value stopped = e.load(rewriter.getI8Type(), flag, 0, /*isVolatile=*/true);
  rewriter.replaceOpWithNewOp<LLVM::ICmpOp>(op, LLVM::ICmpPredicate::eq, stopped,
                                            e.number(rewriter.getI8Type(), 0));
}

void lowerUnchanged(rc::UnchangedOp op, rc::UnchangedOp::Adaptor, Rewriter &rewriter,
                    const Types &) {
  OpEmitter e(rewriter, op);
  Value areSame = e.number(rewriter.getI1Type(), 1);
  for (int64_t i = 0; i < static_cast<int64_t>(op.getCount()); ++i) {
    Value watched = e.load(e.pointer(), e.frame(), offsetof(CallFrame, watched));
    constexpr int64_t size = sizeof(WatchedValue);
    Value place = e.load(e.pointer(), watched, size * i + offsetof(WatchedValue, place));
    Value known = e.load(e.pointer(), watched, size * i + offsetof(WatchedValue, value));
    Value now = e.load(e.pointer(), place, 0, /*isVolatile=*/true);
    Value isSame = LLVM::ICmpOp::create(rewriter, op.getLoc(), LLVM::ICmpPredicate::eq, now, known);
    areSame = LLVM::AndOp::create(rewriter, op.getLoc(), areSame, isSame);
  }
  rewriter.replaceOp(op, areSame);
}

void lowerDim(rc::DimOp op, rc::DimOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  rewriter.replaceOp(op,
                     e.load(rewriter.getI64Type(), in.getRef(), dimsOffset + 8 * op.getIndex()));
}

void lowerRank(rc::RankOp op, rc::RankOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Value rank = e.load(rewriter.getI8Type(), in.getRef(), rankOffset);
  rewriter.replaceOpWithNewOp<LLVM::ZExtOp>(op, rewriter.getI64Type(), rank);
}

void lowerCast(rc::CastOp op, rc::CastOp::Adaptor in, Rewriter &rewriter, const Types &) {
  rewriter.replaceOp(op, in.getRef());
}

void lowerSelect(rc::SelectOp op, rc::SelectOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Value block = LLVM::SelectOp::create(rewriter, op.getLoc(), in.getCondition(), in.getFirst(),
                                       in.getSecond());
  retain(e, block);
  rewriter.replaceOp(op, block);
}

void lowerBail(rc::BailOp op, rc::BailOp::Adaptor, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, e.number(rewriter.getI32Type(), 1));
}

void lowerParallel(rc::ParallelOp op, rc::ParallelOp::Adaptor, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  e.call("treadle.parallel", LLVM::LLVMVoidType::get(rewriter.getContext()), {});
  rewriter.eraseOp(op);
}

/// The frame and the captures are passed in an array of words.
void lowerSpread(rc::SpreadOp op, rc::SpreadOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Value captures = e.array(static_cast<int64_t>(in.getCaptures().size()) + 1);
  e.store(e.frame(), captures, 0);
  for (auto [i, value] : llvm::enumerate(in.getCaptures()))
    e.store(value, captures, 8 * static_cast<int64_t>(i + 1));
  Type none = LLVM::LLVMVoidType::get(rewriter.getContext()), i64 = rewriter.getI64Type();
  if (op.getAlone()) {
    LLVM::CallOp::create(rewriter, op.getLoc(), TypeRange(), op.getPart(),
                         ValueRange{captures, e.number(i64, 0), in.getSize()});
  } else {
    Value part = LLVM::AddressOfOp::create(rewriter, op.getLoc(), e.pointer(), op.getPart());
    e.call("treadle_spread", none,
           {e.frame(), part, captures, in.getSize(), in.getCount(),
            e.number(i64, static_cast<int64_t>(op.getCost()))});
  }
  rewriter.eraseOp(op);
}

/// Stores the dimensions of a new tensor in memory.
Value dimsArray(OpEmitter &e, RankedTensorType type, ValueRange dynamic) {
  Value array = e.array(type.getRank());
  size_t next = 0;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    Value size =
        type.isDynamicDim(i) ? dynamic[next++] : e.number(e.b.getI64Type(), type.getDimSize(i));
    e.store(size, array, 8 * i);
  }
  return array;
}

/// Replaces an op by a block and a flag that tells whether the block isn't null.
void replaceWithBlock(Operation *op, Rewriter &rewriter, Value block) {
  Value none = LLVM::ZeroOp::create(rewriter, op->getLoc(), block.getType());
  Value ok = LLVM::ICmpOp::create(rewriter, op->getLoc(), LLVM::ICmpPredicate::ne, block, none);
  rewriter.replaceOp(op, {block, ok});
}

/// Calls a function that returns a block of a type, or null.
Value newBlock(OpEmitter &e, rc::RefType type, StringRef function, ValueRange first,
               ValueRange dims) {
  auto tensor = cast<RankedTensorType>(type.getTensor());
  SmallVector<Value> arguments(first);
  arguments.push_back(e.number(e.b.getI8Type(), static_cast<int64_t>(dtypeOf(type))));
  arguments.push_back(e.number(e.b.getI32Type(), tensor.getRank()));
  arguments.push_back(dimsArray(e, tensor, dims));
  return e.call(function, e.pointer(), arguments);
}

template <typename Op>
void lowerNew(Op op, Rewriter &rewriter, StringRef function, ValueRange first, ValueRange dims) {
  OpEmitter e(rewriter, op);
  auto type = cast<rc::RefType>(op->getResult(0).getType());
  replaceWithBlock(op, rewriter, newBlock(e, type, function, first, dims));
}

void lowerAlloc(rc::AllocOp op, rc::AllocOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Value copies = e.number(rewriter.getI8Type(), op.getCopies());
  lowerNew(op, rewriter, "treadle_allocate", {e.frame(), copies}, in.getDims());
}

/// Builds an uncounted block and its elements on the stack. Only the fields that views read are
/// set.
void lowerLocal(rc::LocalOp op, rc::LocalOp::Adaptor, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  auto type = cast<RankedTensorType>(op.getResult().getType().getTensor());
  constexpr int64_t alignment = 64;
  int64_t rank = type.getRank();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&e.function().getBody().front());
  auto memory = [&](int64_t bytes) {
    return LLVM::AllocaOp::create(rewriter, op.getLoc(), e.pointer(), rewriter.getI8Type(),
                                  e.number(rewriter.getI64Type(), bytes), alignment)
        .getResult();
  };
  auto size = static_cast<int64_t>(dtypeSize(dtypeOf(op.getResult().getType())));
  Value block = memory(dimsOffset + 8 * rank),
        elements = memory(std::max<int64_t>(type.getNumElements() * size, 1));
  e.store(elements, block, dataOffset);
  e.store(e.number(rewriter.getI64Type(), type.getNumElements()), block, countOffset);
  e.store(e.number(rewriter.getI8Type(), rank), block, rankOffset);
  for (int64_t i = 0; i < rank; ++i)
    e.store(e.number(rewriter.getI64Type(), type.getDimSize(i)), block, dimsOffset + 8 * i);
  rewriter.replaceOp(op, block);
}

/// Returns the values `usual` if a condition holds, and otherwise those that `otherwise` computes,
/// merged before an op.
ValueRange branch(Rewriter &rewriter, Operation *op, Value condition, ValueRange usual,
                  llvm::function_ref<SmallVector<Value>()> otherwise) {
  Location loc = op->getLoc();
  Block *before = op->getBlock();
  Block *after = rewriter.splitBlock(before, op->getIterator());
  for (Value value : usual)
    after->addArgument(value.getType(), loc);
  Block *other = rewriter.createBlock(after);
  LLVM::BrOp::create(rewriter, loc, otherwise(), after);
  rewriter.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(rewriter, loc, condition, after, usual, other, ValueRange());
  rewriter.setInsertionPoint(op);
  return after->getArguments();
}

/// If the types guarantee the size of the block, it has no other owner, and nothing is counted, it
/// is reused without a call.
void lowerReuse(rc::ReuseOp op, rc::ReuseOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  auto type = cast<RankedTensorType>(op.getResult().getType().getTensor());
  if (op.getOf().getType() != op.getResult().getType() || !type.hasStaticShape())
    return lowerNew(op, rewriter, "treadle_reuse", {e.frame(), in.getOf()}, in.getDims());
  Type i32 = rewriter.getI32Type();
  Location loc = op.getLoc();
  auto isNull = [&](Value pointer) -> Value {
    Value none = LLVM::ZeroOp::create(rewriter, loc, e.pointer());
    return LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::eq, pointer, none);
  };
  auto both = [&](Value x, Value y) -> Value { return LLVM::AndOp::create(rewriter, loc, x, y); };
  Value references = e.field(in.getOf(), referencesOffset);
  constexpr unsigned alignment = alignof(std::atomic<uint32_t>);
  references = LLVM::LoadOp::create(rewriter, loc, i32, references, alignment, /*isVolatile=*/false,
                                    /*isNonTemporal=*/false, /*isInvariant=*/false,
                                    /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire);
  Value isAlone =
      LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::eq, references, e.number(i32, 1));
  isAlone = both(isAlone, isNull(e.load(e.pointer(), in.getOf(), ownerOffset)));
  isAlone = both(isAlone, isNull(e.load(e.pointer(), e.frame(), offsetof(CallFrame, counters))));
  ValueRange block = branch(rewriter, op, isAlone, in.getOf(), [&] {
    return SmallVector{
        newBlock(e, op.getResult().getType(), "treadle_reuse", {e.frame(), in.getOf()}, {})};
  });
  replaceWithBlock(op, rewriter, block.front());
}

void lowerDrop(rc::DropOp op, rc::DropOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Value isSame =
      LLVM::ICmpOp::create(rewriter, op.getLoc(), LLVM::ICmpPredicate::eq, in.getRef(), in.getBy());
  branch(rewriter, op, isSame, {}, [&] {
    e.call("treadle_release", LLVM::LLVMVoidType::get(rewriter.getContext()), {in.getRef()});
    return SmallVector<Value>();
  });
  rewriter.eraseOp(op);
}

void lowerReshape(rc::ReshapeOp op, rc::ReshapeOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  auto type = cast<rc::RefType>(op->getResult(0).getType());
  auto tensor = cast<RankedTensorType>(type.getTensor());
  Value block = e.call("treadle_reshape", e.pointer(),
                       {in.getFrom(), e.number(rewriter.getI32Type(), tensor.getRank()),
                        dimsArray(e, tensor, in.getDims())});
  replaceWithBlock(op, rewriter, block);
}

void lowerList(rc::ListOp op, rc::ListOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Value isOpen = e.number(rewriter.getI8Type(), op.getIsOpen());
  if (!op.getIsOpen())
    return lowerNew(op, rewriter, "treadle_list", {e.frame(), isOpen}, in.getDims());
  // The dimensions that the type leaves open aren't known.
  auto type = cast<rc::RefType>(op->getResult(0).getType());
  SmallVector<Value> dims = {in.getDims().front()};
  dims.resize(cast<RankedTensorType>(type.getTensor()).getNumDynamicDims(),
              e.number(rewriter.getI64Type(), -1));
  lowerNew(op, rewriter, "treadle_list", {e.frame(), isOpen}, dims);
}

/// Stores sizes in an array; returns its address and length.
std::pair<Value, Value> sizesArray(OpEmitter &e, ValueRange sizes) {
  Value array = e.array(static_cast<int64_t>(sizes.size()));
  for (auto [i, size] : llvm::enumerate(sizes))
    e.store(size, array, 8 * static_cast<int64_t>(i));
  return {e.number(e.b.getI32Type(), static_cast<int64_t>(sizes.size())), array};
}

void lowerOwn(rc::OwnOp op, rc::OwnOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  auto [count, dims] = sizesArray(e, in.getDims());
  Value grows = e.number(rewriter.getI8Type(), op.getGrows());
  Value block = e.call("treadle_list_own", e.pointer(),
                       {e.frame(), in.getList(), in.getIndex(), grows, count, dims});
  replaceWithBlock(op, rewriter, block);
}

/// Calls the runtime only if the tensor or its memory may be shared.
void lowerUnique(rc::UniqueOp op, rc::UniqueOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Type i32 = rewriter.getI32Type();
  auto references =
      LLVM::LoadOp::create(rewriter, op.getLoc(), i32, e.field(in.getRef(), referencesOffset), 4);
  references.setOrdering(LLVM::AtomicOrdering::acquire);
  Value owner = e.load(e.pointer(), in.getRef(), ownerOffset);
  Value isOnly = LLVM::ICmpOp::create(rewriter, op.getLoc(), LLVM::ICmpPredicate::eq, references,
                                      e.number(i32, 1));
  Value none = LLVM::ZeroOp::create(rewriter, op.getLoc(), e.pointer());
  Value isWhole = LLVM::ICmpOp::create(rewriter, op.getLoc(), LLVM::ICmpPredicate::eq, owner, none);
  Value isOwn = LLVM::AndOp::create(rewriter, op.getLoc(), isOnly, isWhole);
  Block *before = rewriter.getInsertionBlock();
  Block *after = rewriter.splitBlock(before, Block::iterator(op));
  Value block = after->addArgument(e.pointer(), op.getLoc());
  Block *slow = rewriter.createBlock(after);
  Value copy = e.call("treadle_unique", e.pointer(), {e.frame(), in.getRef()});
  LLVM::BrOp::create(rewriter, op.getLoc(), copy, after);
  rewriter.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(rewriter, op.getLoc(), isOwn, after, in.getRef(), slow, ValueRange());
  rewriter.setInsertionPoint(op);
  replaceWithBlock(op, rewriter, block);
}

void lowerPut(rc::PutOp op, rc::PutOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  e.call("treadle_list_put", LLVM::LLVMVoidType::get(rewriter.getContext()),
         {in.getList(), in.getIndex(), in.getElement()});
  rewriter.eraseOp(op);
}

void lowerRow(rc::RowOp op, rc::RowOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  Value copies = e.number(rewriter.getI8Type(), op.getCopies());
  Value block =
      e.call("treadle_list_row", e.pointer(), {e.frame(), in.getList(), in.getIndex(), copies});
  replaceWithBlock(op, rewriter, block);
}

void lowerPop(rc::PopOp op, rc::PopOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  replaceWithBlock(op, rewriter,
                   e.call("treadle_list_pop", e.pointer(), {e.frame(), in.getList()}));
}

void lowerStack(rc::StackOp op, rc::StackOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  replaceWithBlock(op, rewriter, e.call("treadle_list_stack", e.pointer(), {in.getList()}));
}

void lowerKernel(rc::KernelOp op, rc::KernelOp::Adaptor in, Rewriter &rewriter, const Types &) {
  OpEmitter e(rewriter, op);
  size_t numInputs = in.getInputs().size(), numOutputs = op.getOutputs().size() - 1;
  Value inputs = e.array(numInputs), outputs = e.array(numOutputs);
  uint64_t takes = 0;
  for (auto [i, taken] : llvm::enumerate(op.getTakes().value_or(ArrayRef<bool>())))
    takes |= uint64_t(taken) << i;
  for (auto [i, input] : llvm::enumerate(in.getInputs()))
    e.store(input, inputs, 8 * i);
  Type i32 = rewriter.getI32Type();
  Value status = e.call("treadle_kernel", i32,
                        {e.frame(), e.number(i32, op.getIndex()), e.number(i32, numInputs), inputs,
                         e.number(rewriter.getI64Type(), static_cast<int64_t>(takes)),
                         e.number(i32, numOutputs), outputs});
  SmallVector<Value> results;
  for (size_t i = 0; i < numOutputs; ++i)
    results.push_back(e.load(e.pointer(), outputs, 8 * i));
  results.push_back(LLVM::ICmpOp::create(rewriter, op.getLoc(), LLVM::ICmpPredicate::ne, status,
                                         e.number(i32, 0)));
  rewriter.replaceOp(op, results);
}

void lowerView(rc::ViewOp op, rc::ViewOp::Adaptor in, Rewriter &rewriter, const Types &types) {
  OpEmitter e(rewriter, op);
  Location loc = op.getLoc();
  auto type = cast<MemRefType>(op.getType());
  auto tensor = dyn_cast<RankedTensorType>(cast<rc::RefType>(op.getRef().getType()).getTensor());
  bool isRow = type.getRank() == 1 && (!tensor || tensor.getRank() != 1);
  MemRefDescriptor descriptor = MemRefDescriptor::poison(rewriter, loc, types.convertType(type));
  Value data = e.load(e.pointer(), in.getRef(), dataOffset);
  descriptor.setAllocatedPtr(rewriter, loc, data);
  descriptor.setAlignedPtr(rewriter, loc, data);
  Type i64 = rewriter.getI64Type();
  descriptor.setOffset(rewriter, loc, e.number(i64, 0));
  Value stride = e.number(i64, 1);
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    Value size = isRow                  ? e.load(i64, in.getRef(), countOffset)
                 : type.isDynamicDim(i) ? e.load(i64, in.getRef(), dimsOffset + 8 * i)
                                        : e.number(i64, type.getDimSize(i));
    descriptor.setSize(rewriter, loc, i, size);
    descriptor.setStride(rewriter, loc, i, stride);
    if (i)
      stride = LLVM::MulOp::create(rewriter, loc, stride, size);
  }
  rewriter.replaceOp(op, Value(descriptor));
}

/// Accesses the parts of complex numbers separately: LLVM neither vectorizes accesses to structs
/// nor, after splitting them, knows that they are independent between iterations.
template <typename Op> class ComplexAccess : public ConvertOpToLLVMPattern<Op> {
public:
  explicit ComplexAccess(const LLVMTypeConverter &types)
      : ConvertOpToLLVMPattern<Op>(types, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor in, Rewriter &rewriter) const override {
    auto complex = dyn_cast<ComplexType>(op.getMemRefType().getElementType());
    if (!complex)
      return failure();
    Location loc = op.getLoc();
    Type part = complex.getElementType(), type = this->getTypeConverter()->convertType(complex);
    Value place = this->getStridedElementPtr(rewriter, loc, op.getMemRefType(), in.getMemref(),
                                             in.getIndices());
    Value places[2] = {place, LLVM::GEPOp::create(rewriter, loc, place.getType(), part, place,
                                                  ArrayRef<LLVM::GEPArg>{1})};
    if constexpr (std::is_same_v<Op, memref::LoadOp>) {
      Value made = LLVM::PoisonOp::create(rewriter, loc, type);
      for (int64_t i : {0, 1})
        made = LLVM::InsertValueOp::create(rewriter, loc, made,
                                           LLVM::LoadOp::create(rewriter, loc, part, places[i]), i);
      rewriter.replaceOp(op, made);
    } else {
      for (int64_t i : {0, 1})
        LLVM::StoreOp::create(rewriter, loc,
                              LLVM::ExtractValueOp::create(rewriter, loc, in.getValue(), i),
                              places[i]);
      rewriter.eraseOp(op);
    }
    return success();
  }
};

template <typename Op, typename Lower>
void add(RewritePatternSet &patterns, const Types &types, Lower lower) {
  patterns.add<RcPattern<Op>>(types, lower);
}

/// Changes the function's signature to the one that the runtime calls: references are passed in one
/// array and returned in another.
void changeSignature(func::FuncOp function) {
  OpBuilder b(function.getContext());
  Location loc = function.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto asPointer = [&](Value value) {
    return UnrealizedConversionCastOp::create(b, loc, pointer, value).getResult(0);
  };
  Block &entry = function.getBody().front();
  unsigned numArguments = entry.getNumArguments();
  for (int i = 0; i < 3; ++i)
    entry.addArgument(pointer, loc);
  Value arguments = entry.getArgument(numArguments + 1),
        results = entry.getArgument(numArguments + 2);
  b.setInsertionPointToStart(&entry);
  for (unsigned i = 0; i < numArguments; ++i) {
    Value place = LLVM::GEPOp::create(b, loc, pointer, pointer, arguments,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    Value block = LLVM::LoadOp::create(b, loc, pointer, place);
    Value ref = UnrealizedConversionCastOp::create(b, loc, entry.getArgument(i).getType(), block)
                    .getResult(0);
    entry.getArgument(i).replaceAllUsesWith(ref);
  }
  entry.eraseArguments(0, numArguments);
  for (auto end : llvm::to_vector(function.getOps<func::ReturnOp>())) {
    b.setInsertionPoint(end);
    for (auto [i, value] : llvm::enumerate(end.getOperands())) {
      Value place = LLVM::GEPOp::create(b, loc, pointer, pointer, results,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      LLVM::StoreOp::create(b, loc, asPointer(value), place);
    }
    Value zero = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(0));
    func::ReturnOp::create(b, loc, zero);
    end.erase();
  }
  function.setFunctionType(b.getFunctionType({pointer, pointer, pointer}, {b.getI32Type()}));
}

/// Makes a function internal to the module.
void hide(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
}

/// Changes the signature of a piece: it takes the frame and the slots, and returns 0, or 1 after a
/// bailout.
void changePieceSignature(func::FuncOp function, const Types &types) {
  OpBuilder b(function.getContext());
  Location loc = function.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Block &entry = function.getBody().front();
  auto type = cast<MemRefType>(entry.getArgument(0).getType());
  entry.insertArgument(0u, pointer, loc);
  Value place = entry.insertArgument(1u, pointer, loc);
  b.setInsertionPointToStart(&entry);
  Value descriptor = MemRefDescriptor::fromStaticShape(b, loc, types, type, place);
  Value words = UnrealizedConversionCastOp::create(b, loc, type, descriptor).getResult(0);
  entry.getArgument(2).replaceAllUsesWith(words);
  entry.eraseArgument(2);
  for (auto end : llvm::to_vector(function.getOps<func::ReturnOp>())) {
    b.setInsertionPoint(end);
    Value zero = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(0));
    func::ReturnOp::create(b, loc, zero);
    end.erase();
  }
  function.setFunctionType(b.getFunctionType({pointer, pointer}, {b.getI32Type()}));
  function.setArgAttr(1, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  hide(function);
}

/// Changes the signature of a parallel loop body: it takes the array of captures, and the range.
void changePartSignature(func::FuncOp function, const Types &types) {
  OpBuilder b(function.getContext());
  Location loc = function.getLoc();
  Block &entry = function.getBody().front();
  unsigned numCaptures = entry.getNumArguments() - 2;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value captures = entry.insertArgument(numCaptures, pointer, loc);
  b.setInsertionPointToStart(&entry);
  for (unsigned i = 0; i < numCaptures; ++i) {
    Type type = entry.getArgument(i).getType(), stored = types.convertType(type);
    Value place = LLVM::GEPOp::create(b, loc, pointer, b.getI64Type(), captures,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i + 1)});
    Value value = LLVM::LoadOp::create(b, loc, stored, place);
    if (stored != type)
      value = UnrealizedConversionCastOp::create(b, loc, type, value).getResult(0);
    entry.getArgument(i).replaceAllUsesWith(value);
  }
  entry.eraseArguments(0, numCaptures);
  function.setFunctionType(b.getFunctionType({pointer, b.getIndexType(), b.getIndexType()}, {}));
  hide(function);
}

} // namespace

LogicalResult lowerToLlvm(ModuleOp module) {
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  LLVMTypeConverter types(context, options);
  types.addConversion(
      [](rc::RefType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext()); });
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (function->hasAttr(rc::partAttr))
      changePartSignature(function, types);
    else if (function->hasAttr(rc::pieceAttr))
      changePieceSignature(function, types);
    else
      changeSignature(function);
  RewritePatternSet patterns(context);
  // Expanded to integer operations: processor instructions for bfloat16 flush denormal numbers to
  // zero.
  arith::populateExpandBFloat16Patterns(patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateComplexToLLVMConversionPatterns(types, patterns);
  patterns.add<ComplexAccess<memref::LoadOp>, ComplexAccess<memref::StoreOp>>(types);
  populateMathToLLVMConversionPatterns(types, patterns);
  populateMathToLibmConversionPatterns(patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
  populateVectorToLLVMConversionPatterns(types, patterns);
  populateFuncToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  add<rc::ConstantOp>(patterns, types, lowerConstant);
  add<rc::RetainOp>(patterns, types, lowerRetain);
  add<rc::ReleaseOp>(patterns, types, lowerRelease);
  add<rc::RunningOp>(patterns, types, lowerRunning);
  add<rc::UnchangedOp>(patterns, types, lowerUnchanged);
  add<rc::CallOp>(patterns, types, lowerCall);
  add<rc::StoreWordOp>(patterns, types, lowerStoreWord);
  add<rc::LoadWordOp>(patterns, types, lowerLoadWord);
  add<rc::ClearWordsOp>(patterns, types, lowerClearWords);
  add<rc::ReleaseWordsOp>(patterns, types, lowerReleaseWords);
  add<rc::DimOp>(patterns, types, lowerDim);
  add<rc::RankOp>(patterns, types, lowerRank);
  add<rc::CastOp>(patterns, types, lowerCast);
  add<rc::SelectOp>(patterns, types, lowerSelect);
  add<rc::BailOp>(patterns, types, lowerBail);
  add<rc::ParallelOp>(patterns, types, lowerParallel);
  add<rc::SpreadOp>(patterns, types, lowerSpread);
  add<rc::AllocOp>(patterns, types, lowerAlloc);
  add<rc::ReshapeOp>(patterns, types, lowerReshape);
  add<rc::LocalOp>(patterns, types, lowerLocal);
  add<rc::ReuseOp>(patterns, types, lowerReuse);
  add<rc::DropOp>(patterns, types, lowerDrop);
  add<rc::ListOp>(patterns, types, lowerList);
  add<rc::OwnOp>(patterns, types, lowerOwn);
  add<rc::UniqueOp>(patterns, types, lowerUnique);
  add<rc::PutOp>(patterns, types, lowerPut);
  add<rc::RowOp>(patterns, types, lowerRow);
  add<rc::PopOp>(patterns, types, lowerPop);
  add<rc::StackOp>(patterns, types, lowerStack);
  add<rc::KernelOp>(patterns, types, lowerKernel);
  add<rc::ViewOp>(patterns, types, lowerView);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  // Folding is disabled: folders would see values whose types are partly converted, and nothing is
  // left to fold.
  ConversionConfig config;
  config.foldingMode = DialectConversionFoldingMode::Never;
  if (failed(applyFullConversion(module, target, std::move(patterns), config)))
    return failure();
  SmallVector<UnrealizedConversionCastOp> casts;
  module.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
  reconcileUnrealizedCasts(casts);
  return success();
}

} // namespace treadle::codegen
