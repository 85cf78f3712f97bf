#include "treadle/runtime/TestReference.h"

#include <algorithm>

namespace treadle::test {
namespace {

constexpr int64_t maxSteps = 30000;

using Live = std::optional<int32_t>; // nothing: dead

/// Where a token is: frame and iteration, outermost first.
using Tag = std::vector<std::pair<std::string, int64_t>>;

struct Token {
  Tag tag;
  int node;
  int input; // -1: control
  Live value;
  bool isFromEnter;
};

/// What has arrived at a node, under one tag.
struct Arrivals {
  std::map<int, Live> data;
  size_t numControls = 0;
  bool hasDead = false, hasDeadEnter = false, hasFired = false;
};

/// One execution of a frame: the tag around it, and its name.
using FrameKey = std::pair<Tag, std::string>;

struct FrameRun {
  int64_t started = 0; // iterations
  size_t enters = 0;
  std::vector<std::pair<int, Live>> constants;
  std::set<int> liveExits, deadExits;
  bool isClosed = false;
};

} // namespace

class ReferenceRun {
public:
  ReferenceRun(Reference &owner, const GraphSpec &graph, std::vector<int32_t> args)
      : owner(owner), graph(graph), args(std::move(args)), consumers(owner.consumersOf(graph)) {}
  Meaning run();

private:
  void deliver(const Tag &tag, int node, int output, Live value, bool isFromEnter = false);
  void deliverAll(const Tag &tag, int node, std::vector<Live> values, bool isDead,
                  bool isFromEnter = false);
  void arrive(const Token &token);
  void fire(const Tag &tag, int node, const Arrivals &in, bool isDead);
  void fireEnter(const Tag &tag, int node, Live value);
  void fireExit(const Tag &tag, int node, Live value);
  void fireNext(const Tag &tag, int node, Live value);
  void startIteration(const FrameKey &key, FrameRun &frame);
  bool closeAFrame();
  std::optional<std::vector<Live>> compute(int node, const std::vector<int32_t> &in);
  std::optional<std::vector<Live>> callFunction(const std::string &name, std::vector<int32_t> in);
  std::optional<std::vector<Live>> computeCall(const NodeSpec &spec, std::vector<int32_t> in);
  void record(const Tag &tag, int node, const std::vector<Live> &outputs);
  std::optional<Meaning::Value> select(const std::map<std::vector<int64_t>, int32_t> &entries,
                                       const ResultSpec &spec, size_t depth);

  Reference &owner;
  const GraphSpec &graph;
  const std::vector<int32_t> args;
  const Reference::Consumers &consumers;
  std::vector<Token> tokens;
  std::map<std::pair<Tag, int>, Arrivals> arrivals;
  std::map<FrameKey, FrameRun> frames;
  std::vector<std::map<std::vector<int64_t>, int32_t>> found; // by result
  Meaning out;
};

static bool isOp(const NodeSpec &node, std::string_view op) { return node.op == op; }

// Output -1 is the control output.
void ReferenceRun::deliver(const Tag &tag, int node, int output, Live value, bool isFromEnter) {
  auto it = consumers.find({node, output});
  if (it != consumers.end())
    for (auto [consumer, input] : it->second)
      tokens.push_back({tag, consumer, input, value, isFromEnter});
}

const Reference::Consumers &Reference::consumersOf(const GraphSpec &graph) {
  auto before = [](Endpoint a, Endpoint b) {
    return std::pair(a.node, a.output) < std::pair(b.node, b.output);
  };
  auto [it, isNew] = consumers.try_emplace(&graph, before);
  if (!isNew)
    return it->second;
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
    const NodeSpec &spec = graph.nodes[n];
    for (int i = 0; i < static_cast<int>(spec.inputs.size()); ++i)
      it->second[spec.inputs[i]].emplace_back(n, i);
    for (int32_t c : spec.controls)
      it->second[{c, -1}].emplace_back(n, -1);
  }
  return it->second;
}

