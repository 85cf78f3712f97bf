// Treadle's public interface: load a graph, run it. No LLVM and no protobuf in sight.
//
//     auto graph = treadle::Graph::fromFile("model.pb");
//     auto session = treadle::Session::create(*graph);
//     auto x = treadle::Tensor::scalar(treadle::DType::Float32, 1.0f);
//     auto values = session->run({"y:0"}, {{"x:0", x}});
//
// Nothing here throws (but std::bad_alloc), prints (but Print ops) or exits; every failure is an
// `Error` with one of TensorFlow's canonical codes.
#pragma once

#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Modes.h"
#include "treadle/runtime/OpTraits.h"
#include "treadle/tensor/Attr.h"
#include "treadle/tensor/Error.h"
#include "treadle/tensor/Tensor.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treadle {

/// A graph with its functions, read from a file or from memory. Cheap to copy: copies share the
/// graph, which never changes after it was read. Thread-safe.
class Graph {
public:
  /// Reads a GraphDef, binary (.pb) or text (.pbtxt), MLIR text (.mlir: of tfg, tf_executor,
  /// stablehlo or mhlo), or the folder of a SavedModel; `-` reads standard input.
  /// The content decides where the name doesn't. NotFound if there is no such file, InvalidArgument
  /// if it is none of these or malformed (with line and column, or the node at fault).
  static Expected<Graph> fromFile(const std::string &path);
  /// The same from memory.
  static Expected<Graph> fromBytes(std::string_view bytes);

  /// Writes the graph in the format that the extension names: .pb, .pbtxt, .mlir. A file that
  /// exists is replaced as a whole or not at all. A SavedModel becomes a folder where there is no
  /// extension, with copies of its variables and assets; AlreadyExists if it would replace
  /// anything.
  Expected<void> toFile(const std::string &path) const;
  /// The graph as a serialized GraphDef, equal as a message to what was read.
  Expected<std::string> toGraphDef() const;
  /// The graph in MLIR text.
  std::string text() const;

  /// A copy of the graph after passes, in MLIR's pipeline syntax: `tfg-cse{keep=a,b},tfg-toposort`.
  /// InvalidArgument for a pipeline that can't be read, and where a pass fails.
  Expected<Graph> runPasses(std::string_view pipeline) const;

  /// A value that the graph's nodes give or want.
  struct Value {
    std::string name; // `x:0`
    DType dtype = DType::Invalid;
    bool hasRank = false;
    std::vector<int64_t> dims; // -1: unknown
  };
  /// Placeholders, in order.
  std::vector<Value> inputs() const;
  /// What `run` fetches when nothing is asked for: the values of the last nodes, those that no
  /// other node uses.
  std::vector<Value> outputs() const;

  /// A signature of a SavedModel: its tensors by the names that callers use.
  struct Signature {
    std::string name;      // `serving_default`
    std::string method;    // `tensorflow/serving/predict`
    std::string metaGraph; // the tags of the meta graph that it is of: `serve`, `serve,gpu`
    /// By key; `name` of a value is the tensor in the graph, several of a composite one.
    std::vector<std::pair<std::string, Value>> inputs, outputs;
  };
  /// True if the graph was read from a SavedModel, with or without signatures.
  bool isSavedModel() const;
  /// Sorted by name within each meta graph, their values by key; of a program in StableHLO the one
  /// function that the graph was made from, with its arguments and results in order. Empty for a
  /// plain graph.
  std::vector<Signature> signatures() const;

  /// What `treadle show` prints.
  struct Summary {
    struct Count {
      std::string op;
      int64_t count;
    };
    struct Function {
      std::string name;
      int64_t nodes, args, results;
      bool isGeneric;
    };
    struct Loop {
      std::string name;  // a While node, or a v1 frame
      std::string kind;  // its op, or `frame`
      std::string where; // the function that it is in; empty: the graph
      int64_t parallelIterations;
    };
    int64_t nodes = 0, controlEdges = 0;
    int producer = 0, minConsumer = 0;
    std::vector<Count> ops; // most frequent first, functions' nodes included
    std::vector<Function> functions;
    std::vector<Loop> loops, conditionals;
    std::vector<Value> variables;
  };
  Summary summary() const;

