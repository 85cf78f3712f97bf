#include "treadle/reference/Interpreter.h"

#include "treadle/runtime/Conditions.h"

#include <algorithm>

namespace treadle::reference {
namespace {

bool isOp(const NodeSpec &node, std::string_view op) {
  return node.op == op || (node.op.starts_with("Ref") && node.op.substr(3) == op);
}

std::string frameName(const NodeSpec &enter) {
  return enter.attrs.getOr<std::string>("frame_name", "");
}

Tag inside(const std::pair<Tag, std::string> &frame, int64_t iteration) {
  Tag tag = frame.first;
  tag.emplace_back(frame.second, iteration);
  return tag;
}

std::pair<Tag, std::string> frameAround(Tag tag) {
  std::string name = tag.back().first;
  tag.pop_back();
  return {std::move(tag), std::move(name)};
}

bool beginsWith(const Tag &tag, const Tag &prefix) {
  return tag.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), tag.begin());
}

/// Returns the live output of a Switch or _SwitchN: switch_1, switch_2.
Expected<int> takenOutput(const NodeSpec &node, const Tensor &selector) {
  if (isOp(node, "Switch"))
    return switchPredicateOf(selector).map([](bool yes) { return int(yes); });
  return branchIndexOf(selector, node.outputTypes.size());
}

} // namespace

Wiring::Wiring(const GraphSpec &graph) : graph(graph) {
  for (int32_t n = 0; n < std::ssize(graph.nodes); ++n) {
    const NodeSpec &node = graph.nodes[static_cast<size_t>(n)];
    for (int32_t i = 0; i < std::ssize(node.inputs); ++i) {
      Endpoint from = node.inputs[static_cast<size_t>(i)];
      consumers[{from.node, from.output}].emplace_back(n, i);
    }
    for (int32_t c : node.controls)
      consumers[{c, -1}].emplace_back(n, -1);
    if (isOp(node, "Enter"))
      ++enters[frameName(node)];
  }
}

void History::add(size_t firing) {
  words.resize(std::max(words.size(), firing / 64 + 1));
  words[firing / 64] |= uint64_t{1} << firing % 64;
}

void History::addAll(const History &other) {
  words.resize(std::max(words.size(), other.words.size()));
  for (size_t i = 0; i < other.words.size(); ++i)
    words[i] |= other.words[i];
}

bool History::contains(size_t firing) const {
  return firing / 64 < words.size() && (words[firing / 64] >> firing % 64 & 1);
}

Interpreter::Interpreter(const Wiring &wiring, std::vector<bool> hasEffects,
                         std::vector<Tensor> args, Ops &ops, int64_t &stepsLeft,
                         std::mt19937 *random, Observer *observer)
    : wiring(wiring), graph(wiring.graph), hasEffects(std::move(hasEffects)), args(std::move(args)),
      ops(ops), stepsLeft(stepsLeft), random(random), observer(observer),
      found(graph.results.size()) {
  for (int32_t n = 0; n < std::ssize(graph.nodes); ++n)
    if (spec(n).inputs.empty() && spec(n).controls.empty()) // token_1
      fireNode({}, n, {}, false);
  processTokens();
}

void Interpreter::send(const Tag &tag, int32_t node, int32_t output, const Value &value,
                       const History &past) {
  for (Tag around = tag; !around.empty(); around.pop_back())
    tagHistories[around].addAll(past);
  if (auto it = wiring.consumers.find({node, output}); it != wiring.consumers.end())
    for (auto [consumer, input] : it->second)
      tokens.push_back({tag, consumer, input, value, past});
}

void Interpreter::sendAll(const Tag &tag, int32_t node, std::vector<Value> values, bool isDead,
                          const History &past, bool isFromEnter) {
  values.resize(spec(node).outputTypes.size(), Value{{}, true});
  for (size_t o = 0; o < values.size(); ++o) {
    values[o].isFromEnter = isFromEnter;
    send(tag, node, static_cast<int32_t>(o), values[o], past);
  }
  send(tag, node, -1, {{}, isDead, isFromEnter}, past);
}

