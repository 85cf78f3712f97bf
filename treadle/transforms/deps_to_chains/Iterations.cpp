#include "treadle/transforms/deps_to_chains/Iterations.h"

#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/SCCIterator.h"

using namespace mlir;

namespace {

/// An adaptor of the edges for LLVM's graph algorithms.
struct Vertex {
  unsigned number = 0;
  std::vector<Vertex *> next;
};

} // namespace

template <> struct llvm::GraphTraits<Vertex *> {
  using NodeRef = Vertex *;
  using ChildIteratorType = std::vector<Vertex *>::iterator;
  static NodeRef getEntryNode(Vertex *vertex) { return vertex; }
  static ChildIteratorType child_begin(NodeRef vertex) { return vertex->next.begin(); }
  static ChildIteratorType child_end(NodeRef vertex) { return vertex->next.end(); }
};

namespace treadle::tfg {

// The vertices are nodes, then loop variables at the start of an iteration, then the token that
// starts the iteration, the condition's result, and chains.
Iterations::Iterations(const LoopOrder &order) {
  FuncOp condition = order.loop.functions[0], body = order.loop.functions[1];
  for (FuncOp function : {condition, body}) {
    for (Operation *op : topologicalOrder(function.getEntry())) {
      indices[op] = members.size();
      members.push_back(Node(op));
    }
    if (function == condition)
      numInCondition = members.size();
  }
  firstVariable = members.size();
  numVariables = body.getNumDataArguments();
  unsigned start = firstVariable + numVariables;
  predicate = start + 1;
  numVertices = predicate + 1;

  addFunction(condition, order, start);
  add(vertexOf(condition.getReturn().getData()[0]), predicate);
  for (Node node : order.beforePredicate)
    add(indices.lookup(node.getOperation()), predicate);
  add(predicate, start); // of the next iteration
  addFunction(body, order, predicate);
  for (auto [variable, value] : llvm::enumerate(body.getReturn().getData())) {
    bool isHandedOn = value == body.getDataArgument(variable);
    if (!isHandedOn)
      add(vertexOf(value), firstVariable + variable);
  }
  for (const auto *missing : {&order.missing, &order.missingInCondition})
    for (OrderEdge edge : *missing)
      add(indices.lookup(edge.from.getOperation()), indices.lookup(edge.to.getOperation()));
  for (const LoopChain &chain : order.chains)
    addChain(chain);
}

unsigned Iterations::vertexOf(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return firstVariable + argument.getArgNumber() / 2;
  return indices.lookup(value.getDefiningOp());
}

/// Adds the edges of a function, all of whose nodes wait for `start`.
void Iterations::addFunction(FuncOp function, const LoopOrder &order, unsigned start) {
  for (Operation &op : function.getEntry()) {
    auto own = indices.find(&op);
    if (own == indices.end())
      continue;
    add(start, own->second);
    for (Value input : op.getOperands()) {
      Operation *from = input.getDefiningOp();
      // Results behind a barrier won't wait for it any more.
      if (!from || !llvm::is_contained(order.barriers, Node(from)))
        add(vertexOf(input), own->second);
    }
  }
}

void Iterations::addChain(const LoopChain &chain) {
  if (!chain.resourceNumber)
    return; // no node waits for it
  unsigned vertex = chain.variable ? firstVariable + *chain.variable : numVertices++;
  add(predicate, vertex, chain.resourceNumber);
  for (Node node : chain.last)
    add(indices.lookup(node.getOperation()), vertex, chain.resourceNumber);
  for (const auto *waiting : {&chain.inBody, &chain.inCondition})
    for (Node node : *waiting)
      add(vertex, indices.lookup(node.getOperation()), chain.resourceNumber);
}

Iterations::Iterations(const FrameGraph &graph, FrameGraph::Index frame) {
  for (FrameGraph::Index vertex : graph.inside(frame))
    if (vertex < graph.size())
      members.push_back(graph.node(vertex));
  llvm::sort(members, [](Node a, Node b) { return a->isBeforeInBlock(b.getOperation()); });
  for (auto [number, node] : llvm::enumerate(members))
    indices[node.getOperation()] = number;
  firstVariable = numVertices = members.size();
  for (auto [number, node] : llvm::enumerate(members))
    if (node.opType() == "LoopCond" && graph.frameOf(graph.indexOf(node)) == frame)
      predicate = number;

  llvm::DenseMap<FrameGraph::Index, unsigned> numbers;
  for (FrameGraph::Index vertex : graph.inside(frame))
    numbers[vertex] =
        vertex < graph.size() ? indices[graph.node(vertex).getOperation()] : numVertices++;
  for (FrameGraph::Index vertex : graph.inside(frame)) {
    for (FrameGraph::Index user : graph.forward()[vertex])
      if (auto to = numbers.find(user); to != numbers.end())
        add(numbers.lookup(vertex), to->second);
    for (auto [from, merge] : graph.backEdges(vertex))
      if (graph.frameOf(merge) == frame)
        add(numbers.lookup(from), numbers.lookup(merge));
  }
}

Iterations::Cycles Iterations::cycles(function_ref<bool(unsigned)> isIgnored) const {
  std::vector<Vertex> vertices(numVertices + 1);
  Vertex &root = vertices.back();
  for (auto [number, vertex] : llvm::enumerate(vertices)) {
    vertex.number = number;
    if (&vertex != &root)
      root.next.push_back(&vertex);
  }
  for (const Edge &edge : edges)
    if (!edge.resource || !isIgnored(*edge.resource))
      vertices[edge.from].next.push_back(&vertices[edge.to]);
  std::vector<unsigned> all(numVertices);
  unsigned number = 0;
  for (auto part = llvm::scc_begin(&root); !part.isAtEnd(); ++part)
    if (part.hasCycle()) {
      ++number;
      for (Vertex *vertex : *part)
        all[vertex->number] = number;
    }
  auto variables = all.begin() + firstVariable;
  return {{all.begin(), variables},
          {variables, variables + numVariables},
          predicate < all.size() ? all[predicate] : 0};
}

} // namespace treadle::tfg
