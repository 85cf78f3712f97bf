// A function on its way from nodes to tensor code. Private to the translation; its callers see
// `translate` in Cluster.h.
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

namespace treadle::codegen {

struct ElementwiseOp;

/// A list of tensors that is one tensor in compiled code, its rows; or a length alone, as an index,
/// while the rank of its elements isn't known.
struct ListForm {
  mlir::Type element;
  /// What the node that made the list says of the shape of its elements. Exact: it says what the
  /// list's own dimensions are.
  Shape stated;
  bool isExact = false;
  /// How many elements it may have; -1: any number.
  int64_t most = -1;
  /// The nodes that made it, each once.
  std::vector<mlir::Operation *> makers = {};

  bool isSameKind(const ListForm &other) const {
    return element == other.element && stated == other.stated && isExact == other.isExact &&
           most == other.most;
  }
};

/// A value of the graph: what computes it, and what is known of it. It is a scalar of a native type
/// or a tensor, ranked where its rank is known, or a list.
struct Typed {
  mlir::Value value;
  KnownValue known;
  /// The elements of a small tensor that was computed in registers, in the order of memory.
  std::optional<llvm::SmallVector<mlir::Value>> elements = std::nullopt;
  std::optional<ListForm> list = std::nullopt;
  /// The scalar that all elements of a tensor are; null where they may differ.
  mlir::Value uniform = nullptr;
};

/// Whether tensors of this type are held in registers, each element in one.
bool isSmall(mlir::Type type);

/// How a value is held, when several ways of the code lead to it.
struct Form {
  mlir::Type type;
  std::optional<ListForm> list = std::nullopt;

  static Form of(const Typed &typed) { return {typed.value.getType(), typed.list}; }

  /// The types of what holds it: one, or those of a small tensor's elements.
  llvm::SmallVector<mlir::Type> parts() const;

  bool operator==(const Form &other) const {
    return type == other.type && list.has_value() == other.list.has_value() &&
           (!list || (list->isSameKind(*other.list) && list->makers == other.list->makers));
  }
};

using Values = llvm::SmallVector<Typed, 2>;

/// The values of a node; nothing where this way of translating it doesn't serve.
using MaybeValues = Expected<std::optional<Values>>;

/// Dimensions that have to be equal are checked when the code runs; a check that doesn't hold hands
/// the cluster back to the interpreter, so that errors, and shapes that nobody foresaw, are its
/// business.
class Translator {
public:
  Translator(const FindFunction &find, mlir::MLIRContext &context,
             const TranslationOptions &options)
      : find(find), options(options), b(&context), loc(b.getUnknownLoc()), types(&context) {}

  Expected<TensorProgram> run(tfg::FuncOp function, llvm::ArrayRef<ArgumentClass> arguments);

  // Functions and control flow.
  using Results = Expected<Values>;
  Results inlineFunction(tfg::FuncOp function, llvm::ArrayRef<Typed> arguments);
  Error tooLarge(tfg::FuncOp function) const;
  Results call(tfg::Node node, mlir::Attribute function, llvm::ArrayRef<Typed> inputs);
  Results branches(tfg::Node node, const Values &inputs);
  Results loop(tfg::Node node, Values inputs);

  // Nodes.
  Results translateNode(tfg::Node node, Values inputs);
  Typed constant(const Tensor &tensor, KnownValue known);
  Results handle(tfg::Node node);
  Results readVariable(tfg::Node node, const Typed &handle);
  /// What an op of these attributes gives of the inputs, for a node that stands for several ops.
  Results resultOf(llvm::StringRef op, llvm::ArrayRef<mlir::NamedAttribute> attrs, Values inputs,
                   mlir::Type element, tfg::Node node);
  MaybeValues elementwise(tfg::Node node, const Values &inputs);
  MaybeValues elementwise(const ElementwiseOp &op, tfg::Node node, const Values &inputs);
  /// Checks that no element of a tensor of integers is zero.
  void checkNoZeros(const Typed &tensor);
  Results kernel(tfg::Node node, const Values &inputs);
  /// A call of a kernel that stands for no node of the graph; `near` is one that it is for.
  mlir::Value kernelFor(tfg::Node near, llvm::StringRef op, AttrMap attrs,
                        llvm::ArrayRef<mlir::Value> inputs, mlir::Type result);

  // Variables that others see once the code is over; see Cell.
  /// The number of the variable whose handle this is; nothing where that isn't told.
  std::optional<size_t> cellOf(const Typed &handle);
  Typed read(size_t cell);
  void write(size_t cell, Typed value);
  /// Whether a node must run though nothing needs a result of it, or one in a function that it
  /// calls.
  bool acts(tfg::Node node);

  // Lists.
  /// Whether the lists that a node makes are left to kernels.
  bool leavesLists(tfg::Node node) const { return kernelLists.contains(node.getOperation()); }
  /// The list as kernels have it. It is better one from the beginning if this is for each iteration
  /// of a loop, or not all can be told: then its makers join `wanted`.
  Typed handleOf(const Typed &list);
  /// A list of elements of this rank that has only a length so far.
  Typed openList(const Typed &length, mlir::Type type);
  /// The length of a list.
  mlir::Value lengthOf(const Typed &list);
  /// Whether a value is computed inside of the innermost loop.
  bool isOfIteration(mlir::Value value) const;

