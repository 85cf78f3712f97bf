#include "bench/passes/Measure.h"

#include "treadle/import/GraphDef.h"
#include "treadle/transforms/Passes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace treadle::bench {
namespace {

void registerOnce() {
  static const bool isDone = (registerTreadlePasses(), registerTreadlePipelines(), true);
  (void)isDone;
}

std::string withLastNode(std::string pipeline, const std::string &name) {
  static constexpr llvm::StringLiteral hole = "$last";
  for (size_t at; (at = pipeline.find(hole)) != std::string::npos;)
    pipeline.replace(at, hole.size(), name);
  return pipeline;
}

/// The CPU time of this thread, which is less sensitive to a busy machine.
double cpuTime() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::optional<double> timed(mlir::ModuleOp module, const std::string &pipeline) {
  mlir::PassManager passes(module.getContext());
  passes.enableVerifier(false);
  if (failed(mlir::parsePassPipeline(pipeline, passes, llvm::errs())))
    return std::nullopt;
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  double start = cpuTime();
  if (failed(passes.run(*copy)))
    return std::nullopt;
  return cpuTime() - start;
}

} // namespace

std::vector<std::string> allPasses() {
  std::vector<std::string_view> names = passNames();
  std::vector<std::string> all(names.begin(), names.end());
  // Passes that need a conversion before them.
  const std::pair<const char *, const char *> thereAndBack[] = {
      {"tf-executor-to-tfg", "tfg-to-tf-executor,tf-executor-to-tfg"},
      {"tfg-lower-func-to-graph", "tfg-lift-graph-to-func{fetches=$last},tfg-lower-func-to-graph"}};
  for (auto [back, both] : thereAndBack)
    std::replace(all.begin(), all.end(), std::string(back), std::string(both));
  for (const char *withFetch : {"tfg-prune", "tfg-default"})
    all.push_back(std::string(withFetch) + "{fetches=$last}");
  return all;
}

std::vector<std::optional<double>> measure(const Shape &shape, int64_t numNodes,
                                           const std::vector<std::string> &pipelines, int rounds) {
  registerOnce();
  pb::GraphDef graph = shape.make(numNodes);
  std::string last = graph.node(graph.node_size() - 1).name();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importGraphDef(context, std::move(graph));
  std::vector<std::optional<double>> times(pipelines.size());
  if (!module) {
    llvm::errs() << shape.name << ": " << module.error().message << '\n';
    return times;
  }
  for (size_t i = 0; i < pipelines.size(); ++i)
    for (int round = 0; round < rounds; ++round) {
      std::optional<double> time = timed(**module, withLastNode(pipelines[i], last));
      if (time && (!times[i] || *time < *times[i]))
        times[i] = time;
    }
  return times;
}

double excess(double smallTime, int64_t smallSize, double largeTime, int64_t largeSize) {
  auto nLogN = [](int64_t n) { return static_cast<double>(n) * std::log2(static_cast<double>(n)); };
  return largeTime / smallTime * nLogN(smallSize) / nLogN(largeSize);
}

} // namespace treadle::bench
