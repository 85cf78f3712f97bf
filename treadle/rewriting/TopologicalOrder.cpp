#include "treadle/rewriting/TopologicalOrder.h"

#include "treadle/dialect/Regions.h"
#include "treadle/rewriting/Frames.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

using namespace mlir;

namespace treadle::tfg {
namespace {

constexpr uint64_t endLabel = ~uint64_t(0), spacing = uint64_t(1) << 32;

/// The nodes that a node uses, one by one; those that its regions use count.
class Sources {
public:
  explicit Sources(Operation *node) : node(node) {
    if (node->getNumRegions() != 0)
      captures = llvm::to_vector(capturesOf(node));
  }

  bool isDone() const { return next == node->getNumOperands() + captures.size(); }
  Operation *take() {
    size_t i = next++, numOperands = node->getNumOperands();
    Value input = i < numOperands ? node->getOperand(i) : captures[i - numOperands];
    Operation *source = input.getDefiningOp();
    return source && !isBackEdge(source, node) ? source : nullptr;
  }

private:
  Operation *node;
  SmallVector<Value, 0> captures;
  size_t next = 0;
};

class Users {
public:
  explicit Users(Operation *node) : node(node), next(node->user_begin()) {}

  bool isDone() const { return next == node->user_end(); }
  Operation *take() {
    Operation *user = node->getBlock()->findAncestorOpInBlock(**next);
    ++next;
    return user && !isBackEdge(node, user) ? user : nullptr;
  }

private:
  Operation *node;
  Operation::user_iterator next;
};

/// A search that follows one edge at a time.
template <typename Edges> class Search {
public:
  explicit Search(Operation *start) : found{start}, seen{start}, edges(start) {}

  /// False once all edges have been followed.
  bool step(llvm::function_ref<bool(Operation *)> isWanted) {
    while (edges.isDone()) {
      if (++current == found.size())
        return false;
      edges = Edges(found[current]);
    }
    Operation *next = edges.take();
    if (next && isWanted(next) && seen.insert(next).second)
      found.push_back(next);
    return true;
  }
  bool contains(Operation *node) const { return seen.contains(node); }

  std::vector<Operation *> found;

private:
  llvm::DenseSet<Operation *> seen;
  size_t current = 0;
  Edges edges;
};

} // namespace

// A depth-first search: a node is placed after all its sources.
TopologicalOrder::TopologicalOrder(Block &nodes) {
  llvm::DenseSet<Operation *> entered;
  std::vector<std::pair<Operation *, Sources>> stack;
  auto enter = [&](Operation *node) {
    if (node && entered.insert(node).second)
      stack.emplace_back(node, Sources(node));
  };
  for (Operation &root : nodes) {
    enter(&root);
    while (!stack.empty()) {
      auto &[node, sources] = stack.back();
      if (!sources.isDone()) {
        enter(sources.take());
        continue;
      }
      append(node);
      stack.pop_back();
    }
  }
}

void TopologicalOrder::append(Operation *node) {
  uint64_t label = freeLabelAfter(std::prev(entries.end()));
  places[node] = entries.insert(entries.end(), {node, label});
}

void TopologicalOrder::erase(Operation *node) {
  entries.erase(places.at(node));
  places.erase(node);
}

bool TopologicalOrder::precedes(Operation *from, Operation *to) {
  return from == to || (labelOf(from) < labelOf(to) && search(from, to).isPath);
}

bool TopologicalOrder::addEdge(Operation *from, Operation *to) {
  if (from == to)
    return false;
  if (labelOf(from) < labelOf(to))
    return true;
  Between between = search(to, from);
  if (between.isPath)
    return false;
  Place after = std::next(places.at(from));
  move(std::move(between.nodes), between.leadToEnd ? places.at(to) : after);
  return true;
}

TopologicalOrder::Between TopologicalOrder::search(Operation *start, Operation *end) {
  Search<Sources> before(end);
  Search<Users> after(start);
  uint64_t first = labelOf(start), last = labelOf(end);
  auto isBetween = [&](Operation *node) {
    uint64_t label = labelOf(node);
    return first <= label && label <= last;
  };
  for (;; ++numFollowed) {
    bool isComplete = !before.step(isBetween);
    if (isComplete || before.contains(start))
      return {before.contains(start), true, std::move(before.found)};
    isComplete = !after.step(isBetween);
    if (isComplete || after.contains(end))
      return {after.contains(end), false, std::move(after.found)};
  }
}

void TopologicalOrder::move(std::vector<Operation *> nodes, Place to) {
  llvm::sort(nodes, [&](Operation *a, Operation *b) { return labelOf(a) < labelOf(b); });
  for (Operation *node : nodes) {
    Place place = places.at(node);
    if (std::next(place) == to)
      continue;
    place->label = freeLabelAfter(std::prev(to));
    entries.splice(to, entries, place);
  }
}

// Labels are spread as in Dietz and Sleator, Two Algorithms for Maintaining Order in a List, 1987.
uint64_t TopologicalOrder::freeLabelAfter(Place place) {
  auto gapTo = [&](Place next) {
    return (next == entries.end() ? endLabel : next->label) - place->label;
  };
  Place next = std::next(place);
  if (gapTo(next) < 2) {
    uint64_t count = 1;
    for (; next != entries.end() && gapTo(next) <= count * count; ++next)
      ++count;
    uint64_t step = gapTo(next) / count, label = place->label;
    for (Place spread = std::next(place); spread != next; ++spread)
      spread->label = label += step;
  }
  return place->label + std::min(gapTo(std::next(place)) / 2, spacing);
}

} // namespace treadle::tfg
