// `treadle convert`: reads a graph in one format and writes it in another.
#include "treadle/export/Artifact.h"
#include "treadle/npy/Npz.h"
#include "treadle/tools/cli/Command.h"
#include "treadle/tools/cli/Progress.h"

#include <filesystem>

namespace treadle::cli {

/// Returns the pass that converts to a dialect; nullptr for tfg, the dialect of graphs in memory.
static Parsed<const char *> conversionPass(std::string_view dialect, std::string_view out) {
  if (dialect == "tfg")
    return nullptr;
  if (dialect == "tf_executor")
    return "tfg-to-tf-executor";
  if (dialect == "stablehlo")
    return tl::unexpected(
        UsageError{str("option '--to' is 'stablehlo', which is text, and OUT is '", out,
                       "'; expected a name that ends in .mlir")});
  return tl::unexpected(
      UsageError{str("option '--to' is '", dialect, "', expected tfg, tf_executor or stablehlo")});
}

/// Prints a note about the parts of a SavedModel that are lost when only its graph is written.
static void noteLostParts(const Graph &graph, const std::string &in, const std::string &out) {
  std::filesystem::path path(out);
  bool isGraph = path.extension() != ".mlir" && path.stem() != "saved_model" &&
                 std::filesystem::is_regular_file(path);
  if (!graph.isSavedModel() || !isGraph)
    return;
  auto variables = std::ssize(summarize(graph).variables);
  std::string values =
      variables ? str("the values of its ", plural(variables, "variable"), ", ") : "";
  note(str("'", out, "' has only the graph of the model: ", values,
           "its signatures and its assets are left out",
           variables
               ? str("; 'treadle freeze ", in, " -o ", out, "' turns variables into constants")
               : ""));
}

static int writeProgram(const Arguments &args, const Expected<std::string> &bytes) {
  Expected<void> done = bytes.and_then([&](const std::string &written) {
    return writeFileBytes(std::string(args.positional[1]), written);
  });
  return done ? 0 : report(done.error());
}

/// Writes a StableHLO program as a portable artifact or as text.
static int convertProgram(const Arguments &args, bool toArtifact) {
  if (args.has("--passes") || (toArtifact && args.has("--to")))
    return report(UsageError{str("option '", args.has("--passes") ? "--passes" : "--to",
                                 "' is for graphs, but '", args.positional[1], "' is a program")});
  std::string path(args.positional[0]);
  if (!toArtifact)
    return writeProgram(args, stableHloOfFile(path));
  Expected<llvm::VersionTuple> target = artifactVersion(args.value("--target").value_or(""));
  if (!target)
    return report(UsageError{"option '--target': " + target.error().message});
  return writeProgram(args, artifactOfFile(path, *target));
}

static int convert(const Arguments &args) {
  if (args.positional[1].ends_with(".mlirbc") || args.positional[1].ends_with(".mlir.bc"))
    return convertProgram(args, /*toArtifact=*/true);
  if (args.value("--to") == "stablehlo" && args.positional[1].ends_with(".mlir"))
    return convertProgram(args, /*toArtifact=*/false);
  if (args.has("--target"))
    return report(UsageError{"option '--target' is for portable artifacts: OUT.mlirbc"});
  const char *passToDialect =
      TREADLE_OR_REPORT(conversionPass(args.value("--to").value_or("tfg"), args.positional[1]));
  Expected<Graph> graph = openModel(args.positional[0]);
  if (!graph)
    return report(graph.error());
  if (auto passes = args.value("--passes"))
    graph = graph->runPasses(*passes);
  if (!graph)
    return report(graph.error());
  if (passToDialect && graph->isSavedModel())
    return report(unimplemented("'", args.positional[0],
                                "' is a SavedModel, but the tf_executor dialect holds only graphs; "
                                "freeze it first: treadle freeze ",
                                args.positional[0], " -o frozen.pb"));
  if (passToDialect)
    graph = graph->runPasses(passToDialect);
  if (!graph)
    return report(graph.error());
  Expected<void> done = [&] {
    Progress progress(str("writing ", args.positional[1]));
    return graph->toFile(std::string(args.positional[1]));
  }();
  if (!done)
    return report(done.error());
  noteLostParts(*graph, std::string(args.positional[0]), std::string(args.positional[1]));
  return 0;
}

constexpr OptionRow options[] = {
    {"--passes", "PIPELINE", "passes to run on the graph: tfg-cse,tfg-toposort"},
    {"--to", "DIALECT",
     "dialect of an .mlir file: tfg (the default) or tf_executor; for StableHLO programs also "
     "stablehlo"},
    {"--target", "VERSION",
     "version of a portable artifact, for StableHLO programs: 0.9.0 or later; default: the "
     "newest"}};

const Command convertCommand = {
    "convert",
    "convert a graph to another format: .pb, .pbtxt, .cpb, .mlir, SavedModel, .mlirbc",
    "IN OUT",
    2,
    options,
    "  treadle convert examples/countdown.pbtxt countdown.mlir\n"
    "  treadle convert program.mlir program.mlirbc --target 1.0.0\n"
    "The extension of OUT selects the format; a SavedModel is written as a folder if OUT has no\n"
    "extension or ends in '/'.\n",
    convert,
};

} // namespace treadle::cli
