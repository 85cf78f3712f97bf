#include "treadle/testing/TestReference.h"

#include "treadle/runtime/Variable.h"

#include <algorithm>

namespace treadle::test {

using Ints = std::vector<int32_t>;

/// The ops of the tests, over int32 and bool scalars.
class ReferenceOps final : public reference::Ops {
public:
  ReferenceOps(Reference &owner, ReferenceOutcome &out) : owner(owner), out(out) {}

  Expected<std::vector<Tensor>> compute(const GraphSpec &graph, int32_t node,
                                        std::vector<Tensor> inputs) override {
    const NodeSpec &spec = graph.nodes[static_cast<size_t>(node)];
    Ints in;
    for (const Tensor &t : inputs)
      in.push_back(toInt(t));
    std::optional<Ints> computed = compute(spec, in);
    if (!computed)
      return Unexpected(invalidArgument("refused"));
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < computed->size(); ++i)
      outputs.push_back(spec.outputTypes[i].dtype == DType::Bool
                            ? Tensor::scalar(DType::Bool, (*computed)[i] != 0)
                            : scalar((*computed)[i]));
    return outputs;
  }

  static int32_t toInt(const Tensor &t) {
    return t.dtype() == DType::Bool ? t.scalarValue<bool>() : value(t);
  }

private:
  std::optional<Ints> compute(const NodeSpec &spec, const Ints &in);
  std::optional<Ints> call(const std::string &function, Ints in);
  std::optional<Ints> computeCall(const NodeSpec &spec, Ints in);

  Reference &owner;
  ReferenceOutcome &out;
};

static bool isOp(const NodeSpec &node, std::string_view op) { return node.op == op; }

std::optional<Ints> ReferenceOps::call(const std::string &name, Ints in) {
  const GraphSpec *body = owner.functions->body(name);
  ReferenceOutcome inner = owner.run(*body, std::move(in));
  out.isAmbiguous |= inner.isAmbiguous;
  out.isTooLong |= inner.isTooLong;
  bool isWhole = inner.failures.empty() && !inner.isTooLong;
  out.failures.merge(inner.failures);
  Ints results;
  for (const auto &result : inner.results)
    if (result)
      results.push_back(result->elements[0]);
  isWhole &= results.size() == body->results.size();
  return isWhole ? std::optional(results) : std::nullopt;
}

std::optional<Ints> ReferenceOps::computeCall(const NodeSpec &spec, Ints in) {
  auto function = [&](std::string_view attr) { return spec.attrs.get<FunctionRef>(attr)->name; };
  if (spec.isFunctionCall)
    return call(spec.op, in);
  if (isOp(spec, "PartitionedCall"))
    return call(function("f"), in);
  Ints rest(in.begin() + 1, in.end());
  if (isOp(spec, "If"))
    return call(function(in[0] ? "then_branch" : "else_branch"), rest);
  if (isOp(spec, "Case")) {
    auto branches = *spec.attrs.get<std::vector<FunctionRef>>("branches");
    int last = static_cast<int>(branches.size()) - 1;
    return call(branches[in[0] < 0 || in[0] > last ? last : in[0]].name, rest);
  }
  if (isOp(spec, "While"))
    for (Ints vars = in;;) {
      auto more = call(function("cond"), vars);
      if (!more || out.isTooLong)
        return std::nullopt;
      if (!(*more)[0])
        return vars;
      auto next = call(function("body"), vars);
      if (!next)
        return std::nullopt;
      vars = *next;
    }
  Ints vars(in.begin() + 3, in.end()); // of a For
  for (int64_t i = in[0]; in[2] > 0 ? i < in[1] : i > in[1]; i += in[2]) {
    Ints args = vars;
    args.insert(args.begin(), static_cast<int32_t>(i));
    auto next = call(function("body"), args);
    if (!next)
      return std::nullopt;
    vars = *next;
  }
  return vars;
}

