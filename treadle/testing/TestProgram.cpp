#include "treadle/testing/TestProgram.h"

#include <algorithm>

namespace treadle::test {
namespace {

constexpr const char *variableNames[] = {"u", "v"};
constexpr size_t numVariables = 2;

/// The values that the statements of a block may use.
struct Scope {
  std::vector<Endpoint> ints;
  std::vector<Endpoint>
      tokens; // by variable: the token of the latest access, on which later ones depend
  std::vector<Endpoint> doubtful; // values that may be dead
  int pivot = -1;                 // a value that is alive whenever this block runs; -1: always
  int loops = 0;                  // number of enclosing loops in this graph
};

class Maker {
public:
  Maker(std::mt19937 &random, const ProgramShape &shape) : random(random), shape(shape) {}
  RandomGraph make();

private:
  struct Writer { // a graph or a function under construction
    explicit Writer(std::string name) : g(std::move(name)) {}
    GraphMaker g;
    std::vector<std::pair<Endpoint, int>> insideLoops; // with the number of enclosing loops
  };
  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  bool oneIn(int n) { return below(n) == 0; }
  Endpoint any(const std::vector<Endpoint> &from) {
    return from[below(static_cast<int>(from.size()))];
  }

  void block(Writer &w, Scope &scope, int depth);
  void statement(Writer &w, Scope &scope, int depth);
  std::vector<int32_t> gates(Scope &scope);
  void arithmetic(Writer &w, Scope &scope);
  void constant(Writer &w, Scope &scope);
  void access(Writer &w, Scope &scope);
  void refuse(Writer &w, Scope &scope);
  void addDoubtfulValue(Writer &w, Scope &scope);
  void reviveValue(Writer &w, Scope &scope);
  Endpoint predicate(Writer &w, Scope &scope);
  void v1Conditional(Writer &w, Scope &scope, int depth);
  void v1Loop(Writer &w, Scope &scope, int depth);
  int callNode(Writer &w, Scope &scope, std::string op, std::vector<Endpoint> inputs,
               size_t results);
  void functionCall(Writer &w, Scope &scope, int depth);
  void functionalConditional(Writer &w, Scope &scope, int depth);
  void functionalCase(Writer &w, Scope &scope, int depth);
  void functionalLoop(Writer &w, Scope &scope, int depth);
  void functionalFor(Writer &w, Scope &scope, int depth);
  std::vector<Endpoint> pick(const Scope &scope, int atMost);
  std::string function(size_t numArgs, size_t numResults, int depth, bool isLoopBody = false);
  std::string counterCondition(size_t numArgs);