  /// Something that `check` finds.
  struct Problem {
    std::string kind; // `error`, `race`, or `note` where nothing is wrong
    std::vector<std::string> nodes;
    std::string message;
  };
  /// What is wrong with a graph that could be read: nodes that aren't what their ops' definitions
  /// say; and races, which are nodes with conflicting effects on one resource that no path of edges
  /// orders. With names asked for (`x:0`, `x`), races only among the nodes that these need: what
  /// one run would run. Of a SavedModel without names: among the nodes of each signature, and of
  /// what initializes, saves and restores it; a signature that names what isn't there is an error.
  /// At most `limit` of a kind. InvalidArgument for a name that isn't in the graph.
  Expected<std::vector<Problem>> check(const std::vector<std::string> &asked = {},
                                       size_t limit = 1000) const;

  struct ExploreRequest {
    std::vector<std::string> fetches, targets;
    std::vector<std::pair<std::string, Tensor>> feeds;
    std::vector<std::string> setup; // nodes to run before each schedule: initializers
    int64_t limit = 10000;          // schedules to run at most
  };
  /// What `explore` found.
  struct Exploration {
    struct Schedule {
      std::vector<std::string>
          firings;         // nodes with effects, in order; `x@2` in a loop's iteration 2
      std::string outcome; // results, variables, what was printed; or that it fails
    };
    int64_t schedules = 0;    // that were run: one for all that keep the order of conflicting nodes
    bool isComplete = true;   // false: there are more than the limit
    bool isAmbiguous = false; // two live values met at a Merge, or left a loop
    bool isRandom = false;    // one schedule gave two things: there is a random op without a seed
    /// Two schedules that give different things, with the least between them; or nothing.
    std::vector<Schedule> difference;
  };
  /// Runs all schedules of a small graph that the rules of docs/spec.md allow, and compares what
  /// they give. Calls, conditionals and loops are taken apart first; a call that can't be runs as a
  /// whole. Errors: those of a run's request, and of its setup.
  Expected<Exploration> explore(const ExploreRequest &request) const;

  struct ExplainRequest {
    /// With any of these, only what runs of them get to is explained.
    std::vector<std::string> fetches, targets;
    const OpTraitsTable *traits = nullptr; // what is said of ops; null: nothing
  };
  /// What `explain` tells.
  struct Explanation {
    struct Op {
      std::string name, op, where; // `where`: its function; empty: the graph
      std::string line;            // `model.py:31`; empty if nobody knows
    };
    struct Access {
      Op op;
      bool writes = false;
      bool isInCondition = false;
    };
    /// What a loop's iterations, or parts of them, might run one after the other for.
    struct Order {
      /// `condition`: the condition's result and what goes into it; `values`: what one iteration
      /// computes for the next; `resource`: what both access, and one writes.
      std::string kind;
      std::string subject;         // the loop variables, or `variable 'v'`
      std::vector<Access> by;      // the ops on the way, or those that access the resource
      bool isOrder = true;         // false for a resource that is only read, and for a race
      bool isRace = false;         // of a v1 loop: the graph's edges leave it open who is first
      std::vector<Op> wouldBeFree; // what would overlap if nothing wrote the resource
    };
    struct Loop {
      std::string name, kind; // as in Summary::Loop
      std::string line;
      int64_t parallelIterations = 0;
      std::vector<std::string> functions; // the condition's and the body's
      /// Whether something of two iterations may run at the same time with --loop-overlap auto and
      /// on, and why or why not, for people.
      bool overlapsInAuto = false, overlapsWhenOn = false;
      std::string inAuto, whenOn;
      std::vector<Order> orders;
      /// Ops that do something, by whether they run in the order of the iterations.
      std::vector<Op> inTurns, overlapping;
      std::vector<std::string> advice; // what would let more of it overlap, for people
    };
    /// The graph, or a function, and what uses it: `body of 'while' (While)`.
    struct Body {
      std::string function; // empty: the graph
      std::vector<std::string> users;
      std::vector<Loop> loops; // in the order of the graph
    };
    std::vector<Body> bodies; // those with loops: the graph, then functions in their order

    /// A part of a body that becomes machine code, once for each class of shapes that comes: the
    /// ranks of its inputs, and which dimensions are 1.
    struct Cluster {
      std::string where;               // its function; empty: the graph
      std::vector<Op> nodes;           // of the body
      int64_t ops = 0;                 // with those of the functions that they call, but constants
      std::vector<std::string> inputs; // `float32[?,16]`, as far as the graph tells
    };
    /// Ops that stay with the interpreter, and why.
    struct Interpreted {
      std::string why;
      std::vector<Op> nodes;
    };
    std::vector<Cluster> clusters; // with what runs ask for unknown: fetches may divide them
    std::vector<Interpreted> interpreted;

