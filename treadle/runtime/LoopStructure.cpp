// Turns v1 loops into structured ones when a plan is built, so that they run without frames.
//
//   Enter -> Merge -> Switch -> (1) body -> NextIteration -> back to Merge
//              |        |-----> (0) Exit
//              '-> condition -> LoopCond -> to every Switch
//
// becomes a While node whose condition and body are plans of their own. The rewriting is exact: a
// frame that doesn't have this form, as it stands, is left alone.
#include "treadle/ops/OpTable.h"
#include "treadle/runtime/Deadness.h"
#include "treadle/runtime/PlanBuilder.h"

#include <algorithm>

namespace treadle::plan {
namespace {

struct Variable {
  int32_t enter = -1, merge = -1, next = -1, branch = -1;
};

enum class Role : uint8_t { None, Variable, Exit, LoopCond, Condition, Body };

class Structurer {
public:
  Structurer(GraphSpec &graph, const PlanOptions &options, FrameAssignment frames,
             Deadness deadness)
      : graph(graph), options(options), frames(std::move(frames)), deadness(std::move(deadness)) {}
  Expected<void> run();

private:
  // One frame.
  bool collect(uint32_t frame);
  bool findVariables();
  bool findBranchesAndExits();
  bool markCondition();
  bool markBody();
  bool isBodyGated(int32_t node);
  bool isCovered() const;
  bool isAliveAsAWhole();
  bool waits(int32_t node) const;
  Expected<void> replace(uint32_t frame);
  Expected<std::shared_ptr<const Plan>> extract(Role role, const std::vector<Endpoint> &results,
                                                ArgMode mode);
  Endpoint translate(Endpoint e, Role role, const std::vector<int32_t> &local) const;

  void resolve(NodeSpec &node);
  bool isConstantEnter(int32_t node) const {
    return graph.nodes[node].attrs.getOr<bool>("is_constant", false);
  }
  void compact();

  GraphSpec &graph;
  const PlanOptions &options;
  FrameAssignment frames;
  Deadness deadness;                                   // of the graph as it was
  std::vector<std::vector<int32_t>> nodesOf, entersOf; // by frame
  std::vector<bool> removed;
  std::vector<Endpoint> redirect; // of an Exit: the loop's output
  std::vector<Role> roles;
  std::vector<int8_t> gated;          // 0 unknown, 1 yes, -1 no
  std::vector<int32_t> variableIndex; // by node: of its Merge or Switch, or of a constant Enter

