// The translator from nodes to tensor code. Private to the translation; its users see `translate`
// in Cluster.h.
#pragma once

#include "treadle/analysis/shapes/NodeShapes.h"
#include "treadle/codegen/Cluster.h"
#include "treadle/import/Types.h"
#include "treadle/lowering/Constants.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SaveAndRestore.h"

#include <optional>
#include <unordered_map>

namespace treadle::codegen {

struct ElementwiseOp;

/// A list of tensors in compiled code: one tensor whose rows are the elements, or just a length (an
/// index) while the rank of the elements isn't known.
struct ListForm {
  mlir::Type element;
  /// The element shape that the creator of the list specifies. `isExact`: the dimensions of the
  /// list equal it.
  Shape stated;
  bool isExact = false;
  /// Maximum number of elements; -1: unlimited.
  int64_t most = -1;
  /// The nodes that may have made the list.
  std::vector<mlir::Operation *> makers = {};

  bool isSameKind(const ListForm &other) const {
    return element == other.element && stated == other.stated && isExact == other.isExact &&
           most == other.most;
  }
};

/// A value of the graph under translation: the SSA value that holds it, and its known properties.
/// It is a scalar of a native type, a tensor (ranked if the rank is known), or a list.
struct TracedValue {
  mlir::Value value;
  KnownValue known;
  /// The elements, in memory order, of a small tensor that is held in registers.
  std::optional<llvm::SmallVector<mlir::Value>> elements = std::nullopt;
  std::optional<ListForm> list = std::nullopt;
  /// The scalar that all elements of a tensor equal; null if they may differ.
  mlir::Value uniform = nullptr;
};

/// Whether tensors of this type are held in registers, one per element.
bool isSmall(mlir::Type type);

/// The representation of a value where control flow merges.
struct Form {
  mlir::Type type;
  std::optional<ListForm> list = std::nullopt;

  static Form of(const TracedValue &typed) { return {typed.value.getType(), typed.list}; }

  /// Returns the types of the SSA values that represent it: one, or one per element of a small
  /// tensor.
  llvm::SmallVector<mlir::Type> parts() const;

  bool operator==(const Form &other) const {
    return type == other.type && list.has_value() == other.list.has_value() &&
           (!list || (list->isSameKind(*other.list) && list->makers == other.list->makers));
  }
};

using Values = llvm::SmallVector<TracedValue, 2>;

/// The results of a node; nullopt if this translation doesn't apply.
using MaybeValues = Expected<std::optional<Values>>;

/// Translates a function to tensor code. Dimensions that must be equal are checked at run time. A
/// failing check bails out to the interpreter, which reports the error or handles the unexpected
/// shape.
class Translator {
public:
  Translator(const FindFunction &find, mlir::MLIRContext &context,
             const TranslationOptions &options)
      : find(find), options(options), b(&context), loc(b.getUnknownLoc()), types(&context) {}

  Expected<TensorProgram> run(tfg::FuncOp function, llvm::ArrayRef<ArgumentClass> arguments);

  // Functions and control flow.
  using Results = Expected<Values>;
  Results inlineFunction(tfg::FuncOp function, llvm::ArrayRef<TracedValue> arguments);
  Error tooLarge(tfg::FuncOp function) const;
  /// Fails if the code calls Python code with side effects and contains a check that may fail.
  Expected<void> expectNoBailout();
  Results call(tfg::Node node, mlir::Attribute function, llvm::ArrayRef<TracedValue> inputs);
  Results branches(tfg::Node node, const Values &inputs);
  Results loop(tfg::Node node, Values inputs);

  // Nodes.
  Results translateNode(tfg::Node node, Values inputs);
  TracedValue constant(const Tensor &tensor, KnownValue known);
  Results handle(tfg::Node node);
  Results readVariable(tfg::Node node, const TracedValue &handle);
  /// Translates an op with these attributes, for a node that represents several ops.
  Results resultOf(llvm::StringRef op, llvm::ArrayRef<mlir::NamedAttribute> attrs, Values inputs,
                   mlir::Type element, tfg::Node node);
  MaybeValues elementwise(tfg::Node node, const Values &inputs);
  MaybeValues elementwise(const ElementwiseOp &op, tfg::Node node, const Values &inputs);
  /// Checks that no element of an integer tensor is zero.
  void checkNoZeros(const TracedValue &tensor);
  Results kernel(tfg::Node node, const Values &inputs);
  /// Emits a call of a kernel that doesn't correspond to a node of the graph; `near` is the node
  /// that it is for.
  mlir::Value kernelFor(tfg::Node near, llvm::StringRef op, AttrMap attrs,
                        llvm::ArrayRef<mlir::Value> inputs, mlir::Type result);