    /// All of it, for people.
    std::string text() const;
  };
  /// For each loop what orders its iterations, what of them may overlap, and what would set it
  /// free. Those in functions are explained once, where they stand. Then which parts become machine
  /// code where that is asked for, and why the others don't. Errors: InvalidArgument for a name
  /// that isn't in the graph.
  Expected<Explanation> explain(const ExplainRequest &request) const;
  Expected<Explanation> explain() const { return explain(ExplainRequest()); }

  // --- Editing: each of these changes this graph alone. What was copied from it before (in a
  // session, for one) stays as it was; the first edit after a copy makes a graph of its own. An
  // edit that fails changes nothing. Not to be called while another thread uses this very object.
  // Names: a node's `x`, a value's `x:0` (or `x`), a control input's `^x`. Errors: NotFound for
  // what isn't there, AlreadyExists for names that are taken, InvalidArgument for edges of another
  // dtype and for cycles, FailedPrecondition for removing what is used.

  struct NodeInfo {
    std::string name, op, device;
    std::vector<std::string> inputs; // data `x:0`, then control `^x`
    AttrMap attrs;
    std::vector<Value> outputs;
  };
  /// The names of the graph's nodes in order, or of those of one op.
  std::vector<std::string> nodeNames(std::string_view op = {}) const;
  Expected<std::string> nodeOp(std::string_view name) const;
  Expected<std::vector<std::string>> nodeInputs(std::string_view name) const;
  /// The nodes that use a node's values or wait for it, each once.
  Expected<std::vector<std::string>> nodeUsers(std::string_view name) const;
  Expected<NodeInfo> node(std::string_view name) const;
  std::vector<std::string> functionNames() const;

  /// Adds a node after the others; gives its name, which is made from the op if it states none.
  /// Types and counts that its inputs tell needn't be among the attributes. The outputs' dtypes are
  /// those of the op's definition; a node of an unknown op states them.
  Expected<std::string> addNode(NodeInfo node);
  Expected<void> removeNode(std::string_view name);
  Expected<void> renameNode(std::string_view name, std::string_view newName);
  Expected<void> setNodeInputs(std::string_view name, const std::vector<std::string> &inputs);
  /// Without a value, removes the attribute.
  Expected<void> setNodeAttr(std::string_view name, std::string_view key,
                             const std::optional<AttrValue> &value);
  Expected<void> setNodeDevice(std::string_view name, std::string_view device);
  /// Who used the value `from` (or, with `^x`, waited for a node) uses `to` instead.
  Expected<void> replaceUses(std::string_view from, std::string_view to);

  struct GradientsRequest {
    std::vector<std::string> ys, xs;
    /// What flows from each y: a value of its shape, or empty for ones; or nothing at all.
    std::vector<std::string> gradYs;
    /// Values that count as constant where others are computed from them.
    std::vector<std::string> stops;
  };
  /// A node, and one that it should follow, by name.
  struct Following {
    std::string node, after;
  };
  /// Makes an edge of each: a control input; or with `soft` a wish for the schedule, which keeps no
  /// node alive and stops no fusion (the attribute `_soft_inputs`). NotFound for a name that isn't
  /// in the graph; InvalidArgument where a node would follow itself, or nodes wait in a circle: the
  /// graph is as it was then. Gives soft edges that contradict the others, which aren't made.
  Expected<std::vector<Following>> preserveOrder(const std::vector<Following> &order,
                                                 bool soft = false);

  struct ScheduleRequest {
    std::string costs;       // a file of costs or a trace (docs/scheduling.md); empty: the defaults
    int64_t ranks = 2;       // of collectives whose group's size is no constant
    int64_t memoryLimit = 0; // bytes that exchanges under way may hold; 0: any number
    int64_t bucketBytes = 0; // all-reduces of fewer bytes become one of up to so many; 0: none do
    double jitter = 0;       // how much longer tasks may take, as a share of 1
  };
  /// What a schedule is worth, by the cost model: seconds of one step.
  struct Schedule {
    struct Line {
      std::string name, op;
      bool isCommunication = false;
      double begin = 0, end = 0;
    };
    double unscheduled = 0, scheduled = 0;
    double compute = 0, communication = 0, hidden = 0;
    double hiddenShare = 1; // of the communication that could be hidden
    int64_t edges = 0, buckets = 0;
    std::vector<Line> lines; // by their beginning
    std::string text;        // as `treadle explain --costs` prints it
  };
  /// Gives the graph's nodes soft edges that let computing hide communication, as
  /// tfg-schedule-communication does, and tells what that gains.
  Expected<Schedule> scheduleCommunication(const ScheduleRequest &request);