  // The frame at hand.
  std::vector<int32_t> nodes, enters, invariants;
  std::vector<Variable> variables;
  int32_t loopCond = -1;
};

void Structurer::resolve(NodeSpec &node) {
  for (Endpoint &e : node.inputs)
    if (redirect[e.node].node >= 0)
      e = redirect[e.node];
  for (int32_t &c : node.controls)
    if (redirect[c].node >= 0)
      c = redirect[c].node;
}

// --- recognition -------------------------------------------------------------------------------

bool Structurer::waits(int32_t i) const {
  const NodeSpec &node = graph.nodes[i];
  if (isBlockingOp(node.op))
    return true;
  for (const FunctionRef &f : calledFunctions(node))
    if (options.functions && options.functions->mayBlock(f.name))
      return true;
  return false;
}

bool Structurer::collect(uint32_t frame) {
  nodes = nodesOf[frame];
  enters = entersOf[frame];
  variables.clear();
  invariants.clear();
  loopCond = -1;
  for (int32_t i : nodes) {
    NodeSpec &node = graph.nodes[i];
    resolve(node);
    roles[i] = Role::None;
    bool isReferring = node.op.starts_with("Ref") && node.op != "RefIdentity";
    if (frames.childFrame[i] >= 0 || isReferring || waits(i))
      return false;
    if (node.op == "LoopCond") {
      if (loopCond >= 0)
        return false;
      loopCond = i;
      roles[i] = Role::LoopCond;
    }
  }
  for (int32_t i : enters) {
    NodeSpec &node = graph.nodes[i];
    resolve(node);
    if (node.attrs.getOr<bool>(overlapAttr, false))
      return false;
    if (node.op != "Enter" || node.outputTypes[0].isRef || node.inputTypes[0].isRef)
      return false;
    if (isConstantEnter(i)) {
      variableIndex[i] = static_cast<int32_t>(invariants.size());
      invariants.push_back(i);
    }
  }
  return loopCond >= 0;
}

bool Structurer::findVariables() {
  for (int32_t i : nodes) {
    const NodeSpec &node = graph.nodes[i];
    if (node.op != "Merge" || node.inputs.size() != 2)
      continue;
    int32_t a = node.inputs[0].node, b = node.inputs[1].node;
    if (graph.nodes[a].op == "NextIteration")
      std::swap(a, b);
    if (graph.nodes[b].op != "NextIteration")
      continue; // the end of a conditional
    if (graph.nodes[a].op != "Enter" || isConstantEnter(a) || !node.controls.empty())
      return false;
    variableIndex[i] = static_cast<int32_t>(variables.size());
    roles[i] = roles[b] = Role::Variable;
    variables.push_back({a, i, b, -1});
  }
  return !variables.empty() && variables.size() + invariants.size() == enters.size();
}

bool Structurer::findBranchesAndExits() {
  for (int32_t i : nodes) {
    const NodeSpec &node = graph.nodes[i];
    if (node.op != "Switch" || node.inputs[1] != Endpoint{loopCond, 0})
      continue;
    Endpoint from = node.inputs[0];
    if (from.output != 0 || roles[from.node] != Role::Variable ||
        graph.nodes[from.node].op != "Merge" || !node.controls.empty())
      return false;
    Variable &variable = variables[variableIndex[from.node]];
    if (variable.branch >= 0)
      return false;
    variable.branch = i;
    variableIndex[i] = variableIndex[from.node];
    roles[i] = Role::Variable;
  }
  for (int32_t i : nodes) {
    const NodeSpec &node = graph.nodes[i];
    if (node.op != "Exit")
      continue;
    Endpoint from = node.inputs[0];
    if (from.output != 0 || roles[from.node] != Role::Variable ||
        graph.nodes[from.node].op != "Switch" || !node.controls.empty())
      return false;
    roles[i] = Role::Exit;
  }
  return true;
}

// What the condition is made of: everything behind LoopCond, up to the Merges.
bool Structurer::markCondition() {
  std::vector<int32_t> pending = {loopCond};
  while (!pending.empty()) {
    int32_t i = pending.back();
    pending.pop_back();
    auto visit = [&](int32_t source, bool isData) {
      const NodeSpec &node = graph.nodes[source];
      if (node.op == "Enter")
        return !isData || isConstantEnter(source);
      if (roles[source] == Role::Variable)
        return node.op == "Merge";
      if (roles[source] == Role::Exit || roles[source] == Role::LoopCond)
        return false;
      if (roles[source] == Role::None) {
        roles[source] = Role::Condition;
        pending.push_back(source);
      }
      return true;
    };
    for (Endpoint e : graph.nodes[i].inputs)
      if (!visit(e.node, true) || (roles[e.node] == Role::Variable && e.output != 0))
        return false;
    for (int32_t c : graph.nodes[i].controls)
      if (!visit(c, false))
        return false;
  }
  return true;
}

// What the body is made of: everything behind the NextIterations, up to the Switches.
bool Structurer::markBody() {
  std::vector<int32_t> pending, found;
  for (const Variable &v : variables)
    pending.push_back(v.next);
  while (!pending.empty()) {
    int32_t i = pending.back();
    pending.pop_back();
    for (Endpoint e : graph.nodes[i].inputs) {
      const NodeSpec &source = graph.nodes[e.node];
      if (source.op == "Enter" && isConstantEnter(e.node))
        continue;
      if (roles[e.node] == Role::Variable && source.op == "Switch" && e.output == 1)
        continue;
      if (roles[e.node] != Role::None && roles[e.node] != Role::Body)
        return false;
      if (source.op == "Enter")
        return false;
      if (roles[e.node] == Role::None) {
        roles[e.node] = Role::Body;
        pending.push_back(e.node);
        found.push_back(e.node);
      }
    }
    for (int32_t c : graph.nodes[i].controls)
      if (roles[c] == Role::None && graph.nodes[c].op != "Enter") {
        roles[c] = Role::Body;
        pending.push_back(c);
        found.push_back(c);
      }
  }
  return std::all_of(found.begin(), found.end(), [&](int32_t i) { return isBodyGated(i); });
}

// A node that no Switch holds back runs once more than the body does; that may only be so where it
// can't be noticed.
bool Structurer::isBodyGated(int32_t start) {
  std::vector<int32_t> pending = {start};
  std::vector<int32_t> seen;
  bool isGated = false;
  while (!pending.empty() && !isGated) {
    int32_t i = pending.back();
    pending.pop_back();
    if (gated[i] == 1) {
      isGated = true;
      break;
    }
    if (gated[i] == -1)
      continue;
    gated[i] = -1;
    seen.push_back(i);
    for (Endpoint e : graph.nodes[i].inputs) {
      if (roles[e.node] == Role::Variable)
        isGated = true;
      else if (roles[e.node] == Role::Body)
        pending.push_back(e.node);
    }
    for (int32_t c : graph.nodes[i].controls)
      if (roles[c] == Role::Body)
        pending.push_back(c);
  }
  for (int32_t i : seen)
    gated[i] = 0;
  if (isGated)
    gated[start] = 1;
  const std::string &op = graph.nodes[start].op;
  return isGated || op == "Const" || op == "Identity" || op == "NoOp";
}

bool Structurer::isCovered() const {
  return std::all_of(nodes.begin(), nodes.end(), [&](int32_t i) { return roles[i] != Role::None; });
}

// A While runs with all its inputs or not at all. So must the loop: an Enter that is dead alone
// would kill some of its values only, unless its condition dies of it too.
bool Structurer::isAliveAsAWhole() {
  return std::all_of(enters.begin(), enters.end(),
                     [&](int32_t enter) { return deadness.follows(loopCond, enter); });
}

// --- rewriting ---------------------------------------------------------------------------------

Endpoint Structurer::translate(Endpoint e, Role role, const std::vector<int32_t> &local) const {
  if (graph.nodes[e.node].op == "Enter")
    return {static_cast<int32_t>(variables.size()) + variableIndex[e.node], 0};
  if (roles[e.node] == Role::Variable)
    return {variableIndex[e.node], 0};
  auto it = std::lower_bound(local.begin(), local.end(), e.node);
  int32_t first = static_cast<int32_t>(variables.size() + invariants.size());
  return {first + static_cast<int32_t>(it - local.begin()), e.output};
}

Expected<std::shared_ptr<const Plan>>
Structurer::extract(Role role, const std::vector<Endpoint> &results, ArgMode mode) {
  GraphSpec part;
  part.name = graph.nodes[enters[0]].attrs.getOr<std::string>("frame_name", "loop");
  auto addArg = [&](int32_t enter) {
    NodeSpec arg;
    arg.name = graph.nodes[enter].name;
    arg.op = "_Arg";
    arg.outputTypes = graph.nodes[enter].outputTypes;
    part.args.push_back({static_cast<int32_t>(part.nodes.size()), 0});
    part.nodes.push_back(std::move(arg));
  };
  for (const Variable &v : variables)
    addArg(v.enter);
  for (int32_t enter : invariants)
    addArg(enter);
  std::vector<int32_t> local;
  for (int32_t i : nodes)
    if (roles[i] == role)
      local.push_back(i);
  for (Endpoint e : results)
    part.results.push_back({translate(e, role, local),
                            graph.nodes[role == Role::Condition ? loopCond : e.node].name,
                            {}});
  if (role == Role::Body)
    for (size_t i = 0; i < invariants.size(); ++i)
      part.results.push_back(
          {{static_cast<int32_t>(variables.size() + i), 0}, graph.nodes[invariants[i]].name, {}});
  // Edges first: a moved node can't be asked for its op.
  for (int32_t i : local) {
    NodeSpec &node = graph.nodes[i];
    for (Endpoint &e : node.inputs)
      e = translate(e, role, local);
    std::erase_if(node.controls, [&](int32_t c) { return roles[c] != role; });
    for (int32_t &c : node.controls)
      c = translate({c, 0}, role, local).node;
  }
  for (int32_t i : local)
    part.nodes.push_back(std::move(graph.nodes[i]));
  PlanOptions partOptions = options;
  partOptions.argMode = mode;
  return buildPlan(std::move(part), partOptions).map([](std::unique_ptr<Plan> plan) {
    return std::shared_ptr<const Plan>(std::move(plan));
  });
}

Expected<void> Structurer::replace(uint32_t frame) {
  std::vector<Endpoint> handedOn;
  for (const Variable &v : variables)
    handedOn.push_back(graph.nodes[v.next].inputs[0]);
  // An order that a NextIteration waits for is the body's own: its values are ready at its end.
  auto plans = std::make_shared<LoopPlans>();
  Endpoint more = graph.nodes[loopCond].inputs[0];
  auto cond = extract(Role::Condition, {more}, ArgMode::Borrowed);
  if (!cond)
    return Unexpected(std::move(cond.error()));
  auto body = extract(Role::Body, handedOn, ArgMode::LoopBody);
  if (!body)
    return Unexpected(std::move(body.error()));
  plans->cond = std::move(*cond);
  plans->body = std::move(*body);

  NodeSpec loop;
  loop.name = frames.frames[frame].name;
  loop.op = "While";
  loop.loop = std::move(plans);
  auto add = [&](int32_t enter) {
    const NodeSpec &node = graph.nodes[enter];
    loop.inputs.push_back(node.inputs[0]);
    loop.inputTypes.push_back(node.inputTypes[0]);
    loop.outputTypes.push_back(node.outputTypes[0]);
    loop.controls.insert(loop.controls.end(), node.controls.begin(), node.controls.end());
    removed[enter] = true;
  };
  for (const Variable &v : variables)
    add(v.enter);
  for (int32_t enter : invariants)
    add(enter);
  for (int32_t i : nodes) {
    removed[i] = true;
    if (roles[i] == Role::Exit)
      redirect[i] = {loopCond, variableIndex[graph.nodes[i].inputs[0].node]};
  }
  std::sort(loop.controls.begin(), loop.controls.end());
  loop.controls.erase(std::unique(loop.controls.begin(), loop.controls.end()), loop.controls.end());
  uint32_t parent = static_cast<uint32_t>(frames.frames[frame].parent);
  graph.nodes[loopCond] = std::move(loop);
  removed[loopCond] = false;
  roles[loopCond] = Role::None;
  frames.frameOf[loopCond] = parent;
  // Nodes of a frame stand in order of their numbers.
  std::vector<int32_t> &siblings = nodesOf[parent];
  siblings.insert(std::lower_bound(siblings.begin(), siblings.end(), loopCond), loopCond);
  std::erase_if(siblings, [&](int32_t i) { return removed[i]; });
  return {};
}

void Structurer::compact() {
  std::vector<int32_t> number(graph.nodes.size(), -1);
  std::vector<NodeSpec> kept;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (!removed[i]) {
      resolve(graph.nodes[i]);
      number[i] = static_cast<int32_t>(kept.size());
      kept.push_back(std::move(graph.nodes[i]));
    }
  for (NodeSpec &node : kept) {
    for (Endpoint &e : node.inputs)
      e.node = number[e.node];
    for (int32_t &c : node.controls)
      c = number[c];
  }
  for (Endpoint &arg : graph.args)
    arg.node = number[arg.node];
  for (ResultSpec &result : graph.results) {
    if (redirect[result.from.node].node >= 0)
      result.from = redirect[result.from.node];
    result.from.node = number[result.from.node];
  }
  graph.nodes = std::move(kept);
}

Expected<void> Structurer::run() {
  size_t n = graph.nodes.size();
  nodesOf.resize(frames.frames.size());
  entersOf.resize(frames.frames.size());
  removed.assign(n, false);
  redirect.assign(n, {});
  roles.assign(n, Role::None);
  gated.assign(n, 0);
  variableIndex.assign(n, -1);
  std::vector<bool> isLookedInto(frames.frames.size());
  for (size_t i = 0; i < n; ++i) {
    nodesOf[frames.frameOf[i]].push_back(static_cast<int32_t>(i));
    if (frames.childFrame[i] >= 0)
      entersOf[frames.childFrame[i]].push_back(static_cast<int32_t>(i));
  }
  for (const ResultSpec &result : graph.results) {
    int32_t frame = static_cast<int32_t>(frames.frameOf[result.from.node]);
    if (graph.nodes[result.from.node].op == "Exit")
      frame = frames.frames[frame].parent;
    if (frames.childFrame[result.from.node] >= 0)
      frame = frames.childFrame[result.from.node];
    for (; frame > 0; frame = frames.frames[frame].parent)
      isLookedInto[frame] = true;
  }
  // A frame comes after the one that it is in, so the last ones are innermost.
  bool isChanged = false;
  for (size_t f = frames.frames.size(); f-- > 1;) {
    if (isLookedInto[f] || !collect(static_cast<uint32_t>(f)) || !findVariables() ||
        !findBranchesAndExits() || !markCondition() || !markBody() || !isCovered() ||
        !isAliveAsAWhole())
      continue;
    TREADLE_TRY(replace(static_cast<uint32_t>(f)));
    isChanged = true;
  }
  if (isChanged)
    compact();
  return {};
}

} // namespace

Expected<void> structureLoops(GraphSpec &graph, const PlanOptions &options) {
  FrameAssignment frames = TREADLE_TRY(assignFrames(graph));
  Deadness deadness(graph, *executionOrder(graph));
  return Structurer(graph, options, std::move(frames), std::move(deadness)).run();
}

} // namespace treadle::plan
