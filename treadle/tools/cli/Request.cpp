// Converts command-line options to feeds and fetches.
#include "treadle/tools/cli/Request.h"

#include "treadle/tools/cli/Distributed.h"

#include "treadle/graph/PassOptions.h"
#include "treadle/npy/Npz.h"
#include "treadle/riegeli/RecordReader.h"
#include "treadle/runtime/Cores.h"
#include "treadle/runtime/ValueName.h"
#include "treadle/sandbox/Options.h"
#include "treadle/tools/cli/Progress.h"
#include "treadle/tools/cli/Value.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace treadle::cli {

using InputTypes = std::unordered_map<std::string, InputType>;

static Expected<std::pair<std::string, Tensor>>
parseInput(std::string_view text, const ValueNames &names, const InputTypes &types, uint64_t seed) {
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0)
    return Unexpected(invalidArgument("--input '", text, "': expected NAME=VALUE, such as x:0=5"));
  std::string name = names(text.substr(0, equals));
  auto known = types.find(name);
  InputType wanted =
      known == types.end() ? InputType{name, DType::Invalid, false, {}} : known->second;
  std::string assumed;
  Expected<Tensor> value = parseValue(text.substr(equals + 1), wanted, seed, assumed);
  if (!assumed.empty())
    note(assumed);
  return value.map([&](Tensor tensor) { return std::pair(name, std::move(tensor)); });
}

/// Replaces `{rank}` by the rank of this process.
static std::string substituteRank(std::string_view input) {
  constexpr std::string_view word = "{rank}";
  std::string text(input);
  for (size_t at; (at = text.find(word)) != text.npos;)
    text.replace(at, word.size(), std::to_string(rankOfProcess()));
  return text;
}

static Expected<Session::Feeds> parseInputs(const Arguments &args, const Request &request) {
  Session::Feeds feeds;
  ValueNames names(request, /*isInput=*/true);
  InputTypes types;
  for (const Graph::Value &input : request.inputs())
    types[input.name] = {input.name, input.dtype, input.hasRank, input.dims};
  std::unordered_set<std::string> fed;
  for (std::string_view given : args.values("--input")) {
    std::string text = substituteRank(given);
    auto feed = TREADLE_TRY(parseInput(text, names, types, feeds.size()));
    if (!fed.insert(feed.first).second)
      return Unexpected(
          invalidArgument("'", feed.first, "' is fed twice; expected one --input for it"));
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

static Parsed<std::vector<int>> parseCores(const Arguments &args) {
  std::vector<int> cores;
  for (const std::string &text : args.list("--cores")) {
    int core = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), core);
    if (error != std::errc() || end != text.data() + text.size() || core < 0)
      return tl::unexpected(
          UsageError{str("option '--cores' has '", text, "', expected numbers of cores: 0,1")});
    cores.push_back(core);
  }
  return cores;
}

static Parsed<Permissions> parsePermissions(const Arguments &args) {
  Permissions granted;
  for (auto [option, paths] :
       {std::pair("--allow-read", &granted.read), std::pair("--allow-write", &granted.write)})
    for (std::string_view path : args.values(option)) {
      if (path.empty())
        return tl::unexpected(
            UsageError{str("option '", option, "' is empty, expected a folder or file")});
      paths->emplace_back(path);
    }
  granted.clock = args.has("--allow-clock");
  return granted;
}

