// Properties of an op beyond its signature: its effects, what can fail, and how passes, compiled
// code and the runtime treat it. OpFacts.txt defines them, with a row for each op or group of ops;
// there are no other lists of ops by such properties in treadle.
#pragma once

#include <bit>
#include <cstdint>

namespace treadle {

namespace ops {
/// A substring of the table's text.
struct Text {
  uint32_t offset : 22 = 0;
  uint32_t size : 10 = 0;
};
} // namespace ops

/// The role of an op in control flow and calls.
enum class OpKind : uint8_t {
  Plain, // none of the others
  Argument,
  Placeholder, // a value that is fed
  NoOp,
  // v1 control flow.
  Switch,
  Merge,
  Enter,
  Exit,
  NextIteration,
  OtherV1, // LoopCond, and ops of other compilers
  // Nodes that run the functions named by their attributes on their own inputs.
  Call,
  If,
  Case,
  While,
  For,
  OtherCall,   // calls a function with other arguments: RemoteCall, SymbolicGradient
  HigherOrder, // maps functions over elements or rows, as kernels do
};

constexpr bool isV1ControlFlow(OpKind kind) {
  return kind >= OpKind::Switch && kind <= OpKind::OtherV1;
}
constexpr bool isConditional(OpKind kind) { return kind == OpKind::If || kind == OpKind::Case; }
/// Whether the op passes its input to the next iteration.
constexpr bool feedsNextIteration(OpKind kind) { return kind == OpKind::NextIteration; }
/// Whether an edge is a back edge: from one iteration to the next.
constexpr bool isBackEdge(OpKind from, OpKind to) {
  return feedsNextIteration(from) && to == OpKind::Merge;
}
/// Whether the op forwards its input into, within or out of a v1 loop or conditional.
constexpr bool forwardsInput(OpKind kind) {
  return kind >= OpKind::Switch && kind <= OpKind::NextIteration;
}
/// Whether the first input is a bool that selects one of two branches, rather than an index.
constexpr bool hasBoolSelector(OpKind kind) { return kind == OpKind::If; }
/// Whether the op runs its functions repeatedly.
constexpr bool isLoop(OpKind kind) { return kind == OpKind::While || kind == OpKind::For; }
/// Whether an iteration's results are the next one's arguments; the loop returns its inputs if none
/// runs.
constexpr bool carriesArguments(OpKind kind) { return kind == OpKind::While; }
/// Whether the op runs functions in any way.
constexpr bool runsFunctions(OpKind kind) { return kind >= OpKind::Call; }
/// Call, If, Case and While: the functions take the node's inputs and return its results.
constexpr bool isFunctional(OpKind kind) { return kind >= OpKind::Call && kind <= OpKind::While; }

/// The end of a resource that an access concerns. Enqueueing to a FIFO queue and dequeueing from it
/// commute, so they don't conflict.
enum class ResourceEnd : uint8_t { In = 1, Out = 2, Whole = In | Out };

struct Access {
  enum Kind : uint8_t { None, Read, Write } kind = None;
  ResourceEnd part = ResourceEnd::Whole;
};

/// Side effects of an op.
struct OpEffects {
  /// The access to each resource of which an input is a handle or reference.
  Access handles;
  /// State that the op accesses without a handle.
  enum class Reach : uint8_t {
    Nothing,
    World,   // output, Python, files; anything if the op is unknown
    Own,     // state of this node: the generator of a random op
    Named,   // a staging area, by attributes container and shared_name
    Channel, // between a Send and its Recv, by their attributes
  } reach = Reach::Nothing;
  Access reached;
  /// Whether the op returns a description of deferred work (a dataset). The description keeps the
  /// op's input handles and the resources that its functions access.
  bool isDeferred = false;
};

/// When an op without side effects can't fail.
enum class Totality : uint8_t {
  MayFail,
  Always,
  Numbers,   // if all inputs are numbers or bools
  Broadcast, // if moreover their shapes are broadcastable
  Product,   // if moreover they are matrices with equal inner dimensions
};

/// How machine code executes an op.
enum class NativeForm : uint8_t {
  None,     // calls the op's kernel
  Passes,   // forwards elements or computes shapes at almost no cost
  Computes, // computes elements, fused with producers and consumers
  Repeats,  // repeats elements, which costs nothing if all consumers are compiled as well
  Reduces,  // combines elements, fused with the nodes that compute them
};

/// The role of an op in fused kernels: a contraction, then elementwise steps, then an activation.
enum class FusionRole : uint8_t { None, Contraction, Step, Activation };

/// The dominant cost of an op, if it isn't the kernel's computation.
enum class OpCost : uint8_t {
  Compute,
  Free,
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Broadcast,
  Transfer, // point to point
};

/// The source of the group and instance keys of a collective op.
enum class ExchangeKeys : uint8_t {
  None,       // not a collective op
  Attributes, // group_size, group_key and instance_key
  Inputs,     // the first inputs: size, group and instance
  AfterValue, // these inputs, after the value
  Communicator,
  World, // all ranks
};

/// Images among the inputs and results of an op, in the layout of the attribute data_format.
struct ImageFacts {
  uint8_t inputs = 0;        // bit mask of inputs
  int8_t sizes = -1;         // index of the input that lists an image's dimensions
  bool returnsImage = false; // whether the first result is an image
  bool isOfAnyRank = false;  // whether the rank doesn't follow from data_format

