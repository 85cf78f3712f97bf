// Lays out a dataflow plan: which frame each node is in, counters, and where values go.
#include "treadle/runtime/FunctionOps.h"
#include "treadle/runtime/PlanBuilder.h"

#include <algorithm>

namespace treadle::plan {
namespace {

class Layout {
public:
  Layout(GraphSpec &graph, const PlanOptions &options) : graph(graph), options(options) {}
  Expected<std::unique_ptr<Plan>> build();

private:
  void placeNodes();
  void placeEdges();
  void placeSoftEdges();
  void placeResults();
  NodeCounter initialCounter(int32_t node) const;

  GraphSpec &graph;
  const PlanOptions &options;
  std::unique_ptr<Plan> plan = std::make_unique<Plan>();
  std::vector<NodeKind> kinds;
  std::vector<SoftEdge> soft; // those that are counted
};

// What counts like a control edge, but hands no deadness on: between nodes that both run once in
// each iteration of one frame. A Merge may run early, and what stands on a frame's border gives its
// token to another frame.
void Layout::placeSoftEdges() {
  auto isPlain = [&](int32_t node) {
    NodeKind kind = kinds[node];
    return kind != NodeKind::Merge && kind != NodeKind::Enter && kind != NodeKind::Exit &&
           kind != NodeKind::NextIteration;
  };
  for (SoftEdge edge : softEdges(graph))
    if (isPlain(edge.from) && isPlain(edge.to) &&
        plan->frameOf[edge.from] == plan->frameOf[edge.to])
      soft.push_back(edge);
}

// A Merge waits for all control inputs and one live data input; any other node for all inputs.
NodeCounter Layout::initialCounter(int32_t i) const {
  const NodeSpec &spec = graph.nodes[i];
  int32_t controls = static_cast<int32_t>(spec.controls.size());
  if (kinds[i] == NodeKind::Merge)
    return {1 + 2 * controls};
  return {static_cast<int32_t>(spec.inputs.size()) + controls};
}

void Layout::placeNodes() {
  size_t n = graph.nodes.size();
  plan->initialCounters.resize(plan->frames.size());
  plan->argOf.assign(n, -1);
  plan->isConstantEnter.assign(n, 0);
  for (size_t a = 0; a < graph.args.size(); ++a) {
    plan->argOf[graph.args[a].node] = static_cast<int32_t>(a);
    plan->argTypes.push_back(graph.nodes[graph.args[a].node].outputTypes[0]);
  }
  std::vector<int32_t> softInputs(soft.empty() ? 0 : n);
  for (SoftEdge edge : soft)
    ++softInputs[edge.to];
  for (size_t i = 0; i < n; ++i) {
    NodeSpec &spec = graph.nodes[i];
    int32_t numSoft = soft.empty() ? 0 : softInputs[i];
    PlanFrame &frame = plan->frames[plan->frameOf[i]];
    PlanNode node;
    NodeInfo info;
    node.kind = kinds[i];
    node.inputBegin = frame.numInputs;
    node.inputCount = static_cast<uint32_t>(spec.inputs.size());
    node.outputCount = static_cast<uint32_t>(spec.outputTypes.size());
    frame.numInputs += node.inputCount;
    if (node.kind == NodeKind::Constant)
      node.kind = NodeKind::Kernel;
    if (node.kind == NodeKind::Kernel)
      bindNode(spec, options, node, info);
    else if (node.kind == NodeKind::Call || node.kind == NodeKind::While ||
             node.kind == NodeKind::For)
      bindFunctionNode(spec, options, node, info);
    node.mayBlock = mayBlock(spec, node, options);
    plan->mayBlock |= node.mayBlock;
    node.waits = waits(spec, node, options);
    plan->isConstantEnter[i] =
        kinds[i] == NodeKind::Enter && spec.attrs.getOr<bool>("is_constant", false);
    plan->localIndex.push_back(frame.numNodes++);
    NodeCounter counter = initialCounter(static_cast<int32_t>(i));
    counter.pending += numSoft;
    plan->initialCounters[plan->frameOf[i]].push_back(counter);
    if (spec.inputs.empty() && spec.controls.empty() && numSoft == 0)
      plan->roots.push_back(static_cast<uint32_t>(i));
    node.info = static_cast<uint32_t>(plan->infos.size());
    info.programOrder = static_cast<uint32_t>(i);
    info.name = spec.name;
    info.op = spec.op;
    plan->infos.push_back(std::move(info));
    plan->nodes.push_back(node);
  }
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
  for (uint32_t o = 0; o < numOutputs; ++o)
    begins[o + 1] += begins[o];
  plan->edges.resize(begins[numOutputs]);
  std::vector<uint32_t> fill(begins.begin(), begins.end() - 1);
  forEachEdge([&](uint32_t output, PlanEdge edge) { plan->edges[fill[output]++] = edge; });
}

void Layout::placeResults() {
  plan->hasResults.assign(graph.nodes.size(), 0);
  plan->resultsOf.resize(graph.nodes.size());
  for (size_t r = 0; r < graph.results.size(); ++r) {
    Endpoint from = graph.results[r].from;
    plan->hasResults[from.node] = 1;
    plan->resultsOf[from.node].push_back(static_cast<uint32_t>(r));
    plan->resultTypes.push_back(graph.nodes[from.node].outputTypes[from.output]);
  }
  plan->results = std::move(graph.results);
}

Expected<std::unique_ptr<Plan>> Layout::build() {
  plan->name = graph.name;
  plan->isSequential = false;
  for (const NodeSpec &node : graph.nodes)
    kinds.push_back(classify(node));
  FrameAssignment assignment = TREADLE_TRY(assignFrames(graph));
  plan->frames = std::move(assignment.frames);
  if (options.loopOverlap == LoopOverlap::Off)
    for (PlanFrame &frame : plan->frames)
      frame.parallelIterations = 1;
  plan->frameOf = std::move(assignment.frameOf);
  plan->childFrame = std::move(assignment.childFrame);
  placeSoftEdges();
  placeNodes();
  placeEdges();
  placeResults();
  return std::move(plan);
}

} // namespace

Expected<std::unique_ptr<Plan>> buildDataflow(GraphSpec &graph, const PlanOptions &options) {
  return Layout(graph, options).build();
}

} // namespace treadle::plan
