#include "treadle/graph/PassOptions.h"

#include "treadle/graph/PipelineText.h"
#include "treadle/runtime/ValueName.h"
#include "treadle/transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle {
namespace {

/// The value `a,b` of an option with this name.
struct NamedList {
  StringRef option;
  std::string names;
};

/// Tells which passes have an option that takes names. Pipelines have all options that describe
/// runs.
class KnownOptions {
public:
  bool has(StringRef pass, StringRef option) {
    if (PassPipelineInfo::lookup(pass))
      return true;
    const PassInfo *info = PassInfo::lookup(pass);
    PassManager passes(&context);
    auto ignore = [](const Twine &) { return failure(); };
    return info && succeeded(info->addToPipeline(passes, (option + "=x").str(), ignore));
  }

private:
  MLIRContext context{MLIRContext::Threading::DISABLED};
};

bool setsOption(StringRef options, StringRef option) {
  SmallVector<StringRef> words;
  options.split(words, ' ');
  return llvm::any_of(words, [&](StringRef word) { return word.split('=').first == option; });
}

/// Returns one pass with its options and with those of `lists` that it accepts and doesn't have
/// yet; names in `keep` are merged.
std::string withNameLists(StringRef element, ArrayRef<NamedList> lists, KnownOptions &known) {
  auto [name, options] = element.split('{');
  options.consume_back("}");
  std::string given = options.str();
  for (const NamedList &list : lists)
    if (!list.names.empty() && (list.option == "keep" || !setsOption(options, list.option)) &&
        known.has(name.trim(), list.option))
      given += str(given.empty() ? "" : " ", list.option.str(), "=", list.names);
  return given == options ? element.str() : str(name.str(), "{", given, "}");
}

std::string pipelineWith(StringRef pipeline, ArrayRef<NamedList> lists) {
  registerPassesOnce();
  KnownOptions known;
  std::vector<std::string> passes;
  for (std::string_view pass : passesOf(pipeline))
    passes.push_back(withNameLists(pass, lists, known));
  return llvm::join(passes, ",");
}

} // namespace

std::string pipelineKeeping(StringRef pipeline, const std::set<std::string> &nodes) {
  return pipelineWith(pipeline, NamedList{"keep", llvm::join(nodes, ",")});
}

Expected<Graph> runPassesFor(const Request &run, const Graph &graph, StringRef pipeline) {
  std::set<std::string> all;
  auto listed = [&](const std::vector<std::string> &values) {
    std::set<std::string> nodes;
    for (const std::string &value : values)
      if (std::string node = nodeOf(value); graph.nodeOp(node))
        nodes.insert(node);
    all.insert(nodes.begin(), nodes.end());
    return llvm::join(nodes, ",");
  };
  std::string fetches = listed(run.fetches), targets = listed(run.targets);
  std::string feeds = listed(run.feeds);
  if (graph.isSavedModel())
    fetches = targets = "";
  return graph.runPasses(pipelineWith(pipeline, {{"keep", llvm::join(all, ",")},
                                                 {"fetches", std::move(fetches)},
                                                 {"targets", std::move(targets)},
                                                 {"feeds", std::move(feeds)}}));
}

} // namespace treadle