  constexpr bool takesImage(unsigned input) const { return inputs >> input & 1; }
  constexpr unsigned firstInput() const { return std::countr_zero(inputs); }
  constexpr unsigned endOfInputs() const { return std::bit_width(inputs); }
  constexpr explicit operator bool() const { return inputs != 0; }
};

/// A permission that an op needs.
struct OpPermission {
  enum Kind : uint8_t { Nothing, Read, Write, Clock } kind = Nothing;
  /// Index of the input that names the file; -1: none.
  int8_t input = -1;
  /// The attribute that names the file; empty: none.
  ops::Text attr;
};

struct OpFacts {
  OpKind kind = OpKind::Plain;
  /// For an op that runs functions on its own inputs: index of the input that is the first argument
  /// of each; -1 if inputs and arguments don't correspond one to one.
  int8_t firstArgument = -1;
  OpEffects effects;
  Totality totality = Totality::MayFail;
  NativeForm native = NativeForm::None;
  FusionRole fusion = FusionRole::None;
  OpCost cost = OpCost::Compute;
  /// Whether the tfg dialect has a counterpart with regions: the op's name with the suffix
  /// `Region`.
  bool hasRegionForm = false;
  /// Whether the op may wait for another op or run.
  bool blocks = false;
  /// Whether the op runs Python code, which may take long without using a processor.
  bool runsPython = false;
  /// Whether the op keeps no reference to its inputs after the run; defined for stateful ops only.
  bool forgets = false;
  /// Whether reading variables is its only effect; compiled code calls its kernel.
  bool readsVariables = false;
  /// Whether reading and writing variables of its handles is its only effect.
  bool updatesVariables = false;
  /// Whether failing if the first input is false is its only effect.
  bool checks = false;
  /// Whether results are rearranged elements of the inputs.
  bool movesElements = false;
  /// Whether results don't depend on the inputs, or are piecewise constant in them, so that
  /// gradients are zero.
  bool hasNoGradient = false;
  /// Whether each element of the result is computed from one of each input, by no form that
  /// OpDef::elementwise names.
  bool isPointwise = false;
  /// Whether machine code exists for scalars only.
  bool isNativeForScalars = false;
  /// See OpDef::makes, OpDef::elementwise, OpDef::statelessTwin, OpDef::shapes.
  ops::Text makes, elementwise, statelessTwin, shapes;
  /// Whether the result is the first input rounded to few bits.
  bool rounds = false;
  /// Whether the op tests if a variable is initialized.
  bool testsInitialization = false;
  /// Whether the op makes its second input an iterator over its first, a dataset.
  bool startsIterator = false;
  /// Whether the op returns the gradient accumulators of its input resources.
  bool returnsGradientAccumulators = false;
  /// Whether the op returns what another task sends.
  bool receives = false;
  /// Whether the condition may be a vector with one element for each row of the other inputs.
  bool allowsRowCondition = false;
  /// Whether computing an element takes much longer than reading and writing it.
  bool isCostly = false;
  ExchangeKeys keys = ExchangeKeys::None;
  ImageFacts images;
  OpPermission want;
  /// See the functions of these names in OpDef, and operatorOp.
  ops::Text reduction, negation, undoes, onTensor, operatorSymbol, does;
};

} // namespace treadle