  // Values.
  /// What the elements of a type of the graph are in the code, which has a context of its own.
  mlir::Type elementType(mlir::Type ofGraph) const;
  mlir::Type elementType(mlir::Value ofGraph) const { return elementType(ofGraph.getType()); }
  mlir::Value boxed(mlir::Value value);
  Typed unboxed(mlir::Value value, KnownValue known);
  mlir::Value coerce(mlir::Value value, mlir::Type type);
  mlir::Value dim(mlir::Value value, int64_t index);
  mlir::Type joined(mlir::Type a, mlir::Type b);
  /// What both can be held as; nothing where their dtypes differ.
  std::optional<Form> joined(const Form &a, const Form &b);
  mlir::Value coerce(const Typed &typed, const Form &form);
  mlir::Value index(int64_t value);
  llvm::SmallVector<mlir::Value> asIndices(llvm::ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values, [&](int64_t value) { return index(value); });
  }
  /// The elements of a small tensor of integers as indices: where they are constant or in
  /// registers. Nothing of other ranks than this one; by default, scalars and vectors will do.
  std::optional<llvm::SmallVector<mlir::Value>> indices(const Typed &typed,
                                                        std::optional<int64_t> rank = {});
  /// The same where all of them are constant.
  std::optional<llvm::SmallVector<int64_t>> integers(const Typed &typed,
                                                     std::optional<int64_t> rank = {});
  /// A tensor in registers: its elements in the order of memory.
  Typed small(llvm::ArrayRef<mlir::Value> elements, llvm::ArrayRef<int64_t> shape,
              mlir::Type element, KnownValue known);
  Typed vector(llvm::ArrayRef<mlir::Value> elements, mlir::Type element, KnownValue known) {
    return small(elements, static_cast<int64_t>(elements.size()), element, std::move(known));
  }
  /// Whether so many operations may be written out for a tensor in registers; they are counted.
  /// Where many are, the others are left to memory and kernels: the whole would be too large.
  bool mayUnroll(int64_t ops);
  /// The elements of a scalar or a small tensor; nothing of others.
  std::optional<llvm::SmallVector<mlir::Value>> elementsOf(const Typed &typed);
  /// What all elements are: a scalar, or null where they may differ.
  mlir::Value scalarOf(const Typed &typed);
  /// A tensor of these sizes whose elements are all this scalar.
  Typed filled(llvm::ArrayRef<mlir::Value> sizes, mlir::Value scalar, KnownValue known);
  /// The element at these indices, which are known to be inside.
  mlir::Value elementAt(mlir::OpBuilder &b, mlir::Location loc, const Typed &from,
                        llvm::ArrayRef<mlir::Value> indices);
  /// What holds a value in this form, and a value that is held so.
  void split(const Typed &typed, const Form &form, llvm::SmallVectorImpl<mlir::Value> &parts);
  Typed joinedFrom(const Form &form, mlir::ValueRange parts, KnownValue known);
  /// What is known of a node's only result.
  KnownValue outcome(tfg::Node node, const Values &inputs);
  /// A tensor of these sizes whose elements are computed from their indices.
  using ElementAt =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange indices)>;
  Typed generate(llvm::ArrayRef<mlir::Value> sizes, mlir::Type element, KnownValue known,
                 ElementAt elementAt);
  /// The same elements in another shape.
  Typed reshape(const Typed &from, llvm::ArrayRef<mlir::Value> sizes, KnownValue known);
  /// Each element computed from one of each input, broadcast; nothing where a rank isn't known or
  /// shapes don't fit.
  using Compute =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange scalars)>;
  std::optional<Typed> map(llvm::ArrayRef<Typed> inputs, mlir::Type result, KnownValue outcome,
                           Compute compute) {
    return map(inputs, result, std::move(outcome), compute, compute);
  }
  /// The same with another form where they are computed one by one.
  std::optional<Typed> map(llvm::ArrayRef<Typed> inputs, mlir::Type result, KnownValue outcome,
                           Compute compute, Compute many);
  void check(mlir::Value condition);

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
  /// The values of variables whose handles these are, where the code will outlive them.
  llvm::DenseMap<mlir::Value, Tensor> variables;
  /// Variables that the code works on: what each holds at this point. Where it is a variable of the
  /// code's own that holds it, the handle of that.
  Values cells;
  Values cellsBefore; // as the code begins
  llvm::SmallVector<mlir::Value> cellHandles;
  llvm::SmallVector<mlir::RankedTensorType> cellTypes; // as the code begins
  llvm::DenseMap<mlir::Value, size_t> cellNumbers;     // by the handle of the session's variable
  /// Dimensions that were told, by tensor and index.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> dims;
  /// Nodes whose lists are left to kernels; and such that better were.
  llvm::SetVector<mlir::Operation *> kernelLists, wanted;
  /// Cells that kernels work on, by handle: variables of the code's own hold them. And such that
  /// better were.
  llvm::SetVector<size_t> kernelCells, wantedCells;

