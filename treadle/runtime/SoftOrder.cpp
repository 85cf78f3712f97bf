#include "treadle/runtime/SoftOrder.h"

#include "treadle/runtime/PlanBuilder.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace treadle {

SoftOrder::SoftOrder(std::vector<std::vector<int32_t>> edges)
    : before(std::move(edges)), after(before.size()), position(before.size(), -1),
      isMarked(before.size()) {
  std::vector<size_t> waiting(before.size());
  std::vector<int32_t> ready;
  for (size_t i = 0; i < before.size(); ++i) {
    waiting[i] = before[i].size();
    if (waiting[i] == 0)
      ready.push_back(static_cast<int32_t>(i));
    for (int32_t from : before[i])
      after[from].push_back(static_cast<int32_t>(i));
  }
  for (size_t next = 0; next < ready.size(); ++next) {
    position[ready[next]] = static_cast<int32_t>(next);
    for (int32_t to : after[ready[next]])
      if (--waiting[to] == 0)
        ready.push_back(to);
  }
}

// Collects the nodes reachable from `start` within positions [low, high].
void SoftOrder::collect(int32_t start, const std::vector<std::vector<int32_t>> &next, int32_t low,
                        int32_t high, std::vector<int32_t> &found) {
  size_t begin = found.size();
  found.push_back(start);
  isMarked[start] = 1;
  for (size_t i = begin; i < found.size(); ++i)
    for (int32_t to : next[found[i]])
      if (!isMarked[to] && position[to] >= low && position[to] <= high) {
        isMarked[to] = 1;
        found.push_back(to);
      }
}

bool SoftOrder::add(int32_t from, int32_t to) {
  int32_t high = position[from], low = position[to];
  if (from == to || high < 0 || low < 0)
    return false;
  if (high > low) {
    std::vector<int32_t> forward, backward;
    collect(to, after, low, high, forward);
    bool closesCycle = isMarked[from];
    if (!closesCycle)
      collect(from, before, low, high, backward);
    for (int32_t node : forward)
      isMarked[node] = 0;
    for (int32_t node : backward)
      isMarked[node] = 0;
    if (closesCycle)
      return false;
    // Reassigns their positions: first to the nodes that reach `from`, then to those reachable from
    // `to`.
    auto inOrder = [&](int32_t a, int32_t b) { return position[a] < position[b]; };
    std::ranges::sort(forward, inOrder);
    std::ranges::sort(backward, inOrder);
    backward.insert(backward.end(), forward.begin(), forward.end());
    std::vector<int32_t> locations;
    for (int32_t node : backward)
      locations.push_back(position[node]);
    std::ranges::sort(locations);
    for (size_t i = 0; i < backward.size(); ++i)
      position[backward[i]] = locations[i];
  }
  after[from].push_back(to);
  before[to].push_back(from);
  return true;
}

bool SoftOrder::isImplied(int32_t from, int32_t to, size_t limit) const {
  if (position[from] >= position[to])
    return false;
  std::vector<int32_t> found = {to};
  for (size_t i = 0; i < found.size(); ++i)
    for (int32_t source : before[found[i]]) {
      if (source == from)
        return true;
      bool isBetween = position[source] > position[from];
      if (isBetween && found.size() < limit && std::ranges::find(found, source) == found.end())
        found.push_back(source);
    }
  return false;
}

namespace {

std::vector<std::vector<int32_t>> edgesBefore(const GraphSpec &graph) {
  std::vector<std::vector<int32_t>> before(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeSpec &node = graph.nodes[i];
    for (Endpoint input : node.inputs)
      if (!plan::isBackEdge(node, graph.nodes[input.node]))
        before[i].push_back(input.node);
    before[i].insert(before[i].end(), node.controls.begin(), node.controls.end());
  }
  return before;
}

} // namespace

std::vector<SoftEdge> softEdges(const GraphSpec &graph) {
  std::vector<SoftEdge> edges;
  auto follows = [](const NodeSpec &node) { return node.soft && !node.soft->after.empty(); };
  if (std::ranges::none_of(graph.nodes, follows))
    return edges;
  std::unordered_map<std::string_view, int32_t> numbers;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    numbers.try_emplace(graph.nodes[i].name, static_cast<int32_t>(i));
  // Edges implied by an existing path are dropped.
  constexpr size_t searchLimit = 64;
  SoftOrder order(edgesBefore(graph));
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!follows(graph.nodes[i]))
      continue;
    int32_t to = static_cast<int32_t>(i);
    for (const std::string &name : graph.nodes[i].soft->after)
      if (auto from = numbers.find(name); from != numbers.end() &&
                                          !order.isImplied(from->second, to, searchLimit) &&
                                          order.add(from->second, to))
        edges.push_back({from->second, to});
  }
  return edges;
}

} // namespace treadle