  // Variables that are written back at the end; see Cell. Returns the number of the cell with this
  // handle; nullopt if it isn't known.
  std::optional<size_t> cellOf(const TracedValue &handle);
  TracedValue read(size_t cell);
  void write(size_t cell, TracedValue value);
  /// Whether a node, or one in a function that it calls, has side effects, so that it must run even
  /// if its results are unused.
  bool hasSideEffects(tfg::Node node);

  // Lists. Whether the lists that a node makes are left to kernels.
  bool leavesLists(tfg::Node node) const { return kernelLists.contains(node.getOperation()); }
  /// Converts a list to a handle, as kernels use it. If this happens in each iteration of a loop,
  /// or some properties are unknown, adds the makers of the list to `wanted`, so that the list is a
  /// handle from the beginning.
  TracedValue handleOf(const TracedValue &list);
  /// Converts a list that is just a length to one with elements of this rank.
  TracedValue openList(const TracedValue &length, mlir::Type type);
  /// Returns the length of a list.
  mlir::Value lengthOf(const TracedValue &list);
  bool isInLoop() const { return innermost != nullptr; }
  /// Whether a value is computed inside of the innermost loop.
  bool isOfIteration(mlir::Value value) const;

  // Values. Converts an element type of the graph to the context of the code.
  mlir::Type elementType(mlir::Type ofGraph) const;
  mlir::Type elementType(mlir::Value ofGraph) const { return elementType(ofGraph.getType()); }
  mlir::Value boxed(mlir::Value value);
  TracedValue unboxed(mlir::Value value, KnownValue known);
  mlir::Value coerce(mlir::Value value, mlir::Type type);
  mlir::Value dim(mlir::Value value, int64_t index);
  mlir::Type joined(mlir::Type a, mlir::Type b);
  /// Returns the most specific common representation; nullopt if the dtypes differ.
  std::optional<Form> joined(const Form &a, const Form &b);
  mlir::Value coerce(const TracedValue &typed, const Form &form);
  mlir::Value index(int64_t value);
  llvm::SmallVector<mlir::Value> asIndices(llvm::ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values, [&](int64_t value) { return index(value); });
  }
  /// Returns the elements of a small integer tensor as indices if they are constant or in registers
  /// and the tensor has this rank; by default, scalars and vectors are accepted. Otherwise nullopt.
  std::optional<llvm::SmallVector<mlir::Value>> indices(const TracedValue &typed,
                                                        std::optional<int64_t> rank = {});
  /// Returns the elements if all of them are constant.
  std::optional<llvm::SmallVector<int64_t>> integers(const TracedValue &typed,
                                                     std::optional<int64_t> rank = {});
  /// Makes a tensor in registers from its elements in memory order.
  TracedValue small(llvm::ArrayRef<mlir::Value> elements, llvm::ArrayRef<int64_t> shape,
                    mlir::Type element, KnownValue known);
  TracedValue vector(llvm::ArrayRef<mlir::Value> elements, mlir::Type element, KnownValue known) {
    return small(elements, static_cast<int64_t>(elements.size()), element, std::move(known));
  }
  /// Whether `ops` more operations may be emitted for tensors in registers; counts them. Beyond the
  /// limit, memory and kernels are used, to bound the code size.
  bool mayUnroll(int64_t ops);
  /// Returns the elements of a scalar or a small tensor; nullopt for others.
  std::optional<llvm::SmallVector<mlir::Value>> elementsOf(const TracedValue &typed);
  /// Returns the scalar that all elements equal, or null.
  mlir::Value scalarOf(const TracedValue &typed);
  /// Makes a tensor with these sizes whose elements all equal this scalar.
  TracedValue filled(llvm::ArrayRef<mlir::Value> sizes, mlir::Value scalar, KnownValue known);
  /// Returns the element at these indices, which are in range.
  mlir::Value elementAt(mlir::OpBuilder &b, mlir::Location loc, const TracedValue &from,
                        llvm::ArrayRef<mlir::Value> indices);
  /// Converts between a value and its representation.
  void split(const TracedValue &typed, const Form &form, llvm::SmallVectorImpl<mlir::Value> &parts);
  TracedValue joinedFrom(const Form &form, mlir::ValueRange parts, KnownValue known);
  /// Infers the known properties of a node's only result.
  KnownValue outcome(tfg::Node node, const Values &inputs);
  /// Makes a tensor with these sizes whose elements are computed from their indices.
  using ElementAt =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange indices)>;
  TracedValue generate(llvm::ArrayRef<mlir::Value> sizes, mlir::Type element, KnownValue known,
                       ElementAt elementAt);
  /// Reshapes a tensor.
  TracedValue reshape(const TracedValue &from, llvm::ArrayRef<mlir::Value> sizes, KnownValue known);
  /// Computes each element from one element of each input, with broadcasting. Returns nullopt if a
  /// rank isn't known or shapes aren't compatible.
  using Compute =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange scalars)>;
  std::optional<TracedValue> map(llvm::ArrayRef<TracedValue> inputs, mlir::Type result,
                                 KnownValue outcome, Compute compute) {
    return map(inputs, result, std::move(outcome), compute, compute);
  }
  /// Like the overload above, but with another implementation for elements computed one by one.
  std::optional<TracedValue> map(llvm::ArrayRef<TracedValue> inputs, mlir::Type result,
                                 KnownValue outcome, Compute compute, Compute many);
  void check(mlir::Value condition);
  /// Whether ops should be left to kernels, which report errors, instead of being checked: the
  /// interpreter can't repeat a cluster that has called Python code with side effects.
  bool mustNotBail = false;

  static Error unsupported(tfg::Node node, std::string_view why) {
    return unimplemented(why).atNode(node.name().str(), node.opType().str());
  }

  const FindFunction &find;
  const TranslationOptions &options;
  mlir::OpBuilder b;
  mlir::Location loc;
  tfg::Constants constants;
  ClusterTables tables;
  mlir::func::FuncOp cluster;
  /// Values of read-only variables by handle, for code that outlives the variables.
  llvm::DenseMap<mlir::Value, Tensor> variables;
  /// Current values of the variables that the code works on. For variables that kernels work on,
  /// the handle of a private variable with the value.
  Values cells;
  Values cellsBefore; // initial values
  llvm::SmallVector<mlir::Value> cellHandles;
  llvm::SmallVector<mlir::RankedTensorType> cellTypes; // initial types
  llvm::DenseMap<mlir::Value, size_t> cellNumbers;     // by handle of the session's variable
  /// Known dimensions, by tensor and index.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> dims;
  /// Nodes whose lists are left to kernels, and further ones for which a retry should do so.
  llvm::SetVector<mlir::Operation *> kernelLists, wanted;
  /// Cells that kernels access through handles, so that private variables hold their values, and
  /// further ones for which a retry should do so.
  llvm::SetVector<size_t> kernelCells, wantedCells;

