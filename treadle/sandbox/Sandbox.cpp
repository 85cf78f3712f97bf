// The owner's side. MessageReader validates what the child sends as it reads it (Message.h); this
// file compares it with the request. A child that sends malformed messages is killed.
#include "treadle/Sandbox.h"

#include "treadle/graph/SavedModel.h"
#include "treadle/runtime/Cores.h"
#include "treadle/sandbox/ChildProcess.h"
#include "treadle/sandbox/Protocol.h"
#include "treadle/sandbox/SharedMemory.h"
#include "treadle/sandbox/SystemCalls.h"
#include "treadle/treadle.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <unistd.h>

namespace treadle {

using namespace sandbox;

namespace {

/// Duration of spinning for an answer; 0 on a single core, where it would delay the child.
std::chrono::nanoseconds spinForAnswers() {
  return availableCores() > 1 ? std::chrono::microseconds(30) : std::chrono::microseconds(0);
}

/// Time for a call to end after its deadline or its cancellation, before the process is killed.
constexpr std::chrono::milliseconds graceOfDeadline{500}, graceOfCancel{1000};

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Clock::time_point deadlineAfter(double seconds) {
  constexpr double forever = 1e9;
  if (seconds <= 0 || seconds > forever)
    return Clock::time_point::max();
  auto length = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  return Clock::now() + length + graceOfDeadline;
}

/// Limit on the bytes of an answer.
uint64_t budgetFor(const SandboxOptions &options) {
  if (options.memory > 0)
    return static_cast<uint64_t>(options.memory);
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

Expected<void> checkPass(const Sandbox::Values &inputs) {
  for (const auto &[name, value] : inputs)
    if (!value || !canPass(value.dtype()) || value.isRef())
      return Unexpected(unimplemented("input '", name, "' is ",
                                      value ? dtypeName(value.dtype()) : "nothing",
                                      ", which can't be passed to a sandbox"));
  return {};
}

} // namespace

struct Sandbox::Impl {
  Impl(SandboxOptions options, SharedMemory shared)
      : options(std::move(options)), memory(std::move(shared)), out(memory->toChild),
        in(memory->fromChild), budget(budgetFor(this->options)) {}

  Expected<void> start(const ChildSetup &setup);
  Expected<void> load(std::string_view bytes);
  /// Returns one tensor for each of `dtypes`; Invalid accepts any dtype.
  Expected<std::vector<Tensor>> call(const CallRequest &call, const std::vector<DType> &dtypes);
  void cancel();
  SandboxStatus statusNow() const;

  const SandboxOptions options;
  ModelInterface contents; // constant after loading
  std::atomic<bool> isCompiling{false};

private:
  /// The outer error is one of communication, the inner one the child's answer.
  template <typename T> using Answer = Expected<Expected<T>>;

  /// Sends a request and reads the answer.
  template <typename T, typename Write, typename Read>
  Answer<T> exchangeMessages(Clock::time_point until, Write write, Read read) {
    WaitPolicy waitPolicy{until, spinForAnswers(), [this] { return checkRunning(); }};
    MessageWriter question(out, waitPolicy);
    write(question);
    TREADLE_TRY(question.finish());
    MessageReader answer(in, waitPolicy, budget);
    Expected<void> outcome = TREADLE_TRY(readOutcome(answer));
    if (!outcome)
      return Expected<T>(Unexpected(std::move(outcome.error())));
    T value = TREADLE_TRY(read(answer));
    return Expected<T>(std::move(value));
  }
  /// Unwraps an answer. An error of communication ends the child.
  template <typename T> Expected<T> unwrapAnswer(Answer<T> answer, const char *what) {
    return answer ? std::move(*answer) : Unexpected(killChild(std::move(answer.error()), what));
  }

  Expected<void> checkRunning() const;
  Expected<void> checkUsable() const;
  Expected<std::vector<Tensor>> readTensors(MessageReader &message,
                                            const std::vector<DType> &dtypes);
  /// Kills the child and returns the reason.
  Error killChild(Error error, const char *what);
  std::string endOfChild() const;

  SharedMemory memory;
  std::mutex turn; // serializes requests; guards the members below
  RingWriter out;
  RingReader in;
  uint64_t lastCall = 0;

