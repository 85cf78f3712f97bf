// Builds the code of a lane: of the elements of loop variables that depend on no others.
//
// It is built by asking for elements: an element of a variable after an iteration asks for those
// that it is computed from, at indices that are the numbers of lanes or constants. If it asks for
// the variable of another lane, the lanes aren't independent, and nothing is built.
#pragma once

#include "treadle/codegen/Rc.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include <map>
#include <memory>
#include <optional>

namespace treadle::codegen {

/// Limits on the code of a lane.
constexpr int64_t maxLaneElements = 64;
constexpr int64_t maxLaneOperations = 4000;

using LanePlaces = mlir::SmallVector<mlir::Value, 4>;

/// The axis of a dimension of a loop variable; `insideLane`: none.
constexpr int insideLane = -1;
using LaneLayout = mlir::SmallVector<int, 4>;

/// A position in a tensor of this layout: a place in a lane.
struct LanePosition {
  LaneLayout layout;
  mlir::SmallVector<int64_t> place;
};

/// A loop variable that is a tensor or a scalar.
struct LaneVariable {
  std::optional<LaneLayout> layout = std::nullopt; // not known before it is first asked for
  /// The elements in a lane that the loop carries, with the numbers of the loop's arguments.
  std::map<mlir::SmallVector<int64_t>, unsigned> carried = {};
  /// Whether it stays in memory: the loop only writes it.
  bool isMemory = false;
};

/// Code of a block of the original program that is being built.
struct LaneScope {
  mlir::Block *original; // null: the code around the loop
  mlir::Block *block;
  mlir::DenseMap<mlir::Value, mlir::Value> scalars;
  std::map<std::pair<void *, mlir::SmallVector<void *>>, mlir::Value> elements;

  LaneScope(mlir::Block *original, mlir::Block *block) : original(original), block(block) {}
};

/// A loop that is being built over the elements of a lane.
struct LaneLoop {
  mlir::scf::WhileOp original, made;
  mlir::SmallVector<LaneVariable> variables;
  struct Carried {
    unsigned variable;
    mlir::SmallVector<int64_t> place;
    mlir::Value init;
    bool isImaginary = false; // complex numbers are carried as two
  };
  mlir::SmallVector<Carried> carried;
  /// Whether the original loop runs until the conditions of all lanes fail.
  bool isGuarded = false;
};

/// Builds the code of a lane. Functions return null if that isn't possible.
class LaneBuilder {
public:
  LaneBuilder(mlir::OpBuilder b, mlir::Location loc, mlir::ArrayRef<int64_t> sizes)
      : b(b), loc(loc), sizes(sizes) {}

  /// Builds a loop of a lane with these numbers, by axis, in a block around which there is the code
  /// around the original loop. `wanted` are the results that are needed. Returns null if it isn't
  /// possible.
  LaneLoop *build(mlir::scf::WhileOp loop, mlir::Block *into, mlir::ValueRange numbers,
                  mlir::ArrayRef<unsigned> wanted,
                  const mlir::DenseMap<unsigned, mlir::Value> &inMemory);

  /// The layout of a tensor if each axis is the first dimension of its size.
  std::optional<LaneLayout> guess(mlir::RankedTensorType type) const;
  bool hasAllAxes(const LaneLayout &layout) const;

  /// Positions in a tensor of this layout, for a place in the lane.
  LanePlaces placesOf(const LaneLayout &layout, mlir::ArrayRef<int64_t> place);

  /// Elements of a result after the loop, by place in the lane.
  mlir::Value resultOf(LaneLoop &loop, unsigned variable, const mlir::SmallVector<int64_t> &place);

  /// Whether a loop only writes a variable, so that it stays in memory.
  static bool isOnlyWritten(mlir::scf::WhileOp loop, unsigned variable);

private:
  // Positions.
  mlir::Value number(int64_t value);

  /// Makes constants unique, so that equal positions are the same values.
  mlir::Value unique(mlir::Value place);
  std::optional<int> axisOf(mlir::Value place);
  /// Returns nullopt unless each index is the number of a lane or constant.
  std::optional<LanePosition> positionOf(mlir::ArrayRef<mlir::Value> places);

  // Scopes.
  /// The innermost scope in which a value is available that belongs to a block of the original
  /// program.
  size_t scopeOf(mlir::Block *original);
  /// The scope of a value that was built.
  size_t scopeOfBuilt(mlir::Value value);
  bool count() { return ++operations <= maxLaneOperations; }

  /// Clones an operation, and folds it.
  mlir::LogicalResult clone(mlir::Operation &op, mlir::IRMapping &mapping);

  // Scalars.
  /// Returns a scalar of the original program, as the lane computes it.
  mlir::Value scalar(mlir::Value value);
  mlir::Value compute(mlir::Value value);
  static bool isScalarOp(mlir::Operation *op);

  // Elements.
  /// Returns an element of a tensor of the original program.
  mlir::Value element(mlir::Value tensor, LanePlaces places);
  mlir::Value computeElement(mlir::Value tensor, mlir::RankedTensorType type,
                             mlir::ArrayRef<mlir::Value> places);

  /// Returns the function that reads elements of a kernel's result from its operands; null if that
  /// isn't possible.
  using KernelReader = mlir::Value (LaneBuilder::*)(rc::KernelOp, mlir::RankedTensorType,
                                                    mlir::ArrayRef<mlir::Value>);
  static KernelReader readerOf(rc::KernelOp op);
  mlir::Value ofTranspose(rc::KernelOp op, mlir::RankedTensorType type,
                          mlir::ArrayRef<mlir::Value> places);

