// Explains why loops overlap or don't, and what is compiled.
#pragma once

#include "treadle/Graph.h"
#include "treadle/runtime/OpTraits.h"

namespace treadle {

struct ExplainRequest {
  /// With any of these, the explanation is limited to nodes that these runs reach.
  std::vector<std::string> fetches, targets;
  const OpTraitsTable *traits = nullptr; // traits of custom ops; null: none
  /// The signature to explain. Without a signature, fetches and targets: all signatures, without
  /// savers and initializers unless `all` is set.
  std::string signature = {};
  bool all = false;
};
/// The result of `explain`.
struct Explanation {
  struct Op {
    std::string name, op, where; // `where`: its function; empty: the graph
    std::string line;            // source location `model.py:31`; empty if unknown
  };
  struct Access {
    Op op;
    bool writes = false;
    bool isInCondition = false;
  };
  /// A reason that orders iterations of a loop, or parts of them.
  struct Order {
    /// `condition`: the condition and the nodes that it depends on; `values`: values carried from
    /// one iteration to the next; `resource`: a resource that several ops access and one writes.
    std::string kind;
    std::string subject;    // the loop variables, or `variable 'v'`
    std::vector<Access> by; // the ops on the dependency path, or those that access the resource
    bool isOrder = true;    // false for a resource that is only read, and for a race
    bool isRace = false;    // in a v1 loop: the edges don't order the accesses
    std::vector<Op> wouldBeFree; // nodes that would overlap if the resource weren't written
  };
  struct Loop {
    std::string name, kind; // as in Summary::Loop
    std::string line;
    int64_t parallelIterations = 0;
    std::vector<std::string> functions; // functions of the condition and the body
    /// Whether parts of two iterations may run at the same time with --loop-overlap auto and on,
    /// and the reason as text.
    bool overlapsInAuto = false, overlapsWhenOn = false;
    std::string inAuto, whenOn;
    std::vector<Order> orders;
    /// Ops that compute: those that run in iteration order, and those that overlap.
    std::vector<Op> inTurns, overlapping;
    std::vector<std::string> advice; // advice to let more of it overlap, as text
    /// For a v1 loop: nodes that run in iteration 0 only, because they depend on an Enter that
    /// isn't constant, as text. If such a loop reaches iteration 1, it ends without a value.
    std::vector<std::string> starved = {};
  };
  /// The graph or a function, with its uses: `body of 'while' (While)`.
  struct Body {
    std::string function; // empty: the graph
    std::vector<std::string> users;
    std::vector<Loop> loops; // in the order of the graph
  };
  std::vector<Body> bodies; // those with loops: the graph, then functions in their order

  /// A cluster: a part of a body that is compiled, once for each class of input shapes. A class is
  /// the rank of each input and which dimensions are 1.
  struct Cluster {
    std::string where;     // its function; empty: the graph
    std::vector<Op> nodes; // nodes of the body
    int64_t ops = 0;       // number of ops including those of called functions, without constants
    std::vector<std::string> inputs; // types of the inputs: `float32[?,16]`, as far as known
  };
  /// Ops that are interpreted, with the reason.
  struct Interpreted {
    std::string why;
    std::vector<Op> nodes;
  };
  std::vector<Cluster> clusters; // computed without knowledge of fetches, which may split them
  std::vector<Interpreted> interpreted;

  /// Formats the whole explanation as text.
  std::string text() const;
};
/// Explains what orders the iterations of each loop, which parts may overlap, and how to free the
/// others; loops in functions are explained once, with the function. Also lists the parts that are
/// compiled if tiers allow it, and the reasons for the others. Errors: InvalidArgument for a name
/// that isn't in the graph; those of Graph::signatureFetches.
Expected<Explanation> explain(const Graph &graph, const ExplainRequest &request = {});

} // namespace treadle