private:
  llvm::DenseSet<mlir::Operation *> neededNodes(mlir::Block &body);
  /// A kernel that does more than to give results, or sees what such do.
  mlir::Operation *addKernel(llvm::StringRef op, llvm::ArrayRef<mlir::Value> inputs,
                             mlir::TypeRange results, DType dtype, std::string sharedName = "");
  void addCell(mlir::Value argument, mlir::Value handle);
  /// Leaves where the run is over, or somebody else changed a variable.
  void checkRunning();
  Results conditional(tfg::Node node, llvm::ArrayRef<tfg::FuncOp> branches, size_t branch,
                      mlir::Value selector, llvm::ArrayRef<Typed> inputs);
  std::optional<Typed> inRegisters(llvm::ArrayRef<Typed> inputs, llvm::ArrayRef<int64_t> shape,
                                   mlir::Type result, const KnownValue &known, Compute compute);
  Results iteration(tfg::Node node, mlir::scf::WhileOp made, tfg::FuncOp cond, tfg::FuncOp body,
                    llvm::ArrayRef<size_t> variables, llvm::ArrayRef<Form> forms,
                    const Values &now);
  void endIteration(mlir::scf::WhileOp made, llvm::ArrayRef<size_t> variables, const Values &given,
                    llvm::ArrayRef<Form> forms);
  /// `now`, with what holds the variables.
  Values withVariables(const Values &now, llvm::ArrayRef<size_t> variables,
                       llvm::ArrayRef<Form> forms, mlir::ValueRange parts);
  Values splitCells(Values values, size_t numValues);
  void erase(mlir::Operation *op);
  /// An element for each place in a shape, in the order of memory.
  llvm::SmallVector<mlir::Value>
  forEachPlace(llvm::ArrayRef<int64_t> shape,
               llvm::function_ref<mlir::Value(mlir::ValueRange)> elementAt);
  /// Makes a loop the innermost one, for as long as the result is there.
  llvm::SaveAndRestore<mlir::scf::WhileOp> enter(mlir::scf::WhileOp loop) {
    return llvm::SaveAndRestore(innermost, loop);
  }
  Expected<tfg::FuncOp> functionIn(tfg::Node node, mlir::Attribute attr);
  Expected<mlir::Value> truth(tfg::Node node, const Typed &condition);

  /// Where the code of a node comes from, if somebody counts what it does.
  mlir::Location placeOf(tfg::Node node);

  const graphdef::TypeTable types;
  int64_t unrolled = 0; // operations that were written out
  int depth = 0;
  int64_t translated = 0;       // operations of functions, each as often as it is called
  int loopPlace = -1;           // of the innermost loop
  mlir::scf::WhileOp innermost; // null: the code is in no loop
  /// Nodes of no body, which stand for parts of others.
  std::vector<std::unique_ptr<mlir::Block>> parts;
  llvm::DenseMap<mlir::Operation *, bool> acting; // by function
};

/// What a list of sizes says of a type: -1 in `shape` where a size is one of `dynamic`.
struct Sizes {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<mlir::Value> dynamic;

  Sizes(llvm::ArrayRef<mlir::Value> sizes, const Shape &known);
};

/// Whether there may be a tensor of these sizes: no constant one is negative, and there is a number
/// for the elements.
bool maySize(llvm::ArrayRef<mlir::Value> sizes);

/// A dimension counted from the front; nothing where there is no such dimension.
std::optional<int64_t> axisOf(std::optional<int64_t> said, int64_t rank);

/// How an op is translated. Where it gives nothing, the op is left to its kernel.
using Lowering = MaybeValues (*)(Translator &translator, tfg::Node node, Values inputs);

/// Ops of one topic.
using LoweringTable = llvm::ArrayRef<std::pair<llvm::StringRef, Lowering>>;
LoweringTable shapeLowerings();
LoweringTable sliceLowerings();
LoweringTable moveLowerings();
LoweringTable smallLowerings();
LoweringTable reductionLowerings();
LoweringTable productLowerings();
LoweringTable listLowerings();
LoweringTable variableLowerings();
LoweringTable gatherLowerings();
LoweringTable foldLowerings();
LoweringTable sortLowerings();
LoweringTable factorLowerings();
LoweringTable randomLowerings();
LoweringTable scatterLowerings();

/// Whether an op is translated with lists as they are in compiled code; others have them as kernels
/// do.
bool takesLists(llvm::StringRef op);

/// Null for ops that have no lowering of their own.
Lowering findLowering(llvm::StringRef op);

inline mlir::Type elementOf(mlir::Type type) { return mlir::getElementTypeOrSelf(type); }
inline bool isTensor(mlir::Type type) { return mlir::isa<mlir::TensorType>(type); }

} // namespace treadle::codegen
