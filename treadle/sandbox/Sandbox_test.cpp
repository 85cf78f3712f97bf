// Models in a sandbox, well-behaved and hostile. This program is its own child: there, the op
// StringUpper executes commands from its input with all that a compromised kernel could do.
#include "treadle/Sandbox.h"

#include "treadle/sandbox/ChildProcess.h"
#include "treadle/sandbox/Server.h"
#include "treadle/sandbox/SharedMemory.h"
#include "treadle/testing/NodeText.h"
#include "treadle/testing/TestExpected.h"
#include "treadle/testing/TestSkips.h"
#include "treadle/treadle.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace treadle::sandbox {
namespace {

namespace fs = std::filesystem;

// --- the child ---------------------------------------------------------------------------------

/// In the child: the memory shared with the parent.
SharedMemory *shared = nullptr;

std::string outcome(bool isDone) { return isDone ? "done" : strerrorname_np(errno); }

std::string opens(const std::string &path, int flags) {
  return outcome(open(path.c_str(), flags, 0600) >= 0);
}

void spin() {
  for (volatile int i = 0;; i = i + 1)
    ;
}

std::string claim(std::atomic<uint64_t> &count, uint64_t value) {
  count.store(value);
  (*shared)->fromChild.forReader.ringAll();
  spin();
  return "";
}

/// Allocates as much memory as possible, and frees it.
std::string takeMemory() {
  constexpr size_t step = 1 << 20, most = 1 << 10;
  std::vector<void *> taken;
  taken.reserve(most);
  for (void *memory; taken.size() < most && (memory = std::malloc(step)); taken.push_back(memory))
    std::memset(memory, 1, step);
  for (void *memory : taken)
    std::free(memory);
  return taken.size() < most ? "stopped" : "took a gigabyte";
}

std::string doNothing(const std::string &) { return "done"; }

const std::map<std::string, std::string (*)(const std::string &)> &deeds() {
  static const std::map<std::string, std::string (*)(const std::string &)> all = {
      {"nothing", doNothing},
      {"read", [](const std::string &path) { return opens(path, O_RDONLY); }},
      {"write", [](const std::string &path) { return opens(path, O_WRONLY | O_CREAT); }},
      {"fork", [](const std::string &) { return outcome(fork() >= 0); }},
      {"exec", [](const std::string &) { return outcome(execl("/bin/sh", "sh", nullptr) == 0); }},
      {"socket", [](const std::string &) { return outcome(socket(AF_INET, SOCK_STREAM, 0) >= 0); }},
      {"kill", [](const std::string &) { return outcome(kill(getppid(), SIGKILL) == 0); }},
      {"truncate",
       [](const std::string &) {
         int seals = static_cast<int>(syscall(SYS_memfd_create, "x", 0));
         return outcome(seals >= 0);
       }},
      {"environment",
       [](const std::string &) { return std::string(environ && *environ ? *environ : "none"); }},
      {"process", [](const std::string &) { return std::to_string(getpid()); }},
      {"crash",
       [](const std::string &) {
         *static_cast<volatile int *>(nullptr) = 0;
         return std::string();
       }},
      {"exit",
       [](const std::string &) {
         _exit(7);
         return std::string();
       }},
      {"abort", [](const std::string &) -> std::string { std::abort(); }},
      {"spin",
       [](const std::string &) {
         spin();
         return std::string();
       }},
      {"memory", [](const std::string &) { return takeMemory(); }},
      {"claim to have written",
       [](const std::string &) { return claim((*shared)->fromChild.written, uint64_t{1} << 40); }},
      {"claim to have read",
       [](const std::string &) {
         (*shared)->toChild.read.store(uint64_t{1} << 40);
         return std::string("done");
       }},
      {"write nonsense",
       [](const std::string &) {
         std::memset((*shared)->fromChild.bytes, 0xff, Ring::capacity);
         Ring &ring = (*shared)->fromChild;
         return claim(ring.written, ring.written.load() + 4096);
       }},
      {"claim to be refused",
       [](const std::string &) {
         (*shared)->refusedCall.store(SYS_execve + 1);
         _exit(3);
         return std::string();
       }},
      {"forget who sleeps",
       [](const std::string &) {
         (*shared)->fromChild.forReader.sleepers.store(0);
         _exit(9);
         return std::string();
       }},
  };
  return all;
}

/// Executes `DEED` or `DEED:ARGUMENT`.
void doDeed(OpContext &ctx) {
  const auto &text = ctx.input(0).scalarValue<std::string>();
  size_t colon = std::min(text.find(':'), text.size());
  auto deed = deeds().find(text.substr(0, colon));
  std::string argument = text.substr(std::min(colon + 1, text.size()));
  ctx.setOutput(0, Tensor::scalarString(deed == deeds().end() ? "?" : deed->second(argument)));
}

int serveAsChild(std::span<char *const> arguments) {
  KernelRegistry kernels{&builtinKernels()};
  kernels.add("StringUpper",
              [](const BindContext &) { return Expected<BoundKernel>(BoundKernel{doDeed}); });
  if (Expected<SharedMemory> memory = SharedMemory::open(ChildProcess::fileOfChild))
    shared = new SharedMemory(std::move(*memory));
  return serve(arguments, &kernels);
}

// --- the parent --------------------------------------------------------------------------------

SandboxOptions withOwnKernels(SandboxOptions options = {}) {
  options.program = fs::read_symlink("/proc/self/exe").string();
  options.tier = Tier::Interpret;
  return options;
}

std::string hostileGraph() {
  return placeholder("deed", "DT_STRING") + node("out", "StringUpper", {"deed"}, "");
}

Expected<Sandbox> hostile(SandboxOptions options = {}) {
  return Sandbox::fromBytes(hostileGraph(), withOwnKernels(std::move(options)));
}

Expected<std::string> ask(const Sandbox &sandbox, const std::string &deed) {
  return sandbox.run({"out"}, {{"deed", Tensor::scalarString(deed)}})
      .map([](std::vector<Tensor> values) { return values[0].scalarValue<std::string>(); });
}

/// Returns the result of a command, or the error.
std::string answer(const Sandbox &sandbox, const std::string &deed) {
  Expected<std::string> answer = ask(sandbox, deed);
  return answer ? *answer : answer.error().message;
}

class SandboxTest : public testing::Test {
protected:
  void SetUp() override {
    SKIP_WITH_SANITIZER();
    fs::create_directories(top / "model");
    std::ofstream(top / "secret") << "secret";
  }
  void TearDown() override { fs::remove_all(top); }