  /// A slice at a position that is computed, and clamped so that the slice is inside of the tensor.
  mlir::Value ofSlice(rc::KernelOp op, mlir::RankedTensorType type,
                      mlir::ArrayRef<mlir::Value> places);
  static std::optional<int64_t> linearPlace(mlir::RankedTensorType type,
                                            mlir::ArrayRef<mlir::Value> places);
  mlir::Value readOutside(mlir::Value tensor, mlir::RankedTensorType type,
                          mlir::ArrayRef<mlir::Value> places);
  mlir::Value ofReshape(rc::ReshapeOp op, mlir::RankedTensorType type,
                        mlir::ArrayRef<mlir::Value> places);

  /// Converts positions along the dimensions [firstTo, lastTo) of one shape to those along
  /// [firstFrom, lastFrom) of another with as many elements.
  bool regroup(mlir::RankedTensorType to, mlir::ArrayRef<mlir::Value> places, int64_t firstTo,
               int64_t lastTo, mlir::RankedTensorType from, LanePlaces &result, int64_t firstFrom,
               int64_t lastFrom);

  // Linalg ops.
  mlir::Value ofGeneric(mlir::linalg::GenericOp op, unsigned result,
                        mlir::ArrayRef<mlir::Value> places);

  /// Positions of the loops that compute an element of a result; null for those of reductions.
  static LanePlaces loopsOf(mlir::linalg::GenericOp op, unsigned result,
                            mlir::ArrayRef<mlir::Value> places);

  /// Initial value of a reduction.
  mlir::Value fillOf(mlir::Value init);

  /// Copies the body of an op; returns what it yields, or only result `only`. Empty if that isn't
  /// possible.
  mlir::SmallVector<mlir::Value> body(mlir::linalg::GenericOp op, mlir::ArrayRef<mlir::Value> loops,
                                      mlir::ArrayRef<mlir::Value> sums, int only);

  /// A value that a body uses: its own, or one of the code around it.
  mlir::Value inside(mlir::Value value, mlir::IRMapping &mapping);
  mlir::LogicalResult copy(mlir::Block &block, mlir::ArrayRef<mlir::Value> loops,
                           mlir::IRMapping &mapping);
  mlir::LogicalResult copy(mlir::Operation &op, mlir::ArrayRef<mlir::Value> loops,
                           mlir::IRMapping &mapping);

  // Loops.
  LaneLoop *loopOf(mlir::Block *original);

  /// Returns an element of a loop variable in an iteration.
  mlir::Value carriedAt(mlir::BlockArgument argument, mlir::ArrayRef<mlir::Value> places);

  /// Returns a value that a loop carries from the values or the pairs of parts that it carries.
  mlir::Value joined(LaneLoop &loop, unsigned at, mlir::ValueRange carried);

  /// Adds an element to those that a loop carries; returns its number.
  std::optional<unsigned> carry(LaneLoop &loop, unsigned variable, const LaneLayout &layout,
                                const mlir::SmallVector<int64_t> &place);

  /// If a loop runs until the conditions of all lanes fail: returns that of this lane. The lanes'
  /// conditions are i1, or i8 whose lowest bit counts.
  mlir::Value anyLane(LaneLoop &loop);

  /// Calls `visit` for each place in a lane; stops if it returns false.
  static bool forEachPlace(mlir::RankedTensorType type, const LaneLayout &layout,
                           llvm::function_ref<bool(const mlir::SmallVector<int64_t> &)> visit);
  bool carryAll(LaneLoop &loop, unsigned variable);
  LaneLoop *buildLoop(mlir::scf::WhileOp original, mlir::ArrayRef<unsigned> wanted);

  /// Returns an element of a variable after an iteration.
  mlir::Value nextOf(LaneLoop &loop, LaneLoop::Carried carried);
  /// Adds the elements after an iteration that are carried and not yet in the list. These may
  /// depend on further elements, which are carried then.
  bool yieldCarried(LaneLoop &loop, mlir::SmallVectorImpl<mlir::Value> &yielded);

  /// Writes what this lane does of a variable that stays in memory.
  bool writeMemory(LaneLoop &loop, unsigned variable);
  mlir::LogicalResult copyStore(rc::StoreOp store, mlir::IRMapping &mapping);

  /// Whether an op of a loop body may be left out if nothing asks for its results.
  static bool mayDrop(mlir::Operation &op);

  /// If the original loop runs for all lanes until the last one ends, variables of lanes that have
  /// ended must not change. In the loop of a lane its own condition always holds.
  bool removeGuards(LaneLoop &loop, mlir::Value condition,
                    mlir::SmallVectorImpl<mlir::Value> &yielded);
  void finish(LaneLoop &loop, mlir::Value condition, mlir::ArrayRef<mlir::Value> yielded);

  /// Builds a loop inside of another, when one of its results is first asked for.
  mlir::Value resultOfNested(mlir::scf::WhileOp op, unsigned result,
                             mlir::ArrayRef<mlir::Value> places);

  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::SmallVector<int64_t> sizes;             // of the axes
  mlir::SmallVector<mlir::Value> lanes;         // numbers of the lane, by axis
  mlir::DenseMap<unsigned, mlir::Value> memory; // tensors of the variables that stay in memory
  std::vector<LaneScope> scopes;
  mlir::DenseMap<int64_t, mlir::Value> numbers; // constants
  std::vector<std::unique_ptr<LaneLoop>> loops;
  /// Loops inside of others, by the block that they are built in.
  std::map<std::pair<mlir::Operation *, mlir::Block *>, LaneLoop *> nested;
  int64_t operations = 0;
  int depth = 0;
};

inline bool isTensor(mlir::Value value) { return mlir::isa<mlir::TensorType>(value.getType()); }

/// Returns the type of a tensor of static shape; null for other values.
inline mlir::RankedTensorType staticType(mlir::Value value) {
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type : mlir::RankedTensorType();
}

} // namespace treadle::codegen
