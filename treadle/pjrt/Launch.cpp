#include "treadle/pjrt/Launch.h"

#include "treadle/pjrt/MultiDeviceRun.h"
#include "treadle/session/SharedSession.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <unordered_set>

namespace treadle::pjrt {

namespace {

/// One run on one device.
struct Launch {
  std::shared_ptr<CompiledProgram> compiled;
  std::shared_ptr<MultiDeviceRun> multiDeviceRun; // null if there is only one device
  size_t place = 0;                               // index among the devices
  std::vector<std::shared_ptr<Content>> arguments, results;
  std::vector<bool> donated;
  std::shared_ptr<Completion> done = std::make_shared<Completion>();

  void run();
  bool isReady() const {
    return std::ranges::all_of(arguments, [](const auto &argument) { return argument->isDone(); });
  }

private:
  Expected<std::vector<Tensor>> compute();
  Expected<void> copyAliasedArguments(std::vector<Tensor> &values) const;
  void fail(const Error &error);
};

/// A token only orders runs, so it fails only if the error has no other result.
void Launch::fail(const Error &error) {
  const std::vector<ProgramValue> &values = compiled->program.results;
  bool areTokens = std::ranges::all_of(values, &ProgramValue::isToken);
  for (size_t i = 0; i < results.size(); ++i)
    if (values[i].isToken && !areTokens)
      results[i]->hold(Tensor::scalar(DType::Bool, true));
    else
      results[i]->fail(error);
  done->fail(error);
}

Expected<std::vector<Tensor>> Launch::compute() {
  if (multiDeviceRun)
    return multiDeviceRun->run(place);
  const ImportedProgram &program = compiled->program;
  for (const auto &argument : arguments)
    if (const Error *error = argument->wait())
      return Unexpected(*error);
  Session::Feeds feeds;
  feeds.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (program.arguments[i].isToken)
      continue;
    bool isLast = donated[i] && arguments[i].use_count() == 1;
    feeds.emplace_back(program.arguments[i].name,
                       isLast ? arguments[i]->take() : arguments[i]->value());
  }
  // Releases the arguments, so that the run may overwrite elements without other users.
  for (size_t i = 0; i < arguments.size(); ++i)
    if (donated[i])
      arguments[i] = nullptr;
  CompiledProgram::Sessions sessions = TREADLE_TRY(compiled->sessions());
  std::vector<Tensor> values =
      TREADLE_TRY(runTaking(sessions->front(), program.fetches, std::move(feeds)));
  TREADLE_TRY(copyAliasedArguments(values));
  return values;
}

/// Copies results that are arguments: JAX copies arrays with such programs.
Expected<void> Launch::copyAliasedArguments(std::vector<Tensor> &values) const {
  std::unordered_set<const void *> given;
  for (const auto &argument : arguments)
    if (argument)
      given.insert(std::as_const(argument->value()).raw());
  for (Tensor &value : values) {
    if (!given.contains(std::as_const(value).raw()))
      continue;
    Tensor copy = TREADLE_TRY(value.clone());
    value = std::move(copy);
  }
  return {};
}

void Launch::run() {
  constexpr auto shortest = std::chrono::microseconds(100);
  auto begin = std::chrono::steady_clock::now();
  Expected<std::vector<Tensor>> values;
  try {
    values = compute();
  } catch (const std::bad_alloc &) {
    values = Unexpected(resourceExhausted("out of memory"));
  }
  if (!values)
    return fail(values.error());
  compiled->isShort.store(std::chrono::steady_clock::now() - begin < shortest,
                          std::memory_order_relaxed);
  for (size_t i = 0; i < results.size(); ++i)
    results[i]->hold(std::move((*values)[i]));
  done->succeed();
}

/// Whether the caller keeps an argument that the program could overwrite.
bool isKept(const PJRT_ExecuteOptions *options, size_t argument) {
  if (!options)
    return false;
  std::span kept(options->non_donatable_input_indices, options->num_non_donatable_input_indices);
  return std::ranges::find(kept, static_cast<int64_t>(argument)) != kept.end();
}

Expected<std::shared_ptr<Launch>> prepare(const PJRT_LoadedExecutable_Execute_Args &args,
                                          size_t device) {
  const std::shared_ptr<CompiledProgram> &compiled = args.executable->compiled;
  const auto &wanted = compiled->program.arguments;
  if (args.num_args != wanted.size())
    return Unexpected(invalidArgument("the program gets ", args.num_args, " arguments, expected ",
                                      wanted.size()));
  auto launch = std::make_shared<Launch>();
  launch->compiled = compiled;
  for (size_t i = 0; i < wanted.size(); ++i) {
    PJRT_Buffer *buffer = args.argument_lists[device][i];
    bool fits = buffer->dtype == wanted[i].dtype && buffer->dims == wanted[i].shardDims;
    if (!fits && !wanted[i].isToken)
      return Unexpected(invalidArgument("argument ", i, " is ", dtypeName(buffer->dtype),
                                        dimsText(buffer->dims), ", expected ",
                                        dtypeName(wanted[i].dtype), dimsText(wanted[i].shardDims)));
    bool isDonated = wanted[i].mayOverwrite && !isKept(args.options, i);
    launch->donated.push_back(isDonated);
    launch->arguments.push_back(TREADLE_TRY(isDonated ? buffer->donate() : buffer->use()));
  }
  for (size_t i = 0; i < compiled->program.results.size(); ++i)
    launch->results.push_back(std::make_shared<Content>());
  return launch;
}

/// Creates the result buffers, whose elements come later.
void createResultBuffers(PJRT_LoadedExecutable_Execute_Args &args, size_t index,
                         const Launch &launch, const PJRT_Device &device) {
  const std::vector<ProgramValue> &results = launch.compiled->program.results;
  for (size_t i = 0; i < results.size(); ++i) {
    PJRT_Memory *memory = device.memory(results[i].memoryKind);
    args.output_lists[index][i] =
        new PJRT_Buffer(memory ? memory : device.memories.front(), results[i].dtype,
                        results[i].shardDims, launch.results[i]);
  }
  if (args.device_complete_events)
    args.device_complete_events[index] = new PJRT_Event{launch.done};
}

Expected<void> executeOnOne(PJRT_LoadedExecutable_Execute_Args &args, PJRT_Device &device) {
  std::shared_ptr<Launch> launch = TREADLE_TRY(prepare(args, 0));
  createResultBuffers(args, 0, *launch, device);
  // The device waits for a callback, which waits for the programs that it runs on the device.
  bool mayRunNow = Queue::isCallingBack() ||
                   (launch->isReady() && launch->compiled->isShort.load(std::memory_order_relaxed));
  Queue::Task task = [launch = std::move(launch)] { launch->run(); };
  if (!mayRunNow || !device.queue.runNow(task))
    device.queue.add(std::move(task));
  return {};
}

/// Queues the runs of all programs in the same order on all devices, since devices wait for each
/// other.
Expected<void> executeOnAll(PJRT_LoadedExecutable_Execute_Args &args) {
  PJRT_LoadedExecutable &executable = *args.executable;
  if (Queue::isCallingBack())
    return Unexpected(failedPrecondition("a callback can't run a program on several devices: one "
                                         "of the devices is waiting for the callback"));
  auto multiDeviceRun = std::make_shared<MultiDeviceRun>(
      executable.compiled, TREADLE_TRY(executable.compiled->sessions()));
  std::vector<std::shared_ptr<Launch>> launches;
  for (size_t i = 0; i < args.num_devices; ++i) {
    launches.push_back(TREADLE_TRY(prepare(args, i)));
    launches.back()->multiDeviceRun = multiDeviceRun;
    launches.back()->place = i;
    multiDeviceRun->join(i, std::exchange(launches.back()->arguments, {}));
  }
  std::lock_guard lock(executable.client->launchMutex);
  for (size_t i = 0; i < launches.size(); ++i) {
    createResultBuffers(args, i, *launches[i], *executable.devices[i]);
    executable.devices[i]->queue.add([launch = launches[i]] { launch->run(); });
  }
  return {};
}

} // namespace

Expected<void> execute(PJRT_LoadedExecutable_Execute_Args &args) {
  PJRT_LoadedExecutable &executable = *args.executable;
  if (executable.isDeleted)
    return Unexpected(invalidArgument("the program was deleted"));
  bool isForOne = executable.compiled->program.devices == 1;
  if (isForOne && args.num_devices == 1)
    return executeOnOne(args,
                        args.execute_device ? *args.execute_device : *executable.devices.front());
  if (isForOne || args.num_devices != executable.devices.size())
    return Unexpected(invalidArgument("the program is run on ", args.num_devices,
                                      " devices, expected ", executable.devices.size()));
  return executeOnAll(args);
}

} // namespace treadle::pjrt
