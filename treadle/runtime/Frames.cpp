// Assigns each node of a graph to a v1 frame.
#include "treadle/runtime/FrameTree.h"
#include "treadle/runtime/PlanBuilder.h"

#include <algorithm>

namespace treadle::plan {
namespace {

class Assigner {
public:
  explicit Assigner(const GraphSpec &graph) : graph(graph) {
    for (const NodeSpec &node : graph.nodes)
      kinds.push_back(classify(node));
  }
  Expected<void> assign(const std::vector<int32_t> &order);
  FrameAssignment out;

private:
  Expected<FrameTree::Index> frameOpenedBy(int32_t node);
  Expected<void> checkBackEdges();

  const GraphSpec &graph;
  std::vector<NodeKind> kinds;
  FrameTree tree;
};

Expected<FrameTree::Index> Assigner::frameOpenedBy(int32_t node) {
  const NodeSpec &spec = graph.nodes[node];
  Expected<std::string> name = spec.attrs.get<std::string>("frame_name");
  if (!name)
    return Unexpected(std::move(name.error()).atNode(spec.name, spec.op));
  int64_t parallel = spec.attrs.getOr<int64_t>("parallel_iterations", 10);
  if (parallel <= 0)
    return Unexpected(invalidArgument("parallel_iterations is ", parallel, ", expected at least 1")
                          .atNode(spec.name, spec.op));
  FrameTree::Index opened = tree.enter(out.locations[node].frame, *name);
  if (opened == out.frames.size()) {
    PlanFrame frame;
    frame.name = *name;
    frame.parent = static_cast<int32_t>(tree[opened].parent);
    frame.parallelIterations = static_cast<int32_t>(std::min<int64_t>(parallel, 1 << 20));
    frame.depth = tree[opened].depth;
    out.frames.push_back(std::move(frame));
  }
  ++out.frames[opened].numEnters;
  return opened;
}

Expected<void> Assigner::assign(const std::vector<int32_t> &order) {
  size_t n = graph.nodes.size();
  out.frames.push_back({});
  out.locations.resize(n);
  for (int32_t i : order) {
    const NodeSpec &spec = graph.nodes[i];
    FrameTree::Inputs inputs(tree);
    std::string_view from;
    auto join = [&](int32_t source) -> Expected<void> {
      if (kinds[source] == NodeKind::NextIteration && kinds[i] == NodeKind::Merge)
        return {};
      FrameTree::Index frame = out.locations[source].frame, before = inputs.frame();
      if (out.locations[source].childFrame >= 0)
        frame = static_cast<FrameTree::Index>(out.locations[source].childFrame);
      else if (kinds[source] == NodeKind::Exit)
        frame = tree.exit(frame);
      if (!inputs.add(frame))
        return Unexpected(
            invalidArgument("its inputs '", from, "' and '", graph.nodes[source].name,
                            "' are in different frames ('", tree[before].name, "' and '",
                            tree[frame].name,
                            "'); pass values into a loop through Enter and out through Exit")
                .atNode(spec.name, spec.op));
      from = graph.nodes[source].name;
      return {};
    };
    for (Endpoint e : spec.inputs)
      TREADLE_TRY(join(e.node));
    for (int32_t c : spec.controls)
      TREADLE_TRY(join(c));
    out.locations[i].frame = inputs.frame();
    if (kinds[i] == NodeKind::Enter) {
      FrameTree::Index child = TREADLE_TRY(frameOpenedBy(i));
      out.locations[i].childFrame = static_cast<int32_t>(child);
    } else if (kinds[i] == NodeKind::Exit && out.locations[i].frame == 0) {
      return Unexpected(
          invalidArgument("it is not inside a frame; its input must come from a loop's Switch")
              .atNode(spec.name, spec.op));
    }
  }
  return checkBackEdges();
}

// Data and control edges from a NextIteration to a Merge are back edges, which the order ignores.
Expected<void> Assigner::checkBackEdges() {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeSpec &merge = graph.nodes[i];
    if (kinds[i] != NodeKind::Merge)
      continue;
    auto check = [&](int32_t source) -> Expected<void> {
      if (kinds[source] == NodeKind::NextIteration &&
          out.locations[source].frame != out.locations[i].frame)
        return Unexpected(invalidArgument("its input '", graph.nodes[source].name,
                                          "' is the next iteration of another frame")
                              .atNode(merge.name, merge.op));
      return {};
    };
    for (Endpoint e : merge.inputs)
      TREADLE_TRY(check(e.node));
    for (int32_t c : merge.controls)
      TREADLE_TRY(check(c));
  }
  return {};
}

} // namespace

Expected<FrameAssignment> assignFrames(const GraphSpec &graph) {
  std::vector<int32_t> order = TREADLE_TRY(executionOrder(graph));
  Assigner assigner(graph);
  TREADLE_TRY(assigner.assign(order));
  return std::move(assigner.out);
}

} // namespace treadle::plan