void ReferenceRun::deliverAll(const Tag &tag, int node, std::vector<Live> values, bool isDead,
                              bool isFromEnter) {
  values.resize(graph.nodes[node].outputTypes.size());
  for (size_t o = 0; o < values.size(); ++o)
    deliver(tag, node, static_cast<int>(o), values[o], isFromEnter);
  deliver(tag, node, -1, isDead ? Live() : Live(0), isFromEnter);
}

void ReferenceRun::arrive(const Token &token) {
  const NodeSpec &spec = graph.nodes[token.node];
  Arrivals &in = arrivals[{token.tag, token.node}];
  if (token.input < 0)
    ++in.numControls;
  else
    in.data[token.input] = token.value;
  in.hasDead |= !token.value;
  in.hasDeadEnter |= !token.value && token.isFromEnter && token.input >= 0;
  bool hasControls = in.numControls == spec.controls.size();
  if (!isOp(spec, "Merge")) { // node_1, node_2
    if (hasControls && in.data.size() == spec.inputs.size())
      fire(token.tag, token.node, in, in.hasDead && !isOp(spec, "ControlTrigger"));
    return;
  }
  // merge_1, merge_4, merge_5: one live value, or nothing but dead ones; its control inputs only
  // say when.
  auto isLive = [](const auto &entry) { return entry.second.has_value(); };
  auto numLive = std::count_if(in.data.begin(), in.data.end(), isLive);
  out.isAmbiguous |= numLive > 1;
  if (in.hasFired || !hasControls)
    return;
  bool isDead = in.hasDeadEnter || in.data.size() == spec.inputs.size();
  if (numLive > 0 || isDead) {
    in.hasFired = true;
    fire(token.tag, token.node, in, numLive == 0);
  }
}

void ReferenceRun::fire(const Tag &tag, int node, const Arrivals &in, bool isDead) {
  const NodeSpec &spec = graph.nodes[node];
  if (isOp(spec, "Enter"))
    return fireEnter(tag, node, isDead ? Live() : in.data.at(0));
  if (isOp(spec, "Exit"))
    return fireExit(tag, node, isDead ? Live() : in.data.at(0));
  if (isOp(spec, "NextIteration"))
    return isDead ? void() : fireNext(tag, node, in.data.at(0)); // frame_3
  if (isDead)
    return deliverAll(tag, node, {}, true); // node_2, merge_3
  std::vector<Live> outputs;
  if (isOp(spec, "Merge")) {
    for (auto [i, value] : in.data)
      if (value)
        outputs = {value, i}; // merge_2
  } else if (isOp(spec, "Switch")) {
    outputs.resize(2);
    outputs[*in.data.at(1) ? 1 : 0] = in.data.at(0); // switch_1
  } else {
    std::vector<int32_t> values;
    values.reserve(in.data.size());
    for (auto [i, value] : in.data)
      values.push_back(*value);
    std::optional<std::vector<Live>> computed = compute(node, values);
    if (!computed)
      return void(out.failures.insert(spec.name)); // node_4
    outputs = std::move(*computed);
  }
  record(tag, node, outputs);
  deliverAll(tag, node, std::move(outputs), false);
}

// --- frames ------------------------------------------------------------------------------------

static std::string frameName(const NodeSpec &enter) {
  return *enter.attrs.get<std::string>("frame_name");
}

static Tag inside(const FrameKey &key, int64_t iteration) {
  Tag tag = key.first;
  tag.emplace_back(key.second, iteration);
  return tag;
}

static FrameKey frameAround(Tag tag) {
  std::string name = tag.back().first;
  tag.pop_back();
  return {std::move(tag), std::move(name)};
}

void ReferenceRun::startIteration(const FrameKey &key, FrameRun &frame) {
  Tag tag = inside(key, frame.started++);
  for (auto [enter, value] : frame.constants)
    deliverAll(tag, enter, {value}, !value, true);
}

