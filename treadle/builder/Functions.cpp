// Library functions and calls of them.
#include "treadle/builder/BuilderImpl.h"

#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle::builder {

struct Function::State {
  struct Result {
    DType dtype;
    KnownValue known;
  };

  BuilderImpl *impl;
  std::string name, subject;
  BodyState *body = nullptr;
  std::vector<Output> arguments;
  std::vector<uint32_t> captures; // values of the enclosing body
  std::vector<Result> results;
  bool isEnded = false, isDiscarded = false;
};

Expected<Function> BuilderImpl::beginFunction(std::string_view name,
                                              std::vector<Builder::Argument> arguments) {
  if (name.empty())
    return Unexpected(invalidArgument("a function has no name"));
  auto state = std::make_shared<Function::State>();
  state->impl = this;
  state->subject = str("function '", name, "'");
  state->body = &open(BodyState::Kind::Function, name, str("the body of ", state->subject),
                      "a value leaves a function only as one of its results");
  state->name = state->body->outline->name().str();
  for (Builder::Argument &argument : arguments)
    state->arguments.push_back(addArgument(*current, argument.name, argument.dtype,
                                           KnownValue(Shape::of(argument.shape))));
  Function function;
  function.state = std::move(state);
  return function;
}

Expected<void> BuilderImpl::end(Function::State &function, const std::vector<Input> &results) {
  BuilderImpl &impl = *function.impl;
  if (llvm::any_of(results, isEmpty))
    return {};
  if (function.isEnded)
    return Unexpected(Error{Code::FailedPrecondition, str(function.subject, " has ended already")});
  if (impl.current != function.body)
    return Unexpected(impl.notInnermostError(str(function.subject, " ends")));
  SmallVector<Output> values;
  std::vector<std::string> names;
  for (auto [i, input] : llvm::enumerate(results)) {
    Output result = TREADLE_TRY(impl.value(input, DType::Invalid, str("result_", i),
                                           str(function.subject, ": result ", i)));
    values.push_back(result);
    names.push_back(str("result_", i));
    function.results.push_back({slot(result).dtype, slot(result).known});
  }
  for (const auto &entry : function.body->captures)
    function.captures.push_back(entry.first);
  impl.close();
  impl.finish(*function.body, values, names);
  function.isEnded = true;
  return {};
}

Expected<Operation> BuilderImpl::call(const Function &called, const std::vector<Input> &inputs,
                                      std::string_view given) {
  if (!called || llvm::any_of(inputs, isEmpty))
    return Operation();
  Function::State &function = *called.state;
  if (function.impl != this)
    return Unexpected(invalidArgument(function.subject, " belongs to another builder"));
  if (!function.isEnded || function.isDiscarded)
    return Unexpected(
        Error{Code::FailedPrecondition,
              str(function.subject, " is called ",
                  function.isDiscarded ? "after its body was abandoned" : "in its own body")});
  if (inputs.size() != function.arguments.size())
    return Unexpected(invalidArgument(function.subject, " is called with ", inputs.size(),
                                      " values, expected ", function.arguments.size()));
  std::string name = TREADLE_TRY(nodeName(given, function.name));
  NodeRequest request{functionalOp(OpKind::Call, function.body->isStateful), name};
  std::vector<TypeAttr> in, out;
  for (auto [argument, input] : llvm::zip(function.arguments, inputs)) {
    std::string subject = str(function.subject, ": argument '", argument.name(), "'");
    Output found =
        TREADLE_TRY(value(input, argument.dtype(), str(name, "/", argument.name()), subject));
    const Shape &wanted = slot(argument).known.shape;
    const Shape &shape = slot(found).known.shape;
    if (slot(found).dtype != argument.dtype() || !merge(wanted, shape))
      return Unexpected(invalidArgument(subject, " is ", typeText(argument),
                                        ", but the value passed is '", slot(found).name, "', ",
                                        typeText(found)));
    request.inputs.push_back(found);
    in.push_back({argument.dtype()});
  }
  for (uint32_t id : function.captures) {
    Output found = TREADLE_TRY(resolve(Output(this, id), str(function.subject, ": a value in it")));
    request.inputs.push_back(found);
    in.push_back({slot(found).dtype});
  }
  request.known.emplace();
  for (const Function::State::Result &result : function.results) {
    out.push_back({result.dtype});
    request.known->push_back(result.known);
  }
  request.attrs.set("f", FunctionRef{function.name, nullptr});
  request.attrs.set("Tin", std::move(in));
  request.attrs.set("Tout", std::move(out));
  for (const char *key : {"config", "config_proto", "executor_type"})
    request.attrs.set(key, std::string());
  return emit(std::move(request));
}

Function Builder::function(std::string_view name, const std::vector<Argument> &arguments) {
  return impl->unwrapOrRecord(impl->beginFunction(name, arguments));
}
Operation Builder::call(const Function &function, const std::vector<Input> &inputs,
                        std::string_view name) {
  return impl->unwrapOrRecord(impl->call(function, inputs, name));
}

static const std::string noName;

const std::string &Function::name() const { return state ? state->name : noName; }
const std::vector<Output> &Function::arguments() const {
  static const std::vector<Output> none;
  return state ? state->arguments : none;
}
void Function::end(const std::vector<Input> &results) {
  if (state)
    state->impl->unwrapOrRecord(BuilderImpl::end(*state, results));
}
void Function::abandon() {
  if (!state || state->isEnded)
    return;
  state->impl->discard(*state->body);
  state->isEnded = state->isDiscarded = true;
}

} // namespace treadle::builder
