// `treadle convert`: reads a graph in one format, writes it in another.
#include "treadle/tools/cli/Command.h"

namespace treadle::cli {

static int convert(const Arguments &args) {
  Expected<Graph> graph = openModel(args.positional[0]);
  if (!graph)
    return report(graph.error());
  Expected<void> done = graph->toFile(std::string(args.positional[1]));
  return done ? 0 : report(done.error());
}

const Command convertCommand = {
    "convert", "write a graph in another format: .pb, .pbtxt, .mlir",         "IN OUT", 2,
    {},        "  treadle convert examples/countdown.pbtxt countdown.mlir\n", convert,
};

} // namespace treadle::cli