// token_2: tokens may be processed in any order.
void Interpreter::processTokens() {
  do {
    while (!tokens.empty()) {
      if (--stepsLeft < 0) {
        tokens.clear();
        waiting.clear();
        return;
      }
      if (random)
        std::swap(tokens[(*random)() % tokens.size()], tokens.front());
      Token token = std::move(tokens.front());
      tokens.pop_front();
      arrive(token);
    }
  } while (startHeldIteration() || closeStuckFrame());
}

void Interpreter::arrive(const Token &token) {
  const NodeSpec &node = spec(token.node);
  Arrivals &in = arrivals[{token.tag, token.node}];
  in.past.addAll(token.past);
  if (token.input < 0)
    ++in.numControls;
  else
    in.data[token.input] = token.value;
  in.hasDead |= token.value.isDead;
  in.hasDeadEnter |= token.value.isDead && token.value.isFromEnter && token.input >= 0;
  if (isOp(node, "Merge"))
    return arriveAtMerge(token, in);
  if (in.numControls == node.controls.size() && in.data.size() == node.inputs.size()) // node_1
    fireNode(token.tag, token.node, in, in.hasDead && !isOp(node, "ControlTrigger")); // node_2
}

// merge_1, merge_4, merge_5: fires with one live value, or when all values are dead; control inputs
// only delay it.
void Interpreter::arriveAtMerge(const Token &token, Arrivals &in) {
  const NodeSpec &node = spec(token.node);
  auto numLive = std::ranges::count_if(in.data, [](const auto &e) { return !e.second.isDead; });
  ambiguous |= numLive > 1;
  if (in.hasFired || in.numControls != node.controls.size())
    return;
  if (numLive > 0 || in.hasDeadEnter || in.data.size() == node.inputs.size()) {
    in.hasFired = true;
    fireNode(token.tag, token.node, in, numLive == 0);
  }
}

void Interpreter::fireNode(const Tag &tag, int32_t node, const Arrivals &in, bool isDead) {
  const NodeSpec &n = spec(node);
  bool isOrdinary = !isDead && !isOp(n, "Merge") && !isOp(n, "Switch") && !isOp(n, "_SwitchN") &&
                    !isOp(n, "Enter") && !isOp(n, "Exit") && !isOp(n, "NextIteration");
  if (isOrdinary && hasEffects[static_cast<size_t>(node)]) {
    waiting[{tag, node}] = in.past;
    waitingInputs[{tag, node}] = in.data;
    return;
  }
  if (isOrdinary)
    return computeNode({tag, node}, in.data, in.past);
  bool leavesIteration = isOp(n, "Exit") || isOp(n, "NextIteration");
  if (leavesIteration && tag.empty())
    return fail({tag, node}, invalidArgument("it is not inside a frame").atNode(n.name, n.op));
  if (observer)
    observer->fires({tag, node}, in.data, isDead);
  if (isOp(n, "Enter"))
    return fireEnter(tag, node, isDead ? Value{{}, true} : in.data.at(0), in.past);
  if (isOp(n, "Exit"))
    return fireExit(tag, node, isDead ? Value{{}, true} : in.data.at(0), in.past);
  if (isOp(n, "NextIteration"))
    return isDead ? void() : fireNext(tag, node, in.data.at(0), in.past); // frame_3
  if (isDead) {                                                           // node_2, merge_3
    give(tag, node, std::vector<Value>(n.outputTypes.size(), {{}, true}));
    return sendAll(tag, node, {}, true, in.past);
  }
  std::vector<Value> outputs;
  if (isOp(n, "Merge")) { // merge_2
    for (const auto &[i, value] : in.data)
      if (!value.isDead)
        outputs = {value, {Tensor::scalar(DType::Int32, i)}};
  } else {
    Expected<int> taken = takenOutput(n, in.data.at(1).tensor);
    if (!taken)
      return fail({tag, node}, std::move(taken.error()).atNode(n.name, n.op));
    outputs.assign(n.outputTypes.size(), {{}, true});
    outputs[static_cast<size_t>(*taken)] = in.data.at(0);
  }
  give(tag, node, outputs);
  sendAll(tag, node, std::move(outputs), false, in.past);
}

