#include "treadle/transforms/schedule_communication/ScheduleCommunication.h"

#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/runtime/SoftOrder.h"
#include "treadle/transforms/Passes.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_SCHEDULECOMMUNICATION
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

/// A body with all of its edges, including soft edges that can be kept.
struct OrderedBody {
  explicit OrderedBody(Block &block) : body(block), order(body.before) {
    before = body.before;
    body.forEachSoftEdge([&](int32_t from, int32_t to) {
      if (order.add(from, to))
        before[to].push_back(from);
    });
  }
  NumberedBody body;
  SoftOrder order;
  std::vector<std::vector<int32_t>> before;
};

/// A list scheduler. Whenever the thread is free, it chooses the ready node with the longest
/// remaining path: nodes that lead to communication before others, and users of communicated values
/// last.
class ListScheduler {
public:
  ListScheduler(const OrderedBody &graph, const std::vector<Task> &tasks, int64_t memoryLimit)
      : tasks(tasks), memoryLimit(memoryLimit), after(tasks.size()), waiting(tasks.size()),
        urgency(tasks.size()), held(tasks.size()) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      waiting[i] = tasks[i].before.size();
      for (int32_t source : tasks[i].before)
        after[source].push_back(static_cast<int32_t>(i));
      if (tasks[i].isCommunication)
        for (Value result : graph.body.nodes[i].results())
          held[i] += bytesOf(result).value_or(0);
    }
    findUrgency();
  }

  /// Returns the computing nodes in scheduled order.
  std::vector<int32_t> run() {
    for (size_t i = 0; i < tasks.size(); ++i)
      if (waiting[i] == 0)
        becomeReady(static_cast<int32_t>(i));
    while (!ready.empty() || !exchanges.empty() || !underWay.empty()) {
      beginExchanges();
      if (!ready.empty())
        compute();
      else
        endExchange();
    }
    return chosen;
  }

private:
  // Equal priorities are ordered as in the graph; nodes without cost run immediately.
  using Key = std::pair<double, int32_t>;
  Key keyOf(int32_t task) const {
    bool isFree = tasks[task].seconds == 0 && !tasks[task].isCommunication;
    return {isFree ? -std::numeric_limits<double>::infinity() : -urgency[task], task};
  }

  void findUrgency() {
    std::vector<size_t> left(tasks.size());
    std::vector<int32_t> done;
    for (size_t i = 0; i < tasks.size(); ++i) {
      left[i] = after[i].size();
      if (left[i] == 0)
        done.push_back(static_cast<int32_t>(i));
    }
    for (size_t k = 0; k < done.size(); ++k) {
      int32_t task = done[k];
      for (int32_t next : after[task])
        urgency[task] = std::max(urgency[task], urgency[next]);
      urgency[task] += tasks[task].seconds;
      for (int32_t source : tasks[task].before)
        if (--left[source] == 0)
          done.push_back(source);
    }
  }

  void becomeReady(int32_t task) {
    (tasks[task].isCommunication ? exchanges : ready).insert(keyOf(task));
  }
  void finish(int32_t task) {
    for (int32_t next : after[task])
      if (--waiting[next] == 0)
        becomeReady(next);
    // Releases the memory of a communicated value after its last user.
    for (int32_t source : tasks[task].before)
      if (held[source] > 0 && --users[source] == 0)
        bytes -= held[source];
  }

  // Starts communication that exceeds the memory limit anyway if nothing else can release memory.
  void beginExchanges() {
    while (!exchanges.empty()) {
      int32_t task = exchanges.begin()->second;
      bool fits = memoryLimit == 0 || bytes + held[task] <= memoryLimit;
      if (!fits && !(ready.empty() && underWay.empty()))
        return;
      exchanges.erase(exchanges.begin());
      if (held[task] > 0 && !after[task].empty()) {
        bytes += held[task];
        users[task] = after[task].size();
      }
      linkFree = std::max(linkFree, clock) + tasks[task].seconds;
      underWay.emplace(linkFree, task);
    }
  }

  void compute() {
    // Communication that completed in the meantime may make more urgent nodes ready.
    while (!underWay.empty() && underWay.begin()->first <= clock)
      endExchange();
    int32_t task = ready.begin()->second;
    ready.erase(ready.begin());
    clock += tasks[task].seconds;
    chosen.push_back(task);
    finish(task);
  }

  void endExchange() {
    auto [when, task] = *underWay.begin();
    underWay.erase(underWay.begin());
    clock = std::max(clock, when);
    finish(task);
  }

  const std::vector<Task> &tasks;
  const int64_t memoryLimit;
  std::vector<std::vector<int32_t>> after;
  std::vector<size_t> waiting;
  std::vector<double> urgency; // seconds of the longest path to the end
  std::vector<int64_t> held;   // bytes of communicated results
  std::map<int32_t, size_t> users;
  std::set<Key> ready, exchanges;
  std::set<std::pair<double, int32_t>> underWay;
  std::vector<int32_t> chosen;
  double clock = 0, linkFree = 0;
  int64_t bytes = 0;
};

