// `treadle view`: a graph in the browser.
#include "treadle/View.h"
#include "treadle/npy/Npy.h"
#include "treadle/tools/cli/ExternalPrograms.h"
#include "treadle/tools/cli/PageServer.h"
#include "treadle/tools/cli/Perfetto.h"
#include "treadle/tools/cli/Progress.h"
#include "treadle/tools/cli/Request.h"

#include <cstdio>

namespace treadle::cli {
namespace {

constexpr std::string_view stepOptions[] = {"--fetch", "--target", "--setup", "--input"};

bool needsSteps(const Arguments &args) {
  return args.has("--steps") ||
         std::ranges::any_of(stepOptions, [&](auto option) { return args.has(option); });
}

/// Returns the request of `view`; nullopt, with the exit status, on an error.
std::optional<ViewRequest> makeViewRequest(const Arguments &args, std::optional<Graph> &graph,
                                           int &status) {
  auto fail = [&](const auto &error) {
    status = report(error);
    return std::nullopt;
  };
  ViewRequest view;
  view.title = args.positional[0];
  view.signature = args.value("--signature").value_or("");
  view.all = args.has("--all");
  if (needsSteps(args)) {
    std::optional<Request> request = makeRequest(args, {}, status);
    if (!request)
      return std::nullopt;
    useTensorNames(*request);
    graph = request->graph;
    view.steps = {request->fetches, request->targets, request->feeds, request->setup, 2000, 20};
  } else if (Expected<Graph> read = openModel(args.positional[0])) {
    graph = std::move(*read);
  } else {
    return fail(read.error());
  }
  if (auto path = args.value("--with")) {
    Expected<Graph> other = openModel(*path);
    if (!other)
      return fail(other.error());
    view.other = std::move(*other);
    view.otherTitle = *path;
  }
  if (auto path = args.value("--trace")) {
    Expected<std::string> trace = readFileBytes(std::string(*path));
    if (!trace)
      return fail(trace.error());
    view.trace = std::move(*trace);
  }
  return view;
}

int serve(const Arguments &args, const std::map<std::string, std::string> &parts) {
  int64_t port = TREADLE_OR_REPORT(args.integer("--port", 0, 0));
  if (port > 65535)
    return report(UsageError{str("option '--port' got ", port, ", expected at most 65535")});
  PageServer server = TREADLE_OR_REPORT(PageServer::listen(static_cast<int>(port)));
  print(server.address() + "\n");
  std::fflush(stdout);
  if (!args.has("--no-browser") && !openBrowser(server.address()))
    note("open this address in a browser on this machine, or write a page with --output");
  std::string page = viewPage(parts, "section/", server.token());
  server.serve([&](std::string_view head) { return server.answer(head, page, parts); });
}

/// Writes the SVG as a PNG image with rsvg-convert.
Expected<void> writePng(const std::string &svg, const std::string &path) {
  std::string file = str(path, ".svg");
  TREADLE_TRY(writeFileBytes(file, svg));
  if (runProgram({"rsvg-convert", "--zoom=2", "--output", path, file})) {
    std::remove(file.c_str());
    return {};
  }
  return Unexpected(unavailable(
      "'", path,
      "' can't be written without rsvg-convert (in Debian's librsvg2-bin); the image is in '", file,
      "'"));
}

constexpr std::string_view drawings[] = {"--svg", "--png", "--dot"};

/// Draws one body.
Expected<void> draw(const Arguments &args, const Graph &graph) {
  auto text = [&](std::string_view option) { return std::string(args.value(option).value_or("")); };
  DrawRequest request{std::string(args.positional[0]), text("--function"), text("--loop")};
  if (args.has("--dot"))
    TREADLE_TRY(writeFileBytes(text("--dot"), TREADLE_TRY(drawDot(graph, request))));
  if (!args.has("--svg") && !args.has("--png"))
    return {};
  std::string svg = TREADLE_TRY(drawSvg(graph, request));
  if (args.has("--svg"))
    TREADLE_TRY(writeFileBytes(text("--svg"), svg));
  return args.has("--png") ? writePng(svg, text("--png")) : Expected<void>();
}

int drawModel(const Arguments &args) {
  Expected<void> drawn =
      openModel(args.positional[0]).and_then([&](const Graph &graph) { return draw(args, graph); });
  return drawn ? 0 : report(drawn.error());
}

/// Returns the contents of the positional argument if it is a trace instead of a model.
std::optional<std::string> traceOf(const Arguments &args) {
  std::string path(args.positional[0]);
  if (!isPerfettoName(path) && !path.ends_with(".json"))
    return std::nullopt;
  Expected<std::string> bytes = readFileBytes(path);
  bool isTrace = bytes && (isPerfettoName(path) || looksLikeTrace(*bytes));
  return isTrace ? std::optional(std::move(*bytes)) : std::nullopt;
}

int view(const Arguments &args) {
  if (std::optional<std::string> trace = traceOf(args))
    return openInPerfetto(*trace, !args.has("--no-browser"));
  bool draws = std::ranges::any_of(drawings, [&](auto option) { return args.has(option); });
  if (draws)
    return drawModel(args);
  if (args.has("--function") || args.has("--loop"))
    return report(UsageError{"options '--function' and '--loop' choose what --svg, --png and --dot "
                             "draw; the page shows everything"});
  if (args.has("--all") && args.has("--signature"))
    return report(UsageError{"options '--all' and '--signature' can't be used together"});
  std::optional<Graph> graph;
  int status = 0;
  std::optional<std::map<std::string, std::string>> parts;
  {
    Progress progress(str("reading ", args.positional[0]));
    std::optional<ViewRequest> request = makeViewRequest(args, graph, status);
    if (!request)
      return status;
    std::map<std::string, std::string> made = TREADLE_OR_REPORT(viewParts(*graph, *request));
    parts = std::move(made);
    graph.reset();
  }
  std::optional<std::string_view> output = args.value("--output");
  if (!output)
    return serve(args, *parts);
  Expected<void> written = writeFileBytes(std::string(*output), viewPage(*parts));
  return written ? 0 : report(written.error());
}

constexpr OptionRow options[] = {
    {"--output", "PAGE.html", "write the page as one self-contained file instead of opening it"},
    {"--trace", "FILE",
     "trace of 'treadle run --trace' to show: when each op ran, and where the time went"},
    {"--with", "MODEL", "graph to compare with, shown side by side"},
    {"--steps", "",
     "run the graph with the reference interpreter, to step through it; --fetch and so on define "
     "the run"},
    {"--fetch", "T,...", "tensors to fetch in the run to step through"},
    {"--target", "N,...", "nodes to run for their side effects"},
    {"--setup", "N,...", "nodes to run before: initializers"},
    {"--input", "K=VALUE", "value of an input: 5, [1,2,3], 2x3xf32=0, @file.npy, random"},
    {"--signature", "S", "only this signature of a SavedModel and the nodes that it needs"},
    {"--all", "", "of a SavedModel also nodes that no signature needs: savers and initializers"},
    {"--svg", "FILE",
     "draw one graph, function or loop as an SVG image instead, if it is small enough to read"},
    {"--png", "FILE", "the same as a PNG image, with rsvg-convert"},
    {"--dot", "FILE", "the same as a Graphviz file, of any size"},
    {"--function", "F", "function to draw; default: the graph"},
    {"--loop", "FRAME", "loop of v1 control flow to draw, by frame name"},
    {"--no-browser", "", "print the address of the page without opening it"},
    {"--port", "N", "port on the loopback address; default: a free one"},
};

} // namespace

const Command viewCommand = {
    "view",
    "show a graph in the browser, with its loops, effects, races, compiled parts and run traces",
    "MODEL",
    1,
    options,
    "  treadle view examples/countdown.pbtxt --input start=3 --output countdown.html\n"
    "MODEL may also be a trace of 'treadle run --trace', which is opened in Perfetto.\n"
    "Without --output it serves the page on an address of this machine only, opens it in the\n"
    "browser, and stops at Ctrl-C.\n",
    view,
};

} // namespace treadle::cli