void ReferenceRun::fireEnter(const Tag &tag, int node, Live value) {
  const NodeSpec &spec = graph.nodes[node];
  FrameKey key{tag, frameName(spec)};
  FrameRun &frame = frames[key];
  if (frame.started == 0)
    startIteration(key, frame);
  ++frame.enters;
  if (value)
    record(tag, node, {value});
  if (!spec.attrs.getOr<bool>("is_constant", false))
    return deliverAll(inside(key, 0), node, {value}, !value, true); // frame_1
  frame.constants.emplace_back(node, value);                        // frame_2
  for (int64_t i = 0; i < frame.started; ++i)
    deliverAll(inside(key, i), node, {value}, !value, true);
}

void ReferenceRun::fireExit(const Tag &tag, int node, Live value) {
  FrameKey key = frameAround(tag);
  FrameRun &frame = frames[key];
  if (!value)
    return void(frame.deadExits.insert(node));
  if (!frame.liveExits.insert(node).second)
    return void(out.isAmbiguous = true); // frame_5
  record(key.first, node, {value});
  deliverAll(key.first, node, {value}, false);
}

void ReferenceRun::fireNext(const Tag &tag, int node, Live value) {
  FrameKey key = frameAround(tag);
  FrameRun &frame = frames[key];
  int64_t next = tag.back().second + 1;
  if (frame.started == next)
    startIteration(key, frame);
  record(tag, node, {value});
  deliverAll(inside(key, next), node, {value}, false);
}

// frame_6: when no token moves, a frame with none inside it is over, and its Exits that never were
// live are dead. One that some Enter never reached ends only when there is no other.
bool ReferenceRun::closeAFrame() {
  auto isInside = [](const FrameKey &inner, const FrameKey &outer) {
    size_t depth = outer.first.size();
    return inner.first.size() > depth && inner.first[depth].first == outer.second &&
           std::equal(outer.first.begin(), outer.first.end(), inner.first.begin());
  };
  auto isWhole = [&](const auto &entry) {
    auto isItsEnter = [&](const NodeSpec &n) {
      return isOp(n, "Enter") && frameName(n) == entry.first.second;
    };
    auto n = std::count_if(graph.nodes.begin(), graph.nodes.end(), isItsEnter);
    return entry.second.enters == static_cast<size_t>(n);
  };
  auto best = frames.end();
  for (auto it = frames.begin(); it != frames.end(); ++it) {
    bool hasInner = std::any_of(frames.begin(), frames.end(), [&](const auto &other) {
      return !other.second.isClosed && isInside(other.first, it->first);
    });
    if (it->second.isClosed || hasInner)
      continue;
    auto rank = [&](auto entry) { return std::pair(isWhole(*entry), entry->first.first.size()); };
    if (best == frames.end() || rank(it) > rank(best))
      best = it;
  }
  if (best == frames.end())
    return false;
  auto &[key, frame] = *best;
  frame.isClosed = true;
  for (int exit : frame.deadExits)
    if (!frame.liveExits.contains(exit))
      deliverAll(key.first, exit, {Live()}, true);
  return true;
}

// --- ops ---------------------------------------------------------------------------------------

std::optional<std::vector<Live>> ReferenceRun::callFunction(const std::string &name,
                                                            std::vector<int32_t> in) {
  const GraphSpec *body = owner.functions->body(name);
  Meaning inner = ReferenceRun(owner, *body, std::move(in)).run();
  out.isAmbiguous |= inner.isAmbiguous;
  out.isTooLong |= inner.isTooLong;
  bool isWhole = inner.failures.empty() && !inner.isTooLong;
  out.failures.merge(inner.failures);
  std::vector<Live> results;
  for (const auto &result : inner.results)
    if (result)
      results.emplace_back(result->elements[0]);
  isWhole &= results.size() == body->results.size();
  return isWhole ? std::optional(results) : std::nullopt;
}