/// Parses a number of bytes, with or without a unit.
static Parsed<int64_t> parseMemory(const Arguments &args) {
  std::optional<std::string_view> text = args.value("--memory");
  if (!text)
    return 0;
  constexpr std::pair<std::string_view, double> units[] = {
      {"", 1},     {"B", 1},    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
      {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
  double number = 0;
  const char *end = text->data() + text->size();
  auto [rest, failure] = std::from_chars(text->data(), end, number);
  const auto *unit = std::ranges::find(units, std::string_view(rest, end),
                                       &std::pair<std::string_view, double>::first);
  if (failure != std::errc() || unit == std::end(units) || !(number * unit->second >= 1) ||
      number * unit->second >= 0x1p62)
    return tl::unexpected(UsageError{
        str("option '--memory' is '", *text, "', expected a size such as 512MiB or 2GiB")});
  return static_cast<int64_t>(number * unit->second);
}

Parsed<Denormals> parseDenormalsOption(const Arguments &args) {
  return parseDenormals(args.value("--denormals").value_or("flush")).map_error([](Error error) {
    return UsageError{"option '--denormals': " + error.message};
  });
}

static Parsed<SessionOptions> parseOptions(const Arguments &args) {
  SessionOptions options;
  Parsed<int64_t> threads = args.integer("--threads", 0, 1);
  if (!threads)
    return tl::unexpected(std::move(threads.error()));
  options.threads = static_cast<int>(std::min<int64_t>(*threads, std::numeric_limits<int>::max()));
  Parsed<std::vector<int>> cores = parseCores(args);
  if (!cores)
    return tl::unexpected(std::move(cores.error()));
  options.cores = std::move(*cores);
  Parsed<double> timeout = args.number("--timeout", 0, 0);
  if (!timeout)
    return tl::unexpected(std::move(timeout.error()));
  options.timeout = *timeout;
  Parsed<Permissions> granted = parsePermissions(args);
  if (!granted)
    return tl::unexpected(std::move(granted.error()));
  options.permissions = std::move(*granted);
  Parsed<int64_t> memory = parseMemory(args);
  if (!memory)
    return tl::unexpected(std::move(memory.error()));
  options.memory = *memory;
  options.statistics = args.has("--stats");
  options.trace = args.has("--trace");
  Expected<Tier> tier = parseTier(args.value("--tier").value_or("auto"));
  if (!tier)
    return tl::unexpected(UsageError{"option '--tier': " + tier.error().message});
  options.tier = *tier;
  options.fastMath = args.has("--fast-math");
  Parsed<Denormals> denormals = parseDenormalsOption(args);
  if (!denormals)
    return tl::unexpected(std::move(denormals.error()));
  options.denormals = *denormals;
  Expected<LoopOverlap> overlap = parseLoopOverlap(args.value("--loop-overlap").value_or("auto"));
  if (!overlap)
    return tl::unexpected(UsageError{"option '--loop-overlap': " + overlap.error().message});
  options.loopOverlap = *overlap;
  return options;
}

/// Rejects options with an empty value, such as that of an unset shell variable, instead of using
/// the default.
static std::optional<UsageError> findEmptyList(const Arguments &args) {
  for (std::string_view option : {"--fetch", "--target", "--setup", "--cores"})
    if (args.has(option) && args.list(option).empty())
      return UsageError{str("option '", option, "' is empty")};
  return std::nullopt;
}

/// Selects the signature to call: the requested one; otherwise, if no tensor or node of the graph
/// is requested, serving_default or the only one.
template <typename Callee>
static Expected<void> chooseSignature(std::optional<std::string_view> asked, const Callee &model,
                                      Request &request) {
  bool asksForNames = !request.fetches.empty() || !request.targets.empty();
  if (asked && asksForNames)
    return Unexpected(invalidArgument("--signature and --fetch or --target can't be used together: "
                                      "a signature returns all of its outputs"));
  if (asksForNames || (!asked && model.signatures().empty()))
    return {};
  std::string name(asked.value_or(model.signatures().size() == 1 ? model.signatures()[0].name
                                                                 : "serving_default"));
  return model.signature(name).map(
      [&](const Graph::Signature *signature) { request.signature = *signature; });
}

/// Returns the dtype of a fixed argument's value in Python's notation.
static DType fixedDType(const std::string &value) {
  if (value == "True" || value == "False")
    return DType::Bool;
  return value.starts_with('\'') ? DType::String : DType::Invalid;
}

/// Returns the inputs of all variants, for parsing before the variant is chosen. The dtype of an
/// input is Invalid if the variants disagree.
static Graph::Signature inputsOfAll(const ModelFunction &function) {
  Graph::Signature all{function.name, {}, {}, {}, {}};
  auto add = [&](const std::string &name, Graph::Value value) {
    auto known = std::ranges::find(all.inputs, name, [](const auto &input) { return input.first; });
    if (known == all.inputs.end())
      all.inputs.emplace_back(name, std::move(value));
    else if (known->second.dtype != value.dtype)
      known->second = {};
  };
  for (const ModelFunction::Variant &variant : function.variants) {
    for (const auto &[name, value] : variant.signature.inputs)
      add(name, value);
    for (const ModelFunction::Fixed &fixed : variant.fixed)
      add(fixed.name, {{}, fixedDType(fixed.value), false, {}});
  }
  return all;
}

static Expected<void> openFunction(std::string_view name, Request &request) {
  Session session = TREADLE_TRY(request.model->functionSession());
  request.graph = session.graph();
  request.function = TREADLE_TRY(request.model->function(name));
  request.signature = request.function->variants.size() == 1
                          ? request.function->variants.front().signature
                          : inputsOfAll(*request.function);
  return {};
}

static Error noFunctionsError(std::string_view path,
                              const std::vector<Graph::Signature> &signatures) {
  return invalidArgument("'", path, "' is not a SavedModel, so it has no functions to call; ",
                         signatures.empty()
                             ? "use --fetch"
                             : str("leave out --function to call '", signatures[0].name, "'"));
}

/// Loads a SavedModel and selects the signature to call.
static Expected<void> openSignature(const Arguments &args, Request &request) {
  std::optional<std::string_view> asked = args.value("--signature");
  if (args.has("--function") && !request.graph.isSavedModel())
    return Unexpected(noFunctionsError(args.positional[0], request.graph.signatures()));
  if (!request.graph.isSavedModel() && request.graph.signatures().empty())
    return asked ? Unexpected(invalidArgument(
                       "'", args.positional[0],
                       "' is not a SavedModel, so it has no signatures; use --fetch"))
                 : Expected<void>();
  Expected<Model> model = [&] {
    Progress progress(str("restoring ", args.positional[0]));
    return Model::create(request.graph, request.options);
  }();
  if (!model)
    return Unexpected(std::move(model.error()));
  request.graph = model->session().graph();
  request.model = *model;
  if (auto function = args.value("--function"))
    return openFunction(*function, request);
  return chooseSignature(asked, *model, request);
}

/// Adds the feeds and fetches of a --check file: in/K, out/K, in/CALL/K.
static Expected<void> addChecked(const std::string &path, treadle::Request &run) {
  for (const std::string &array : TREADLE_TRY(NpzFile::open(path)).names()) {
    std::string_view name = array;
    auto &names = name.starts_with("in/") ? run.feeds : run.fetches;
    for (int prefix = 0; prefix < 2; ++prefix) {
      name.remove_prefix(std::min(name.find('/') + 1, name.size()));
      names.emplace_back(name);
    }
  }
  return {};
}

/// Returns the request that passes use.
static Expected<treadle::Request> runRequest(const Arguments &args) {
  treadle::Request run{
      .feeds = {}, .fetches = args.list("--fetch"), .targets = args.list("--target")};
  std::ranges::move(args.list("--setup"), std::back_inserter(run.targets));
  for (std::string_view input : args.values("--input"))
    run.feeds.emplace_back(input.substr(0, input.find('=')));
  if (auto check = args.value("--check"))
    TREADLE_TRY(addChecked(std::string(*check), run));
  return run;
}

static Expected<Sandbox> loadSandbox(const Arguments &args, const SessionOptions &of) {
  SandboxOptions options = sandbox::fromSession(of);
  options.passes = args.value("--passes").value_or("");
  if (!options.passes.empty()) {
    treadle::Request run = TREADLE_TRY(runRequest(args));
    options.fetches = std::move(run.fetches);
    options.targets = std::move(run.targets);
    options.feeds = std::move(run.feeds);
  }
  options.program = "/proc/self/exe"; // this program
  std::string path(args.positional[0]);
  Progress progress(str("loading ", path));
  if (path != "-")
    return Sandbox::load(path, std::move(options));
  std::string bytes(std::istreambuf_iterator<char>(std::cin), {});
  return Sandbox::fromBytes(bytes, std::move(options));
}

/// Loads the model in a sandbox.
static Expected<void> openSandbox(const Arguments &args, Request &request) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE"))
    return Unexpected(invalidArgument("--sandbox can't be used with mpirun: a sandbox reaches no "
                                      "other process"));
  request.sandbox = TREADLE_TRY(loadSandbox(args, request.options));
  if (SandboxStatus status = request.sandbox->status(); !status.landlock)
    note(status.text());
  for (const std::string &text : request.sandbox->notes())
    note(text);
  std::optional<std::string_view> asked = args.value("--signature");
  if (request.sandbox->signatures().empty() && !asked)
    return {};
  return chooseSignature(asked, *request.sandbox, request);
}

static Expected<void> openGraph(const Arguments &args, RequestUse use, Request &request) {
  riegeli::ExpansionLimit limit(static_cast<uint64_t>(request.options.memory));
  request.graph = TREADLE_TRY(openModel(args.positional[0]));
  if (auto passes = args.value("--passes"))
    request.graph =
        TREADLE_TRY(runPassesFor(TREADLE_TRY(runRequest(args)), request.graph, *passes));
  if (use.joinsOthers)
    TREADLE_TRY(join(request));
  return openSignature(args, request);
}

static std::optional<UsageError> findConflict(const Arguments &args) {
  if (args.has("--function"))
    for (std::string_view option : {"--signature", "--target", "--setup", "--sandbox"})
      if (args.has(option))
        return UsageError{str("options '--function' and '", option, "' can't be used together")};
  if (args.has("--sandbox"))
    for (std::string_view option : {"--stats", "--trace"})
      if (args.has(option))
        return UsageError{
            str("option '", option, "' can't be used with '--sandbox', which doesn't report it")};
  return std::nullopt;
}

/// Fetches all outputs if nothing else is requested.
static void fetchAllOutputs(Request &request) {
  if (request.signature)
    for (const auto &[key, value] : request.signature->outputs)
      request.fetches.push_back(key);
  if (request.fetches.empty() && request.targets.empty() && !request.function)
    for (const Graph::Value &output :
         request.sandbox ? request.sandbox->outputs() : request.graph.outputs())
      request.fetches.push_back(output.name);
}

/// Chooses the variant of the called function that fits the inputs.
static Expected<void> chooseVariant(Request &request) {
  if (!request.function)
    return {};
  return Model::choose(*request.function, request.feeds)
      .map([&](const ModelFunction::Variant *variant) { request.signature = variant->signature; });
}

void useTensorNames(Request &request) {
  if (!request.signature)
    return;
  ByName outputs(request.signature->outputs), inputs(request.signature->inputs);
  for (std::string &fetch : request.fetches)
    if (const Graph::Value *output = outputs.find(fetch))
      fetch = output->name;
  for (auto &[name, value] : request.feeds)
    if (const Graph::Value *input = inputs.find(name))
      name = input->name;
}

std::optional<Request> makeRequest(const Arguments &args, RequestUse use, int &status) {
  auto fail = [&](auto error) {
    status = report(error);
    return std::nullopt;
  };
  Parsed<SessionOptions> options = parseOptions(args);
  if (!options)
    return fail(options.error());
  options->trace |= use.traces;
  options->countsCode = use.countsCode;
  if (use.compiles)
    options->tier = Tier::Jit;
  if (Expected<void> ok = checkCores(options->cores); !ok)
    return fail(ok.error());
  // A session doesn't move the threads of its callers, and this thread is one.
  if (!options->cores.empty())
    pinThisThread(options->cores);
  if (std::optional<UsageError> empty = findEmptyList(args))
    return fail(*empty);
  if (std::optional<UsageError> conflict = findConflict(args))
    return fail(*conflict);
  Request request{.options = *options,
                  .fetches = args.list("--fetch"),
                  .targets = args.list("--target"),
                  .setup = args.list("--setup")};
  if (Expected<void> ok =
          args.has("--sandbox") ? openSandbox(args, request) : openGraph(args, use, request);
      !ok)
    return fail(ok.error());
  Expected<Session::Feeds> feeds = parseInputs(args, request);
  if (!feeds)
    return fail(feeds.error());
  request.feeds = std::move(*feeds);
  if (!use.isCheck)
    if (Expected<void> ok = chooseVariant(request); !ok)
      return fail(request.withAdvice(ok.error()));
  if (!use.isCheck && request.fetches.empty())
    fetchAllOutputs(request);
  if (request.fetches.empty() && request.targets.empty() && !use.isCheck && !request.function)
    return fail(invalidArgument("'", args.positional[0], "' has no ",
                                request.sandbox || summarize(request.graph).nodes
                                    ? "output to fetch; choose one with --fetch or --target"
                                    : "nodes; expected a GraphDef (.pb, .pbtxt) or MLIR (.mlir)"));
  return request;
}

std::vector<Graph::Value> Request::inputs() const {
  if (!signature)
    return sandbox ? sandbox->inputs() : graph.inputs();
  std::vector<Graph::Value> values;
  for (const auto &[key, value] : signature->inputs) {
    values.push_back(value);
    values.back().name = key;
  }
  return values;
}

/// Returns the position of a program's argument from its name: `0`, `1`, ..., or `arg0`, `arg1`,
/// ... Positions count all arguments of the program's text, including tokens, which are never fed.
static std::optional<size_t> argumentIndex(std::string_view name) {
  if (name.starts_with("arg"))
    name.remove_prefix(3);
  size_t place = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), place);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(place)
                                                                  : std::nullopt;
}

