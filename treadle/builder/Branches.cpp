// Conditionals and switches: a function for each branch, and an If or Case node that calls them.
#include "treadle/builder/BuilderImpl.h"

#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle::builder {

struct Branches::State {
  struct Result {
    std::string name;
    DType dtype = DType::Invalid;
    KnownValue known; // common to all branches that set it
    Output output;
  };
  struct Branch {
    BodyState *body;
    llvm::StringMap<Output> values;
  };

  BuilderImpl *impl;
  bool isCond;
  std::string name, subject;
  Output selector;
  std::vector<Branch> branches;
  std::vector<Result> results; // in the first branch's order
  bool isInBranch = false, isEnded = false;

  Result *find(std::string_view name) {
    auto found = llvm::find_if(results, [&](const Result &r) { return r.name == name; });
    return found == results.end() ? nullptr : &*found;
  }
  std::string branchName(size_t index) const {
    return isCond ? index == 0 ? "true" : "false" : std::to_string(index);
  }
  std::string title(size_t index) const {
    return str(isCond ? str("the ", branchName(index), " branch") : str("branch ", index), " of ",
               subject);
  }
  std::string here() const { return title(branches.size() - 1); }
};

Expected<Branches> BuilderImpl::beginBranches(bool isCond, const Input &input,
                                              std::string_view given) {
  if (isEmpty(input))
    return Branches();
  auto state = std::make_shared<Branches::State>();
  std::string name = TREADLE_TRY(nodeName(given, isCond ? "cond" : "switch_case"));
  state->impl = this;
  state->isCond = isCond;
  state->name = name;
  state->subject = str(isCond ? "conditional '" : "switch_case '", name, "'");
  std::string subject = str(state->subject, isCond ? ": its predicate" : ": its index");
  DType want = isCond ? DType::Bool : DType::Int32;
  Output selector =
      TREADLE_TRY(value(input, want, str(name, isCond ? "/predicate" : "/index"), subject));
  const ValueSlot &found = slot(selector);
  if (found.dtype != want || (found.known.shape.hasRank() && !found.known.shape.isRank(0)))
    return Unexpected(invalidArgument(subject, " is '", found.name, "', ", typeText(selector),
                                      "; expected a scalar ", dtypeName(want)));
  state->selector = selector;
  Branches branches;
  branches.state = std::move(state);
  return branches;
}

Expected<void> BuilderImpl::begin(Branches::State &state) {
  BuilderImpl &impl = *state.impl;
  size_t next = state.branches.size();
  if (state.isInBranch || state.isEnded)
    return Unexpected(
        Error{Code::FailedPrecondition, str("a branch of ", state.subject, " begins ",
                                            state.isEnded ? "after its end" : "within another")});
  if (state.isCond && next == 2)
    return Unexpected(
        Error{Code::FailedPrecondition, str(state.subject, " has both its branches already")});
  impl.open(BodyState::Kind::Branch, str(state.name, "_", state.branchName(next)),
            state.title(next), "a value leaves a branch only as one of its results");
  if (next > 0)
    for (const auto &entry : state.branches.back().body->captures)
      impl.captured(*impl.current, entry.first);
  state.branches.push_back({impl.current, {}});
  state.isInBranch = true;
  return {};
}

Expected<Output> BuilderImpl::get(Branches::State &state, std::string_view name) {
  if (!state.isEnded) {
    if (state.isInBranch)
      if (auto found = state.branches.back().values.find(name);
          found != state.branches.back().values.end())
        return found->second;
    return Unexpected(
        notFound(state.isInBranch ? state.here() : state.subject, " has no '", name,
                 "' yet; expected it to be ",
                 state.isInBranch ? "set before" : "read after all branches have ended"));
  }
  if (Branches::State::Result *result = state.find(name))
    return result->output;
  return Unexpected(notFound(state.subject, " has no result '", name, "'"));
}

Expected<void> BuilderImpl::set(Branches::State &state, std::string_view name, const Input &input) {
  BuilderImpl &impl = *state.impl;
  if (isEmpty(input))
    return {};
  std::string subject = str(state.subject, ": '", name, "'");
  if (!state.isInBranch)
    return Unexpected(
        Error{Code::FailedPrecondition, str(subject, " is set outside of its branches")});
  Branches::State::Branch &branch = state.branches.back();
  if (impl.current != branch.body)
    return Unexpected(impl.notInnermostError(str(subject, " is set")));
  Branches::State::Result *result = state.find(name);
  bool isFirst = state.branches.size() == 1;
  if (!result && !isFirst)
    return Unexpected(invalidArgument(state.here(), " sets '", name, "', but ", state.title(0),
                                      " doesn't; expected both branches to set the same results"));
  DType want = result ? result->dtype : DType::Invalid;
  Output given = TREADLE_TRY(impl.value(input, want, std::string(name), subject));
  if (!result || (isFirst && branch.values.size() == 1))
    want = slot(given).dtype;
  if (slot(given).dtype != want)
    return Unexpected(invalidArgument(subject, " is ", dtypeName(want), " in ", state.title(0),
                                      ", but '", slot(given).name, "', ", impl.typeText(given),
                                      ", in ", state.here(), "; expected one dtype"));
  if (!result)
    state.results.push_back({std::string(name), want, {}, {}});
  else
    result->dtype = want;
  branch.values[name] = given;
  return {};
}

