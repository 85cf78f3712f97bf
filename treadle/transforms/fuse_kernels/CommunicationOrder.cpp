#include "treadle/transforms/fuse_kernels/CommunicationOrder.h"

#include "treadle/rewriting/SoftEdges.h"
#include "treadle/runtime/SoftOrder.h"
#include "treadle/transforms/deps_to_chains/Gain.h"

#include <algorithm>
#include <iterator>

using namespace mlir;

namespace treadle::tfg {

unsigned NumberedSets::join(unsigned a, unsigned b) {
  if (a == b || !b)
    return a;
  if (!a)
    return b;
  Set all;
  std::ranges::set_union(sets[a], sets[b], std::back_inserter(all));
  return all.size() <= largest ? number(std::move(all)) : make();
}

unsigned NumberedSets::number(Set set) {
  auto [it, isNew] = numbers.try_emplace(std::move(set), static_cast<unsigned>(sets.size()));
  if (isNew)
    sets.push_back(it->first);
  return it->second;
}

namespace {

using Edges = std::vector<std::vector<int32_t>>;

/// Returns all edges, including soft edges that don't contradict others.
Edges edgesOf(const NumberedBody &body) {
  Edges edges = body.before;
  SoftOrder order(body.before);
  body.forEachSoftEdge([&](int32_t from, int32_t to) {
    if (order.add(from, to))
      edges[to].push_back(from);
  });
  return edges;
}

Edges reversed(const Edges &edges) {
  Edges result(edges.size());
  for (size_t to = 0; to < edges.size(); ++to)
    for (int32_t from : edges[to])
      result[from].push_back(static_cast<int32_t>(to));
  return result;
}

/// Returns for each node the set of exchanges that it depends on.
std::vector<unsigned> exchangesBefore(const Edges &before, const Edges &after,
                                      const std::vector<uint8_t> &isExchange, NumberedSets &sets) {
  std::vector<unsigned> found(before.size());
  std::vector<size_t> missing(before.size());
  std::vector<int32_t> ready;
  for (size_t i = 0; i < before.size(); ++i) {
    missing[i] = before[i].size();
    if (missing[i] == 0)
      ready.push_back(static_cast<int32_t>(i));
  }
  for (size_t k = 0; k < ready.size(); ++k) {
    int32_t node = ready[k];
    unsigned passed = isExchange[node] ? sets.join(found[node], sets.make()) : found[node];
    for (int32_t next : after[node]) {
      found[next] = sets.join(found[next], passed);
      if (--missing[next] == 0)
        ready.push_back(next);
    }
  }
  return found;
}

} // namespace

CommunicationOrder::CommunicationOrder(Block &block, BlockingNodes &waiting) {
  auto exchanges = [&](Operation &op) { return Node::isNode(&op) && waiting.waits(Node(&op)); };
  if (llvm::none_of(block, exchanges))
    return;
  NumberedBody body(block);
  std::vector<uint8_t> isExchange;
  for (Node node : body.nodes)
    isExchange.push_back(waiting.waits(node));
  Edges before = edgesOf(body), after = reversed(before);
  constexpr size_t largest = 4096;
  NumberedSets earlier(largest), later(largest);
  std::vector<unsigned> first = exchangesBefore(before, after, isExchange, earlier);
  std::vector<unsigned> second = exchangesBefore(after, before, isExchange, later);
  std::map<std::pair<unsigned, unsigned>, unsigned> numbers = {{{0, 0}, 0}};
  for (auto [i, node] : llvm::enumerate(body.nodes)) {
    std::pair key(first[i], second[i]);
    classes[node.name()] = numbers.try_emplace(key, numbers.size()).first->second;
  }
}

unsigned CommunicationOrder::classOf(Node node) const {
  return classes.empty() ? 0 : classes.lookup(node.name());
}

} // namespace treadle::tfg
