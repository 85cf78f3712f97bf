// Import and export of a GraphDef: time a node, and the memory that a module takes.
//
//   ninja -C build/release import_bench && build/release/bin/import_bench
#include "treadle/export/GraphDef.h"
#include "treadle/import/GraphDef.h"
#include "treadle/proto/graph.pb.h"

#include "mlir/IR/MLIRContext.h"

#include <benchmark/benchmark.h>
#include <malloc.h>

using namespace treadle;

namespace {

pb::NodeDef *addNode(pb::GraphDef &graph, const std::string &name, const char *op) {
  pb::NodeDef *node = graph.add_node();
  node->set_name(name);
  node->set_op(op);
  return node;
}

/// A chain of additions and multiplications below scopes of a hundred nodes, a constant for each
/// tenth of them, and control edges: about what a traced model looks like.
std::string makeGraph(int64_t numNodes) {
  pb::GraphDef graph;
  graph.mutable_versions()->set_producer(1882);
  (*addNode(graph, "x", "Placeholder")->mutable_attr())["dtype"].set_type(pb::DT_FLOAT);
  std::string last = "x", constant = "x";
  while (graph.node_size() < numNodes) {
    int64_t id = graph.node_size();
    std::string name = "model/layer_" + std::to_string(id / 100) + "/op_" + std::to_string(id);
    if (id % 10 == 1) {
      auto &attrs = *addNode(graph, name, "Const")->mutable_attr();
      attrs["dtype"].set_type(pb::DT_FLOAT);
      pb::TensorProto &tensor = *attrs["value"].mutable_tensor();
      tensor.set_dtype(pb::DT_FLOAT);
      tensor.mutable_tensor_shape();
      tensor.add_float_val(static_cast<float>(id));
      constant = name;
      continue;
    }
    pb::NodeDef *node = addNode(graph, name, id % 2 == 0 ? "AddV2" : "Mul");
    (*node->mutable_attr())["T"].set_type(pb::DT_FLOAT);
    node->add_input(last);
    node->add_input(constant);
    if (id % 10 == 5)
      node->add_input("^" + constant);
    last = name;
  }
  return graph.SerializeAsString();
}

mlir::OwningOpRef<mlir::ModuleOp> import(mlir::MLIRContext &context, const std::string &bytes,
                                         benchmark::State &state) {
  auto module = importGraphDef(context, bytes);
  if (module)
    return std::move(*module);
  state.SkipWithError(module.error().message.c_str());
  return {};
}

void reportPerNode(benchmark::State &state, size_t numBytes) {
  using benchmark::Counter;
  state.counters["node"] = Counter(static_cast<double>(state.range(0)),
                                   Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.counters["file bytes/node"] = static_cast<double>(numBytes) / state.range(0);
}

/// Everything that a first load does, but reading the file: context, dialects, parsing, checks.
void importGraph(benchmark::State &state) {
  std::string bytes = makeGraph(state.range(0));
  size_t inUse = mallinfo2().uordblks + mallinfo2().hblkhd, grown = 0;
  for (auto _ : state) {
    auto context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    auto module = import(*context, bytes, state);
    state.PauseTiming();
    grown = mallinfo2().uordblks + mallinfo2().hblkhd - inUse;
    module = {};
    context.reset();
    state.ResumeTiming();
  }
  reportPerNode(state, bytes.size());
  state.counters["memory bytes/node"] = static_cast<double>(grown) / state.range(0);
}
BENCHMARK(importGraph)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void exportGraph(benchmark::State &state) {
  std::string bytes = makeGraph(state.range(0));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = import(context, bytes, state);
  for (auto _ : state)
    if (module && !exportGraphDefBytes(*module))
      state.SkipWithError("the module can't be exported");
  reportPerNode(state, bytes.size());
}
BENCHMARK(exportGraph)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
