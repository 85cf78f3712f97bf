// `treadle freeze`: writes a model as a graph whose variables are constants.
#include "treadle/tools/cli/Progress.h"
#include "treadle/tools/cli/Request.h"
#include "treadle/tools/cli/Value.h"

#include <algorithm>

namespace treadle::cli {
namespace {

void addTensors(const std::vector<std::pair<std::string, Graph::Value>> &values,
                std::vector<std::string> &names) {
  for (const auto &[key, value] : values)
    names.push_back(value.name);
}

/// Prints the tensors of the new graph to feed and fetch for the keys of the signature.
void printTensors(const Graph &frozen, const Graph::Signature &signature,
                  const std::vector<std::string> &fetches) {
  auto line = [](std::string_view arrow, const std::string &key, const Graph::Value &value) {
    print(str("  ", arrow, " ", key, ": ", typeText(value.dtype, value.hasRank, value.dims), " (",
              value.name, ")\n"));
  };
  std::vector<Graph::Value> inputs = frozen.inputs();
  print(str(signature.name, "\n"));
  for (const auto &[key, value] : signature.inputs)
    line(std::ranges::find(inputs, value.name, &Graph::Value::name) == inputs.end() ? "(unused)"
                                                                                    : "<-",
         key, value);
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    auto [key, value] = signature.outputs[i];
    if (fetches.size() == signature.outputs.size())
      value.name = fetches[i];
    line("->", key, value);
  }
}

Expected<Graph> freezeRequest(Request &request, std::string &initializer) {
  FreezeRequest asked{request.fetches, {}, {}, {}};
  if (request.signature) {
    asked.fetches.clear();
    addTensors(request.signature->outputs, asked.fetches);
    addTensors(request.signature->inputs, asked.feeds);
  }
  Session session = TREADLE_TRY(request.makeSession());
  asked.variables = session.variables();
  asked.tables = session.tables();
  request.fetches = asked.fetches;
  return freeze(request.graph, asked, &initializer);
}

int freeze(const Arguments &args) {
  std::optional<std::string_view> out = args.value("-o");
  if (!out || out->empty())
    return report(UsageError{"option '-o' is missing: the file to write (.pb, .pbtxt, .cpb, "
                             ".mlir)"});
  int status = 0;
  std::optional<Request> request = makeRequest(args, {}, status);
  if (!request)
    return status;
  std::string initializer;
  Expected<Graph> frozen = [&] {
    Progress progress(str("freezing ", args.positional[0]));
    return freezeRequest(*request, initializer);
  }();
  if (!frozen)
    return report(request->withAdvice(std::move(frozen.error())));
  if (Expected<void> done = frozen->toFile(std::string(*out)); !done)
    return report(done.error());
  if (request->signature)
    printTensors(*frozen, *request->signature, request->fetches);
  if (!initializer.empty())
    print(str("run '", initializer, "' first: --setup ", initializer, "\n"));
  return 0;
}

constexpr OptionRow options[] = {
    {"-o", "FILE", "the graph to write: .pb, .pbtxt, .cpb, .mlir"},
    {"--signature", "S", "signature of a SavedModel to keep; default: serving_default"},
    {"--fetch", "T,...", "tensors to keep instead of a signature"},
    {"--setup", "N,...", "for a plain graph: nodes to run first, such as initializers"},
    {"--passes", "PIPELINE", "passes to run on the model first: tfg-default"},
};

} // namespace

const Command freezeCommand = {
    "freeze",
    "freeze a model: replace its variables by constants",
    "MODEL",
    1,
    options,
    "  treadle freeze examples/words --fetch y:0 -o scaled.pb\n"
    "  treadle run scaled.pb --input x=[1,2]\n"
    "  y:0: float32[2] = [2.5 5.0]\n"
    "For a signature it prints the tensors of the new graph to feed and to fetch.\n",
    freeze,
};

} // namespace treadle::cli
