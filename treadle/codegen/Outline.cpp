// Splits long blocks into functions, called pieces, so that no later step takes superlinear time
// for a cluster: each sees one piece at a time.
//
// Values that cross pieces are stored in an array of slots that the cluster allocates and passes to
// all pieces. A slot owns a tensor's reference from its computation to the last piece that uses it.
// When a piece bails out, one common exit releases all references in slots.
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace treadle::codegen {

int64_t weightOf(Operation &op) {
  constexpr int64_t loop = 20, call = 5;
  if (op.hasTrait<OpTrait::ConstantLike>())
    return 0;
  int64_t weight = isa<linalg::GenericOp, rc::WriteOp>(op) ? loop : 0;
  weight += isa<rc::KernelOp, rc::UpdateOp, rc::ReshapeOp, rc::CheckOp>(op) ? call : 1;
  for (Region &region : op.getRegions())
    for (Operation &inner : region.getOps())
      weight += weightOf(inner);
  return weight;
}

namespace {

/// Allocates slot numbers; freed ones are reused.
class SlotAllocator {
public:
  int64_t take() { return unused.empty() ? count++ : unused.pop_back_val(); }
  void free(int64_t word) { unused.push_back(word); }
  /// Slots of a finished block aren't reused by another block, since one may be nested in the
  /// other.
  void close() { unused.clear(); }
  int64_t size() const { return count; }

private:
  int64_t count = 0;
  SmallVector<int64_t> unused;
};

/// Whether the op only defines the destination of another op, for bufferization.
bool isPlaceholder(Operation *op) {
  if (auto cast = dyn_cast_if_present<tensor::CastOp>(op))
    return isPlaceholder(cast.getSource().getDefiningOp());
  return isa_and_present<tensor::EmptyOp, linalg::FillOp>(op);
}

/// Whether the op is rematerialized at its uses.
bool isConstant(Operation *op) {
  return op && (isa<rc::ConstantOp>(op) || op->hasTrait<OpTrait::ConstantLike>());
}

class Outliner {
public:
  Outliner(func::FuncOp cluster, int64_t weight)
      : cluster(cluster), weight(weight), b(cluster.getContext()), loc(cluster.getLoc()) {}
  void run();

private:
  /// A value that is passed through a slot.
  struct CrossingValue {
    int from;     // the piece that computes it; -1: defined before all pieces
    int until;    // the last piece that uses it; number of pieces: used after the last one
    bool isOuter; // defined outside of the loop, if the block is a loop body
    int64_t word = -1;
    SmallVector<std::pair<int, OpOperand *>> uses = {}; // by piece
  };
  using Crossings = llvm::MapVector<Value, CrossingValue>;

  void cut(Region &region);
  void cut(Block &block);
  void clonePlaceholders();
  Crossings crossingsOf(Block &block, ArrayRef<SmallVector<Operation *>> pieces);
  void use(OpOperand &operand, int piece, Block &block, const DenseMap<Operation *, int> &pieceOf,
           Crossings &crossings);
  void assignSlots(Crossings &crossings, int numPieces);
  func::FuncOp outlinePiece(ArrayRef<Operation *> ops);
  void store(Value value, const CrossingValue &crossing, Value memory);
  Value load(Value value, const CrossingValue &crossing, int piece, Value memory);

  /// Complex numbers use two slots.
  SlotAllocator &slotsFor(Value value) {
    return isTensor(value) ? references : isa<ComplexType>(value.getType()) ? pairs : numbers;
  }
  void note(Value value, Operation *access) { accesses.emplace_back(access, &slotsFor(value)); }
  MemRefType typeOfWords(int64_t size) { return MemRefType::get(size, b.getI64Type()); }
  static bool isTensor(Value value) { return isa<TensorType>(value.getType()); }

  func::FuncOp cluster;
  const int64_t weight; // of a piece
  OpBuilder b;
  Location loc;
  Value words;
  SlotAllocator references, numbers, pairs;
  SmallVector<std::pair<Operation *, SlotAllocator *>> accesses;
  SmallVector<func::FuncOp> made;
};

void Outliner::run() {
  clonePlaceholders();
  b.setInsertionPointToStart(&cluster.front());
  words = memref::AllocaOp::create(b, loc, typeOfWords(0));
  cut(cluster.getBody());
  if (made.empty())
    return words.getDefiningOp()->erase();
  const int64_t firstNumber = references.size(), firstPair = firstNumber + numbers.size();
  for (auto [access, kind] : accesses) {
    int64_t word = access->getAttrOfType<IntegerAttr>("word").getInt();
    if (kind == &numbers)
      access->setAttr("word", b.getI64IntegerAttr(firstNumber + word));
    else if (kind == &pairs)
      access->setAttr("word", b.getI64IntegerAttr(firstPair + 2 * word));
  }
  MemRefType type = typeOfWords(firstPair + 2 * pairs.size());
  words.setType(type);
  for (func::FuncOp piece : made) {
    piece.getArgument(0).setType(type);
    piece.setFunctionType(b.getFunctionType(type, {}));
  }
  b.setInsertionPointAfterValue(words);
  rc::ClearWordsOp::create(b, loc, words, references.size());
}

/// Clones placeholders next to each of their users.
void Outliner::clonePlaceholders() {
  SmallVector<Operation *> placeholders;
  cluster.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (isPlaceholder(op))
      placeholders.push_back(op);
  });
  for (Operation *op : placeholders) {
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      b.setInsertionPoint(use.getOwner());
      use.set(b.clone(*op)->getResult(0));
    }
    if (op->use_empty())
      op->erase();
  }
}