  std::mt19937 &random;
  const ProgramShape &shape;
  RandomGraph program;
  int numFunctions = 0, numFrames = 0;
};

std::vector<Endpoint> Maker::pick(const Scope &scope, int atMost) {
  std::vector<Endpoint> out;
  for (int i = 1 + below(atMost); i > 0; --i)
    out.push_back(any(scope.ints));
  return out;
}

// Returns control inputs for nodes without data inputs, which must not run where their block
// doesn't.
std::vector<int32_t> Maker::gates(Scope &scope) {
  std::vector<int32_t> out;
  if (scope.pivot >= 0)
    out.push_back(scope.pivot);
  return out;
}

// --- straight code -----------------------------------------------------------------------------

void Maker::arithmetic(Writer &w, Scope &scope) {
  static const char *ops[] = {"Add", "Sub", "Mul", "SlowAdd", "WaitAdd"};
  std::string op = ops[below(shape.hasWaiting ? 5 : 4)];
  std::vector<int32_t> controls;
  if (oneIn(4))
    controls.push_back(any(scope.ints).node);
  int node = w.g.add(str(op, "_", w.g.graph.nodes.size()), op, {any(scope.ints), any(scope.ints)},
                     {i32}, controls);
  scope.ints.push_back({node, 0});
}

void Maker::constant(Writer &w, Scope &scope) {
  scope.ints.push_back({w.g.constant(below(9) - 4, gates(scope)), 0});
}

void Maker::access(Writer &w, Scope &scope) {
  int v = below(numVariables);
  bool writes = oneIn(2);
  std::string op = writes ? "AddToVar" : "ReadVar";
  std::vector<Endpoint> inputs;
  if (writes)
    inputs.push_back(any(scope.ints));
  int node =
      w.g.add(str(op, "_", w.g.graph.nodes.size()), op, inputs, {i32}, {scope.tokens[v].node});
  w.g.attr(node, "var", std::string(variableNames[v]));
  scope.tokens[v] = {node, 0};
  scope.ints.push_back({node, 0});
}

void Maker::refuse(Writer &w, Scope &scope) {
  int node = w.g.add(str("refuse_", w.g.graph.nodes.size()), "Refuse", {any(scope.ints)}, {i32});
  w.g.attr(node, "value", int64_t{below(5)});
  scope.ints.push_back({node, 0});
}

// Adds a value that is dead on one side of a predicate, through data or a control edge.
void Maker::addDoubtfulValue(Writer &w, Scope &scope) {
  int s = w.g.switchOn(any(scope.ints), predicate(w, scope));
  Endpoint half{w.g.identity({s, below(2)}), 0};
  if (oneIn(2))
    half = {w.g.constant(below(9), {half.node}), 0};
  if (oneIn(3))
    half = {w.g.add(str("add_", w.g.graph.nodes.size()), "Add", {half, any(scope.ints)}, {i32}), 0};
  if (!scope.doubtful.empty() && oneIn(3))
    half = {w.g.identity(half, {any(scope.doubtful).node}), 0};
  scope.doubtful.push_back(half);
}

// Makes a dead value live again. A Merge with the other side of its own predicate isn't known to
// have only one live input, so a ControlTrigger or a control input of a Merge is used.
void Maker::reviveValue(Writer &w, Scope &scope) {
  Endpoint dead = any(scope.doubtful);
  int node;
  if (oneIn(2)) {
    int trigger =
        w.g.add(str("trigger_", w.g.graph.nodes.size()), "ControlTrigger", {}, {}, {dead.node});
    node = w.g.constant(below(9), {trigger});
  } else {
    int s = w.g.switchOn(any(scope.ints), predicate(w, scope));
    Endpoint no{w.g.identity({s, 0}), 0}, yes{w.g.identity({s, 1}), 0};
    node = w.g.merge({no, yes}, {dead.node});
  }
  scope.ints.push_back({node, 0});
}

Endpoint Maker::predicate(Writer &w, Scope &scope) {
  std::string op = oneIn(2) ? "Less" : "NotEqual";
  int node =
      w.g.add(str(op, "_", w.g.graph.nodes.size()), op, {any(scope.ints), any(scope.ints)}, {i1});
  return {node, 0};
}

void Maker::block(Writer &w, Scope &scope, int depth) {
  size_t first = w.g.graph.nodes.size();
  for (int i = 1 + below(shape.statements); i > 0; --i)
    statement(w, scope, depth);
  if (scope.loops > 0)
    for (size_t n = first; n < w.g.graph.nodes.size(); ++n)
      if (std::find(scope.ints.begin(), scope.ints.end(), Endpoint{static_cast<int>(n), 0}) !=
          scope.ints.end())
        w.insideLoops.push_back({{static_cast<int>(n), 0}, scope.loops});
}

void Maker::statement(Writer &w, Scope &scope, int depth) {
  using Straight = void (Maker::*)(Writer &, Scope &);
  using Nested = void (Maker::*)(Writer &, Scope &, int);
  static constexpr Straight straight[] = {&Maker::arithmetic, &Maker::arithmetic, &Maker::constant,
                                          &Maker::access};
  static constexpr Nested nested[] = {
      &Maker::v1Conditional,         &Maker::v1Loop,         &Maker::v1Loop,
      &Maker::functionCall,          &Maker::functionalLoop, &Maker::functionalFor,
      &Maker::functionalConditional, &Maker::functionalCase};
  if (shape.hasFailures && oneIn(12))
    return refuse(w, scope);
  if (shape.hasWildDeadness && oneIn(5))
    return scope.doubtful.empty() || oneIn(2) ? addDoubtfulValue(w, scope) : reviveValue(w, scope);
  if (depth > 0 && oneIn(4))
    return (this->*nested[below(std::size(nested))])(w, scope, depth - 1);
  (this->*straight[below(std::size(straight))])(w, scope);
}

// --- v1 control flow ---------------------------------------------------------------------------

void Maker::v1Conditional(Writer &w, Scope &scope, int depth) {
  Endpoint pred = predicate(w, scope);
  int pivot = w.g.switchOn(pred, pred);
  std::vector<int> captured, heldTokens;
  for (Endpoint e : pick(scope, 3))
    captured.push_back(w.g.switchOn(e, pred));
  for (Endpoint token : scope.tokens)
    heldTokens.push_back(w.g.switchOn(token, pred));
  size_t numResults = 1 + below(2);
  std::vector<Endpoint> results[2], tokens[2];
  for (int side : {0, 1}) {
    Scope branch;
    branch.loops = scope.loops;
    branch.pivot = w.g.identity({pivot, side});
    for (int s : captured)
      branch.ints.push_back({s, side});
    for (int t : heldTokens)
      branch.tokens.push_back({w.g.identity({t, side}), 0});
    block(w, branch, depth);
    for (size_t r = 0; r < numResults; ++r)
      results[side].push_back(any(branch.ints));
    tokens[side] = branch.tokens;
  }
  for (size_t r = 0; r < numResults; ++r)
    scope.ints.push_back({w.g.merge({results[0][r], results[1][r]}), 0});
  for (size_t v = 0; v < numVariables; ++v)
    scope.tokens[v] = {w.g.merge({tokens[0][v], tokens[1][v]}), 0};
}

void Maker::v1Loop(Writer &w, Scope &scope, int depth) {
  std::string frame = str("frame", numFrames++);
  int64_t parallel = 1 + below(4);
  auto constantEnter = [&](Endpoint e) { return Endpoint{w.g.enter(e, frame, true, parallel), 0}; };
  Endpoint zero{w.g.constant(0, gates(scope)), 0}, limit{w.g.constant(below(4), gates(scope)), 0};
  int counter = w.g.loopVariable(zero, frame, parallel);
  std::vector<int> merges = {counter};
  std::vector<Endpoint> invariants;
  for (Endpoint e : pick(scope, 3))
    merges.push_back(w.g.loopVariable(e, frame, parallel));
  for (Endpoint e : pick(scope, 2))
    invariants.push_back(constantEnter(e));
  // A loop with a variable that may be dead is wholly or partly dead.
  if (shape.hasWildDeadness && !scope.doubtful.empty() && oneIn(4))
    invariants.push_back(constantEnter(any(scope.doubtful)));
  size_t firstToken = merges.size();
  for (Endpoint token : scope.tokens)
    merges.push_back(w.g.loopVariable(token, frame, parallel));
  Endpoint bound = constantEnter(limit);
  int less = w.g.add(str("less_", w.g.graph.nodes.size()), "Less", {{counter, 0}, bound}, {i1});
  int cond = w.g.add(str("cond_", w.g.graph.nodes.size()), "LoopCond", {{less, 0}}, {i1});
  std::vector<int> switches;
  switches.reserve(merges.size());
  for (int m : merges)
    switches.push_back(w.g.switchOn({m, 0}, {cond, 0}));
  Scope body;
  body.loops = scope.loops + 1;
  body.pivot = w.g.identity({switches[0], 1});
  int one = w.g.constant(1, {body.pivot});
  int next =
      w.g.add(str("step_", w.g.graph.nodes.size()), "Add", {{switches[0], 1}, {one, 0}}, {i32});
  for (size_t m = 0; m < firstToken; ++m)
    body.ints.push_back({switches[m], 1});
  body.ints.insert(body.ints.end(), invariants.begin(), invariants.end());
  for (size_t m = firstToken; m < merges.size(); ++m)
    body.tokens.push_back({w.g.identity({switches[m], 1}), 0});
  block(w, body, depth);
  w.g.close(merges[0], {next, 0});
  for (size_t m = 1; m < firstToken; ++m)
    w.g.close(merges[m], any(body.ints));
  for (size_t v = 0; v < numVariables; ++v)
    w.g.close(merges[firstToken + v], body.tokens[v]);
  for (size_t m = 0; m < merges.size(); ++m) {
    int exit = w.g.add(str("exit_", w.g.graph.nodes.size()), "Exit", {{switches[m], 0}}, {i32});
    if (m >= firstToken)
      scope.tokens[m - firstToken] = {exit, 0};
    else
      scope.ints.push_back({exit, 0});
  }
}

// --- functional control flow -------------------------------------------------------------------

std::string Maker::counterCondition(size_t numArgs) {
  Writer w(str("cond", numFunctions++));
  Scope scope;
  for (size_t a = 0; a < numArgs; ++a)
    scope.ints.push_back({w.g.arg(), 0});
  for (size_t v = 0; v < numVariables; ++v)
    scope.tokens.push_back({w.g.constant(0), 0});
  if (oneIn(4))
    access(w, scope);
  int less = w.g.add("more", "Less", {scope.ints[0], scope.ints[1]}, {i1});
  w.g.result({less, 0});
  program.functions->add(std::move(w.g.graph));
  return str("cond", numFunctions - 1);
}

// The body of a loop increments its first argument and passes on the second one, the limit.
std::string Maker::function(size_t numArgs, size_t numResults, int depth, bool isLoopBody) {
  std::string name = str("function", numFunctions++);
  Writer w(name);
  Scope scope;
  for (size_t a = 0; a < numArgs; ++a)
    scope.ints.push_back({w.g.arg(), 0});
  for (size_t v = 0; v < numVariables; ++v)
    scope.tokens.push_back({w.g.constant(0), 0});
  if (isLoopBody) {
    int next = w.g.add("step", "Add", {scope.ints[0], {w.g.constant(1), 0}}, {i32});
    w.g.result({next, 0});
    w.g.result(scope.ints[1]);
  }
  block(w, scope, depth);
  while (w.g.graph.results.size() < numResults)
    w.g.result(any(scope.ints));
  program.functions->add(std::move(w.g.graph));
  return name;
}

// Adds a node that may access any variable: it is ordered after all earlier and before all later
// accesses.
int Maker::callNode(Writer &w, Scope &scope, std::string op, std::vector<Endpoint> inputs,
                    size_t results) {
  std::vector<int32_t> controls;
  controls.reserve(scope.tokens.size());
  for (Endpoint token : scope.tokens)
    controls.push_back(token.node);
  std::string name = str(op, "_", w.g.graph.nodes.size());
  int node = w.g.add(std::move(name), std::move(op), std::move(inputs),
                     std::vector<ValueType>(results, i32), controls);
  for (size_t r = 0; r < results; ++r)
    scope.ints.push_back({node, static_cast<int32_t>(r)});
  for (Endpoint &token : scope.tokens)
    token = {node, 0};
  return node;
}

static FunctionRef ref(std::string name) { return {std::move(name), nullptr}; }

void Maker::functionCall(Writer &w, Scope &scope, int depth) {
  std::vector<Endpoint> inputs = pick(scope, 3);
  size_t results = 1 + below(2);
  std::string f = function(inputs.size(), results, depth);
  bool isNamed = oneIn(2); // the op is the function's name, or a call op
  int node = callNode(w, scope, isNamed ? f : "PartitionedCall", inputs, results);
  w.g.graph.nodes[node].isFunctionCall = isNamed;
  if (!isNamed)
    w.g.attr(node, "f", ref(f));
}

void Maker::functionalConditional(Writer &w, Scope &scope, int depth) {
  std::vector<Endpoint> inputs = pick(scope, 3);
  size_t results = 1 + below(2), numArgs = inputs.size();
  inputs.insert(inputs.begin(), oneIn(2) ? predicate(w, scope) : any(scope.ints));
  int node = callNode(w, scope, "If", inputs, results);
  w.g.attr(node, "then_branch", ref(function(numArgs, results, depth)));
  w.g.attr(node, "else_branch", ref(function(numArgs, results, depth)));
}

void Maker::functionalCase(Writer &w, Scope &scope, int depth) {
  std::vector<Endpoint> inputs = pick(scope, 3);
  size_t results = 1 + below(2), numArgs = inputs.size();
  inputs.insert(inputs.begin(), any(scope.ints));
  int node = callNode(w, scope, "Case", inputs, results);
  std::vector<FunctionRef> branches;
  for (int i = 1 + below(3); i > 0; --i)
    branches.push_back(ref(function(numArgs, results, depth)));
  w.g.attr(node, "branches", branches);
}

void Maker::functionalLoop(Writer &w, Scope &scope, int depth) {
  std::vector<Endpoint> inputs = {{w.g.constant(0, gates(scope)), 0},
                                  {w.g.constant(below(4), gates(scope)), 0}};
  for (Endpoint e : pick(scope, 3))
    inputs.push_back(e);
  size_t n = inputs.size();
  int node = callNode(w, scope, "While", inputs, n);
  w.g.attr(node, "cond", ref(counterCondition(n)));
  w.g.attr(node, "body", ref(function(n, n, depth, true)));
}

void Maker::functionalFor(Writer &w, Scope &scope, int depth) {
  int start = below(3), delta = oneIn(2) ? 1 : -2;
  std::vector<Endpoint> inputs = {{w.g.constant(start, gates(scope)), 0},
                                  {w.g.constant(start + delta * below(3), gates(scope)), 0},
                                  {w.g.constant(delta, gates(scope)), 0}};
  std::vector<Endpoint> variables = pick(scope, 3);
  inputs.insert(inputs.end(), variables.begin(), variables.end());
  size_t n = variables.size();
  int node = callNode(w, scope, "For", inputs, n);
  w.g.attr(node, "body", ref(function(n + 1, n, depth)));
}

// --- whole programs ----------------------------------------------------------------------------

RandomGraph Maker::make() {
  Writer w("program");
  Scope scope;
  for (int i = 0; i < 3; ++i)
    scope.ints.push_back({w.g.constant(below(9) - 3), 0});
  for (size_t v = 0; v < numVariables; ++v)
    scope.tokens.push_back({w.g.constant(0), 0});
  block(w, scope, below(shape.depth + 1));
  for (int i = 1 + below(4); i > 0; --i)
    w.g.result(any(scope.ints));
  for (Endpoint token : scope.tokens) // so that all accesses are fetched
    w.g.result(token);
  if (shape.looksIntoLoops && !w.insideLoops.empty())
    for (int i = 1 + below(2); i > 0; --i) {
      auto [value, loops] = w.insideLoops[below(static_cast<int>(w.insideLoops.size()))];
      std::vector<IterationSelector> selectors;
      for (int l = 0; l < loops; ++l) {
        auto kind = static_cast<IterationSelector::Kind>(below(3));
        selectors.push_back({kind, kind == IterationSelector::At ? below(2) : 0});
      }
      w.g.result(value, selectors);
    }
  program.graph = std::move(w.g.graph);
  return std::move(program);
}

} // namespace

ProgramShape ProgramShape::named(std::string_view name) {
  ProgramShape shape;
  shape.hasFailures = name == "Failures";
  shape.hasWaiting = name == "Waiting";
  shape.hasWildDeadness = name == "Deadness";
  shape.looksIntoLoops = name == "LookingIntoLoops";
  return shape;
}

RandomGraph randomProgram(std::mt19937 &random, const ProgramShape &shape) {
  return Maker(random, shape).make();
}

} // namespace treadle::test