  /// Adds the nodes that compute the sum of the gradients of all ys with respect to each x, through
  /// calls, conditionals and loops, and gives their values' names; an empty one where no y depends
  /// on that x, or where its dtype has no gradients. An x that is the handle of a variable stands
  /// for all that is read of it. Nodes that run functions get further results; v1 control flow and
  /// regions on the way become functional. Unimplemented, with the op and its node, where there is
  /// no gradient on the way. docs/gradients.md has more.
  Expected<std::vector<std::string>> addGradients(const GradientsRequest &request);

  struct Impl;
  std::shared_ptr<const Impl> impl; // internal

private:
  Expected<void> makeOwn();
};

class Communicator;

struct SessionOptions {
  /// Threads that a run may use, its own included; 0: as many as the machine has. At most 1,024,
  /// and as many as the system gives.
  int threads = 0;
  /// Interpret: node by node. Auto: chains of nodes become one, and loops become machine code
  /// for the ranks of the tensors that come: from the second run of a request on a thread of the
  /// process compiles them, and they are interpreted until that is done. Jit: runs wait for it
  /// where a loop is first reached. What can't be compiled is interpreted.
  Tier tier = Tier::Auto;
  /// What machine code may do for speed: round a product and a sum once, together; multiply by the
  /// reciprocal of a divisor; compute some functions of f32 to fewer places (docs/tiers.md has the
  /// bounds). Infinities and NaN stay what they are. Nothing changes for what is interpreted.
  bool fastMath = false;
  /// Which loops' iterations run at the same time, wherever the order of effects and the loop's
  /// parallel_iterations allow. Off: none; Auto: those with ops that wait (queues, Python, ops
  /// whose traits say so) if they end sooner for it; On: all that may. Loops of v1 overlap as far
  /// as their edges let them; On keeps the order of their nodes where these conflict.
  LoopOverlap loopOverlap = LoopOverlap::Auto;
  /// Seconds after which a run fails with DeadlineExceeded; 0: never.
  double timeout = 0;
  /// Whether to count what compiled code does, for `Session::statistics`.
  bool statistics = false;
  /// Whether to write down what runs when, for `Session::trace`. Each op costs a fraction of a
  /// microsecond more then.
  bool trace = false;
  /// Kernels to look in before the built-in ones; null: none. Must outlive the session.
  const KernelRegistry *kernels = nullptr;
  /// What is said of the ops of `kernels`; null: nothing. Must outlive the session.
  const OpTraitsTable *traits = nullptr;
  /// The world of processes that collective ops, sends and receives reach; null: this process
  /// alone. Sessions that share one run one after the other, on all ranks in the same order.
  std::shared_ptr<Communicator> communicator = nullptr;
  /// Where Print ops write; by default standard error (PrintV2: the stream that it names).
  std::function<void(std::string_view line, std::string_view stream)> print;
};

/// A graph being used: its variables, queues and tables, and plans for what was asked of it.
/// Thread-safe: runs of one session may overlap, and a run may serve ops that wait in another.
class Session {
public:
  using Feeds = std::vector<std::pair<std::string, Tensor>>;

  static Expected<Session> create(Graph graph, SessionOptions options = {});

  /// Runs what the fetches (`x:0`, `x`; in a loop also `x:0@3`, `x:0@last`, `x:0@*`, one selector a
  /// frame, outermost first: `x:0@2@*`) and the targets (node names) need, with values fed in place
  /// of `feeds`. Gives one tensor a fetch. Errors: InvalidArgument for a feed of wrong name, dtype
  /// or shape, a fetch that doesn't exist (NotFound is never given: as TensorFlow), and whatever
  /// ops give.
  Expected<std::vector<Tensor>> run(const std::vector<std::string> &fetches,
                                    const Feeds &feeds = {},
                                    const std::vector<std::string> &targets = {});
  /// The variables that were made so far and have a value, by name (`container/name` in a container
  /// of its own).
  std::vector<std::pair<std::string, Tensor>> variables() const;
  /// Gives the variable of that name, in no container of its own, a value; it is made if it wasn't
  /// yet. InvalidArgument for a value of another dtype than the variable's.
  Expected<void> setVariable(const std::string &name, Tensor value);
  /// Ends the runs in progress with a Cancelled error.
  void cancel();

