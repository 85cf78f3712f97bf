// While loops: the functions of condition and body, which take the same arguments, and a While
// node.
#include "treadle/builder/BuilderImpl.h"

#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle::builder {

struct Loop::State {
  struct Variable {
    std::string name;
    Output init, now, inCondition;
    Shape shape;
    Output result;
  };

  BuilderImpl *impl;
  std::string name, subject;
  std::vector<Variable> variables;
  int64_t parallelIterations;
  BodyState *condition = nullptr, *body = nullptr;
  Output predicate;
  bool isEnded = false;

  Variable *find(std::string_view name) {
    auto found = llvm::find_if(variables, [&](const Variable &v) { return v.name == name; });
    return found == variables.end() ? nullptr : &*found;
  }
  Error unknown(std::string_view name) const {
    std::string names;
    for (const Variable &v : variables)
      names += str(names.empty() ? "" : ", ", v.name);
    return notFound(subject, " has no variable '", name, "'; it has ",
                    names.empty() ? "none" : names);
  }
};

Expected<Loop> BuilderImpl::beginLoop(Builder::LoopSpec spec) {
  if (llvm::any_of(spec.variables, [](auto &v) { return isEmpty(v.init); }))
    return Loop();
  auto state = std::make_shared<Loop::State>();
  std::string name = TREADLE_TRY(nodeName(spec.name, "while"));
  state->impl = this;
  state->name = name;
  state->subject = str("loop '", name, "'");
  state->parallelIterations = spec.parallelIterations;
  for (Builder::LoopVariable &variable : spec.variables) {
    std::string subject = str(state->subject, ": the initial value of '", variable.name, "'");
    if (state->find(variable.name))
      return Unexpected(
          invalidArgument(state->subject, " has two variables '", variable.name, "'"));
    Output init =
        TREADLE_TRY(value(variable.init, DType::Invalid, str(name, "/", variable.name), subject));
    Shape known = slot(init).known.shape;
    Shape shape = variable.shape ? Shape::of(*variable.shape) : known;
    if (join(shape, known) != shape)
      return Unexpected(invalidArgument(subject, " is ", typeText(init),
                                        ", but its declared shape is ", shape.text(),
                                        "; expected a shape that fits all values"));
    state->variables.push_back({variable.name, init, {}, {}, shape, {}});
  }
  state->condition =
      &open(BodyState::Kind::Condition, name + "_cond", str("the condition of loop '", name, "'"),
            "the body must recompute the values of the condition that it uses");
  for (Loop::State::Variable &v : state->variables)
    v.now = v.inCondition = addArgument(*current, v.name, slot(v.init).dtype, v.shape);
  Loop loop;
  loop.state = std::move(state);
  return loop;
}

Expected<Output> BuilderImpl::get(Loop::State &loop, std::string_view name) {
  Loop::State::Variable *variable = loop.find(name);
  if (!variable)
    return Unexpected(loop.unknown(name));
  return loop.isEnded ? variable->result : variable->now;
}

Expected<void> BuilderImpl::condition(Loop::State &loop, const Input &input) {
  BuilderImpl &impl = *loop.impl;
  if (isEmpty(input))
    return {};
  if (loop.body)
    return Unexpected(
        Error{Code::FailedPrecondition, str(loop.subject, " has its condition already")});
  if (impl.current != loop.condition)
    return Unexpected(impl.notInnermostError(str("the condition of ", loop.subject, " is set")));
  std::string subject = str(loop.subject, ": its condition");
  Output predicate = TREADLE_TRY(impl.value(input, DType::Bool, "condition", subject));
  const ValueSlot &found = slot(predicate);
  if (found.dtype != DType::Bool || (found.known.shape.hasRank() && !found.known.shape.isRank(0)))
    return Unexpected(invalidArgument(subject, " is '", found.name, "', ", impl.typeText(predicate),
                                      "; expected a scalar bool"));
  loop.predicate = predicate;
  impl.close();
  loop.body = &impl.open(BodyState::Kind::LoopBody, loop.name + "_body",
                         str("the body of loop '", loop.name, "'"),
                         "a value leaves a loop only as one of its variables");
  for (Loop::State::Variable &v : loop.variables)
    v.now = impl.addArgument(*impl.current, v.name, slot(v.init).dtype, v.shape);
  for (const auto &entry : loop.condition->captures)
    impl.captured(*loop.body, entry.first);
  return {};
}

