// `treadle convert`: reads a graph in one format, writes it in another.
#include "treadle/tools/cli/Command.h"

namespace treadle::cli {

static int convert(const Arguments &args) {
  Expected<Graph> graph = openModel(args.positional[0]);
  if (!graph)
    return report(graph.error());
  if (auto passes = args.value("--passes"))
    graph = graph->runPasses(*passes);
  if (!graph)
    return report(graph.error());
  Expected<void> done = graph->toFile(std::string(args.positional[1]));
  return done ? 0 : report(done.error());
}

constexpr OptionRow options[] = {
    {"--passes", "PIPELINE", "passes to run on the way: tfg-cse,tfg-toposort"}};

const Command convertCommand = {
    "convert", "write a graph in another format: .pb, .pbtxt, .mlir, SavedModel", "IN OUT", 2,
    options,   "  treadle convert examples/countdown.pbtxt countdown.mlir\n",     convert,
};

} // namespace treadle::cli
