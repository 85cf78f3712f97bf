// Propagation of values in a dataflow run: along edges, into and out of frames, to the next
// iteration.
#include "treadle/runtime/Dataflow.h"

#include <algorithm>
#include <cstring>

namespace treadle::dataflow {

// --- along edges -------------------------------------------------------------------------------

void Runner::activateMerge(Iteration *to, const DataflowPlan &plan, PlanEdge edge, Tensor *value,
                           bool isDead, bool fromEnter) {
  NodeCounter &counter = to->counters[plan.locations[edge.node].counter];
  bool allDead = false;
  if (edge.input < 0) {
    counter.pending -= 2;
    allDead = counter.dead == plan.nodes[edge.node].inputCount || counter.flags;
  } else if (isDead) {
    // The Merge of a loop gets no value from its back edge while its Enter is dead.
    ++counter.dead;
    counter.flags |= fromEnter;
    allDead = counter.dead == plan.nodes[edge.node].inputCount || counter.flags;
  } else if (counter.pending & 1) {
    counter.pending -= 1;
    to->inputs[edge.input] = std::move(*value);
  } else {
    return; // a second live value: the first one is kept
  }
  bool isReady = counter.pending == 0 || (counter.pending == 1 && allDead);
  if (!isReady)
    return;
  ready.push_back({edge.node, counter.pending == 1, to});
  counter.pending = -1; // fires once per iteration
  ++to->outstanding;
}

void Runner::activate(Iteration *to, const DataflowPlan &plan, PlanEdge edge, Tensor *value,
                      bool isDead, bool fromEnter) {
  const PlanNode &node = plan.nodes[edge.node];
  if (!needsAllInputs(node.kind))
    return activateMerge(to, plan, edge, value, isDead, fromEnter);
  NodeCounter &counter = to->counters[plan.locations[edge.node].counter];
  if (isDead)
    counter.dead |= edge.input != PlanEdge::softControl;
  else if (edge.input >= 0)
    to->inputs[edge.input] = std::move(*value);
  if (--counter.pending > 0)
    return;
  ready.push_back({edge.node, counter.dead && !node.runsDead, to});
  ++to->outstanding;
}

void Runner::deliver(Iteration *to, const DataflowPlan &plan, uint32_t output, Tensor value,
                     bool isDead, bool fromEnter) {
  uint32_t begin = plan.edgeBegins[output], end = plan.edgeBegins[output + 1];
  for (uint32_t e = begin; e < end; ++e) {
    PlanEdge edge = plan.edges[e];
    if (edge.input < 0 || isDead) {
      activate(to, plan, edge, nullptr, isDead, fromEnter);
    } else if (e + 1 == end) {
      activate(to, plan, edge, &value, false, fromEnter);
    } else {
      Tensor copy = value;
      activate(to, plan, edge, &copy, false, fromEnter);
    }
  }
}

void Runner::propagateSame(NodeInstance instance, std::span<Tensor> outputs, bool isDead) {
  const DataflowPlan &plan = planOf(instance);
  const PlanNode &node = plan.nodes[instance.node];
  for (uint32_t o = 0; o < node.outputCount; ++o) {
    bool isOutputDead = isDead || !outputs[o];
    deliver(instance.iteration, plan, node.outputBegin + o, std::move(outputs[o]), isOutputDead);
  }
  deliver(instance.iteration, plan, node.outputBegin + node.outputCount, Tensor(), isDead);
}

void Runner::propagate(NodeInstance instance, std::span<Tensor> outputs, bool isDead) {
  const DataflowPlan &plan = planOf(instance);
  if (plan.locations[instance.node].resultEnd && !isDead)
    record(instance, outputs);
  switch (plan.nodes[instance.node].kind) {
  case NodeKind::Enter:
    propagateEnter(instance, isDead ? Tensor() : std::move(outputs[0]));
    break;
  case NodeKind::Exit:
    propagateExit(instance, isDead ? Tensor() : std::move(outputs[0]));
    break;
  case NodeKind::NextIteration:
    if (!isDead)
      propagateNext(instance, std::move(outputs[0]));
    break;
  default:
    propagateSame(instance, outputs, isDead);
  }
  finished(instance.iteration);
}

// Delivers the output of a node on the border of a frame to all its consumers in one iteration. An
// empty value is dead.
void Runner::deliverAll(Iteration *to, uint32_t node, Tensor value, bool fromEnter) {
  const DataflowPlan &plan = to->frame->plan();
  uint32_t output = plan.nodes[node].outputBegin;
  bool isDead = !value;
  deliver(to, plan, output, std::move(value), isDead, fromEnter);
  deliver(to, plan, output + plan.nodes[node].outputCount, Tensor(), isDead, fromEnter);
}

// --- frames ------------------------------------------------------------------------------------

FrameExecution *Runner::childFrame(NodeInstance enter) {
  const DataflowPlan &plan = planOf(enter);
  uint32_t id = static_cast<uint32_t>(plan.locations[enter.node].childFrame);
  for (FrameExecution *child : enter.iteration->children)
    if (child->id == id)
      return child;
  FrameExecution *frame = newFrame(enter.iteration->frame->activation, id);
  frame->parent = enter.iteration;
  frame->pendingEnters = plan.frames[id].numEnters;
  enter.iteration->children.push_back(frame);
  ++enter.iteration->outstanding;
  newIteration(frame);
  return frame;
}

FrameExecution *Runner::newFrame(Activation *activation, uint32_t id) {
  auto owned = std::make_unique<FrameExecution>(activation, id);
  FrameExecution *frame = owned.get();
  frames.emplace(frame, std::move(owned));
  return frame;
}

Iteration *Runner::newIteration(FrameExecution *frame) {
  Iteration *it;
  if (frame->spare.empty()) {
    it = Iteration::make(frame, frame->nextNumber, frame->shape());
  } else {
    it = frame->spare.back();
    frame->spare.pop_back();
    it->restart(frame->nextNumber, frame->shape());
  }
  ++frame->nextNumber;
  frame->live.push_back(it);
  for (const LoopConstant &c : frame->constants)
    deliverAll(it, c.enter, c.value, true);
  return it;
}

void Runner::propagateEnter(NodeInstance instance, Tensor value) {
  FrameExecution *frame = childFrame(instance);
  frame->isEntered |= static_cast<bool>(value);
  Iteration *first = frame->live.front();
  ++first->outstanding; // keeps the iteration alive while the count of Enters is decremented
  if (planOf(instance).locations[instance.node].isConstantEnter) {
    frame->constants.push_back({instance.node, value});
    for (Iteration *it : frame->live)
      deliverAll(it, instance.node, value, true);
  } else {
    // Iteration 0 can't end before all Enters have arrived, so it still exists.
    deliverAll(first, instance.node, std::move(value), true);
  }
  --frame->pendingEnters;
  finished(first);
}

void Runner::propagateExit(NodeInstance instance, Tensor value) {
  FrameExecution *frame = instance.iteration->frame;
  auto &list = value ? frame->liveExits : frame->deadExits;
  if (std::find(list.begin(), list.end(), instance.node) != list.end())
    return; // only the first value leaves a loop
  list.push_back(instance.node);
  if (value) // otherwise dead in this iteration; whether it stays dead is known when the frame ends
    deliverAll(frame->parent, instance.node, std::move(value));
}

static bool hasRoom(const FrameExecution &frame) {
  return frame.live.size() < static_cast<size_t>(frame.shape().parallelIterations);
}

void Runner::propagateNext(NodeInstance instance, Tensor value) {
  FrameExecution *frame = instance.iteration->frame;
  int64_t number = instance.iteration->number + 1;
  if (number == frame->nextNumber) {
    if (!hasRoom(*frame)) {
      frame->deferred.push_back({instance.node, std::move(value)});
      return;
    }
    newIteration(frame);
  }
  Iteration *next = frame->live[static_cast<size_t>(number - frame->live.front()->number)];
  deliverAll(next, instance.node, std::move(value));
}

void Runner::startDeferred(FrameExecution *frame) {
  std::vector<DeferredValue> deferred = std::move(frame->deferred);
  frame->deferred.clear();
  Iteration *next = newIteration(frame);
  ++next->outstanding;
  for (DeferredValue &c : deferred)
    deliverAll(next, c.node, std::move(c.value));
  --next->outstanding;
}

// Marks a node (or a child frame) of this iteration as done. Iterations end in order: the oldest
// one ends when nothing in it is outstanding and all Enters have arrived.
void Runner::finished(Iteration *iteration) {
  if (--iteration->outstanding > 0)
    return;
  FrameExecution *frame = iteration->frame;
  while (!frame->live.empty() && frame->live.front()->outstanding == 0 &&
         frame->pendingEnters == 0) {
    Iteration *oldest = frame->live.front();
    // Frees inputs of nodes that never ran, such as the second input of a Merge.
    Tensor *inputs = oldest->inputs;
    for (uint32_t i = 0; i < frame->shape().numInputs; ++i)
      inputs[i].reset();
    oldest->children.clear();
    frame->live.pop_front();
    frame->spare.push_back(oldest);
    if (!frame->deferred.empty() && hasRoom(*frame))
      startDeferred(frame);
  }
  if (frame->live.empty())
    frame->parent ? finishFrame(frame) : finishActivation(frame);
}

void Runner::finishFrame(FrameExecution *frame) {
  Iteration *parent = frame->parent;
  std::vector<uint32_t> dead;
  for (uint32_t exit : frame->deadExits)
    if (std::find(frame->liveExits.begin(), frame->liveExits.end(), exit) == frame->liveExits.end())
      dead.push_back(exit);
  endsWithoutExit |= frame->isEntered && frame->liveExits.empty();
  std::erase(parent->children, frame);
  frames.erase(frame);
  for (uint32_t exit : dead)
    deliverAll(parent, exit, Tensor());
  finished(parent);
}

// Handles frames that still wait for Enters when nothing else can run. If an Enter depends on what
// leaves the frame, starts more iterations than parallelIterations. If the input of an Enter is a
// loop variable that died in an earlier iteration, it never arrives, and the frame ends without it.
// Treats the innermost frame first.
bool Runner::endStuckFrame() {
  FrameExecution *stuck = nullptr;
  auto rank = [](const FrameExecution &frame) {
    return std::pair(!frame.deferred.empty(), frame.shape().depth);
  };
  for (auto &[frame, owner] : frames)
    if (frame->pendingEnters > 0 && (!stuck || rank(*frame) > rank(*stuck)))
      stuck = frame;
  if (!stuck)
    return false;
  if (!stuck->deferred.empty()) {
    startDeferred(stuck);
    return true;
  }
  stuck->pendingEnters = 0;
  Iteration *first = stuck->live.front();
  ++first->outstanding;
  finished(first);
  return true;
}

void Runner::finishActivation(FrameExecution *root) {
  Activation *activation = root->activation;
  frames.erase(root);
  if (activation == top) {
    topIsDone = true;
    return;
  }
  std::unique_ptr<Activation> owned = std::move(activations.at(activation));
  activations.erase(activation);
  Expected<std::vector<Tensor>> results = takeResults(*owned);
  if (!results)
    return failAt(owned->then.caller, std::move(results.error()));
  if (Expected<void> ok = readReferences(owned->plan, *results); !ok)
    return failAt(owned->then.caller, std::move(ok.error()));
  resume(std::move(owned->then), std::move(*results), owned->depth);
}

// --- results -----------------------------------------------------------------------------------

void Runner::record(NodeInstance instance, std::span<const Tensor> outputs) {
  Activation *activation = instance.iteration->frame->activation;
  const DataflowPlan &plan = activation->plan;
  std::vector<int64_t> path;
  // The output of an Exit belongs to the parent frame.
  bool isExit = plan.nodes[instance.node].kind == NodeKind::Exit;
  if (isExit && std::ranges::count(instance.iteration->frame->liveExits, instance.node))
    return;
  for (Iteration *it = isExit ? instance.iteration->frame->parent : instance.iteration;
       it->frame->parent; it = it->frame->parent)
    path.insert(path.begin(), it->number);
  const NodeLocation &place = plan.locations[instance.node];
  for (uint32_t k = place.resultBegin; k < place.resultEnd; ++k) {
    uint32_t r = plan.resultsByNode[k];
    const ResultSpec &result = plan.results[r];
    const Tensor &value = outputs[result.from.output];
    if (!value)
      continue;
    if (path.empty()) {
      activation->results[r] = value;
      continue;
    }
    auto wants = [&](size_t depth) {
      if (depth >= result.iterations.size())
        return path[depth] == 0;
      const IterationSelector &selector = result.iterations[depth];
      return selector.kind != IterationSelector::At || path[depth] == selector.iteration;
    };
    bool isWanted = true;
    for (size_t depth = 0; depth < path.size(); ++depth)
      isWanted &= wants(depth);
    if (!isWanted)
      continue;
    auto &byIteration = activation->collected[r].byIteration;
    byIteration[path] = value;
    // For a result of the last iteration, values of earlier iterations are dropped.
    if (!result.iterations.empty() && result.iterations.back().kind == IterationSelector::Last &&
        path.size() == result.iterations.size() && path.back() > 0) {
      auto at = byIteration.find(path);
      while (at != byIteration.begin()) {
        auto before = std::prev(at);
        if (!std::equal(path.begin(), path.end() - 1, before->first.begin()))
          break;
        byIteration.erase(before);
      }
    }
  }
}

namespace {

using Entries = std::map<std::vector<int64_t>, Tensor>;

Expected<Tensor> stack(const std::vector<Tensor> &parts, const std::string &name) {
  std::vector<int64_t> dims(parts[0].dims().begin(), parts[0].dims().end());
  for (const Tensor &part : parts)
    if (!std::ranges::equal(part.dims(), parts[0].dims()))
      return Unexpected(invalidArgument(
          "'", name, "' has ", tensorTypeText(parts[0]), " in one iteration but ",
          tensorTypeText(part), " in another, so they can't be stacked; fetch single iterations"));
  dims.insert(dims.begin(), static_cast<int64_t>(parts.size()));
  Expected<Tensor> out = Tensor::make(parts[0].dtype(), dims);
  if (!out)
    return out;
  int64_t at = 0;
  for (const Tensor &part : parts) {
    auto copy = [&]<typename T>() {
      std::copy_n(part.data<T>(), part.count(), out->data<T>() + at * part.count());
    };
    if (part.dtype() == DType::String)
      copy.operator()<std::string>();
    else if (part.dtype() == DType::Resource)
      copy.operator()<ResourceHandle>();
    else if (part.dtype() == DType::Variant)
      copy.operator()<Variant>();
    else if (part.bytes())
      std::memcpy(static_cast<char *>(out->raw()) + at * part.bytes(), part.raw(), part.bytes());
    ++at;
  }
  return out;
}

// All entries share the iteration path up to `depth`.
Expected<Tensor> select(const Entries &entries, const ResultSpec &spec, size_t depth) {
  if (depth == entries.begin()->first.size())
    return entries.begin()->second;
  std::map<int64_t, Entries> groups;
  for (const auto &[path, value] : entries)
    groups[path[depth]].emplace(path, value);
  auto kind = depth < spec.iterations.size() ? spec.iterations[depth].kind : IterationSelector::At;
  if (kind == IterationSelector::At)
    return select(groups.begin()->second, spec, depth + 1);
  if (kind == IterationSelector::Last)
    return select(groups.rbegin()->second, spec, depth + 1);
  std::vector<Tensor> parts;
  for (const auto &[iteration, group] : groups) {
    Expected<Tensor> part = select(group, spec, depth + 1);
    if (!part)
      return part;
    parts.push_back(std::move(*part));
  }
  return stack(parts, spec.name);
}

} // namespace

Expected<std::vector<Tensor>> Runner::takeResults(Activation &activation) {
  std::vector<Tensor> results = std::move(activation.results);
  for (size_t r = 0; r < results.size(); ++r) {
    const ResultSpec &spec = activation.plan.results[r];
    if (const Entries &entries = activation.collected[r].byIteration; !entries.empty()) {
      Tensor value = TREADLE_TRY(select(entries, spec, 0));
      results[r] = std::move(value);
    }
    if (!results[r])
      return Unexpected(missingValueError(activation, r));
  }
  return results;
}

Error Runner::missingValueError(const Activation &activation, size_t r) const {
  const std::string &name = activation.plan.results[r].name;
  if (!activation.plan.results[r].iterations.empty())
    return outOfRange("'", name, "'", notInIteration);
  std::string_view why = endsWithoutExit ? loopGaveNone : branchNotTaken;
  bool isOfFunction = &activation != top || std::atomic_ref(run.callDepth).load() != 0;
  return isOfFunction ? deadResult(activation.plan, r, why) : invalidArgument("'", name, "'", why);
}

} // namespace treadle::dataflow
