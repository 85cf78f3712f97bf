// Sessions and models.
#include "treadle/c/Handles.h"

#include <algorithm>
#include <array>
#include <utility>

namespace treadle::c {

/// Converts a number of a C enumeration.
template <typename T, size_t count>
static Expected<T> chosen(const char *name, int32_t number, const std::array<T, count> &all) {
  if (number < 0 || number >= std::ssize(all))
    return Unexpected(
        invalidArgument("option ", name, " is ", number, ", expected 0 to ", std::ssize(all) - 1));
  return all[static_cast<size_t>(number)];
}

static Expected<std::vector<std::string>> pathsOf(const char *option, const char *const *paths,
                                                  size_t count) {
  std::vector<std::string> all;
  if (count)
    TREADLE_TRY(requireAll({{option, paths}}));
  for (size_t i = 0; i < count; ++i) {
    TREADLE_TRY(requireAll({{option, paths[i]}}));
    all.emplace_back(paths[i]);
  }
  return all;
}

Expected<SessionOptions> sessionOptions(const treadle_options *options, treadle_ops &ops) {
  constexpr std::array tiers = {Tier::Auto, Tier::Interpret, Tier::Jit};
  constexpr std::array overlaps = {LoopOverlap::Auto, LoopOverlap::Off, LoopOverlap::On};
  constexpr std::array denormals = {Denormals::Flush, Denormals::Keep};
  treadle_options given = TREADLE_OPTIONS;
  if (options)
    std::memcpy(&given, options, std::min(options->size, sizeof given));
  SessionOptions made;
  made.threads = given.threads;
  made.tier = TREADLE_TRY(chosen("tier", given.tier, tiers));
  made.loopOverlap = TREADLE_TRY(chosen("loop_overlap", given.loop_overlap, overlaps));
  made.fastMath = given.fast_math != 0;
  made.denormals = TREADLE_TRY(chosen("denormals", given.denormals, denormals));
  made.statistics = given.statistics != 0;
  made.trace = given.trace != 0;
  made.timeout = given.timeout;
  if (given.num_cores)
    TREADLE_TRY(requireAll({{"cores", given.cores}}));
  made.permissions.read =
      TREADLE_TRY(pathsOf("allow_read", given.allow_read, given.num_allow_read));
  made.permissions.write =
      TREADLE_TRY(pathsOf("allow_write", given.allow_write, given.num_allow_write));
  made.memory = given.memory;
  made.permissions.clock = given.allow_clock != 0;
  made.cores.assign(given.cores, given.cores + given.num_cores);
  if (given.ops) {
    ops = *given.ops;
    made.kernels = ops.kernels.get();
    made.traits = ops.traits.get();
  }
  if (given.print)
    made.print = [print = given.print, context = given.print_context](std::string_view line,
                                                                      std::string_view stream) {
      print(line.data(), line.size(), std::string(stream).c_str(), context);
    };
  return made;
}

namespace {

treadle_status *returnText(const treadle_session *session, char **text,
                           const std::function<Expected<std::string>(const Session &)> &make) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"session", session}, {"text", text}}));
    *text = copyText(TREADLE_TRY(make(session->session)));
    return {};
  });
}

treadle_status *
returnValues(const treadle_model *model, const char *signature, treadle_values **values,
             std::vector<std::pair<std::string, Graph::Value>> Graph::Signature::*of) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"model", model}, {"signature", signature}, {"values", values}}));
    const Graph::Signature *found = TREADLE_TRY(model->model.signature(signature));
    auto made = std::make_unique<treadle_values>();
    for (const auto &[key, value] : found->*of)
      made->values.push_back({key, value});
    *values = made.release();
    return {};
  });
}

} // namespace
} // namespace treadle::c

using namespace treadle;
using namespace treadle::c;

treadle_status *treadle_session_make(const treadle_graph *graph, const treadle_options *options,
                                     treadle_session **session) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"graph", graph}, {"session", session}}));
    treadle_ops ops;
    SessionOptions made = TREADLE_TRY(sessionOptions(options, ops));
    Session created = TREADLE_TRY(Session::create(graph->graph, std::move(made)));
    *session = new treadle_session{std::move(ops), std::move(created)};
    return {};
  });
}
void treadle_session_free(treadle_session *session) { delete session; }

treadle_status *treadle_session_run(treadle_session *session, size_t num_feeds,
                                    const char *const *feeds, treadle_array *const *feed_values,
                                    size_t num_fetches, const char *const *fetches,
                                    treadle_array **results, size_t num_targets,
                                    const char *const *targets) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"session", session}}));
    if (num_fetches)
      TREADLE_TRY(requireAll({{"results", results}}));
    auto wanted = TREADLE_TRY(textsOf("fetches", num_fetches, fetches));
    auto fed = TREADLE_TRY(namedArrays("feeds", num_feeds, feeds, feed_values));
    auto also = TREADLE_TRY(textsOf("targets", num_targets, targets));
    giveArrays(TREADLE_TRY(session->session.run(wanted, fed, also)), results);
    return {};
  });
}

