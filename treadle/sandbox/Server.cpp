#include "treadle/sandbox/Server.h"

#include "treadle/codegen/VectorMath.h"
#include "treadle/graph/PassOptions.h"
#include "treadle/kernels/linear_algebra/LapackLibrary.h"
#include "treadle/runtime/Cores.h"
#include "treadle/sandbox/Confinement.h"
#include "treadle/sandbox/Options.h"
#include "treadle/sandbox/Protocol.h"
#include "treadle/sandbox/SharedMemory.h"
#include "treadle/session/SessionFiles.h"
#include "treadle/treadle.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>
#include <thread>

namespace treadle::sandbox {
namespace {

/// Duration of spinning for the next call before sleeping.
constexpr std::chrono::microseconds spinForCalls{30};

std::optional<int> parseInt(std::string_view text) {
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

/// Initializes state whose lazy initialization opens files that a confined process can't open.
void initializeLazyState() {
  lapack::isFaster(lapack::Spectrum::SelfAdjoint, 1024, 1024, false);
  codegen::vectorMathFunctions();
  availableCores();
  instructionSet();
}

/// The model's own files, and granted paths.
FileRules filesFor(const ChildSetup &setup) {
  FileRules files{setup.options.permissions.read, setup.options.permissions.write};
  if (!setup.isFile)
    return files;
  std::filesystem::path path(setup.path);
  files.read.push_back(setup.path);
  std::error_code ignored;
  std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!std::filesystem::is_directory(path, ignored) && !isSharedFolder(folder.string()))
    files.read.push_back(folder.string());
  return files;
}

Expected<std::string> readText(MessageReader &message) { return message.text(); }

class Server {
public:
  Server(SharedMemory shared, pid_t parent, const KernelRegistry *kernels)
      : memory(std::move(shared)), parent(parent), kernels(kernels), out(memory->fromChild),
        in(memory->toChild) {}

  /// Serves until the owner ends, which kills this process.
  Expected<void> run() {
    ChildSetup setup = TREADLE_TRY(receive(readSetup));
    Expected<int> landlock = close(setup);
    TREADLE_TRY(answer(landlock.map([](int) {}), [&](MessageWriter &message) {
      message.number<uint64_t>(static_cast<uint64_t>(*landlock));
    }));
    if (!landlock)
      return Unexpected(std::move(landlock.error()));
    std::string bytes = TREADLE_TRY(receive(readText));
    Expected<ModelInterface> contents =
        withinMemory<ModelInterface>([&] { return load(setup, std::move(bytes)); });
    if (Expected<void> watched = contents ? startWatcher() : Expected<void>(); !watched)
      contents = Unexpected(std::move(watched.error()));
    TREADLE_TRY(answer(contents.map([](auto &&) {}),
                       [&](MessageWriter &message) { write(message, *contents); }));
    for (uint64_t number = 1;; ++number)
      TREADLE_TRY(serveCall(number));
  }

private:
  Expected<void> startWatcher() {
    try {
      std::thread([this] { watchForCancellation(); }).detach();
      return {};
    } catch (const std::system_error &error) {
      return Unexpected(resourceExhausted("can't create a thread for the sandbox: ", error.what()));
    }
  }

  template <typename T> using Read = Expected<T> (*)(MessageReader &);

  template <typename T> Expected<T> receive(Read<T> read) {
    MessageReader message(in, waitPolicy, std::numeric_limits<uint64_t>::max());
    return read(message);
  }

  Expected<int> close(const ChildSetup &setup) {
    if (setup.version != version())
      return Unexpected(failedPrecondition("the sandbox's program is treadle ", version(),
                                           ", but the library is ", setup.version));
    initializeLazyState();
    int threads = setup.options.threads ? setup.options.threads : availableCores();
    return confine({parent, filesFor(setup), setup.options.memory, threads}, memory->refusedCall);
  }