/// Inner blocks come first: their remaining ops count for the outer blocks.
void Outliner::cut(Region &region) {
  for (Block &block : region) {
    for (Operation &op : block)
      if (!isa<linalg::GenericOp, rc::WriteOp>(op))
        for (Region &inner : op.getRegions())
          cut(inner);
    int64_t whole = 0;
    for (Operation &op : block)
      whole += weightOf(op);
    if (whole >= 2 * weight)
      cut(block);
  }
}

void Outliner::cut(Block &block) {
  SmallVector<SmallVector<Operation *>> pieces(1);
  int64_t filled = 0;
  for (Operation &op : block.without_terminator()) {
    if (isConstant(&op) || &op == words.getDefiningOp())
      continue;
    if (filled >= weight && !isPlaceholder(pieces.back().back())) {
      pieces.emplace_back();
      filled = 0;
    }
    pieces.back().push_back(&op);
    filled += weightOf(op);
  }
  const auto numPieces = static_cast<int>(pieces.size());
  Crossings crossings = crossingsOf(block, pieces);
  assignSlots(crossings, numPieces);

  SmallVector<Value> memory; // as seen by each piece
  for (ArrayRef<Operation *> ops : pieces)
    memory.push_back(outlinePiece(ops).getArgument(0));
  for (auto &[value, crossing] : crossings) {
    if (value == words || isConstant(value.getDefiningOp()))
      continue;
    if (crossing.isOuter) {
      Operation *loop = block.getParentOp();
      b.setInsertionPoint(loop);
      store(value, crossing, words);
      if (isTensor(value)) {
        b.setInsertionPointAfter(loop);
        rc::LoadWordOp::create(b, loc, value.getType(), words, crossing.word, /*takes=*/true);
      }
      continue;
    }
    if (value.getDefiningOp())
      b.setInsertionPointAfterValue(value);
    else if (words.getParentBlock() == &block)
      b.setInsertionPointAfterValue(words);
    else
      b.setInsertionPointToStart(&block);
    store(value, crossing, crossing.from < 0 ? words : memory[crossing.from]);
  }
  for (auto &[value, crossing] : crossings)
    for (auto it = crossing.uses.begin(); it != crossing.uses.end();) {
      const int piece = it->first;
      const bool isBehind = piece == numPieces;
      Block &target = isBehind ? block : made[made.size() - numPieces + piece].front();
      Operation *first = target.findAncestorOpInBlock(*it->second->getOwner());
      b.setInsertionPoint(first);
      Value here = value == words ? memory[piece]
                   : isConstant(value.getDefiningOp())
                       ? b.clone(*value.getDefiningOp())->getResult(0)
                       : load(value, crossing, piece, isBehind ? words : memory[piece]);
      for (; it != crossing.uses.end() && it->first == piece; ++it)
        it->second->set(here);
    }
}