Expected<void> BuilderImpl::set(Loop::State &loop, std::string_view name, const Input &input) {
  BuilderImpl &impl = *loop.impl;
  if (isEmpty(input))
    return {};
  Loop::State::Variable *variable = loop.find(name);
  if (!variable)
    return Unexpected(loop.unknown(name));
  std::string subject = str(loop.subject, ": variable '", name, "'");
  if (!loop.body || loop.isEnded)
    return Unexpected(Error{Code::FailedPrecondition,
                            str(subject, " is set ",
                                loop.isEnded ? "after the loop" : "before the loop's condition",
                                "; expected in its body, after its condition")});
  if (impl.current != loop.body)
    return Unexpected(impl.notInnermostError(str(subject, " is set")));
  DType dtype = slot(variable->init).dtype;
  Output next = TREADLE_TRY(impl.value(input, dtype, str(name, "/next"), subject));
  const ValueSlot &found = slot(next);
  if (found.dtype != dtype)
    return Unexpected(invalidArgument(subject, " is ", dtypeName(dtype), ", but is set to '",
                                      found.name, "', ", impl.typeText(next),
                                      "; expected the same dtype"));
  if (join(variable->shape, found.known.shape) != variable->shape)
    return Unexpected(invalidArgument(subject, " is ", impl.typeText(dtype, variable->shape),
                                      ", but is set to '", found.name, "', ", impl.typeText(next),
                                      "; declare a shape that fits all its values, such as ",
                                      join(variable->shape, found.known.shape).text()));
  variable->now = next;
  return {};
}

Expected<void> BuilderImpl::end(Loop::State &loop) {
  BuilderImpl &impl = *loop.impl;
  if (!loop.body)
    return Unexpected(
        Error{Code::FailedPrecondition, str(loop.subject, " ends without a condition")});
  if (impl.current != loop.body)
    return Unexpected(impl.notInnermostError(str(loop.subject, " ends")));
  NodeRequest request{{}, loop.name};
  SmallVector<Output> results;
  std::vector<std::string> names;
  std::vector<TypeAttr> types;
  std::vector<PartialShape> shapes;
  std::vector<KnownValue> known;
  auto carry = [&](const Output &outside, const Output &inside, const std::string &name,
                   KnownValue value) {
    request.inputs.push_back(outside);
    results.push_back(inside);
    names.push_back(name);
    types.push_back({slot(outside).dtype});
    shapes.push_back(partial(value.shape));
    known.push_back(std::move(value));
  };
  for (Loop::State::Variable &v : loop.variables)
    carry(v.init, v.now, v.name, v.shape);
  for (auto [outside, inside] : loop.body->captures) {
    impl.captured(*loop.condition, outside);
    carry(Output(&impl, outside), Output(&impl, inside), impl.slots[inside].name,
          impl.slots[outside].known);
  }
  impl.close();
  auto function = [](tfg::FuncOp f) { return FunctionRef{f.getName().str(), nullptr}; };
  request.attrs.set("cond", function(impl.finish(*loop.condition, loop.predicate, {"condition"})));
  request.attrs.set("body", function(impl.finish(*loop.body, results, names)));
  request.attrs.set("T", std::move(types));
  request.attrs.set("output_shapes", std::move(shapes));
  request.attrs.set("parallel_iterations", loop.parallelIterations);
  request.known = std::move(known);
  for (BodyState *body : {loop.condition, loop.body})
    llvm::append_range(request.waits, body->outerTokens);
  bool isStateful = loop.condition->isStateful || loop.body->isStateful;
  request.op = functionalOp(OpKind::While, isStateful);
  Operation node = TREADLE_TRY(impl.emit(std::move(request)));
  for (auto [i, v] : llvm::enumerate(loop.variables))
    v.result = node.output(i);
  loop.isEnded = true;
  return {};
}

// --- public class -------------------------------------------------------------------------------

Loop Builder::whileLoop(LoopSpec spec) {
  return impl->unwrapOrRecord(impl->beginLoop(std::move(spec)));
}

Output Loop::operator[](std::string_view name) const {
  return state ? state->impl->unwrapOrRecord(BuilderImpl::get(*state, name)) : Output();
}
void Loop::set(std::string_view name, const Input &value) {
  if (state)
    state->impl->unwrapOrRecord(BuilderImpl::set(*state, name, value));
}
void Loop::condition(const Input &value) {
  if (state)
    state->impl->unwrapOrRecord(BuilderImpl::condition(*state, value));
}
void Loop::end() {
  if (state)
    state->impl->unwrapOrRecord(BuilderImpl::end(*state));
}
void Loop::abandon() {
  if (!state || state->isEnded)
    return;
  for (BodyState *body : {state->body, state->condition})
    if (body)
      state->impl->discard(*body);
  state->isEnded = true;
}

} // namespace treadle::builder