private:
  int32_t constantNumber(const Tensor &tensor);
  llvm::DenseSet<mlir::Operation *> neededNodes(mlir::Block &body);
  /// Adds a kernel call with side effects, or one that observes these.
  mlir::Operation *addKernel(llvm::StringRef op, llvm::ArrayRef<mlir::Value> inputs,
                             mlir::TypeRange results, DType dtype, std::string sharedName = "");
  void addCell(mlir::Value argument, mlir::Value handle);
  /// Leaves if the run was stopped, or another run has changed a variable.
  void checkRunning();
  Results conditional(tfg::Node node, llvm::ArrayRef<tfg::FuncOp> branches, size_t branch,
                      mlir::Value selector, llvm::ArrayRef<TracedValue> inputs);
  std::optional<TracedValue> inRegisters(llvm::ArrayRef<TracedValue> inputs,
                                         llvm::ArrayRef<int64_t> shape, mlir::Type result,
                                         const KnownValue &known, Compute compute);
  Results iteration(tfg::Node node, mlir::scf::WhileOp made, tfg::FuncOp cond, tfg::FuncOp body,
                    llvm::ArrayRef<size_t> variables, llvm::ArrayRef<Form> forms,
                    const Values &now);
  void endIteration(mlir::scf::WhileOp made, llvm::ArrayRef<size_t> variables, const Values &given,
                    llvm::ArrayRef<Form> forms);
  /// Returns `now`, with the representations of the variables.
  Values withVariables(const Values &now, llvm::ArrayRef<size_t> variables,
                       llvm::ArrayRef<Form> forms, mlir::ValueRange parts);
  Values splitCells(Values values, size_t numValues);
  void erase(mlir::Operation *op);
  /// Computes an element for each position in a shape, in memory order.
  llvm::SmallVector<mlir::Value>
  forEachPlace(llvm::ArrayRef<int64_t> shape,
               llvm::function_ref<mlir::Value(mlir::ValueRange)> elementAt);
  /// Makes a loop the innermost one during the lifetime of the result.
  llvm::SaveAndRestore<mlir::scf::WhileOp> enter(mlir::scf::WhileOp loop) {
    return llvm::SaveAndRestore(innermost, loop);
  }
  Expected<tfg::FuncOp> functionIn(tfg::Node node, mlir::Attribute attr);
  Expected<mlir::Value> truth(tfg::Node node, const TracedValue &condition);

  /// Returns the location of a node's code, for counting.
  mlir::Location originOf(tfg::Node node);

  /// Numbers of small constants, by the hash of their elements.
  std::unordered_map<uint64_t, llvm::SmallVector<int32_t, 1>> constantNumbers;
  const graphdef::TypeTable types;
  int64_t unrolled = 0; // operations emitted for unrolled tensors
  int depth = 0;
  int64_t translated = 0;       // operations of functions, counted once per call
  int loopOrigin = -1;          // of the innermost loop
  mlir::scf::WhileOp innermost; // null outside of loops
  /// Nodes outside of all bodies, which represent parts of other nodes.
  std::vector<std::unique_ptr<mlir::Block>> parts;
  llvm::StringMap<bool> sideEffectCache; // by function
};