/// Whether the name is the short form of a component: `x.splits` for `x.row_splits`, `x.shape` for
/// `x.dense_shape`.
static bool isShortNameOf(std::string_view name,
                          const std::pair<std::string, Graph::Value> &value) {
  size_t component = value.second.composite.size() + 1;
  if (component == 1 || !name.starts_with(value.first.substr(0, component)))
    return false;
  std::string_view given = name.substr(component);
  std::string_view full = std::string_view(value.first).substr(component);
  return str("row_", given) == full || str("dense_", given) == full;
}

ValueNames::ValueNames(const Request &request, bool isInput) : request(request) {
  if (request.signature) {
    listed = isInput ? &request.signature->inputs : &request.signature->outputs;
    keys.emplace(*listed);
  } else if (isInput && !request.sandbox) {
    inputs = request.inputs();
  }
}

std::string ValueNames::ofGraph(std::string_view name) const {
  std::optional<size_t> place = argumentIndex(name);
  bool isPlace = place && *place < inputs.size() && !request.graph.nodeOp(name);
  return isPlace ? inputs[*place].name : withOutput(name);
}

std::string ValueNames::operator()(std::string_view name) const {
  if (!listed)
    return ofGraph(name);
  if (keys->find(name))
    return std::string(name);
  for (const auto &value : *listed)
    if (isShortNameOf(name, value))
      return value.first;
  std::optional<size_t> place = argumentIndex(name);
  if (!place)
    return std::string(name);
  std::string inText = str("arg", *place);
  if (keys->find(inText))
    return inText;
  return *place < listed->size() ? (*listed)[*place].first : std::string(name);
}