static std::vector<int32_t> alive(const std::vector<Live> &values) {
  std::vector<int32_t> out;
  out.reserve(values.size());
  for (Live v : values)
    out.push_back(*v);
  return out;
}

std::optional<std::vector<Live>> ReferenceRun::computeCall(const NodeSpec &spec,
                                                           std::vector<int32_t> in) {
  auto function = [&](std::string_view attr) { return spec.attrs.get<FunctionRef>(attr)->name; };
  if (spec.isFunctionCall)
    return callFunction(spec.op, in);
  if (isOp(spec, "PartitionedCall"))
    return callFunction(function("f"), in);
  std::vector<int32_t> rest(in.begin() + 1, in.end());
  if (isOp(spec, "If"))
    return callFunction(function(in[0] ? "then_branch" : "else_branch"), rest);
  if (isOp(spec, "Case")) {
    auto branches = *spec.attrs.get<std::vector<FunctionRef>>("branches");
    int last = static_cast<int>(branches.size()) - 1;
    return callFunction(branches[in[0] < 0 || in[0] > last ? last : in[0]].name, rest);
  }
  std::vector<Live> vars(in.begin(), in.end());
  if (isOp(spec, "While"))
    for (;;) {
      auto more = callFunction(function("cond"), alive(vars));
      if (!more || out.isTooLong)
        return std::nullopt;
      if (!*(*more)[0])
        return vars;
      auto next = callFunction(function("body"), alive(vars));
      if (!next)
        return std::nullopt;
      vars = *next;
    }
  vars.erase(vars.begin(), vars.begin() + 3); // For
  for (int64_t i = in[0]; in[2] > 0 ? i < in[1] : i > in[1]; i += in[2]) {
    std::vector<int32_t> callArgs = alive(vars);
    callArgs.insert(callArgs.begin(), static_cast<int32_t>(i));
    auto next = callFunction(function("body"), callArgs);
    if (!next)
      return std::nullopt;
    vars = *next;
  }
  return vars;
}

std::optional<std::vector<Live>> ReferenceRun::compute(int node, const std::vector<int32_t> &in) {
  const NodeSpec &spec = graph.nodes[node];
  auto one = [](int64_t v) { return std::vector<Live>{static_cast<int32_t>(v)}; };
  using Ints = const std::vector<int32_t> &;
  static const std::map<std::string_view, int64_t (*)(Ints)> binary = {
      {"Add", [](Ints v) { return int64_t{v[0]} + v[1]; }},
      {"SlowAdd", [](Ints v) { return int64_t{v[0]} + v[1]; }},
      {"WaitAdd", [](Ints v) { return int64_t{v[0]} + v[1]; }},
      {"Sub", [](Ints v) { return int64_t{v[0]} - v[1]; }},
      {"Mul", [](Ints v) { return int64_t{v[0]} * v[1]; }},
      {"Less", [](Ints v) { return int64_t{v[0] < v[1]}; }},
      {"NotEqual", [](Ints v) { return int64_t{v[0] != v[1]}; }},
      {"Not", [](Ints v) { return int64_t{!v[0]}; }},
      {"Identity", [](Ints v) { return int64_t{v[0]}; }},
      {"LoopCond", [](Ints v) { return int64_t{v[0]}; }},
  };
  if (auto it = binary.find(spec.op); it != binary.end())
    return one(it->second(in));
  if (isOp(spec, "NoOp") || isOp(spec, "ControlTrigger"))
    return std::vector<Live>();
  if (isOp(spec, "Const")) {
    Tensor t = *spec.attrs.get<Tensor>("value");
    return one(t.dtype() == DType::Bool ? t.scalarValue<bool>() : value(t));
  }
  if (isOp(spec, "_Arg")) {
    for (size_t a = 0; a < graph.args.size(); ++a)
      if (graph.args[a].node == node)
        return one(args[a]);
    return std::nullopt;
  }
  if (isOp(spec, "Refuse"))
    return in[0] == *spec.attrs.get<int64_t>("value") ? std::nullopt : std::optional(one(in[0]));
  if (isOp(spec, "ReadVar") || isOp(spec, "AddToVar")) {
    int32_t &variable = owner.variables[*spec.attrs.get<std::string>("var")];
    if (!in.empty())
      variable = static_cast<int32_t>(int64_t{variable} + in[0]);
    return one(variable);
  }
  return computeCall(spec, in);
}