Expected<void> BuilderImpl::endBranch(Branches::State &state) {
  BuilderImpl &impl = *state.impl;
  if (!state.isInBranch)
    return Unexpected(
        Error{Code::FailedPrecondition, str("no branch of ", state.subject, " has begun")});
  Branches::State::Branch &branch = state.branches.back();
  if (impl.current != branch.body)
    return Unexpected(impl.notInnermostError(str(state.here(), " ends")));
  for (Branches::State::Result &result : state.results) {
    auto value = branch.values.find(result.name);
    if (value == branch.values.end())
      return Unexpected(invalidArgument(state.here(), " has no result '", result.name, "', but ",
                                        state.title(0),
                                        " does; expected both branches to set the same results"));
    const KnownValue &known = slot(value->second).known;
    result.known = state.branches.size() == 1 ? known : join(result.known, known);
  }
  impl.close();
  state.isInBranch = false;
  return {};
}

Expected<void> BuilderImpl::end(Branches::State &state) {
  BuilderImpl &impl = *state.impl;
  if (state.isInBranch)
    return Unexpected(impl.notInnermostError(str(state.subject, " ends")));
  if (state.branches.empty())
    return Unexpected(invalidArgument(state.subject, " has no branch"));
  // A missing false branch does nothing.
  if (state.isCond && state.branches.size() == 1) {
    if (!state.results.empty())
      return Unexpected(
          invalidArgument(state.title(0), " sets '", state.results.front().name,
                          "', but there is no false branch; expected one that sets it"));
    (void)begin(state);
    (void)endBranch(state);
  }
  NodeRequest request{{}, state.name};
  request.inputs.push_back(state.selector);
  std::vector<TypeAttr> in, out;
  for (const auto &entry : state.branches.back().body->captures) {
    request.inputs.push_back(Output(&impl, entry.first));
    in.push_back({impl.slots[entry.first].dtype});
    for (Branches::State::Branch &branch : state.branches)
      impl.captured(*branch.body, entry.first);
  }
  std::vector<std::string> names;
  std::vector<PartialShape> shapes;
  request.known.emplace();
  for (const Branches::State::Result &result : state.results) {
    names.push_back(result.name);
    out.push_back({result.dtype});
    shapes.push_back(partial(result.known.shape));
    request.known->push_back(result.known);
  }
  bool isStateful = false;
  std::vector<FunctionRef> functions;
  for (Branches::State::Branch &branch : state.branches) {
    SmallVector<Output> results;
    for (const std::string &name : names)
      results.push_back(branch.values.lookup(name));
    functions.push_back({impl.finish(*branch.body, results, names).getName().str(), nullptr});
    isStateful |= branch.body->isStateful;
    llvm::append_range(request.waits, branch.body->outerTokens);
  }
  request.op = functionalOp(state.isCond ? OpKind::If : OpKind::Case, isStateful);
  if (state.isCond) {
    request.attrs.set("Tcond", TypeAttr{DType::Bool});
    request.attrs.set("then_branch", functions[0]);
    request.attrs.set("else_branch", functions[1]);
  } else {
    request.attrs.set("branches", std::move(functions));
  }
  request.attrs.set("Tin", std::move(in));
  request.attrs.set("Tout", std::move(out));
  request.attrs.set("output_shapes", std::move(shapes));
  Operation node = TREADLE_TRY(impl.emit(std::move(request)));
  for (auto [i, result] : llvm::enumerate(state.results))
    result.output = node.output(i);
  state.isEnded = true;
  return {};
}

// --- public class -------------------------------------------------------------------------------

Branches Builder::cond(const Input &predicate, std::string_view name) {
  return impl->unwrapOrRecord(impl->beginBranches(true, predicate, name));
}
Branches Builder::switchCase(const Input &index, std::string_view name) {
  return impl->unwrapOrRecord(impl->beginBranches(false, index, name));
}

void Branches::begin() {
  if (state)
    state->impl->unwrapOrRecord(BuilderImpl::begin(*state));
}
Output Branches::operator[](std::string_view name) const {
  return state ? state->impl->unwrapOrRecord(BuilderImpl::get(*state, name)) : Output();
}
void Branches::set(std::string_view name, const Input &value) {
  if (state)
    state->impl->unwrapOrRecord(BuilderImpl::set(*state, name, value));
}
void Branches::endBranch() {
  if (state)
    state->impl->unwrapOrRecord(BuilderImpl::endBranch(*state));
}
void Branches::end() {
  if (state)
    state->impl->unwrapOrRecord(BuilderImpl::end(*state));
}
void Branches::abandon() {
  if (!state || state->isEnded)
    return;
  for (State::Branch &branch : state->branches)
    state->impl->discard(*branch.body);
  state->isEnded = true;
}

} // namespace treadle::builder
