// Why loops overlap or don't, and what becomes machine code.
#pragma once

#include "treadle/Graph.h"
#include "treadle/runtime/OpTraits.h"

namespace treadle {

struct ExplainRequest {
  /// With any of these, only what runs of them get to is explained.
  std::vector<std::string> fetches, targets;
  const OpTraitsTable *traits = nullptr; // what is said of ops; null: nothing
  /// Only what this signature needs. Without one, and without fetches and targets, what any
  /// signature needs: neither what saves, restores nor initializes, unless `all` asks for that.
  std::string signature = {};
  bool all = false;
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
    /// Of a v1 loop: nodes that run in iteration 0 only, since they wait for an Enter that isn't
    /// constant; for people. A loop that gets to iteration 1 then ends without a value.
    std::vector<std::string> starved = {};
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
/// that isn't in the graph; those of Graph::signatureFetches.
Expected<Explanation> explain(const Graph &graph, const ExplainRequest &request = {});

} // namespace treadle