std::optional<Ints> ReferenceOps::compute(const NodeSpec &spec, const Ints &in) {
  auto one = [](int64_t v) { return Ints{static_cast<int32_t>(v)}; };
  static const std::map<std::string_view, int64_t (*)(const Ints &)> binary = {
      {"Add", [](const Ints &v) { return int64_t{v[0]} + v[1]; }},
      {"SlowAdd", [](const Ints &v) { return int64_t{v[0]} + v[1]; }},
      {"WaitAdd", [](const Ints &v) { return int64_t{v[0]} + v[1]; }},
      {"Sub", [](const Ints &v) { return int64_t{v[0]} - v[1]; }},
      {"Mul", [](const Ints &v) { return int64_t{v[0]} * v[1]; }},
      {"Less", [](const Ints &v) { return int64_t{v[0] < v[1]}; }},
      {"NotEqual", [](const Ints &v) { return int64_t{v[0] != v[1]}; }},
      {"Not", [](const Ints &v) { return int64_t{!v[0]}; }},
      {"Identity", [](const Ints &v) { return int64_t{v[0]}; }},
      {"LoopCond", [](const Ints &v) { return int64_t{v[0]}; }},
  };
  if (auto it = binary.find(spec.op); it != binary.end())
    return one(it->second(in));
  if (isOp(spec, "Const")) {
    Tensor t = *spec.attrs.get<Tensor>("value");
    return one(t.dtype() == DType::Bool ? t.scalarValue<bool>() : value(t));
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

static std::optional<ReferenceOutcome::Value>
select(const std::map<std::vector<int64_t>, int32_t> &entries, const ResultSpec &spec,
       size_t depth) {
  if (entries.empty())
    return std::nullopt;
  if (depth == entries.begin()->first.size())
    return ReferenceOutcome::Value{{}, {entries.begin()->second}};
  std::map<int64_t, std::map<std::vector<int64_t>, int32_t>> groups;
  for (const auto &[path, v] : entries)
    groups[path[depth]].emplace(path, v);
  IterationSelector selector =
      depth < spec.iterations.size() ? spec.iterations[depth] : IterationSelector{};
  if (selector.kind == IterationSelector::At)
    return select(groups[selector.iteration], spec, depth + 1);
  if (selector.kind == IterationSelector::Last)
    return select(groups.rbegin()->second, spec, depth + 1);
  std::optional<ReferenceOutcome::Value> all;
  for (const auto &[iteration, group] : groups) {
    std::optional<ReferenceOutcome::Value> part = select(group, spec, depth + 1);
    if (!part)
      continue; // the inner frame has no such iteration
    if (!all) {
      all = ReferenceOutcome::Value{part->dims, {}};
      all->dims.insert(all->dims.begin(), 0);
    }
    if (!std::equal(part->dims.begin(), part->dims.end(), all->dims.begin() + 1, all->dims.end()))
      return std::nullopt; // ragged
    ++all->dims[0];
    all->elements.insert(all->elements.end(), part->elements.begin(), part->elements.end());
  }
  return all;
}

const reference::Wiring &Reference::wiringOf(const GraphSpec &graph) {
  return wirings.try_emplace(&graph, graph).first->second;
}

ReferenceOutcome Reference::run(const GraphSpec &graph, std::vector<int32_t> args) {
  ReferenceOutcome out;
  std::vector<Tensor> tensors;
  for (size_t a = 0; a < args.size(); ++a) {
    ValueType type = graph.nodes[static_cast<size_t>(graph.args[a].node)].outputTypes[0];
    tensors.push_back(type.dtype == DType::Bool ? Tensor::scalar(DType::Bool, args[a] != 0)
                                                : scalar(args[a]));
  }
  ReferenceOps ops(*this, out);
  reference::Interpreter machine(wiringOf(graph), std::vector<bool>(graph.nodes.size()),
                                 std::move(tensors), ops, stepsLeft, &random);
  out.isAmbiguous |= machine.isAmbiguous();
  out.isTooLong |= stepsLeft < 0;
  for (const auto &[instance, error] : machine.failures())
    out.failures.insert(graph.nodes[static_cast<size_t>(instance.node)].name);
  for (size_t r = 0; r < graph.results.size(); ++r) {
    const std::vector<IterationSelector> &wanted = graph.results[r].iterations;
    std::map<std::vector<int64_t>, int32_t> entries;
    for (const auto &[path, tensor] : machine.results()[r]) {
      bool isWanted = true;
      for (size_t d = 0; d < path.size(); ++d) {
        IterationSelector s = d < wanted.size() ? wanted[d] : IterationSelector{};
        isWanted &= s.kind != IterationSelector::At || path[d] == s.iteration;
      }
      if (isWanted)
        entries[path] = ReferenceOps::toInt(tensor);
    }
    out.results.push_back(select(entries, graph.results[r], 0));
  }
  return out;
}

// --- comparing -----------------------------------------------------------------------------------

RunOutcome execute(const Plan &plan, ThreadPool *pool) {
  ResourceManager resources;
  RunState state(resources, pool);
  RunOutcome ran{plan.run({}, state), {}};
  for (auto &[name, resource] : resources.all())
    ran.variables[name] = value(static_cast<Variable &>(*resource).read());
  return ran;
}

static std::string text(const Tensor &t) {
  std::string out = tensorTypeText(t);
  for (int64_t i = 0; i < t.count(); ++i)
    out += str(" ", t.dtype() == DType::Bool ? t.data<bool>()[i] : t.data<int32_t>()[i]);
  return out;
}

static std::string text(const ReferenceOutcome::Value &v) {
  std::string out = str("int32", dimsText(v.dims));
  for (int32_t e : v.elements)
    out += str(" ", e);
  return out;
}

std::string difference(const RunOutcome &ran, const ReferenceOutcome &expected,
                       const std::map<std::string, int32_t> &variables) {
  bool isWhole = expected.failures.empty();
  for (const auto &result : expected.results)
    isWhole &= result.has_value();
  if (!isWhole) {
    if (ran.results)
      return "it should have failed";
    const std::string &message = ran.results.error().message;
    for (const std::string &node : expected.failures)
      if (message.find(str("'", node, "'")) != std::string::npos)
        return "";
    bool isMissing = message.find("has no value") != std::string::npos ||
                     message.find("can't be stacked") != std::string::npos;
    return isMissing ? "" : str("an error of no node that fails: ", message);
  }
  if (!ran.results)
    return str("it should not have failed: ", ran.results.error().message);
  for (size_t r = 0; r < expected.results.size(); ++r)
    if (std::string is = text((*ran.results)[r]), want = text(*expected.results[r]); is != want)
      return str("result ", r, " is ", is, ", expected ", want);
  if (ran.variables != variables)
    return "a variable ends with another value";
  return "";
}

} // namespace treadle::test
