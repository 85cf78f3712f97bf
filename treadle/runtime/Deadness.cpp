#include "treadle/runtime/Deadness.h"

#include <algorithm>

namespace treadle::plan {

Deadness::Set Deadness::intern(std::vector<Condition> conditions) {
  auto [it, isNew] = setNumbers.try_emplace(std::move(conditions), static_cast<Set>(sets.size()));
  if (isNew)
    sets.push_back(it->first);
  return it->second;
}

Deadness::Set Deadness::join(Set a, Set b) {
  if (a == b || b == 0)
    return a;
  if (a == 0)
    return b;
  auto [it, isNew] = joins.try_emplace(std::minmax(a, b), 0);
  if (isNew) {
    std::vector<Condition> both;
    std::ranges::set_union(sets[a], sets[b], std::back_inserter(both));
    it->second = intern(std::move(both));
  }
  return it->second;
}

Deadness::Set Deadness::with(Set a, Condition condition) { return join(a, intern({condition})); }

Deadness::Set Deadness::without(Set a, Condition condition) {
  std::vector<Condition> rest = sets[a];
  std::erase(rest, condition);
  return intern(std::move(rest));
}

// Copies of a predicate are the same predicate.
int32_t Deadness::predicateOf(int32_t switchNode) const {
  Endpoint e = graph.nodes[switchNode].inputs[1];
  while (graph.nodes[e.node].op == "Identity")
    e = graph.nodes[e.node].inputs[0];
  return e.output == 0 ? e.node : -2 - switchNode;
}

Deadness::Set Deadness::ofOutput(Endpoint e) {
  if (classify(graph.nodes[e.node]) != NodeKind::Switch)
    return ofNode[e.node];
  return with(ofNode[e.node], {predicateOf(e.node), e.output});
}

// The two sides of one predicate meet again, or nothing is known. A loop's Merge starts as its
// Enter.
Deadness::Set Deadness::ofMerge(int32_t i) {
  const std::vector<Endpoint> &inputs = graph.nodes[i].inputs;
  if (inputs.size() == 2) {
    for (int k : {0, 1})
      if (classify(graph.nodes[inputs[k].node]) == NodeKind::NextIteration)
        return ofOutput(inputs[1 - k]);
    Set a = ofOutput(inputs[0]), b = ofOutput(inputs[1]);
    if (a == b)
      return a;
    for (Condition c : sets[a])
      if (c.second >= 0 && without(a, c) == without(b, {c.first, 1 - c.second}) &&
          std::ranges::binary_search(sets[b], Condition{c.first, 1 - c.second}))
        return without(a, c);
  }
  return intern({{i, -1}});
}

// What leaves a loop has waited for its condition to be false, in some iteration.
Deadness::Set Deadness::ofExit(int32_t i) {
  Endpoint from = graph.nodes[i].inputs[0];
  if (classify(graph.nodes[from.node]) != NodeKind::Switch || from.output != 0)
    return intern({{i, -1}});
  int32_t condition = predicateOf(from.node);
  if (condition < 0 || graph.nodes[condition].op != "LoopCond")
    return intern({{i, -1}});
  return without(ofNode[from.node], {condition, 0});
}

Deadness::Deadness(const GraphSpec &graph, const std::vector<int32_t> &order)
    : graph(graph), ofNode(graph.nodes.size()) {
  intern({});
  for (int32_t i : order) {
    const NodeSpec &node = graph.nodes[i];
    NodeKind kind = classify(node);
    if (node.op == "ControlTrigger")
      continue; // always alive
    if (kind == NodeKind::Merge) {
      ofNode[i] = ofMerge(i);
      continue;
    }
    if (kind == NodeKind::Exit) {
      ofNode[i] = ofExit(i);
      continue;
    }
    Set set = 0;
    for (Endpoint e : node.inputs)
      set = join(set, ofOutput(e));
    for (int32_t c : node.controls)
      set = join(set, ofNode[c]);
    ofNode[i] = set;
  }
}

} // namespace treadle::plan