// --- results -----------------------------------------------------------------------------------

void ReferenceRun::record(const Tag &tag, int node, const std::vector<Live> &outputs) {
  std::vector<int64_t> path;
  for (const auto &[frame, iteration] : tag)
    path.push_back(iteration);
  for (size_t r = 0; r < graph.results.size(); ++r) {
    Endpoint from = graph.results[r].from;
    if (from.node == node && outputs[from.output])
      found[r][path] = *outputs[from.output];
  }
}

std::optional<Meaning::Value>
ReferenceRun::select(const std::map<std::vector<int64_t>, int32_t> &entries, const ResultSpec &spec,
                     size_t depth) {
  if (entries.empty())
    return std::nullopt;
  if (depth == entries.begin()->first.size())
    return Meaning::Value{{}, {entries.begin()->second}};
  std::map<int64_t, std::map<std::vector<int64_t>, int32_t>> groups;
  for (const auto &[path, v] : entries)
    groups[path[depth]].emplace(path, v);
  IterationSelector selector =
      depth < spec.iterations.size() ? spec.iterations[depth] : IterationSelector{};
  if (selector.kind == IterationSelector::At)
    return select(groups[selector.iteration], spec, depth + 1);
  if (selector.kind == IterationSelector::Last)
    return select(groups.rbegin()->second, spec, depth + 1);
  std::optional<Meaning::Value> all;
  for (const auto &[iteration, group] : groups) {
    std::optional<Meaning::Value> part = select(group, spec, depth + 1);
    if (!part)
      continue; // no such iteration of an inner frame
    if (!all) {
      all = Meaning::Value{part->dims, {}};
      all->dims.insert(all->dims.begin(), 0);
    }
    if (!std::equal(part->dims.begin(), part->dims.end(), all->dims.begin() + 1, all->dims.end()))
      return std::nullopt; // ragged
    ++all->dims[0];
    all->elements.insert(all->elements.end(), part->elements.begin(), part->elements.end());
  }
  return all;
}

Meaning ReferenceRun::run() {
  found.resize(graph.results.size());
  for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n)
    if (graph.nodes[n].inputs.empty() && graph.nodes[n].controls.empty())
      fire({}, n, {}, false);
  do {
    while (!tokens.empty() && !out.isTooLong) {
      std::swap(tokens[owner.random() % tokens.size()], tokens.back());
      Token token = std::move(tokens.back());
      tokens.pop_back();
      out.isTooLong |= ++owner.steps > maxSteps;
      arrive(token);
    }
  } while (!out.isTooLong && closeAFrame());
  for (size_t r = 0; r < graph.results.size(); ++r) {
    const std::vector<IterationSelector> &wanted = graph.results[r].iterations;
    std::erase_if(found[r], [&](const auto &entry) {
      for (size_t d = 0; d < entry.first.size(); ++d) {
        IterationSelector s = d < wanted.size() ? wanted[d] : IterationSelector{};
        if (s.kind == IterationSelector::At && entry.first[d] != s.iteration)
          return true;
      }
      return false;
    });
    out.results.push_back(select(found[r], graph.results[r], 0));
  }
  return std::move(out);
}

Meaning Reference::run(const GraphSpec &graph, std::vector<int32_t> args) {
  return ReferenceRun(*this, graph, std::move(args)).run();
}

} // namespace treadle::test
