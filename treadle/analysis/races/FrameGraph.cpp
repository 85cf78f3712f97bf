#include "treadle/analysis/races/FrameGraph.h"

#include "treadle/dialect/Regions.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/runtime/FrameTree.h"

#include <algorithm>

using namespace mlir;

namespace treadle::tfg {
namespace {

bool isOp(Node node, StringRef name) {
  StringRef op = node.opType();
  op.consume_front("Ref");
  return op == name;
}

/// Values that regions of a node use count as its operands.
SmallVector<Value> inputsOf(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  if (op->getNumRegions() != 0)
    llvm::append_range(inputs, capturesOf(op));
  return inputs;
}

/// Returns the index of the frame; frames are numbered from 0 on.
FrameGraph::Index numberOf(FrameTree::Index frame) {
  return frame == FrameTree::outside ? FrameGraph::none : frame - 1;
}

/// If a node has more sides than this, they are forgotten, and it counts as running with any other
/// node.
constexpr size_t maxSides = 32;

} // namespace

FrameGraph::FrameGraph(Block &body) {
  number(body);
  connect();
  findFrames();
  numberFrames();
  connectExits();
  groupByFrame();
  findSides();
  sort();
}

// Numbers the nodes in postorder over their operands, so that these come first; a NextIteration is
// only visited as a root.
void FrameGraph::number(Block &body) {
  struct Entry {
    Operation *op;
    SmallVector<Value> inputs;
  };
  SmallVector<Entry> stack;
  llvm::DenseSet<Operation *> entered;
  auto enter = [&](Operation *op) {
    if (op && Node::isNode(op) && entered.insert(op).second)
      stack.push_back({op, llvm::to_vector(llvm::reverse(inputsOf(op)))});
  };
  for (Operation &start : body) {
    enter(&start);
    while (!stack.empty()) {
      auto &[op, inputs] = stack.back();
      if (inputs.empty()) {
        indices[op] = nodes.size();
        nodes.push_back(Node(op));
        stack.pop_back();
        continue;
      }
      Operation *input = inputs.pop_back_val().getDefiningOp();
      if (input && !(isOp(Node(op), "Merge") && isOp(Node(input), "NextIteration")))
        enter(input);
    }
  }
}

bool FrameGraph::isForward(Operation *from, Index to) const {
  auto entry = from ? indices.find(from) : indices.end();
  return entry != indices.end() && entry->second < to &&
         !(isOp(nodes[to], "Merge") && isOp(Node(from), "NextIteration"));
}

void FrameGraph::forEachInput(Index node, function_ref<void(Value, Index)> visit) const {
  for (Value input : inputsOf(nodes[node].getOperation()))
    if (Operation *op = input.getDefiningOp(); isForward(op, node))
      visit(input, indices.lookup(op));
}

void FrameGraph::connect() {
  edges.resize(nodes.size());
  for (Index i = 0; i < nodes.size(); ++i)
    for (Value input : inputsOf(nodes[i].getOperation())) {
      Operation *op = input.getDefiningOp();
      if (isForward(op, i))
        edges[indices[op]].push_back(i);
      else if (op && indices.contains(op))
        back.push_back({indices[op], i});
    }
  llvm::sort(back);
}

ArrayRef<FrameGraph::Edge> FrameGraph::backEdges(Index from) const {
  auto place = [&](Index node) { return llvm::lower_bound(back, Edge(node, 0)) - back.begin(); };
  size_t begin = place(from);
  return ArrayRef(back).slice(begin, place(from + 1) - begin);
}

void FrameGraph::findFrames() {
  FrameTree tree;
  std::vector<FrameTree::Index> given(nodes.size()); // the frame of its results
  for (Index i = 0; i < nodes.size(); ++i) {
    FrameTree::Inputs inputs(tree);
    forEachInput(i, [&](Value, Index from) { inputs.add(given[from]); });
    FrameTree::Index own = given[i] = inputs.frame();
    if (isOp(nodes[i], "Enter")) {
      StringAttr name = frameName(nodes[i]);
      given[i] = tree.enter(own, name ? name.getValue() : StringRef());
      if (given[i] > allFrames.size())
        allFrames.push_back({tree[given[i]].name, numberOf(own), tree[given[i]].depth,
                             parallelIterations(nodes[i]) != 1, 0, 0, nodes[i]});
      else if (Node &first = allFrames[numberOf(given[i])].enter;
               nodes[i]->isBeforeInBlock(first.getOperation()))
        first = nodes[i];
    } else if (isOp(nodes[i], "Exit")) {
      given[i] = tree.exit(own);
    }
    frame.push_back(numberOf(own));
  }
}

// Inner frames are numbered after the enclosing one.
void FrameGraph::numberFrames() {
  std::vector<Index> size(allFrames.size(), 1); // including nested frames
  for (size_t f = allFrames.size(); f-- > 0;)
    if (Index parent = allFrames[f].parent; parent != none)
      size[parent] += size[f];
  std::vector<Index> next(allFrames.size()); // the first free number in the frame
  Index nextOutermost = 0;
  for (size_t f = 0; f < allFrames.size(); ++f) {
    Frame &one = allFrames[f];
    Index &free = one.parent == none ? nextOutermost : next[one.parent];
    one.begin = free;
    one.end = free += size[f];
    next[f] = one.begin + 1;
  }
}

// A value for the next iteration is complete when the loop ends: it reaches the Exits of its own
// variable, and all Exits if the condition depends on it.
void FrameGraph::connectExits() {
  std::vector<bool> inCondition(nodes.size()); // reaches LoopCond within the iteration
  for (Index i = nodes.size(); i-- > 0;) {
    inCondition[i] = isOp(nodes[i], "LoopCond");
    if (isOp(nodes[i], "Switch") || isOp(nodes[i], "Exit") || isOp(nodes[i], "Enter"))
      continue;
    for (Index user : edges[i])
      inCondition[i] = inCondition[i] || inCondition[user];
  }
  std::vector<Index> ends = addEnds();
  for (auto [from, merge] : back) {
    auto connect = [&, from = from](Index exit) { edges[from].push_back(exit); };
    if (inCondition[merge] && frame[merge] != none)
      connect(ends[frame[merge]]);
    else
      for (Index user : edges[merge])
        if (isOp(nodes[user], "Switch"))
          for (Index exit : edges[user])
            if (isOp(nodes[exit], "Exit"))
              connect(exit);
  }
}

/// Adds the vertex of each loop's end, which leads to all of its Exits.
std::vector<FrameGraph::Index> FrameGraph::addEnds() {
  std::vector<Index> ends(allFrames.size());
  for (Index f = 0; f < allFrames.size(); ++f) {
    ends[f] = edges.size();
    edges.emplace_back();
    frame.push_back(f);
  }
  for (Index i = 0; i < nodes.size(); ++i)
    if (isOp(nodes[i], "Exit") && frame[i] != none)
      edges[ends[frame[i]]].push_back(i);
  return ends;
}

void FrameGraph::groupByFrame() {
  frameBegin.resize(allFrames.size() + 1);
  for (Index vertex = 0; vertex < edges.size(); ++vertex)
    if (frame[vertex] != none)
      byFrame.push_back(vertex);
  auto beginOf = [&](Index vertex) { return allFrames[frame[vertex]].begin; };
  llvm::sort(byFrame,
             [&](Index a, Index b) { return std::pair(beginOf(a), a) < std::pair(beginOf(b), b); });
  for (Index vertex : byFrame)
    ++frameBegin[beginOf(vertex) + 1];
  for (size_t f = 1; f < frameBegin.size(); ++f)
    frameBegin[f] += frameBegin[f - 1];
}

ArrayRef<FrameGraph::Index> FrameGraph::inside(Index of) const {
  Index begin = frameBegin[allFrames[of].begin], end = frameBegin[allFrames[of].end];
  return ArrayRef(byFrame).slice(begin, end - begin);
}

// The predicate of a loop distinguishes iterations, not exclusive nodes.
FrameGraph::Sides FrameGraph::sidesOfInput(Value input) const {
  Node from(input.getDefiningOp());
  Sides given = sides[indices.lookup(from.getOperation())];
  if (!isOp(from, "Switch") || isControl(input) || from.numData() != 2)
    return given;
  Value predicate = from.data()[1];
  Operation *source = predicate.getDefiningOp();
  if (source && Node::isNode(source) && isOp(Node(source), "LoopCond"))
    return given;
  given.push_back(
      {predicate.getAsOpaquePointer(), static_cast<int>(cast<OpResult>(input).getResultNumber())});
  llvm::sort(given);
  return given;
}

void FrameGraph::findSides() {
  sides.resize(nodes.size());
  for (Index i = 0; i < nodes.size(); ++i) {
    Sides own;
    bool isFirst = true;
    for (Value input : inputsOf(nodes[i].getOperation())) {
      if (!isForward(input.getDefiningOp(), i))
        continue;
      Sides given = sidesOfInput(input), joined;
      if (isOp(nodes[i], "Merge") && !isControl(input) && !isFirst)
        std::set_intersection(own.begin(), own.end(), given.begin(), given.end(),
                              std::back_inserter(joined));
      else
        std::set_union(own.begin(), own.end(), given.begin(), given.end(),
                       std::back_inserter(joined));
      own = std::move(joined);
      isFirst = false;
    }
    // Sides of a predicate inside a loop have no meaning outside.
    if (isOp(nodes[i], "Exit"))
      llvm::erase_if(own, [&](auto &side) {
        Operation *op = Value::getFromOpaquePointer(side.first).getDefiningOp();
        return op && indices.contains(op) && isInside(indices[op], frame[i]);
      });
    if (own.size() <= maxSides)
      sides[i] = std::move(own);
  }
}

void FrameGraph::sort() {
  std::vector<unsigned> waiting(edges.size());
  for (const std::vector<Index> &users : edges)
    for (Index user : users)
      ++waiting[user];
  for (Index i = 0; i < edges.size(); ++i)
    if (waiting[i] == 0)
      sorted.push_back(i);
  for (size_t next = 0; next < sorted.size(); ++next)
    for (Index user : edges[sorted[next]])
      if (--waiting[user] == 0)
        sorted.push_back(user);
}

bool FrameGraph::isInside(Index node, Index outer) const {
  if (outer == none || frame[node] == none)
    return outer == none;
  Index own = allFrames[frame[node]].begin;
  return allFrames[outer].begin <= own && own < allFrames[outer].end;
}

bool FrameGraph::areExclusive(Index a, Index b) const {
  for (auto [predicate, side] : sides[a])
    if (llvm::is_contained(sides[b], std::pair(predicate, 1 - side)))
      return true;
  return false;
}

} // namespace treadle::tfg
