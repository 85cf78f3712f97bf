// The reference interpreter: implements the rules of docs/spec.md, whose labels are in the code. It
// processes one token and fires one node at a time; slow, but simple enough to be evidently
// correct.
#pragma once

#include "treadle/runtime/Graph.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Plan.h"
#include "treadle/runtime/Run.h"

#include <deque>
#include <map>
#include <random>
#include <set>

namespace treadle::reference {

/// The location of a token: frames and iterations, outermost first.
using Tag = std::vector<std::pair<std::string, int64_t>>;

/// A firing of a node.
struct Instance {
  Tag tag;
  int32_t node = -1;
  auto operator<=>(const Instance &) const = default;
};

/// The history of a value or firing: the numbers of the firings with effects that it depends on.
class History {
public:
  void add(size_t firing);
  void addAll(const History &other);
  bool contains(size_t firing) const;

private:
  std::vector<uint64_t> words;
};

/// The content of a token.
struct Value {
  Tensor tensor; // empty if dead, or for a control token
  bool isDead = false;
  bool isFromEnter = false;
};

/// Observes a run.
class Observer {
public:
  virtual ~Observer() = default;
  /// Called when a node fires, with its inputs by number; `gives` follows unless it fails.
  virtual void fires(const Instance &instance, const std::map<int32_t, Value> &inputs,
                     bool isDead) = 0;
  /// Called with the outputs of a firing. A dead Exit only has outputs when its frame is over: it
  /// fires again then, outside of the frame and without inputs.
  virtual void gives(const Instance &instance, const std::vector<Value> &outputs) = 0;
  virtual void fails(const Instance &instance, const Error &error) = 0;
};

/// Computes a firing of an ordinary node, with kernels and functions.
class Ops {
public:
  virtual ~Ops() = default;
  virtual Expected<std::vector<Tensor>> compute(const GraphSpec &graph, int32_t node,
                                                std::vector<Tensor> inputs) = 0;
};

/// A graph and its edges by producer. The graph must outlive it.
struct Wiring {
  explicit Wiring(const GraphSpec &graph);

  const GraphSpec &graph;
  /// Maps a node and output (-1: control) to consuming nodes and inputs (-1: control).
  std::map<std::pair<int32_t, int32_t>, std::vector<std::pair<int32_t, int32_t>>> consumers;
  std::map<std::string, size_t> enters; // number of Enters by frame
};

/// An interpreter of one run of a graph. Nodes without effects fire automatically; those with
/// effects wait to be chosen.
class Interpreter {
public:
  /// `hasEffects`: by node. `stepsLeft` is decremented per token; the run ends when it is negative.
  /// `random` determines the order of tokens; null: oldest first. The observer may be null.
  Interpreter(const Wiring &wiring, std::vector<bool> hasEffects, std::vector<Tensor> args,
              Ops &ops, int64_t &stepsLeft, std::mt19937 *random = nullptr,
              Observer *observer = nullptr);

  /// Returns the instances with effects that can fire, with their histories, sorted. Empty when the
  /// run is over.
  const std::map<Instance, History> &ready() const { return waiting; }
  /// Fires an instance. Firings are numbered from 0.
  void fire(const Instance &instance);

  /// Returns the failed instances in order. Instances that don't depend on them ran nonetheless.
  const std::vector<std::pair<Instance, Error>> &failures() const { return failed; }
  /// The live values of a result, by the iterations of the frames around it.
  using Values = std::map<std::vector<int64_t>, Tensor>;
  const std::vector<Values> &results() const { return found; }
  /// Whether the result depends on the order of tokens (merge_5, frame_5).
  bool isAmbiguous() const { return ambiguous; }

private:
  struct Token {
    Tag tag;
    int32_t node;
    int32_t input; // -1: control
    Value value;
    History past;
  };
  /// The inputs that have arrived at a node under one tag.
  struct Arrivals {
    std::map<int32_t, Value> data;
    size_t numControls = 0;
    bool hasDead = false, hasDeadEnter = false, hasFired = false;
    History past;
  };
  /// One execution of a frame: the tag around it, and its name.
  using FrameKey = std::pair<Tag, std::string>;
  struct FrameRun {
    int64_t started = 0;       // number of iterations
    std::vector<History> over; // histories of the first iterations that are over; each includes the
                               // earlier ones
    int64_t parallelIterations = 1;
    size_t enters = 0;
    struct Constant {
      int32_t node;
      Value value;
      History past;
    };
    std::vector<Constant> constants;
    std::set<int32_t> liveExits, deadExits;
    std::vector<Token> held; // from NextIterations, for iterations that may not start yet
  };

  const NodeSpec &spec(int32_t node) const { return graph.nodes[static_cast<size_t>(node)]; }
  void send(const Tag &tag, int32_t node, int32_t output, const Value &value, const History &past);
  void sendAll(const Tag &tag, int32_t node, std::vector<Value> values, bool isDead,
               const History &past, bool isFromEnter = false);
  void processTokens();
  void arrive(const Token &token);
  void arriveAtMerge(const Token &token, Arrivals &in);
  void fireNode(const Tag &tag, int32_t node, const Arrivals &in, bool isDead);
  void computeNode(const Instance &instance, const std::map<int32_t, Value> &inputs,
                   const History &past);
  void fireEnter(const Tag &tag, int32_t node, const Value &value, const History &past);
  void fireExit(const Tag &tag, int32_t node, const Value &value, const History &past);
  void fireNext(const Tag &tag, int32_t node, const Value &value, const History &past);
  FrameRun &frameOf(const FrameKey &key);
  void startIteration(const FrameKey &key, FrameRun &frame);
  bool isActive(const Tag &tag) const;
  bool isOver(const FrameKey &key, FrameRun &frame, int64_t iteration);
  bool hasAllEnters(const FrameKey &key, const FrameRun &frame) const;
  bool startHeldIteration();
  bool closeStuckFrame();
  void give(const Tag &tag, int32_t node, const std::vector<Value> &outputs);
  void record(const Tag &tag, int32_t node, const std::vector<Value> &outputs);
  void fail(const Instance &instance, Error error);

  const Wiring &wiring;
  const GraphSpec &graph;
  const std::vector<bool> hasEffects;
  const std::vector<Tensor> args;
  Ops &ops;
  int64_t &stepsLeft;
  std::mt19937 *random;
  Observer *observer;
  std::deque<Token> tokens;
  std::map<Instance, Arrivals> arrivals;
  std::map<Instance, History> waiting;
  std::map<Instance, std::map<int32_t, Value>> waitingInputs;
  std::map<FrameKey, FrameRun> frames, closed;
  std::map<Tag, History> tagHistories; // histories of ended tags, including frames within
  std::vector<Values> found;           // by result
  std::vector<std::pair<Instance, Error>> failed;
  size_t numFired = 0; // of firings with effects
  bool ambiguous = false;
};

} // namespace treadle::reference