  Expected<ModelInterface> load(const ChildSetup &setup, std::string bytes) {
    Graph graph = TREADLE_TRY(setup.isFile ? Graph::fromFile(setup.path) : Graph::fromBytes(bytes));
    const SandboxOptions &asked = setup.options;
    if (!asked.passes.empty())
      graph = TREADLE_TRY(
          runPassesFor({asked.feeds, asked.fetches, asked.targets}, graph, asked.passes));
    SessionOptions options = toSession(setup.options);
    options.kernels = kernels;
    ModelInterface contents;
    if (graph.isSavedModel() || !graph.signatures().empty()) {
      model = TREADLE_TRY(Model::create(std::move(graph), options, setup.options.tags));
      session = model->session();
      contents.signatures = model->signatures();
    } else {
      session = TREADLE_TRY(Session::create(std::move(graph), options));
    }
    contents.notes = session.graph().notes();
    contents.inputs = session.graph().inputs();
    contents.outputs = session.graph().outputs();
    return contents;
  }

  Expected<void> serveCall(uint64_t number) {
    Expected<CallRequest> call = receive(readCall);
    if (!call && call.error().code != Code::ResourceExhausted)
      return Unexpected(std::move(call.error()));
    current.store(number);
    Expected<Sandbox::Values> values = withinMemory<Sandbox::Values>(
        [&] { return call ? compute(*call) : Unexpected(std::move(call.error())); });
    current.store(0);
    if (Expected<void> ok = checkValues(values); !ok)
      values = Unexpected(std::move(ok.error()));
    return answer(values.map([](auto &&) {}), [&](MessageWriter &message) {
      message.number<uint64_t>(session.isCompiling());
      for (const auto &[name, value] : *values)
        message.tensor(value);
    });
  }

  Expected<Sandbox::Values> compute(const CallRequest &call) {
    if (call.isOfSignature)
      return model ? model->call(call.signature, call.inputs)
                   : Unexpected(notFound("the graph has no signatures"));
    return session.run(call.fetches, call.inputs, call.targets)
        .map([&](std::vector<Tensor> tensors) {
          Sandbox::Values values;
          for (size_t i = 0; i < tensors.size(); ++i)
            values.emplace_back(call.fetches[i], std::move(tensors[i]));
          return values;
        });
  }

  static Expected<void> checkValues(const Expected<Sandbox::Values> &values) {
    if (values)
      for (const auto &[name, value] : *values)
        if (!canPass(value.dtype()) || value.isRef())
          return Unexpected(unimplemented("'", name, "' is a ", dtypeName(value.dtype()),
                                          ", which is not valid outside of its sandbox"));
    return {};
  }

  template <typename T, typename Work> static Expected<T> withinMemory(Work work) {
    try {
      return work();
    } catch (const std::bad_alloc &) {
      return Unexpected(resourceExhausted("the sandbox is out of memory"));
    }
  }

  template <typename Write> Expected<void> answer(const Expected<void> &outcome, Write write) {
    MessageWriter message(out, waitPolicy);
    writeOutcome(message, outcome);
    if (outcome)
      write(message);
    return message.finish();
  }

  void watchForCancellation() {
    for (uint32_t seen = 0;;) {
      memory->forCanceller.sleep(seen, waitPolicy.maxSleep);
      uint32_t now = memory->forCanceller.rings.load();
      if (now != seen && memory->cancelledCall.load() == current.load())
        session.cancel();
      seen = now;
    }
  }

  SharedMemory memory;
  const pid_t parent;
  const KernelRegistry *const kernels;
  RingWriter out;
  RingReader in;
  const WaitPolicy waitPolicy{.spin = spinForCalls, .maxSleep = std::chrono::hours(1)};
  Session session;
  std::optional<Model> model;
  std::atomic<uint64_t> current{0}; // number of the call in progress
};

} // namespace

int serve(std::span<char *const> arguments, const KernelRegistry *kernels) {
  std::optional<int> file, parent;
  if (arguments.size() == 2)
    file = parseInt(arguments[0]), parent = parseInt(arguments[1]);
  if (!file || !parent) {
    std::fputs("treadle: 'sandbox-child' is for internal use by sandboxes\n", stderr);
    return 2;
  }
  Expected<SharedMemory> memory = SharedMemory::open(*file);
  if (!memory) {
    std::fprintf(stderr, "treadle: %s\n", memory.error().message.c_str());
    return 1;
  }
  // Static, since threads refer to it as long as the process lives.
  static Server server(std::move(*memory), *parent, kernels);
  (void)server.run();
  return 1;
}

} // namespace treadle::sandbox