  /// What the session did since it was made.
  struct Statistics {
    int64_t runs = 0;
    /// Calls of parts that may be compiled: that compiled code ran to the end; that it left to the
    /// interpreter when it met something unforeseen (an error, for one); that were interpreted from
    /// the beginning, for want of code.
    int64_t compiledCalls = 0, bails = 0, interpretedCalls = 0;
    /// Code that was made: how often, and in what time in all; code that had been made before, for
    /// whichever session: found in memory, and on disk.
    int64_t compilations = 0;
    double compileSeconds = 0;
    int64_t memoryHits = 0, diskHits = 0;
    /// With tier auto: what waits to be compiled, or is being compiled now.
    int64_t pendingCompilations = 0;
    /// What turned out to be none that can be compiled, and why the last one wasn't.
    int64_t failedCompilations = 0;
    std::string lastFailure;
    /// Tensors that compiled code and the kernels that it called made, scalars aside: new ones, and
    /// their bytes; those among them that only hold elements of others (as a concatenation does);
    /// and those that took over the memory of another.
    int64_t allocations = 0, allocatedBytes = 0, copies = 0, reuses = 0;
    /// Bytes of large tensors (above 1 MiB) that are alive now, in the whole process.
    int64_t liveBytes = 0;
  };
  /// Whether code is being made for runs to come (tier auto), or waits for the next run to take it
  /// up. Who wants a session warm runs it twice, and then until this is false.
  bool isCompiling() const;
  /// Consistent between runs, not in the middle of one. FailedPrecondition unless the session was
  /// made to count.
  Expected<Statistics> statistics() const;

  /// What ran when, in all runs so far: JSON in the Trace Event Format, which Perfetto and
  /// chrome://tracing show. Ops by thread, and the iterations of loops that overlap on tracks of
  /// their own; the first 1,000,000 slices. FailedPrecondition unless the session was made to
  /// trace.
  Expected<std::string> trace() const;

  const Graph &graph() const;

  struct Impl;
  std::shared_ptr<Impl> impl; // internal
};

/// A SavedModel, or a program in StableHLO, that is ready to be called: its variables restored, its
/// tables filled. What calls change stays in it until the next one. Cheap to copy: copies share the
/// state. Thread-safe as a Session is.
class Model {
public:
  /// Loads the SavedModel in a folder, or one that was converted to .mlir. Of several meta graphs
  /// it takes the one whose tags are `tags`; without tags the one that is tagged `serve`, or the
  /// only one. Nothing is half-loaded: NotFound for a folder, meta graph, checkpoint or asset that
  /// isn't there, InvalidArgument for a graph without signatures or paths that leave the folder,
  /// DataLoss for a damaged checkpoint, and whatever the model's own initialization gives.
  static Expected<Model> load(const std::string &path, SessionOptions options = {},
                              const std::vector<std::string> &tags = {});
  /// The same of a graph that was read from one, and perhaps changed by passes.
  static Expected<Model> create(Graph graph, SessionOptions options = {},
                                const std::vector<std::string> &tags = {});

  /// What can be called, sorted by name.
  const std::vector<Graph::Signature> &signatures() const;
  /// NotFound, with the nearest names, if there is none of that name.
  Expected<const Graph::Signature *> signature(std::string_view name) const;

  using Values = std::vector<std::pair<std::string, Tensor>>;
  /// Calls a signature with all of its inputs, by key; gives all of its outputs, sorted by key.
  /// InvalidArgument for inputs that are missing or unknown, or of wrong dtype or shape.
  Expected<Values> call(std::string_view signature, const Values &inputs) const;

  /// Writes the variables, as they are now, to the checkpoint that they were restored from: it is
  /// replaced at once, or not at all.
  Expected<void> save() const;
  /// Writes the model with its variables to a folder that is empty or not there yet.
  Expected<void> save(const std::string &folder) const;

  /// The session that holds the model's state, for tensors that no signature has.
  Session session() const;

  struct Impl;
  std::shared_ptr<Impl> impl; // internal

private:
  static Expected<Model> ofProgram(Graph graph, SessionOptions options);
};

/// The built-in kernels.
const KernelRegistry &builtinKernels();

/// The version of the library, `0.1.0`.
std::string_view version();

} // namespace treadle
