// What a graph means, by the rules of docs/spec.md, whose labels stand in the code: a machine that
// takes one token at a time and fires one node at a time. Slow, and simple enough to be believed.
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

/// Where a token is: frame and iteration, outermost first.
using Tag = std::vector<std::pair<std::string, int64_t>>;

/// A firing of a node.
struct Instance {
  Tag tag;
  int32_t node = -1;
  auto operator<=>(const Instance &) const = default;
};

/// What has happened before: the firings with effects that something depends on, by their numbers.
class Past {
public:
  void add(size_t firing);
  void addAll(const Past &other);
  bool contains(size_t firing) const;

private:
  std::vector<uint64_t> words;
};

/// What a token carries.
struct Value {
  Tensor tensor; // empty: dead, or a control token
  bool isDead = false;
  bool isFromEnter = false;
};

/// Looks on while a machine runs.
class Observer {
public:
  virtual ~Observer() = default;
  /// A node fires, with its inputs by number; what it gives comes next, unless it fails.
  virtual void fires(const Instance &instance, const std::map<int32_t, Value> &inputs,
                     bool isDead) = 0;
  /// By output. A dead Exit gives what it gives when its frame is over: it fires once more then,
  /// around the frame and without inputs.
  virtual void gives(const Instance &instance, const std::vector<Value> &outputs) = 0;
  virtual void fails(const Instance &instance, const Error &error) = 0;
};

/// What is computed by kernels and functions: one firing of an ordinary node.
class Ops {
public:
  virtual ~Ops() = default;
  virtual Expected<std::vector<Tensor>> compute(const GraphSpec &graph, int32_t node,
                                                std::vector<Tensor> inputs) = 0;
};

/// A graph, and who takes what in it. The graph outlives it.
struct Wiring {
  explicit Wiring(const GraphSpec &graph);

  const GraphSpec &graph;
  /// By node and output (-1: the control output), the nodes and inputs (-1: control).
  std::map<std::pair<int32_t, int32_t>, std::vector<std::pair<int32_t, int32_t>>> consumers;
  std::map<std::string, size_t> enters; // by frame: how many
};

/// A run of a graph. Nodes without effects fire by themselves; those with effects wait to be
/// chosen.
class Machine {
public:
  /// `hasEffects`: by node. `stepsLeft` counts tokens down; below zero the run ends. `random` draws
  /// the order of tokens; null: the oldest first. The observer may be null.
  Machine(const Wiring &wiring, std::vector<bool> hasEffects, std::vector<Tensor> args, Ops &ops,
          int64_t &stepsLeft, std::mt19937 *random = nullptr, Observer *observer = nullptr);

  /// Instances with effects that can fire, each with what it depends on. Sorted; empty when the run
  /// is over.
  const std::map<Instance, Past> &ready() const { return waiting; }
  /// Firings are numbered from 0 on.
  void fire(const Instance &instance);

  /// The instances that failed, in this order. What doesn't depend on them ran all the same.
  const std::vector<std::pair<Instance, Error>> &failures() const { return failed; }
  /// The live values that a result had, by the iterations of the frames around it.
  using Values = std::map<std::vector<int64_t>, Tensor>;
  const std::vector<Values> &results() const { return found; }
  /// Whether tokens could have come in an order that gives something else (merge_5, frame_5).
  bool isAmbiguous() const { return ambiguous; }

private:
  struct Token {
    Tag tag;
    int32_t node;
    int32_t input; // -1: control
    Value value;
    Past past;
  };
  /// What has arrived at a node, under one tag.
  struct Arrivals {
    std::map<int32_t, Value> data;
    size_t numControls = 0;
    bool hasDead = false, hasDeadEnter = false, hasFired = false;
    Past past;
  };
  /// One execution of a frame: the tag around it, and its name.
  using FrameKey = std::pair<Tag, std::string>;
  struct FrameRun {
    int64_t started = 0;    // iterations
    std::vector<Past> over; // of them, the first so many; of each, the past of those up to it
    int64_t parallelIterations = 1;
    size_t enters = 0;
    struct Constant {
      int32_t node;
      Value value;
      Past past;
    };
    std::vector<Constant> constants;
    std::set<int32_t> liveExits, deadExits;
    std::vector<Token> held; // of NextIterations, for iterations that may not begin yet
  };

  const NodeSpec &spec(int32_t node) const { return graph.nodes[static_cast<size_t>(node)]; }
  void send(const Tag &tag, int32_t node, int32_t output, const Value &value, const Past &past);
  void sendAll(const Tag &tag, int32_t node, std::vector<Value> values, bool isDead,
               const Past &past, bool isFromEnter = false);
  void settle();
  void arrive(const Token &token);
  void arriveAtMerge(const Token &token, Arrivals &in);
  void fireNode(const Tag &tag, int32_t node, const Arrivals &in, bool isDead);
  void computeNode(const Instance &instance, const std::map<int32_t, Value> &inputs,
                   const Past &past);
  void fireEnter(const Tag &tag, int32_t node, const Value &value, const Past &past);
  void fireExit(const Tag &tag, int32_t node, const Value &value, const Past &past);
  void fireNext(const Tag &tag, int32_t node, const Value &value, const Past &past);
  FrameRun &frameOf(const FrameKey &key);
  void startIteration(const FrameKey &key, FrameRun &frame);
  bool isUnderWay(const Tag &tag) const;
  bool isOver(const FrameKey &key, FrameRun &frame, int64_t iteration);
  bool isWhole(const FrameKey &key, const FrameRun &frame) const;
  bool startHeldIteration();
  bool closeAFrame();
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
  std::map<Instance, Past> waiting;
  std::map<Instance, std::map<int32_t, Value>> waitingInputs;
  std::map<FrameKey, FrameRun> frames, closed;
  std::map<Tag, Past> pasts; // of all that was under a tag, frames within it included
  std::vector<Values> found; // by result
  std::vector<std::pair<Instance, Error>> failed;
  size_t numFired = 0; // of those with effects
  bool ambiguous = false;
};

} // namespace treadle::reference