/// Sizes split as in MLIR types: `shape` has -1 for each size in `dynamic`.
struct Sizes {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<mlir::Value> dynamic;

  Sizes(llvm::ArrayRef<mlir::Value> sizes, const Shape &known);
};

/// Whether the sizes are possible: no constant one is negative, and the number of elements doesn't
/// overflow.
bool isValidSize(llvm::ArrayRef<mlir::Value> sizes);

/// Returns a dimension counted from the front; nullopt if it is out of range.
std::optional<int64_t> axisOf(std::optional<int64_t> said, int64_t rank);

/// The translation of an op. If it returns nullopt, the op's kernel is called.
using Lowering = MaybeValues (*)(Translator &translator, tfg::Node node, Values inputs);

/// The translations of ops of one topic.
using LoweringTable = llvm::ArrayRef<std::pair<llvm::StringRef, Lowering>>;
LoweringTable shapeLowerings();
LoweringTable sliceLowerings();
LoweringTable moveLowerings();
LoweringTable smallLowerings();
LoweringTable reductionLowerings();
LoweringTable reducerLowerings();
LoweringTable convolutionLowerings();
LoweringTable productLowerings();
LoweringTable listLowerings();
LoweringTable variableLowerings();
LoweringTable gatherLowerings();
LoweringTable foldLowerings();
LoweringTable sortLowerings();
LoweringTable factorLowerings();
LoweringTable randomLowerings();
LoweringTable scatterLowerings();

/// Whether an op's translation accepts lists as tensors; other ops get handles.
bool takesLists(llvm::StringRef op);

/// Returns null for ops without a translation of their own.
Lowering findLowering(llvm::StringRef op);

inline mlir::Type elementOf(mlir::Type type) { return mlir::getElementTypeOrSelf(type); }
inline bool isTensor(mlir::Type type) { return mlir::isa<mlir::TensorType>(type); }

} // namespace treadle::codegen
