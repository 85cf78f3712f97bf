// Runs corrupted graphs in all tiers: each must end in an error or in values, never in a crash.
//
//   damage [--seed S] [--first I] [--count N] [--jit EVERY] [--chunk N] [--findings FOLDER]
//          [GRAPH|FOLDER]...
//
// Graphs are corrupted copies of the given ones (.pb, .pbtxt; folders are searched); every other
// graph has a single op of the op table. Number, seed and sources determine a graph: `--seed S
// --first I --count 1` repeats one. Chunks run in separate processes, so that a crash ends only its
// graph, which is saved to FOLDER. Exit status 1: there were findings.
//
// ./dev test runs a short form. A long run in a build with the address sanitizer:
//
//   build/asan/bin/damage --count 1000000 test/graphs examples fuzz/seeds
#include "fuzz/damage/Damage.h"
#include "treadle/treadle.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// Kernels report a tensor too large for memory as an error, and the sanitizer's allocator may
// return null. Its `new` never throws, so the linker redirects calls of `new` to the wrapper below.
// NOLINTBEGIN(bugprone-reserved-identifier): the names are given
extern "C" {
const char *__asan_default_options() {
  // LLVM poisons memory only if it is built with the sanitizer; here, only its headers are.
  return "allocator_may_return_null=1:max_allocation_size_mb=256:detect_leaks=0:"
         "allow_user_poisoning=0";
}
void *__real__Znwm(size_t size);
void *__wrap__Znwm(size_t size) {
  return size > size_t{256} << 20 ? throw std::bad_alloc() : __real__Znwm(size);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace fs = std::filesystem;
using namespace treadle;
using namespace treadle::fuzz;

namespace {

constexpr size_t maxRuns = 4; // of fetches and of targets
constexpr int64_t memoryOfSession = int64_t{1} << 30;
// Time limit for one or several runs in each tier, including compilation; beyond it, the graph
// counts as hanging.
#if __has_feature(address_sanitizer)
constexpr unsigned secondsEach = 60;
#else
constexpr unsigned secondsEach = 10;
#endif

struct Options {
  uint64_t seed = 1;
  int64_t first = 0, count = 2000, jitEvery = 4, chunk = 2000;
  fs::path findings = fs::temp_directory_path() / "treadle-damage";
  std::vector<fs::path> sources;
};

/// Shared with the processes that run graphs.
struct Progress {
  std::atomic<int64_t> at, imported, values, errors, outOfMemory;
  struct Most {
    std::atomic<int64_t> value, at;
    void note(int64_t newValue, int64_t where) {
      if (newValue > value)
        value = newValue, at = where;
    }
  } milliseconds, kilobytes; // of computing, and of the process
};

// --- the graphs --------------------------------------------------------------------------------

bool isSafe(const pb::GraphDef &graph) {
  auto areSafe = [](const auto &nodes) {
    return std::ranges::none_of(nodes, [](const auto &node) { return touchesFiles(node.op()); });
  };
  return areSafe(graph.node()) &&
         std::ranges::all_of(graph.library().function(),
                             [&](const auto &function) { return areSafe(function.node_def()); });
}

void readGraph(const fs::path &path, std::vector<pb::GraphDef> &graphs) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  pb::GraphDef graph;
  bool isRead = path.extension() == ".pbtxt"
                    ? google::protobuf::TextFormat::ParseFromString(bytes.str(), &graph)
                    : graph.ParseFromString(bytes.str());
  if (isRead && graph.node_size() > 0 && graph.ByteSizeLong() < 200'000 && isSafe(graph))
    graphs.push_back(std::move(graph));
}

std::vector<pb::GraphDef> readGraphs(const std::vector<fs::path> &sources) {
  std::vector<pb::GraphDef> graphs;
  std::vector<fs::path> files;
  for (const fs::path &source : sources) {
    if (!fs::is_directory(source)) {
      files.push_back(source);
      continue;
    }
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(source))
      if (entry.path().extension() == ".pb" || entry.path().extension() == ".pbtxt")
        files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path &file : files)
    readGraph(file, graphs);
  return graphs;
}

class Graphs {
public:
  explicit Graphs(const Options &options)
      : seed(options.seed), sources(readGraphs(options.sources)), vocabulary(sources) {}

  pb::GraphDef make(int64_t number) const {
    Random random(seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(number));
    if (sources.empty() || number % 2) {
      pb::GraphDef graph = graphOfOneOp(random);
      if (oneIn(random, 3))
        damage(graph, vocabulary, random);
      return graph;
    }
    pb::GraphDef graph = sources[pick(random, sources.size())];
    damage(graph, vocabulary, random);
    return graph;
  }

private:
  uint64_t seed;
  std::vector<pb::GraphDef> sources;
  Vocabulary vocabulary;
};

// --- running -----------------------------------------------------------------------------------

/// Returns ones in the shape that the placeholder states.
Session::Feeds feedsOf(const Graph &graph) {
  Session::Feeds feeds;
  for (const Graph::Value &input : graph.inputs()) {
    std::vector<int64_t> dims = input.dims;
    int64_t count = 1;
    for (int64_t &dim : dims) {
      dim = dim < 0 ? 2 : std::min<int64_t>(dim, 64);
      count *= dim;
    }
    if (count > 100'000)
      continue;
    Expected<Tensor> value = Tensor::make(input.dtype, dims);
    if (!value)
      continue;
    if (isPlain(input.dtype))
      std::memset(value->raw(), 0, value->bytes());
    if (input.dtype == DType::Float32)
      std::fill_n(value->data<float>(), value->count(), 1.0f);
    else if (input.dtype == DType::Int32)
      std::fill_n(value->data<int32_t>(), value->count(), 1);
    else if (input.dtype == DType::Int64)
      std::fill_n(value->data<int64_t>(), value->count(), 1);
    feeds.emplace_back(input.name, std::move(*value));
  }
  return feeds;
}

/// Returns nodes without users and without outputs: they have only effects.
std::vector<std::string> targetsOf(const pb::GraphDef &graph,
                                   const std::vector<std::string> &fetches) {
  std::set<std::string> others;
  auto nodeOf = [](std::string_view input) {
    input.remove_prefix(input.starts_with('^'));
    return std::string(input.substr(0, input.find(':')));
  };
  for (const std::string &fetch : fetches)
    others.insert(nodeOf(fetch));
  for (const pb::NodeDef &node : graph.node())
    for (const std::string &input : node.input())
      others.insert(nodeOf(input));
  std::vector<std::string> targets;
  for (const pb::NodeDef &node : graph.node())
    if (!others.contains(node.name()))
      targets.push_back(node.name());
  return targets;
}

void runGraph(const Graph &graph, const pb::GraphDef &source, Tier tier, Progress &progress) {
  SessionOptions options;
  options.threads = 1;
  options.tier = tier;
  options.timeout = 0.1;
  options.memory = memoryOfSession;
  options.print = [](std::string_view, std::string_view) {};
  Expected<Session> session = Session::create(graph, options);
  if (!session)
    return;
  std::vector<std::string> fetches;
  for (const Graph::Value &output : graph.outputs())
    fetches.push_back(output.name);
  std::vector<std::string> targets = targetsOf(source, fetches);
  Session::Feeds feeds = feedsOf(graph);
  auto count = [&](bool isDone) { ++(isDone ? progress.values : progress.errors); };
  for (size_t i = 0; i < std::min(fetches.size(), maxRuns); ++i)
    count(session->run({fetches[i]}, feeds).has_value());
  for (size_t i = 0; i < std::min(targets.size(), maxRuns); ++i)
    count(session->run({}, feeds, {targets[i]}).has_value());
}

/// Renders the graph, and a run of its first outputs, as the viewer does.
void renderGraph(const Graph &graph, bool explains) {
  ViewRequest request;
  request.explains = explains;
  std::vector<Graph::Value> outputs = graph.outputs();
  if (explains && !outputs.empty())
    request.steps = {{outputs[0].name}, {}, feedsOf(graph), {}, 20, 0.1};
  if (!viewParts(graph, request) && request.steps) {
    request.steps.reset(); // a failed run has no steps; the graph is shown anyway
    std::ignore = viewParts(graph, request);
  }
  std::ignore = drawSvg(graph);
  std::ignore = drawDot(graph);
}

/// Limits the memory of the process; the address sanitizer reserves more and limits single tensors.
void limitMemory() {
#if !__has_feature(address_sanitizer)
  constexpr rlim_t most = rlim_t{2} << 30;
  rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

/// Limits the time of one graph by a signal.
void limitTime() {
  itimerval computing{{}, {secondsEach, 0}};
  setitimer(ITIMER_PROF, &computing, nullptr);
  alarm(20 * secondsEach);
}

/// Records the resources that a graph used.
class ResourceUsage {
public:
  explicit ResourceUsage(Progress &progress)
      : progress(progress), number(progress.at), before(now()) {}
  ~ResourceUsage() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    progress.milliseconds.note(now() - before, number);
    progress.kilobytes.note(usage.ru_maxrss, number);
  }
  ResourceUsage(const ResourceUsage &) = delete;

private:
  static int64_t now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
  }
  Progress &progress;
  const int64_t number, before;
};

/// Runs in a process of its own.
[[noreturn]] void runChunk(const Graphs &graphs, const Options &options, int64_t end,
                           Progress &progress) {
  google::protobuf::LogSilencer silencer;
  limitMemory();
  for (; progress.at < end; ++progress.at) {
    limitTime();
    int64_t number = progress.at;
    ResourceUsage used(progress);
    bool isCompiled = (number / 2) % options.jitEvery == 0;
    try {
      pb::GraphDef source = graphs.make(number);
      Expected<Graph> graph = Graph::fromBytes(source.SerializeAsString());
      if (!graph)
        continue;
      ++progress.imported;
      for (Tier tier : {Tier::Interpret, Tier::Auto, Tier::Jit})
        if (tier == Tier::Interpret || isCompiled)
          runGraph(*graph, source, tier, progress);
      renderGraph(*graph, isCompiled);
    } catch (const std::bad_alloc &) {
      ++progress.outOfMemory; // from the import or the compiler; a run reports an error
    }
  }
  _exit(0);
}

/// Saves the failing graph of the process and describes what went wrong.
void keep(const Graphs &graphs, const Options &options, int64_t number, int status,
          const fs::path &log) {
  fs::path file = options.findings / (std::to_string(options.seed) + "-" + std::to_string(number));
  std::ofstream(file.string() + ".pb", std::ios::binary) << graphs.make(number).SerializeAsString();
  fs::copy_file(log, file.string() + ".log", fs::copy_options::overwrite_existing);
  std::string how = WIFSIGNALED(status) ? str("signal ", WTERMSIG(status))
                                        : str("exit status ", WEXITSTATUS(status));
  std::cout << "finding: " << how << " at --seed " << options.seed << " --first " << number
            << " --count 1; " << file.string() << ".pb" << std::endl;
}

int64_t runAll(const Graphs &graphs, const Options &options) {
  void *shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    throw std::bad_alloc();
  auto &progress = *new (shared) Progress();
  progress.at = options.first;
  fs::create_directories(options.findings);
  fs::path log = options.findings / ("log-" + std::to_string(getpid()));
  int64_t end = options.first + options.count, numFindings = 0;
  auto begin = std::chrono::steady_clock::now();
  while (progress.at < end) {
    int64_t chunkEnd = std::min(end, progress.at + options.chunk);
    pid_t child = fork();
    if (child < 0) {
      std::cerr << "damage: no process can be started: " << std::strerror(errno) << '\n';
      std::exit(2);
    }
    if (child == 0) {
      int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      dup2(out, STDERR_FILENO);
      runChunk(graphs, options, chunkEnd, progress);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
      ++numFindings;
      keep(graphs, options, progress.at, status, log);
      ++progress.at;
    }
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::cout << options.count << " graphs in " << static_cast<int64_t>(seconds)
            << " s: " << progress.imported << " imports, " << progress.values
            << " runs with values, " << progress.errors << " with errors, " << progress.outOfMemory
            << " beyond the process's memory, " << numFindings << " findings; at most "
            << progress.milliseconds.value << " ms (" << progress.milliseconds.at << ") and "
            << progress.kilobytes.value / 1024 << " MiB (" << progress.kilobytes.at << ")"
            << std::endl;
  fs::remove(log);
  return numFindings;
}

std::optional<Options> parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    if (!arg.starts_with("--")) {
      options.sources.emplace_back(arg);
      continue;
    }
    if (++i == argc)
      return std::nullopt;
    if (arg == "--seed")
      options.seed = std::stoull(argv[i]);
    else if (arg == "--first")
      options.first = std::stoll(argv[i]);
    else if (arg == "--count")
      options.count = std::stoll(argv[i]);
    else if (arg == "--jit")
      options.jitEvery = std::max<int64_t>(std::stoll(argv[i]), 1);
    else if (arg == "--chunk")
      options.chunk = std::max<int64_t>(std::stoll(argv[i]), 1);
    else if (arg == "--findings")
      options.findings = argv[i];
    else
      return std::nullopt;
  }
  return options;
}

} // namespace

int main(int argc, char **argv) {
  std::optional<Options> options = parse(argc, argv);
  if (!options) {
    std::cerr << "usage: damage [--seed S] [--first I] [--count N] [--jit EVERY] [--chunk N] "
                 "[--findings FOLDER] [GRAPH|FOLDER]...\n";
    return 2;
  }
  return runAll(Graphs(*options), *options) ? 1 : 0;
}