static std::string listInputs(const Request &request) {
  std::string out = request.function    ? "\nthe function's inputs:"
                    : request.signature ? "\nthe signature's inputs:"
                                        : "\nthe graph's inputs:";
  for (const Graph::Value &input : request.inputs()) {
    bool isFed = std::any_of(request.feeds.begin(), request.feeds.end(),
                             [&](const auto &feed) { return feed.first == input.name; });
    out += str("\n  ", input.name, ": ", typeText(input.dtype, input.hasRank, input.dims),
               isFed ? "  (given)" : "");
  }
  return out + "\nset each with --input NAME=VALUE: 5, [1,2,3], 2x3xf32=0, @file.npy, random";
}

static Expected<Model::Values> callModel(const Request &request) {
  if (request.function)
    return request.model->callFunction(request.function->name, request.feeds);
  const std::string &name = request.signature->name;
  return request.sandbox ? request.sandbox->call(name, request.feeds)
                         : request.model->call(name, request.feeds);
}

/// Calls the signature or function, and returns the outputs that are fetched.
static Expected<std::vector<Tensor>> callSignature(const Request &request) {
  const Graph::Signature &signature = *request.signature;
  auto check = [&](const auto &outputs) -> Expected<void> {
    for (const std::string &name : request.fetches)
      if (!outputs.find(name))
        return Unexpected(
            invalidArgument(request.function ? "function '" : "signature '",
                            request.function ? request.function->name : signature.name,
                            "' has no output '", name, "'"));
    return {};
  };
  if (!request.function)
    TREADLE_TRY(check(ByName(signature.outputs)));
  Model::Values values = TREADLE_TRY(callModel(request));
  ByName named(values);
  TREADLE_TRY(check(named));
  std::vector<Tensor> fetched;
  fetched.reserve(request.fetches.size());
  for (const std::string &name : request.fetches)
    fetched.push_back(*named.find(name));
  return fetched;
}

