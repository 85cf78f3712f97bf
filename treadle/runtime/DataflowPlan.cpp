// Lays out a dataflow plan: assigns frames, initial counters and edges.
#include "treadle/runtime/DataflowPlan.h"

#include "treadle/runtime/PlanBuilder.h"

#include <algorithm>
#include <numeric>

namespace treadle::plan {
namespace {

class Layout {
public:
  explicit Layout(BoundGraph from) : bound(std::move(from)) {}
  Expected<std::unique_ptr<Plan>> build();

private:
  void placeSoftEdges();
  void placeNodes();
  void placeNode(int32_t node, int32_t numSoft);
  void placeEdges();
  void placeResults();

  BoundGraph bound;
  GraphSpec &graph = bound.graph;
  std::unique_ptr<DataflowPlan> plan = std::make_unique<DataflowPlan>();
  std::vector<SoftEdge> soft; // soft edges that are counted as inputs
};

// Adds the soft edges that can be treated as control edges without deadness: those between nodes
// that both run once in each iteration of one frame. Excludes Merges, which may run early, and
// nodes on the border of a frame, whose token belongs to another frame.
void Layout::placeSoftEdges() {
  auto isPlain = [&](int32_t node) {
    NodeKind kind = plan->nodes[node].kind;
    return needsAllInputs(kind) && !isFrameBorder(kind);
  };
  for (SoftEdge edge : softEdges(graph))
    if (isPlain(edge.from) && isPlain(edge.to) &&
        plan->locations[edge.from].frame == plan->locations[edge.to].frame)
      soft.push_back(edge);
}

void Layout::placeNodes() {
  size_t n = graph.nodes.size();
  for (size_t a = 0; a < graph.args.size(); ++a)
    plan->locations[graph.args[a].node].argument = static_cast<int32_t>(a);
  std::vector<int32_t> numSoft(n);
  for (SoftEdge edge : soft)
    ++numSoft[edge.to];
  for (size_t i = 0; i < n; ++i)
    placeNode(static_cast<int32_t>(i), numSoft[i]);
}

// A Merge waits for all control inputs and one live data input; any other node for all inputs.
void Layout::placeNode(int32_t i, int32_t numSoft) {
  NodeSpec &spec = graph.nodes[i];
  PlanNode &node = plan->nodes[i];
  NodeLocation &place = plan->locations[i];
  PlanFrame &frame = plan->frames[place.frame];
  node.inputBegin = frame.numInputs;
  frame.numInputs += node.inputCount;
  if (node.kind == NodeKind::Constant || node.kind == NodeKind::Alias) {
    node.kind = NodeKind::Kernel;
    bindNode(spec, bound.options, node, plan->infos[i]);
  }
  plan->mayBlock |= node.mayBlock;
  place.isConstantEnter = place.childFrame >= 0 && spec.attrs.getOr<bool>("is_constant", false);
  place.counter = static_cast<uint32_t>(frame.counters.size());
  auto controls = static_cast<int32_t>(spec.controls.size());
  auto inputs = static_cast<int32_t>(spec.inputs.size());
  frame.counters.push_back(
      {numSoft + (needsAllInputs(node.kind) ? inputs + controls : 1 + 2 * controls)});
  if (inputs + controls + numSoft == 0)
    plan->roots.push_back(static_cast<uint32_t>(i));
  plan->infos[i].name = std::move(spec.name);
  plan->infos[i].op = std::move(spec.op);
}

// Edges are grouped by output; the node's control edges come last.
void Layout::placeEdges() {
  size_t n = graph.nodes.size();
  uint32_t numOutputs = 0;
  for (PlanNode &node : plan->nodes) {
    node.outputBegin = numOutputs;
    numOutputs += node.outputCount + 1;
  }
  std::vector<uint32_t> &begins = plan->edgeBegins;
  begins.assign(numOutputs + 1, 0);
  auto controlOutput = [&](int32_t node) {
    return plan->nodes[node].outputBegin + plan->nodes[node].outputCount;
  };
  auto forEachEdge = [&](auto visit) {
    for (size_t i = 0; i < n; ++i) {
      const NodeSpec &spec = graph.nodes[i];
      for (size_t k = 0; k < spec.inputs.size(); ++k)
        visit(plan->nodes[spec.inputs[k].node].outputBegin + spec.inputs[k].output,
              PlanEdge{static_cast<uint32_t>(i),
                       static_cast<int32_t>(plan->nodes[i].inputBegin + k)});
      for (int32_t c : spec.controls)
        visit(controlOutput(c), PlanEdge{static_cast<uint32_t>(i), PlanEdge::control});
    }
    for (SoftEdge edge : soft)
      visit(controlOutput(edge.from),
            PlanEdge{static_cast<uint32_t>(edge.to), PlanEdge::softControl});
  };
  forEachEdge([&](uint32_t output, PlanEdge) { ++begins[output + 1]; });
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  plan->edges.resize(begins[numOutputs]);
  std::vector<uint32_t> fill(begins.begin(), begins.end() - 1);
  forEachEdge([&](uint32_t output, PlanEdge edge) { plan->edges[fill[output]++] = edge; });
}

void Layout::placeResults() {
  std::vector<uint32_t> &order = plan->resultsByNode;
  order.resize(graph.results.size());
  std::iota(order.begin(), order.end(), 0);
  auto nodeOf = [&](uint32_t result) { return graph.results[result].from.node; };
  std::ranges::sort(order, {}, [&](uint32_t r) { return std::pair(nodeOf(r), r); });
  for (uint32_t r = 0; r < order.size(); ++r) {
    NodeLocation &place = plan->locations[nodeOf(order[r])];
    place.resultBegin = place.resultEnd ? place.resultBegin : r;
    place.resultEnd = r + 1;
  }
}

Expected<std::unique_ptr<Plan>> Layout::build() {
  FrameAssignment assignment = TREADLE_TRY(assignFrames(graph));
  plan->frames = std::move(assignment.frames);
  plan->locations = std::move(assignment.locations);
  if (bound.options.loopOverlap == LoopOverlap::Off)
    for (PlanFrame &frame : plan->frames)
      frame.parallelIterations = 1;
  plan->nodes = std::move(bound.nodes);
  plan->infos = std::move(bound.infos);
  placeSoftEdges();
  placeNodes();
  placeEdges();
  placeResults();
  setSignature(*plan, graph);
  return std::move(plan);
}

} // namespace

Expected<std::unique_ptr<Plan>> buildDataflow(BoundGraph bound) {
  return Layout(std::move(bound)).build();
}

} // namespace treadle::plan