void Interpreter::fire(const Instance &instance) {
  History past = waiting.at(instance);
  past.add(numFired++);
  waiting.erase(instance);
  computeNode(instance, waitingInputs.extract(instance).mapped(), past);
  processTokens();
}

void Interpreter::computeNode(const Instance &instance, const std::map<int32_t, Value> &in,
                              const History &past) {
  const NodeSpec &n = spec(instance.node);
  if (observer)
    observer->fires(instance, in, /*isDead=*/false);
  std::vector<Value> outputs;
  if (n.op == "_Arg") {
    for (size_t a = 0; a < graph.args.size(); ++a)
      if (graph.args[a].node == instance.node)
        outputs = {{args[a]}};
  } else if (n.op != "NoOp" && n.op != "ControlTrigger") {
    std::vector<Tensor> inputs;
    for (const auto &[i, value] : in)
      inputs.push_back(value.tensor);
    Expected<std::vector<Tensor>> computed = ops.compute(graph, instance.node, std::move(inputs));
    if (!computed) // node_4, error_1
      return fail(instance, std::move(computed.error()));
    for (Tensor &t : *computed)
      outputs.push_back({std::move(t)});
  }
  give(instance.tag, instance.node, outputs);
  sendAll(instance.tag, instance.node, std::move(outputs), false, past); // node_3, node_5
}

// --- frames --------------------------------------------------------------------------------------

// A frame that was closed while an Enter was missing may still be entered.
Interpreter::FrameRun &Interpreter::frameOf(const FrameKey &key) {
  auto it = closed.find(key);
  return it != closed.end() ? it->second : frames[key];
}

void Interpreter::startIteration(const FrameKey &key, FrameRun &frame) {
  Tag tag = inside(key, frame.started++);
  for (const FrameRun::Constant &c : frame.constants)
    sendAll(tag, c.node, {c.value}, c.value.isDead, c.past, true);
}

void Interpreter::fireEnter(const Tag &tag, int32_t node, const Value &value, const History &past) {
  const NodeSpec &n = spec(node);
  FrameKey key{tag, frameName(n)};
  FrameRun &frame = frameOf(key);
  frame.parallelIterations = n.attrs.getOr<int64_t>("parallel_iterations", 10);
  if (frame.started == 0)
    startIteration(key, frame);
  ++frame.enters;
  give(tag, node, {value});
  if (!n.attrs.getOr("is_constant", false))
    return sendAll(inside(key, 0), node, {value}, value.isDead, past, true); // frame_1
  frame.constants.push_back({node, value, past});                            // frame_2
  for (int64_t i = 0; i < frame.started; ++i)
    sendAll(inside(key, i), node, {value}, value.isDead, past, true);
}

// frame_4
void Interpreter::fireExit(const Tag &tag, int32_t node, const Value &value, const History &past) {
  FrameKey key = frameAround(tag);
  FrameRun &frame = frameOf(key);
  if (value.isDead)
    return void(frame.deadExits.insert(node));
  if (!frame.liveExits.insert(node).second)
    return void(ambiguous = true); // frame_5
  record(key.first, node, {value});
  if (observer)
    observer->gives({tag, node}, {value});
  sendAll(key.first, node, {value}, false, past);
}

void Interpreter::fireNext(const Tag &tag, int32_t node, const Value &value, const History &past) {
  FrameKey key = frameAround(tag);
  FrameRun &frame = frameOf(key);
  int64_t next = tag.back().second + 1;
  give(tag, node, {value});
  if (frame.started == next)
    frame.held.push_back({inside(key, next), node, 0, value, past});
  else
    sendAll(inside(key, next), node, {value}, false, past);
}

