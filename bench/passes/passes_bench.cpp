// Times of every pass and pipeline on every shape, at 10,000 nodes, 100,000 and a million, and what
// worse than n log n grows.
//
//   ninja -C build/release passes_bench && build/release/bin/passes_bench --passes tfg-cse
#include "bench/passes/Measure.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace treadle::bench;
namespace cl = llvm::cl;

namespace {

cl::list<std::string> passes("passes", cl::CommaSeparated, cl::desc("only these"));
cl::list<std::string> only("shapes", cl::CommaSeparated, cl::desc("only these"));
cl::list<int64_t> sizes("sizes", cl::CommaSeparated, cl::desc("numbers of nodes"));
cl::opt<int> rounds("rounds", cl::init(1), cl::desc("take the best of so many"));

/// Caches end somewhere between these sizes, which alone makes a factor.
constexpr double tooMuch = 2.5;

template <typename T> bool isChosen(const cl::list<T> &list, const T &value) {
  return list.empty() || llvm::is_contained(list, value);
}

void printTime(std::optional<double> seconds) {
  if (seconds)
    llvm::outs() << llvm::format("%10.1f", *seconds * 1e3);
  else
    llvm::outs() << "    failed";
}

/// A row for each pass: milliseconds by size, and ratios of neighbours. Returns how many are
/// flagged.
unsigned printShape(const Shape &shape, const std::vector<std::string> &pipelines) {
  llvm::outs() << "\n" << shape.name << " (" << shape.summary << "), ms at";
  for (int64_t size : sizes)
    llvm::outs() << ' ' << size;
  llvm::outs() << '\n';
  std::vector<std::vector<std::optional<double>>> times;
  for (int64_t size : sizes)
    times.push_back(measure(shape, size, pipelines, rounds));
  unsigned flagged = 0;
  for (size_t i = 0; i < pipelines.size(); ++i) {
    llvm::outs() << llvm::format("%-42s", pipelines[i].c_str());
    for (const auto &row : times)
      printTime(row[i]);
    bool isBad = false;
    for (size_t k = 1; k < sizes.size(); ++k) {
      if (!times[k - 1][i] || !times[k][i])
        continue;
      llvm::outs() << llvm::format("  x%-5.1f", *times[k][i] / *times[k - 1][i]);
      isBad |= excess(*times[k - 1][i], sizes[k - 1], *times[k][i], sizes[k]) > tooMuch;
    }
    llvm::outs() << (isBad ? "  worse than n log n" : "") << '\n';
    flagged += isBad;
  }
  llvm::outs().flush();
  return flagged;
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "Times of passes on graphs of growing size\n");
  if (sizes.empty())
    for (int64_t size : {10'000, 100'000, 1'000'000})
      sizes.push_back(size);
  std::vector<std::string> pipelines(passes.begin(), passes.end());
  if (pipelines.empty())
    pipelines = allPasses();
  unsigned flagged = 0;
  for (const Shape &shape : shapes())
    if (isChosen(only, std::string(shape.name)))
      flagged += printShape(shape, pipelines);
  llvm::outs() << "\n" << flagged << " worse than n log n\n";
  return flagged != 0;
}
