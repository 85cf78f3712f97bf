#include "treadle/pjrt/CompiledProgram.h"

#include "treadle/collective/Communicator.h"
#include "treadle/pjrt/Callbacks.h"
#include "treadle/session/SharedSession.h"

#include "llvm/Support/xxhash.h"

namespace treadle::pjrt {

void CompiledProgram::describeResults() {
  for (const ProgramValue &result : program.results) {
    types.push_back(result.isToken ? PJRT_Buffer_Type_TOKEN : bufferType(result.dtype));
    dims.insert(dims.end(), result.shardDims.begin(), result.shardDims.end());
    ranks.push_back(result.shardDims.size());
    memoryKinds.push_back(result.memoryKind.data());
    memoryKindSizes.push_back(result.memoryKind.size());
  }
}

namespace {

template <typename Write> std::string listed(size_t count, Write write) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + write(i);
  return text;
}

std::string typesOf(const std::vector<ProgramValue> &values) {
  return listed(values.size(), [&](size_t i) { return values[i].type; });
}

/// Describes the arguments and results of a program, and their shardings, in XLA's notation.
std::string describe(const ImportedProgram &program) {
  const auto &arguments = program.arguments, &results = program.results;
  auto argument = [&](size_t i) { return str("%arg", i); };
  auto typedArgument = [&](size_t i) { return str("%arg", i, ": ", arguments[i].type); };
  auto result = [&](size_t i) { return results.size() == 1 ? "%r" : str("%r#", i); };
  std::string ofArguments =
      listed(arguments.size(), [&](size_t i) { return str('"', arguments[i].sharding.text, '"'); });
  std::string ofResults =
      listed(results.size(), [&](size_t i) { return results[i].sharding.text; });
  if (results.size() > 1)
    ofResults = str("{", ofResults, "}");
  else if (results.empty())
    ofResults = "{replicated}";
  std::string number = results.size() > 1 ? str(":", results.size()) : "";
  return str(
      "module attributes {mhlo.num_partitions = ", program.devices,
      " : i32, mhlo.num_replicas = 1 : i32, mhlo.spmd_parameters_shardings = [", ofArguments,
      "], mhlo.spmd_output_sharding = \"", ofResults, "\"} {\n  func.func public @main(",
      listed(arguments.size(), typedArgument), ") -> (", typesOf(results), ") {\n    ",
      results.empty() ? "" : str("%r", number, " = "), "stablehlo.custom_call @program(",
      listed(arguments.size(), argument), ") : (", typesOf(arguments), ") -> ",
      results.size() == 1 ? typesOf(results) : str("(", typesOf(results), ")"), "\n    return",
      results.empty() ? "" : str(" ", listed(results.size(), result), " : ", typesOf(results)),
      "\n  }\n}\n");
}

// --- compiling ---------------------------------------------------------------------------------

SessionOptions optionsFor(const PJRT_Client &client) {
  SessionOptions options;
  options.tier = client.options.tier.value_or(Tier::Jit);
  options.denormals = client.options.denormals;
  options.kernels = &kernels();
  return options;
}

/// Creates a session per participating device if the program exchanges values, otherwise a single
/// one.
Expected<CompiledProgram::Sessions> makeSessions(const ImportedProgram &program,
                                                 SessionOptions options,
                                                 const std::shared_ptr<ThreadPool> &pool) {
  std::vector<std::string> feeds;
  feeds.reserve(program.arguments.size());
  for (const ProgramValue &argument : program.arguments)
    if (!argument.isToken)
      feeds.push_back(argument.name);
  std::vector<std::unique_ptr<Transport>> world;
  if (program.hasExchanges && program.devices > 1)
    world = simulatedWorld(static_cast<int>(program.devices));
  auto sessions = std::make_shared<std::vector<Session>>();
  do {
    if (!world.empty())
      options.communicator = std::make_shared<Communicator>(std::move(world[sessions->size()]));
    Session session = TREADLE_TRY(createSession(program.graph, options, pool));
    TREADLE_TRY(plan(session, program.fetches, feeds));
    sessions->push_back(std::move(session));
  } while (sessions->size() < world.size());
  return sessions;
}

} // namespace

Expected<CompiledProgram::Sessions> CompiledProgram::sessions() {
  std::lock_guard lock(mutex);
  if (!current)
    current = TREADLE_TRY(makeSessions());
  return current;
}

void CompiledProgram::abandon(const Sessions &failed) {
  std::lock_guard lock(mutex);
  if (current == failed && failed->size() > 1)
    current = nullptr;
}

void CompiledProgram::cancel() {
  std::lock_guard lock(mutex);
  if (current)
    for (Session &session : *current)
      session.cancel();
}

Expected<std::shared_ptr<CompiledProgram>> compile(PJRT_Client &client, std::string code,
                                                   std::string options) {
  CompileOptions parsed = TREADLE_TRY(CompileOptions::parse(options));
  const DeviceAssignment &assignment = parsed.assignment;
  if (parsed.isTupled)
    return Unexpected(
        unimplemented("programs that take their arguments as one tuple aren't supported"));
  if (assignment.replicas != 1)
    return Unexpected(
        unimplemented("programs for ", assignment.replicas,
                      " replicas aren't supported; expected one, with any number of partitions"));
  auto compiled = std::make_shared<CompiledProgram>();
  compiled->program = TREADLE_TRY(readProgram(code));
  if (compiled->program.devices != assignment.partitions)
    return Unexpected(invalidArgument("the program is for ", compiled->program.devices,
                                      " partitions, but its options are for ",
                                      assignment.partitions));
  compiled->assignment = assignment;
  compiled->makeSessions = [program = &compiled->program, pool = client.pool,
                            options = optionsFor(client)] {
    return pjrt::makeSessions(*program, options, pool);
  };
  TREADLE_TRY(compiled->sessions());
  client.add(compiled);
  compiled->fingerprint = str(llvm::xxh3_64bits(code), "-", llvm::xxh3_64bits(options));
  compiled->description = compiled->program.devices == 1 ? code : describe(compiled->program);
  compiled->code = std::move(code);
  compiled->options = std::move(options);
  compiled->describeResults();
  return compiled;
}

} // namespace treadle::pjrt