/// Adds an edge from the last dependency of each communication node to the nodes that are scheduled
/// after it, up to the next such node. So the communication starts at that time, because the
/// executor runs the node that has been ready for longest first.
std::vector<SoftEdge> edgesFor(const std::vector<int32_t> &chosen, const std::vector<Task> &tasks,
                               SoftOrder &order) {
  std::vector<int32_t> position(tasks.size(), -1);
  for (size_t i = 0; i < chosen.size(); ++i)
    position[chosen[i]] = static_cast<int32_t>(i);
  std::vector<uint8_t> isLast(tasks.size());
  for (const Task &task : tasks)
    if (task.isCommunication && !task.before.empty()) {
      int32_t last =
          *std::ranges::max_element(task.before, {}, [&](int32_t t) { return position[t]; });
      if (position[last] >= 0 && tasks[last].seconds > 0)
        isLast[last] = 1;
    }
  constexpr size_t searchLimit = 64;
  std::vector<SoftEdge> edges;
  int32_t gate = -1;
  for (int32_t task : chosen) {
    if (gate >= 0 && tasks[task].seconds > 0 && !order.isImplied(gate, task, searchLimit) &&
        order.add(gate, task))
      edges.push_back({gate, task});
    if (isLast[task])
      gate = task;
  }
  return edges;
}

std::string milliseconds(double seconds) {
  char text[330]; // enough for any double
  return {text,
          std::to_chars(text, std::end(text), seconds * 1e3, std::chars_format::fixed, 3).ptr};
}

} // namespace

std::vector<Task> tasksOf(Block &block, const ScheduleOptions &options) {
  OrderedBody graph(block);
  std::vector<Task> tasks;
  for (auto [i, node] : llvm::enumerate(graph.body.nodes)) {
    bool communicates = isCommunication(node);
    tasks.push_back({communicates ? options.costs.communicate(node, options.ranks)
                                  : options.costs.compute(node),
                     communicates, graph.before[i]});
  }
  return tasks;
}

double Schedule::hiddenShare() const {
  double most = std::min(after.communication, after.compute);
  return most > 0 ? std::min(1.0, after.hidden / most) : 1;
}

std::string Schedule::text() const {
  std::string out;
  llvm::raw_string_ostream stream(out);
  stream << "a step takes " << milliseconds(after.seconds) << " ms by the cost model, "
         << milliseconds(before.seconds)
         << " ms without the schedule: " << milliseconds(after.compute) << " ms of computing, "
         << milliseconds(after.communication) << " ms of communication, of which "
         << milliseconds(after.hidden) << " ms are hidden ("
         << llvm::format("%.0f", 100 * hiddenShare()) << "% of the possible overlap)\n";
  stream << edges << " soft edges added, " << buckets << " merged all-reduces\n";
  for (const std::string &name : unknownSizes)
    stream << "'" << name << "' counts as empty: the shape of its input is unknown\n";
  for (const Line &line : lines)
    stream << llvm::format("%10s %10s", milliseconds(line.begin).c_str(),
                           milliseconds(line.end).c_str())
           << (line.isCommunication ? "  <> " : "     ") << line.name << " (" << line.op << ")\n";
  return out;
}