  std::string at(const char *name) const { return (top / name).string(); }
  /// Writes a graph to a file and loads it from there.
  Expected<Sandbox> load(const std::string &graph, SandboxOptions options = {}) {
    std::ofstream(top / "model" / "graph.pbtxt") << graph;
    return Sandbox::load(at("model/graph.pbtxt"), withOwnKernels(std::move(options)));
  }

  const fs::path top = fs::temp_directory_path() / str("treadle-sandbox-", getpid());
};

// --- well-behaved models -----------------------------------------------------------------------

TEST_F(SandboxTest, ComputesResults) {
  Sandbox sandbox =
      *load(placeholder("x", "DT_INT32") + constant("one", 1) + node("y", "AddV2", {"x", "one"}));
  ASSERT_EQ(sandbox.inputs().size(), 1u);
  EXPECT_EQ(sandbox.inputs()[0].name, "x:0");
  EXPECT_EQ(sandbox.inputs()[0].dtype, DType::Int32);
  EXPECT_EQ(sandbox.outputs()[0].name, "y:0");
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(
        (*sandbox.run({"y"}, {{"x", Tensor::scalar(DType::Int32, i)}}))[0].scalarValue<int32_t>(),
        i + 1);
}

TEST_F(SandboxTest, LargeValuesCross) {
  Sandbox sandbox = *load(placeholder("x", "DT_DOUBLE", "unknown_rank: true") +
                          node("y", "Neg", {"x"}, typed("T", "DT_DOUBLE")));
  Tensor x = *Tensor::make(DType::Float64, {1000, 1001});
  for (int64_t i = 0; i < x.count(); ++i)
    x.data<double>()[i] = static_cast<double>(i);
  Tensor y = (*sandbox.run({"y"}, {{"x", x}}))[0];
  EXPECT_EQ(tensorTypeText(y), "float64[1000,1001]");
  for (int64_t i = 0; i < y.count(); ++i)
    ASSERT_EQ(y.data<double>()[i], -static_cast<double>(i));
}

TEST_F(SandboxTest, TextsCross) {
  Sandbox sandbox = *load(placeholder("x", "DT_STRING", "unknown_rank: true") +
                          node("y", "Identity", {"x"}, typed("T", "DT_STRING")));
  Tensor x = *Tensor::make(DType::String, {2});
  x.data<std::string>()[0] = std::string("a\0\xff", 3);
  x.data<std::string>()[1] = std::string(3 << 20, 'z');
  Tensor y = (*sandbox.run({"y"}, {{"x", x}}))[0];
  EXPECT_TRUE(std::ranges::equal(x.values<std::string>(), y.values<std::string>()));
}

TEST_F(SandboxTest, ReturnsModelErrors) {
  Sandbox sandbox = *load(placeholder("x", "DT_INT32") + node("y", "Neg", {"x"}));
  EXPECT_FAILS(sandbox.run({"y"}), InvalidArgument, "'x'");
  EXPECT_FAILS(sandbox.run({"nothing"}), InvalidArgument, "nothing");
  EXPECT_FAILS(sandbox.call("serve", {}), NotFound, "serve");
  EXPECT_TRUE(sandbox.run({"y"}, {{"x", Tensor::scalar(DType::Int32, 3)}}));
  EXPECT_EQ(sandbox.status().end, "");
}

TEST_F(SandboxTest, InvalidModelFile) {
  EXPECT_FAILS(load("nonsense"), InvalidArgument, "");
  EXPECT_FAILS(Sandbox::load(at("nothing.pb"), withOwnKernels()), NotFound, "nothing.pb");
}

TEST_F(SandboxTest, HandlesStayInside) {
  Sandbox sandbox =
      *load(node("v", "VarHandleOp", {},
                 typed("dtype", "DT_INT32") + " attr { key: 'shape' value { shape {} } }"));
  EXPECT_FAILS(sandbox.run({"v"}), Unimplemented, "outside of its sandbox");
  EXPECT_FAILS(sandbox.run({"v"}, {{"v", Tensor()}}), Unimplemented, "can't be passed");
}

TEST_F(SandboxTest, CallsFromManyThreadsTakeTurns) {
  Sandbox sandbox = *load(placeholder("x", "DT_INT32") + node("y", "Neg", {"x"}));
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([sandbox, t] {
      for (int i = 0; i < 200; ++i) {
        int x = t * 1000 + i;
        auto y = sandbox.run({"y"}, {{"x", Tensor::scalar(DType::Int32, x)}});
        ASSERT_TRUE(y);
        ASSERT_EQ((*y)[0].scalarValue<int32_t>(), -x);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(SandboxTest, OutlivesTheThreadThatMadeIt) {
  std::optional<Sandbox> sandbox;
  std::thread([&] { sandbox = *hostile(); }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(answer(*sandbox, "nothing"), "done");
}

TEST_F(SandboxTest, TellsHowItIsHeld) {
  Sandbox sandbox = *hostile();
  SandboxStatus status = sandbox.status();
  EXPECT_GE(status.landlock, 0);
  EXPECT_GT(status.startSeconds, 0);
  EXPECT_NE(status.text().find("Landlock"), std::string::npos);
}

// --- graphs without permission -----------------------------------------------------------------

std::string text(std::string_view name, std::string_view value) {
  return str("node { name: '", name, "' op: 'Const'", typed("dtype", "DT_STRING"),
             " attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape {} string_val: '",
             value, "' } } } }\n");
}

TEST_F(SandboxTest, AGraphThatReadsAFileElsewhere) {
  Sandbox sandbox = *load(text("name", at("secret")) + node("out", "ReadFile", {"name"}, ""));
  EXPECT_FAILS(sandbox.run({"out"}), PermissionDenied, "secret");
}

TEST_F(SandboxTest, AGraphThatWritesAFile) {
  Sandbox sandbox = *load(text("name", at("new")) + text("contents", "x") +
                          node("out", "WriteFile", {"name", "contents"}, ""));
  EXPECT_FAILS(sandbox.run({}, {}, {"out"}), PermissionDenied, "new");
  EXPECT_FALSE(fs::exists(at("new")));
}

TEST_F(SandboxTest, AGraphThatListsAFolder) {
  Sandbox sandbox = *load(text("name", at("*")) + node("out", "MatchingFiles", {"name"}, ""));
  EXPECT_FAILS(sandbox.run({"out"}), PermissionDenied, "");
}

TEST_F(SandboxTest, AGraphThatPrintsToAFile) {
  Sandbox sandbox =
      *load(text("line", "x") +
            node("out", "PrintV2", {"line"},
                 str(" attr { key: 'output_stream' value { s: 'file://", at("new"), "' } }")));
  EXPECT_FAILS(sandbox.run({}, {}, {"out"}), PermissionDenied, "new");
  EXPECT_FALSE(fs::exists(at("new")));
}

TEST_F(SandboxTest, AGraphMayReadAndWriteWhatItIsGranted) {
  fs::create_directories(at("out"));
  std::string graph = text("from", at("secret")) + text("to", at("out/copy")) +
                      node("read", "ReadFile", {"from"}, "") +
                      node("out", "WriteFile", {"to", "read"}, "");
  Expected<Sandbox> sandbox =
      load(graph, {.permissions = {.read = {at("secret")}, .write = {at("out")}}});
  if (!sandbox && sandbox.error().message.find("Landlock") != std::string::npos)
    GTEST_SKIP() << "this kernel has no Landlock";
  ASSERT_TRUE(sandbox->run({}, {}, {"out"}));
  EXPECT_EQ(fs::file_size(at("out/copy")), 6u);
}

// --- hostile kernels ---------------------------------------------------------------------------

TEST_F(SandboxTest, HostileKernelIsConfined) {
  Sandbox sandbox = *hostile();
  bool hasLandlock = sandbox.status().landlock > 0;
  EXPECT_EQ(answer(sandbox, "read:" + at("secret")), hasLandlock ? "EACCES" : "done");
  EXPECT_EQ(answer(sandbox, "write:" + at("new")), "EACCES");
  EXPECT_EQ(answer(sandbox, "fork"), "EPERM");
  EXPECT_EQ(answer(sandbox, "truncate"), "EPERM");
  EXPECT_EQ(answer(sandbox, "environment"), "none");
  EXPECT_EQ(sandbox.status().end, "");
}

struct End {
  const char *deed, *told;
};
class SandboxEnd : public SandboxTest, public testing::WithParamInterface<End> {};

TEST_P(SandboxEnd, IsOneClearErrorAndTheProgramGoesOn) {
  Sandbox sandbox = *hostile();
  EXPECT_EQ(answer(sandbox, "nothing"), "done");
  EXPECT_FAILS(ask(sandbox, GetParam().deed), Unavailable, GetParam().told);
  EXPECT_FAILS(ask(sandbox, "nothing"), Unavailable, GetParam().told);
  EXPECT_NE(sandbox.status().end.find(GetParam().told), std::string::npos);
  EXPECT_EQ(answer(*hostile(), "nothing"), "done");
}

constexpr End ends[] = {
    {"exec", "it called 'execve'"},
    {"socket", "it called 'socket'"},
    {"kill", "it called 'kill'"},
    {"crash", "signal 11 (SIGSEGV)"},
    {"abort", "signal 6 (SIGABRT)"},
    {"exit", "exit status 7"},
    {"claim to be refused", "exit status 3"},
    {"forget who sleeps", "exit status 9"},
    {"claim to have written", "beyond the free space"},
    {"write nonsense", "malformed message"},
};
INSTANTIATE_TEST_SUITE_P(, SandboxEnd, testing::ValuesIn(ends), [](const auto &info) {
  std::string name = info.param.deed;
  std::ranges::replace(name, ' ', '_');
  return name;
});

TEST_F(SandboxTest, ForgedReadCount) {
  Sandbox sandbox = *hostile();
  EXPECT_EQ(answer(sandbox, "claim to have read"), "done");
  EXPECT_FAILS(ask(sandbox, "nothing"), Unavailable, "beyond the written data");
}

TEST_F(SandboxTest, ACallThatTakesTooLong) {
  Sandbox sandbox = *hostile({.timeout = 0.1});
  auto start = std::chrono::steady_clock::now();
  EXPECT_FAILS(ask(sandbox, "spin"), DeadlineExceeded, "timed out");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_FAILS(ask(sandbox, "nothing"), Unavailable, "timed out");
}

TEST_F(SandboxTest, ACallThatIsCancelled) {
  Sandbox sandbox = *hostile();
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    sandbox.cancel();
  });
  EXPECT_FAILS(ask(sandbox, "spin"), Cancelled, "was cancelled but continued");
  canceller.join();
}

/// A call that reacts to cancellation keeps its state.
TEST_F(SandboxTest, AnHonestCallThatIsCancelled) {
  Sandbox sandbox =
      *load(node("q", "FIFOQueueV2", {},
                 " attr { key: 'component_types' value { list { type: DT_INT32 } } }") +
            node("out", "QueueDequeueV2", {"q"},
                 " attr { key: 'component_types' value { list { type: DT_INT32 } } }"));
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    sandbox.cancel();
  });
  EXPECT_FAILS(sandbox.run({"out"}), Cancelled, "");
  canceller.join();
  EXPECT_EQ(sandbox.status().end, "");
}

TEST_F(SandboxTest, AnHonestCallThatTakesTooLong) {
  Sandbox sandbox =
      *load(node("q", "FIFOQueueV2", {},
                 " attr { key: 'component_types' value { list { type: DT_INT32 } } }") +
                node("out", "QueueDequeueV2", {"q"},
                     " attr { key: 'component_types' value { list { type: DT_INT32 } } }"),
            {.timeout = 0.05});
  EXPECT_FAILS(sandbox.run({"out"}), DeadlineExceeded, "");
  EXPECT_EQ(sandbox.status().end, "");
}

TEST_F(SandboxTest, AKernelThatTakesAllMemory) {
  Sandbox sandbox = *hostile({.memory = 64 << 20});
  EXPECT_EQ(answer(sandbox, "memory"), "stopped");
}

TEST_F(SandboxTest, AGraphThatTakesTooMuchMemory) {
  Sandbox sandbox = *load(placeholder("n", "DT_INT32", "dim { size: 1 }") + constant("zero", 0) +
                              node("out", "Fill", {"n", "zero"},
                                   typed("T", "DT_INT32") + typed("index_type", "DT_INT32")),
                          {.memory = 32 << 20});
  Tensor n = *Tensor::make(DType::Int32, {1});
  *n.data<int32_t>() = 1 << 28;
  EXPECT_FAILS(sandbox.run({"out"}, {{"n", n}}), ResourceExhausted, "");
  *n.data<int32_t>() = 1000;
  EXPECT_TRUE(sandbox.run({"out"}, {{"n", n}}));
}

// --- processes ---------------------------------------------------------------------------------

bool isAlive(pid_t process) { return kill(process, 0) == 0; }

bool endsSoon(pid_t process) {
  for (int i = 0; i < 200 && isAlive(process); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !isAlive(process);
}

TEST_F(SandboxTest, EndsWithItsLastOwner) {
  Expected<Sandbox> sandbox = hostile();
  pid_t process = std::stoi(answer(*sandbox, "process"));
  EXPECT_TRUE(isAlive(process));
  sandbox = Unexpected(cancelled("gone"));
  EXPECT_FALSE(isAlive(process));
}

TEST_F(SandboxTest, DiesWithItsParent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t owner = fork();
  if (owner == 0) {
    Expected<Sandbox> sandbox = hostile();
    pid_t process = sandbox ? std::stoi(answer(*sandbox, "process")) : 0;
    [[maybe_unused]] ssize_t written = write(ends[1], &process, sizeof process);
    pause();
  }
  pid_t process = 0;
  ASSERT_EQ(read(ends[0], &process, sizeof process), ssize_t{sizeof process});
  ASSERT_GT(process, 0);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(endsSoon(process));
  close(ends[0]), close(ends[1]);
}

TEST_F(SandboxTest, BelongsToTheProcessThatMadeIt) {
  Sandbox sandbox = *hostile();
  pid_t child = fork();
  if (child == 0) {
    Expected<std::string> answer = ask(sandbox, "nothing");
    sandbox = Sandbox();
    _exit(!answer && answer.error().code == Code::FailedPrecondition ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(answer(sandbox, "nothing"), "done");
}

TEST_F(SandboxTest, MissingProgram) {
  EXPECT_FAILS(Sandbox::fromBytes(hostileGraph(), {.program = "/no/such/program"}),
               FailedPrecondition, "'/no/such/program' can't be started: No such file");
}

TEST_F(SandboxTest, WrongProgram) {
  EXPECT_FAILS(Sandbox::fromBytes(hostileGraph(), {.program = "/bin/true"}), Unavailable,
               "exit status 0");
}

TEST_F(SandboxTest, AProgramThatNeverAnswers) {
  std::string script = at("script");
  std::ofstream(script) << "#!/bin/sh\nexec sleep 1000\n";
  fs::permissions(script, fs::perms::owner_all);
  EXPECT_FAILS(Sandbox::fromBytes(hostileGraph(), {.loadTimeout = 0.01, .program = script}),
               DeadlineExceeded, "starting the sandbox timed out");
}

TEST(SandboxProgram, IsFoundBesideThisOne) {
  SKIP_WITH_SANITIZER();
  Expected<std::string> program = sandboxProgram();
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(program->ends_with("/treadle"));
}

} // namespace
} // namespace treadle::sandbox

int main(int argc, char **argv) {
  using namespace treadle::sandbox;
  if (argc > 1 && std::string_view(argv[1]) == ChildProcess::command)
    return serveAsChild({argv + 2, static_cast<size_t>(argc - 2)});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