/// Returns the values that are defined in one piece and used in another, or after the pieces.
Outliner::Crossings Outliner::crossingsOf(Block &block, ArrayRef<SmallVector<Operation *>> pieces) {
  DenseMap<Operation *, int> pieceOf;
  for (auto [i, ops] : llvm::enumerate(pieces))
    for (Operation *op : ops)
      pieceOf[op] = static_cast<int>(i);
  Crossings crossings;
  for (auto [i, ops] : llvm::enumerate(pieces))
    for (Operation *op : ops)
      op->walk([&](Operation *inner) {
        for (OpOperand &operand : inner->getOpOperands())
          if (Operation *parent = operand.get().getParentBlock()->getParentOp();
              !op->isAncestor(parent))
            use(operand, static_cast<int>(i), block, pieceOf, crossings);
      });
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (pieceOf.contains(operand.get().getDefiningOp()))
      use(operand, static_cast<int>(pieces.size()), block, pieceOf, crossings);
  return crossings;
}

void Outliner::use(OpOperand &operand, int piece, Block &block,
                   const DenseMap<Operation *, int> &pieceOf, Crossings &crossings) {
  Value value = operand.get();
  auto known = pieceOf.find(value.getDefiningOp());
  int from = known == pieceOf.end() ? -1 : known->second;
  if (from == piece)
    return;
  CrossingValue &crossing =
      crossings.try_emplace(value, CrossingValue{from, piece, value.getParentBlock() != &block})
          .first->second;
  crossing.until = piece;
  crossing.uses.emplace_back(piece, &operand);
}

/// A slot is freed after the last piece that uses its value.
void Outliner::assignSlots(Crossings &crossings, int numPieces) {
  std::vector<SmallVector<CrossingValue *>> begin(numPieces + 1), end(numPieces + 1);
  DenseMap<CrossingValue *, SlotAllocator *> kinds;
  for (auto &[value, crossing] : crossings) {
    if (value == words || isConstant(value.getDefiningOp()))
      continue;
    kinds[&crossing] = &slotsFor(value);
    begin[crossing.from + 1].push_back(&crossing);
    if (!crossing.isOuter)
      end[crossing.until].push_back(&crossing);
  }
  for (int piece = -1; piece < numPieces; ++piece) {
    if (piece > 0)
      for (CrossingValue *crossing : end[piece - 1])
        kinds[crossing]->free(crossing->word);
    for (CrossingValue *crossing : begin[piece + 1])
      crossing->word = kinds[crossing]->take();
  }
  references.close();
  numbers.close();
  pairs.close();
}

/// Moves the ops to a function, and adds a call of it at the end of their block.
func::FuncOp Outliner::outlinePiece(ArrayRef<Operation *> ops) {
  b.setInsertionPointToEnd(cluster->getParentOfType<ModuleOp>().getBody());
  std::string name = ("piece" + Twine(made.size())).str();
  auto piece = func::FuncOp::create(b, loc, name, b.getFunctionType(words.getType(), {}));
  piece.setPrivate();
  piece->setAttr(rc::pieceAttr, b.getUnitAttr());
  Block &entry = *piece.addEntryBlock();
  b.setInsertionPoint(ops.front()->getBlock()->getTerminator());
  rc::CheckOp::create(b, loc, rc::CallOp::create(b, loc, b.getI1Type(), name, words));
  for (Operation *op : ops)
    op->moveBefore(&entry, entry.end());
  b.setInsertionPointToEnd(&entry);
  func::ReturnOp::create(b, loc);
  made.push_back(piece);
  return piece;
}

void Outliner::store(Value value, const CrossingValue &crossing, Value memory) {
  note(value, rc::StoreWordOp::create(b, loc, value, memory, crossing.word));
}

Value Outliner::load(Value value, const CrossingValue &crossing, int piece, Value memory) {
  bool takes = isTensor(value) && crossing.until == piece && !crossing.isOuter;
  auto load = rc::LoadWordOp::create(b, loc, value.getType(), memory, crossing.word, takes);
  note(value, load);
  return load;
}

} // namespace

void outline(func::FuncOp cluster, int64_t weight, int64_t least) {
  bool hasPieces = !cluster.front().getOps<rc::ClearWordsOp>().empty();
  if (!hasPieces && weightOf(*cluster) >= least)
    Outliner(cluster, weight).run();
}

} // namespace treadle::codegen