/// Adds the edges, or removes them again.
static void setEdges(const OrderedBody &graph, ArrayRef<SoftEdge> edges, bool areThere) {
  for (SoftEdge edge : edges) {
    Node to = graph.body.nodes[edge.to];
    StringRef from = graph.body.nodes[edge.from].name();
    if (areThere) {
      addSoftInputs(to, from);
      continue;
    }
    SmallVector<StringRef> names = softInputs(to);
    llvm::erase(names, from);
    setSoftInputs(to, names);
  }
}

Schedule scheduleCommunication(Block &block, const ScheduleOptions &options) {
  auto run = [&](const PlannedStep &step) {
    return simulate(step.tasks, options.ranks, options.jitter);
  };
  Schedule schedule;
  PlannedStep step = plannedStep(block, options);
  schedule.before = run(step);
  schedule.buckets = options.bucketBytes > 0 ? mergeSmallReductions(block, options) : 0;
  if (schedule.buckets > 0)
    step = plannedStep(block, options);
  schedule.after = run(step);
  std::vector<Task> tasks = tasksOf(block, options);
  OrderedBody graph(block);
  std::vector<int32_t> chosen = ListScheduler(graph, tasks, options.memoryLimit).run();
  std::vector<SoftEdge> edges = edgesFor(chosen, tasks, graph.order);
  if (!edges.empty()) {
    setEdges(graph, edges, true);
    PlannedStep ordered = plannedStep(block, options);
    Simulation gained = run(ordered);
    if (gained.seconds < schedule.after.seconds) {
      schedule.after = std::move(gained);
      schedule.edges = static_cast<int64_t>(edges.size());
      step = std::move(ordered);
    } else {
      setEdges(graph, edges, false);
    }
  }
  for (auto [when, task, node] : llvm::zip(schedule.after.tasks, step.tasks, step.nodes))
    if (when.end > when.begin)
      schedule.lines.push_back(
          {node.first, node.second, task.isCommunication, when.begin, when.end});
  for (Node node : graph.body.nodes)
    if (isCommunication(node) && node.numData() > 0 && !bytesOf(node.data()[0]) &&
        !options.costs.nodes.contains(node.name()))
      schedule.unknownSizes.push_back(node.name().str());
  std::ranges::stable_sort(schedule.lines, {}, &Schedule::Line::begin);
  return schedule;
}

} // namespace tfg

namespace {

struct ScheduleCommunication : impl::ScheduleCommunicationBase<ScheduleCommunication> {
  using Base::Base;

  void runOnOperation() override {
    tfg::ScheduleOptions options;
    options.ranks = ranks;
    options.memoryLimit = memory;
    options.bucketBytes = bucket;
    options.jitter = jitter;
    if (!costs.empty()) {
      Expected<tfg::CostModel> read = tfg::CostModel::read(costs);
      if (!read) {
        emitError(UnknownLoc::get(&getContext())) << read.error().message;
        return signalPassFailure();
      }
      options.costs = std::move(*read);
    }
    tfg::SoftEdges soft(getOperation());
    tfg::forEachBody(getOperation(), [&](Block &body) {
      auto communicates = [](Operation &op) {
        return tfg::Node::isNode(&op) && tfg::isCommunication(tfg::Node(&op));
      };
      if (llvm::none_of(body, communicates))
        return;
      tfg::Schedule schedule = tfg::scheduleCommunication(body, options);
      if (explain)
        body.getParentOp()->emitRemark() << schedule.text();
      numEdges += static_cast<unsigned>(schedule.edges);
      numBuckets += static_cast<unsigned>(schedule.buckets);
    });
  }
};

} // namespace
} // namespace treadle