  const uint64_t budget;
  std::atomic<uint64_t> currentCall{0};   // number of the call in progress; 0: none
  std::atomic<Clock::rep> cancelledAt{0}; // time of cancellation; 0: not cancelled
  mutable std::mutex statusMutex;         // guards the members below
  SandboxStatus status;
  ChildProcess child; // last member, since its thread uses the others
};

Expected<void> Sandbox::Impl::start(const ChildSetup &setup) {
  Clock::time_point begin = Clock::now();
  std::string program = options.program.empty() ? TREADLE_TRY(sandboxProgram()) : options.program;
  TREADLE_TRY(child.start(program, memory.file(), [this] {
    memory->toChild.forWriter.ringAll();
    memory->fromChild.forReader.ringAll();
  }));
  auto confined = exchangeMessages<uint64_t>(
      deadlineAfter(options.loadTimeout), [&](MessageWriter &out) { write(out, setup); },
      [](MessageReader &in) { return in.below(1 << 16, "the version of Landlock"); });
  auto landlock = TREADLE_TRY(unwrapAnswer(std::move(confined), "starting the sandbox"));
  std::lock_guard lock(statusMutex);
  status.landlock = static_cast<int>(landlock);
  status.startSeconds = secondsSince(begin);
  return {};
}

Expected<void> Sandbox::Impl::load(std::string_view bytes) {
  Clock::time_point begin = Clock::now();
  auto loaded = exchangeMessages<ModelInterface>(
      deadlineAfter(options.loadTimeout), [&](MessageWriter &out) { out.text(bytes); },
      readContents);
  contents = TREADLE_TRY(unwrapAnswer(std::move(loaded), "loading the model"));
  std::lock_guard lock(statusMutex);
  status.loadSeconds = secondsSince(begin);
  return {};
}

Expected<std::vector<Tensor>> Sandbox::Impl::call(const CallRequest &call,
                                                  const std::vector<DType> &dtypes) {
  std::lock_guard lock(turn);
  TREADLE_TRY(checkUsable());
  cancelledAt.store(0);
  currentCall.store(++lastCall);
  auto answer = exchangeMessages<std::vector<Tensor>>(
      deadlineAfter(options.timeout), [&](MessageWriter &out) { write(out, call); },
      [&](MessageReader &in) { return readTensors(in, dtypes); });
  currentCall.store(0);
  return unwrapAnswer(std::move(answer), "the call");
}

Expected<std::vector<Tensor>> Sandbox::Impl::readTensors(MessageReader &message,
                                                         const std::vector<DType> &dtypes) {
  isCompiling.store(TREADLE_TRY(message.flag()));
  std::vector<Tensor> tensors;
  for (DType wanted : dtypes) {
    tensors.push_back(TREADLE_TRY(message.tensor()));
    if (wanted != DType::Invalid && tensors.back().dtype() != wanted)
      return Unexpected(dataLoss("the other process sent ", tensorTypeText(tensors.back()),
                                 ", expected ", dtypeName(wanted)));
  }
  return tensors;
}

void Sandbox::Impl::cancel() {
  uint64_t call = currentCall.load();
  if (!call)
    return;
  Clock::rep never = 0;
  cancelledAt.compare_exchange_strong(never, Clock::now().time_since_epoch().count());
  memory->cancelledCall.store(call);
  memory->forCanceller.ringAll();
}

Expected<void> Sandbox::Impl::checkRunning() const {
  if (child.hasEnded())
    return Unexpected(unavailable("it has exited"));
  Clock::rep cancelled = cancelledAt.load();
  if (cancelled && Clock::now() >= Clock::time_point(Clock::duration(cancelled)) + graceOfCancel)
    return Unexpected(deadlineExceeded("it doesn't exit"));
  return {};
}

Expected<void> Sandbox::Impl::checkUsable() const {
  if (!child.isInOwner())
    return Unexpected(failedPrecondition("the sandbox belongs to the parent of this forked "
                                         "process; load the model in this process too"));
  std::string end = statusNow().end;
  return end.empty() ? Expected<void>() : Unexpected(unavailable(end));
}

std::string Sandbox::Impl::endOfChild() const {
  std::string end = child.end();
  uint32_t refused = memory->refusedCall.load();
  const char *name = refused ? refusedCallName(refused - 1) : nullptr;
  if (name && end == str("exit status ", refusedStatus))
    return str("it called '", name, "', which the sandbox doesn't allow");
  return end;
}

Error Sandbox::Impl::killChild(Error error, const char *what) {
  bool hadEnded = child.hasEnded();
  child.kill();
  std::string lost = "; its state is lost, so load the model again";
  if (hadEnded)
    error = unavailable("the sandbox has exited: ", endOfChild(), lost);
  else if (error.code == Code::DeadlineExceeded && cancelledAt.load())
    error = cancelled(what, " was cancelled but continued, so its sandbox was killed", lost);
  else if (error.code == Code::DeadlineExceeded)
    error = deadlineExceeded(what, " timed out, so its sandbox was killed", lost);
  else
    error = Error{error.code == Code::ResourceExhausted ? error.code : Code::Unavailable,
                  str("the sandbox was killed: ", error.message, lost)};
  std::lock_guard lock(statusMutex);
  status.end = error.message;
  return error;
}

SandboxStatus Sandbox::Impl::statusNow() const {
  std::lock_guard lock(statusMutex);
  SandboxStatus now = status;
  if (now.end.empty() && child.hasEnded())
    now.end = str("the sandbox has exited: ", endOfChild());
  return now;
}

// --- the public class ----------------------------------------------------------------------------

static Expected<Sandbox> makeSandbox(SandboxOptions options, ChildSetup setup,
                                     std::string_view bytes) {
  SharedMemory memory = TREADLE_TRY(SharedMemory::make());
  setup.options = options;
  setup.version = version();
  Sandbox sandbox;
  sandbox.impl = std::make_shared<Sandbox::Impl>(std::move(options), std::move(memory));
  TREADLE_TRY(sandbox.impl->start(setup));
  TREADLE_TRY(sandbox.impl->load(bytes));
  return sandbox;
}

Expected<Sandbox> Sandbox::load(const std::string &path, SandboxOptions options) {
  return makeSandbox(std::move(options), {.path = path}, "");
}

Expected<Sandbox> Sandbox::fromBytes(std::string_view bytes, SandboxOptions options) {
  return makeSandbox(std::move(options), {.isFile = false}, bytes);
}

const std::vector<Graph::Signature> &Sandbox::signatures() const {
  return impl->contents.signatures;
}
const std::vector<Graph::Value> &Sandbox::inputs() const { return impl->contents.inputs; }
const std::vector<Graph::Value> &Sandbox::outputs() const { return impl->contents.outputs; }
const std::vector<std::string> &Sandbox::notes() const { return impl->contents.notes; }

Expected<const Graph::Signature *> Sandbox::signature(std::string_view name) const {
  return findSignature(impl->contents.signatures, name);
}

Expected<Sandbox::Values> Sandbox::call(std::string_view name, const Values &inputs) const {
  const Graph::Signature *found = TREADLE_TRY(signature(name));
  TREADLE_TRY(checkPass(inputs));
  std::vector<DType> dtypes;
  dtypes.reserve(found->outputs.size());
  for (const auto &[key, output] : found->outputs)
    dtypes.push_back(output.dtype);
  return impl->call({.isOfSignature = true, .signature = found->name, .inputs = inputs}, dtypes)
      .map([&](std::vector<Tensor> tensors) {
        Values values;
        for (size_t i = 0; i < tensors.size(); ++i)
          values.emplace_back(found->outputs[i].first, std::move(tensors[i]));
        return values;
      });
}

Expected<std::vector<Tensor>> Sandbox::run(const std::vector<std::string> &fetches,
                                           const Values &feeds,
                                           const std::vector<std::string> &targets) const {
  TREADLE_TRY(checkPass(feeds));
  return impl->call({.fetches = fetches, .targets = targets, .inputs = feeds},
                    std::vector<DType>(fetches.size()));
}

bool Sandbox::isCompiling() const { return impl->isCompiling.load(); }
void Sandbox::cancel() const { impl->cancel(); }
SandboxStatus Sandbox::status() const { return impl->statusNow(); }

std::string SandboxStatus::text() const {
  std::string files = landlock
                          ? str("files guarded by Landlock ", landlock)
                          : "files guarded by the process only, since the kernel has no Landlock";
  return str(files, ", started in ", std::lround(startSeconds * 1000), " ms, loaded in ",
             std::lround(loadSeconds * 1000), " ms", end.empty() ? "" : "; ", end);
}

} // namespace treadle
