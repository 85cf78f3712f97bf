// `treadle explain --code`: the work of compiled code in a run, loop by loop.
#include "treadle/tools/cli/ExplainCode.h"
#include "treadle/tools/cli/Request.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace treadle::cli {
namespace {

using Work = CodeProfile::Work;

/// Formats three significant digits: `0.0123`, `1.5`, `1,234`.
std::string number(double value) {
  char text[40];
  if (value >= 1000) {
    std::snprintf(text, sizeof text, "%.0f", value);
    std::string grouped = text;
    for (size_t at = grouped.size(); at > 3;)
      grouped.insert(at -= 3, ",");
    return grouped;
  }
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// Formats seconds with a unit: `22.1 ns`.
std::string timeText(double seconds) {
  struct Unit {
    double seconds;
    const char *name;
  };
  for (Unit unit : {Unit{1, " s"}, {1e-3, " ms"}, {1e-6, " us"}})
    if (seconds >= unit.seconds)
      return number(seconds / unit.seconds) + unit.name;
  return number(seconds / 1e-9) + " ns";
}

std::string vectorShare(const Work &work) {
  double share = static_cast<double>(work.inVectors) / static_cast<double>(work.operations);
  return str(static_cast<int>(std::floor(100 * share)), "%");
}

/// Formats the work of each of `times` executions.
std::string workText(const Work &work, double times) {
  auto each = [&](int64_t count) { return number(static_cast<double>(count) / times); };
  std::string text = str(each(work.operations), " operations");
  if (work.flops)
    text += str(" (", each(work.flops), " flops)");
  if (work.operations)
    text += work.inVectors ? str(", ", vectorShare(work), " in vectors") : ", none in vectors";
  text += str("; reads ", each(work.bytesRead), " bytes, writes ", each(work.bytesWritten));
  if (static_cast<double>(work.allocations) >= 0.01 * times)
    text += str("; makes ", each(work.allocations), " tensors");
  return text;
}

std::string callsText(const Work &work, double times) {
  constexpr double few = 0.01; // too little to mention
  std::string text;
  for (const auto &[callee, count] : work.calls)
    if (double each = static_cast<double>(count) / times; each >= few)
      text += str(text.empty() ? "" : ", ", number(each), " x ", callee);
  return text;
}

std::string row(int depth, std::string_view title, std::string_view text) {
  constexpr size_t width = 15;
  return str(std::string(2 * depth + 2, ' '), title, std::string(width - title.size(), ' '), text,
             "\n");
}

class Text {
public:
  Text(const CodeProfile::Cluster &cluster, double runs) : cluster(cluster), runs(runs) {}

  /// Formats the whole cluster. `seconds`: its time in a run; negative if unknown.
  std::string text(double seconds) {
    auto isOuter = [](const CodeProfile::Loop &loop) { return loop.outer < 0; };
    bool isLoop = std::ranges::count_if(cluster.loops, isOuter) == 1;
    std::string out =
        str(isLoop ? "" : str("code of '", cluster.name, "': ", timeText(seconds), " a run\n"));
    if (!isLoop)
      out += outsideText(0);
    for (size_t i = 0; i < cluster.loops.size(); ++i)
      out += loopText(cluster.loops[i], isOuter(cluster.loops[i]) && isLoop ? seconds : -1);
    if (isLoop)
      out += outsideText(0);
    return out;
  }

private:
  std::string outsideText(int depth) const {
    const Work &work = cluster.outside;
    std::string calls = callsText(work, runs);
    return row(depth, "outside:", workText(work, runs) + "; a run") +
           (calls.empty() ? "" : row(depth, "calls:", calls));
  }

  std::string loopText(const CodeProfile::Loop &loop, double seconds) const {
    int depth = 0;
    double entries = runs;
    if (loop.outer >= 0)
      entries = static_cast<double>(cluster.loops[loop.outer].iterations);
    for (int outer = loop.outer; outer >= 0; outer = cluster.loops[outer].outer)
      ++depth;
    auto iterations = static_cast<double>(loop.iterations);
    std::string text = str(std::string(2 * depth, ' '), "loop '", loop.name, "' (", loop.op,
                           "): ", number(iterations / entries), " iterations");
    if (seconds >= 0)
      text +=
          str(" of ", timeText(seconds / (iterations / runs)), ", ", timeText(seconds), " a run");
    text += (loop.outer >= 0 ? " each time\n" : "\n");
    text += row(depth, "an iteration:", workText(loop.work, iterations));
    if (std::string calls = callsText(loop.work, iterations); !calls.empty())
      text += row(depth, "calls:", calls);
    constexpr size_t maxNamed = 5;
    std::string most;
    for (size_t i = 0; i < std::min(loop.nodes.size(), maxNamed); ++i) {
      const CodeProfile::Node &node = loop.nodes[i];
      bool isClear = std::ranges::count(loop.nodes, node.name, &CodeProfile::Node::name) == 1;
      most += str(i ? ", " : "", "'", node.name, "' (", node.op,
                  isClear ? "" : str(" of '", node.where, "'"), ") ",
                  number(static_cast<double>(node.work.operations) / iterations));
      if (node.work.inVectors)
        most += str(" (", vectorShare(node.work), ")");
      auto bytes = static_cast<double>(node.work.bytesRead + node.work.bytesWritten);
      if (bytes > 0)
        most += str(" and ", number(bytes / iterations), " bytes");
    }
    return most.empty() ? text : text + row(depth, "most of it:", most);
  }

  const CodeProfile::Cluster &cluster;
  const double runs;
};

/// Measures the seconds of a run in each cluster, without counters.
Expected<Profile> timesOf(const Request &request, int64_t repeat) {
  Session session = TREADLE_TRY(request.makeSession());
  for (int i = 0; i < 2; ++i)
    TREADLE_TRY(request.run(session));
  TREADLE_TRY(session.forgetTrace());
  for (int64_t i = 0; i < repeat; ++i)
    TREADLE_TRY(request.run(session));
  return session.profile();
}

Expected<CodeProfile> countsOf(const Request &request) {
  Session session = TREADLE_TRY(request.makeSession());
  TREADLE_TRY(request.run(session));
  return session.codeProfile();
}

} // namespace

int explainCode(const Arguments &args) {
  int status = 0;
  std::optional<Request> counted =
      makeRequest(args, {.countsCode = true, .compiles = true}, status);
  if (!counted)
    return status;
  CodeProfile counts = TREADLE_OR_REPORT(countsOf(*counted));
  std::optional<Request> timed = makeRequest(args, {.traces = true, .compiles = true}, status);
  if (!timed)
    return status;
  constexpr int64_t repeat = 10;
  Profile times = TREADLE_OR_REPORT(timesOf(*timed, repeat));
  std::string text;
  for (const CodeProfile::Cluster &cluster : counts.clusters) {
    auto row = std::ranges::find(times.nodes, cluster.name, &Profile::Row::name);
    bool isCompiled = row != times.nodes.end() && row->compiledCalls;
    text += isCompiled ? Text(cluster, 1).text(row->all / static_cast<double>(repeat))
                       : str("code of '", cluster.name,
                             "': left to the interpreter, which runs what code can't: "
                             "'treadle run --stats' counts it\n");
  }
  print(text.empty() ? "nothing is compiled; without --code, 'explain' says why\n" : text);
  return 0;
}

} // namespace treadle::cli