void treadle_session_cancel(treadle_session *session) {
  if (session)
    session->session.cancel();
}

treadle_status *treadle_session_variable(treadle_session *session, const char *name,
                                         treadle_array **value) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"session", session}, {"name", name}, {"value", value}}));
    for (auto &[known, tensor] : session->session.variables())
      if (known == name) {
        *value = new treadle_array{std::move(tensor)};
        return {};
      }
    return Unexpected(notFound("there is no variable '", name, "' with a value"));
  });
}
treadle_status *treadle_session_set_variable(treadle_session *session, const char *name,
                                             const treadle_array *value) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"session", session}, {"name", name}, {"value", value}}));
    return session->session.setVariable(name, TREADLE_TRY(value->tensor.clone()));
  });
}

int32_t treadle_session_is_compiling(const treadle_session *session) {
  return session && session->session.isCompiling();
}
treadle_status *treadle_session_trace(const treadle_session *session, char **json) {
  return returnText(session, json, [](const Session &of) { return of.trace(); });
}
treadle_status *treadle_session_profile(const treadle_session *session, char **text) {
  return returnText(session, text, [](const Session &of) -> Expected<std::string> {
    constexpr size_t maxRows = 100;
    return TREADLE_TRY(of.profile()).text(Profile::By::Op, Profile::Sort::Own, maxRows);
  });
}

treadle_status *treadle_session_statistics(const treadle_session *session,
                                           treadle_statistics *statistics) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"session", session}, {"statistics", statistics}}));
    Session::Statistics s = TREADLE_TRY(session->session.statistics());
    treadle_statistics all{std::min(statistics->size, sizeof all),
                           s.runs,
                           s.compiledCalls,
                           s.bails,
                           s.interpretedCalls,
                           s.compilations,
                           s.memoryHits,
                           s.diskHits,
                           s.pendingCompilations,
                           s.failedCompilations,
                           s.compileSeconds,
                           s.allocations,
                           s.allocatedBytes,
                           s.copies,
                           s.reuses,
                           s.liveBytes};
    std::memcpy(statistics, &all, all.size);
    return {};
  });
}

treadle_status *treadle_model_load(const char *path, const treadle_options *options,
                                   treadle_model **model) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"path", path}, {"model", model}}));
    treadle_ops ops;
    SessionOptions made = TREADLE_TRY(sessionOptions(options, ops));
    Model loaded = TREADLE_TRY(Model::load(path, std::move(made)));
    *model = new treadle_model{std::move(ops), std::move(loaded)};
    return {};
  });
}
void treadle_model_free(treadle_model *model) { delete model; }

int32_t treadle_model_num_signatures(const treadle_model *model) {
  return model ? static_cast<int32_t>(model->model.signatures().size()) : 0;
}
const char *treadle_model_signature(const treadle_model *model, int32_t index) {
  bool isThere = index >= 0 && index < treadle_model_num_signatures(model);
  return isThere ? model->model.signatures()[static_cast<size_t>(index)].name.c_str() : nullptr;
}
treadle_status *treadle_model_inputs(const treadle_model *model, const char *signature,
                                     treadle_values **values) {
  return returnValues(model, signature, values, &Graph::Signature::inputs);
}
treadle_status *treadle_model_outputs(const treadle_model *model, const char *signature,
                                      treadle_values **values) {
  return returnValues(model, signature, values, &Graph::Signature::outputs);
}

treadle_status *treadle_model_call(treadle_model *model, const char *signature, size_t num_inputs,
                                   const char *const *inputs, treadle_array *const *input_values,
                                   size_t num_outputs, const char *const *outputs,
                                   treadle_array **results) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"model", model}, {"signature", signature}}));
    if (num_outputs)
      TREADLE_TRY(requireAll({{"results", results}}));
    std::vector<std::string> wanted = TREADLE_TRY(textsOf("outputs", num_outputs, outputs));
    auto given = TREADLE_TRY(namedArrays("inputs", num_inputs, inputs, input_values));
    Model::Values values = TREADLE_TRY(model->model.call(signature, given));
    std::vector<Tensor> chosen;
    for (const std::string &key : wanted) {
      auto found = std::ranges::find(values, key, &Model::Values::value_type::first);
      if (found == values.end())
        return Unexpected(notFound("signature '", signature, "' has no output '", key, "'"));
      chosen.push_back(found->second);
    }
    giveArrays(std::move(chosen), results);
    return {};
  });
}

treadle_status *treadle_model_save(const treadle_model *model, const char *folder) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"model", model}}));
    return folder ? model->model.save(folder) : model->model.save();
  });
}
treadle_status *treadle_model_session(const treadle_model *model, treadle_session **session) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"model", model}, {"session", session}}));
    *session = new treadle_session{model->ops, model->model.session()};
    return {};
  });
}