// Whether a token or a waiting instance exists under the tag.
bool Interpreter::isActive(const Tag &tag) const {
  if (std::ranges::any_of(tokens, [&](const Token &t) { return beginsWith(t.tag, tag); }))
    return true;
  // Tags with a common prefix are adjacent in the map.
  if (auto it = waiting.lower_bound({tag, -1});
      it != waiting.end() && beginsWith(it->first.tag, tag))
    return true;
  auto inner = frames.lower_bound({tag, ""});
  return inner != frames.end() && beginsWith(inner->first.first, tag);
}

// Returns whether all iterations up to this one have finished. No iteration finishes while an Enter
// may still fire: its token enters the first iteration, and that of a constant Enter enters all
// iterations.
bool Interpreter::isOver(const FrameKey &key, FrameRun &frame, int64_t iteration) {
  if (!waiting.empty() && !hasAllEnters(key, frame))
    return false;
  while (std::ssize(frame.over) <= iteration) {
    Tag tag = inside(key, std::ssize(frame.over));
    if (isActive(tag))
      return false;
    History past = frame.over.empty() ? History() : frame.over.back();
    if (auto own = tagHistories.extract(tag))
      past.addAll(own.mapped());
    frame.over.push_back(std::move(past));
  }
  return true;
}

// frame_7: starts an iteration that was held back, with its tokens.
bool Interpreter::startHeldIteration() {
  for (auto &[key, frame] : frames) {
    if (frame.held.empty())
      continue;
    int64_t last = frame.started - frame.parallelIterations; // this iteration must be over
    if (last >= 0 && !isOver(key, frame, last))
      continue;
    std::vector<Token> held = std::exchange(frame.held, {});
    startIteration(key, frame);
    for (Token &token : held) {
      if (last >= 0)
        token.past.addAll(frame.over[static_cast<size_t>(last)]);
      sendAll(token.tag, token.node, {token.value}, false, token.past);
    }
    return true;
  }
  return false;
}

// Whether all Enters have arrived.
bool Interpreter::hasAllEnters(const FrameKey &key, const FrameRun &frame) const {
  return frame.enters == wiring.enters.at(key.second);
}

// frame_6. A frame with an Enter that never arrives only ends when nothing else can happen.
bool Interpreter::closeStuckFrame() {
  auto best = frames.end();
  for (auto it = frames.begin(); it != frames.end(); ++it) {
    auto &[key, frame] = *it;
    if (!frame.held.empty() || !isOver(key, frame, frame.started - 1))
      continue;
    auto rank = [&](auto e) {
      return std::pair(hasAllEnters(e->first, e->second), e->first.first.size());
    };
    if (best == frames.end() || rank(it) > rank(best))
      best = it;
  }
  if (best == frames.end())
    return false;
  auto &[key, frame] = *best;
  for (int32_t exit : frame.deadExits)
    if (!frame.liveExits.contains(exit)) {
      if (observer) {
        observer->fires({key.first, exit}, {}, /*isDead=*/true);
        observer->gives({key.first, exit}, {{{}, true}});
      }
      sendAll(key.first, exit, {{{}, true}}, true, frame.over.back());
    }
  closed.insert(frames.extract(best));
  return true;
}

// --- results -------------------------------------------------------------------------------------

void Interpreter::give(const Tag &tag, int32_t node, const std::vector<Value> &outputs) {
  record(tag, node, outputs);
  if (observer)
    observer->gives({tag, node}, outputs);
}

void Interpreter::fail(const Instance &instance, Error error) {
  if (observer)
    observer->fails(instance, error);
  failed.emplace_back(instance, std::move(error));
}

void Interpreter::record(const Tag &tag, int32_t node, const std::vector<Value> &outputs) {
  std::vector<int64_t> path;
  for (const auto &[frame, iteration] : tag)
    path.push_back(iteration);
  for (size_t r = 0; r < graph.results.size(); ++r) {
    Endpoint from = graph.results[r].from;
    if (from.node == node && !outputs[static_cast<size_t>(from.output)].isDead)
      found[r][path] = outputs[static_cast<size_t>(from.output)].tensor;
  }
}

} // namespace treadle::reference