Expected<Session> Request::makeSession() const {
  Session session = TREADLE_TRY(function ? model->functionSession()
                                : model  ? Expected<Session>(model->session())
                                         : Session::create(graph, options));
  if (!setup.empty())
    TREADLE_TRY(session.run({}, {}, setup));
  return session;
}

Expected<Runner> Request::makeRunner() const {
  if (!sandbox)
    return makeSession();
  if (!setup.empty())
    TREADLE_TRY(sandbox->run({}, {}, setup));
  return *sandbox;
}

bool isCompiling(const Runner &runner) {
  return std::visit([](const auto &running) { return running.isCompiling(); }, runner);
}

/// Advice if an output of a signature was fetched as if it were a tensor.
static std::string listOutputs(const Model &model) {
  std::string out;
  for (const Graph::Signature &signature : model.signatures())
    for (const auto &[key, value] : signature.outputs)
      out += str(out.empty() ? "" : ", ", "'", key, "' of '", signature.name, "'");
  return "; --fetch takes tensors of the graph; without it a signature is called, with the "
         "outputs " +
         out;
}

Error Request::withAdvice(Error error) const {
  if (error.reason == Reason::MissingInput)
    error.message += listInputs(*this);
  auto isMissing = [&](const std::string &fetch) { return !graph.nodeOp(nodeOf(fetch)); };
  if (model && !signature && !model->signatures().empty() &&
      std::ranges::any_of(fetches, isMissing))
    error.message += listOutputs(*model);
  bool lacksState = error.code == Code::FailedPrecondition && !model && !sandbox && setup.empty();
  if (lacksState && !summarize(graph).variables.empty())
    error.message += "; run its initializer first with --setup NODE";
  return error;
}

Expected<std::vector<Tensor>> Request::run(const Runner &runner) const {
  auto runIn = [&](auto running) { return running.run(fetches, feeds, targets); };
  Expected<std::vector<Tensor>> values =
      signature ? callSignature(*this) : std::visit(runIn, runner);
  if (!values)
    return Unexpected(withAdvice(std::move(values.error())));
  return values;
}

} // namespace treadle::cli
