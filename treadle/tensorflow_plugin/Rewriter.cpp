// Runs passes over graphs that arrive as messages (Channel.h).
#include "treadle/tensorflow_plugin/Rewriter.h"

#include "treadle/tensorflow_plugin/Channel.h"
#include "treadle/tensorflow_plugin/Pipeline.h"
#include "treadle/tensorflow_plugin/WithheldFunctions.h"
#include "treadle/treadle.h"

#include <unistd.h>

namespace treadle::tensorflow {
namespace {

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> out;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    out.emplace_back(text.substr(0, end));
  return out;
}

/// Returns the names that exist in the graph. TensorFlow also lists nodes of other graphs of the
/// program.
std::vector<std::string> namesInGraph(const std::vector<std::string> &names, const Graph &graph) {
  std::vector<std::string> out;
  for (const std::string &name : names)
    if (graph.nodeOp(name))
      out.push_back(name);
  return out;
}

Expected<void> checkKept(const std::vector<std::string> &names, const Graph &graph) {
  for (const std::string &name : names)
    if (!graph.nodeOp(name))
      return Unexpected(invalidArgument(
          "the pipeline removed node '", name,
          "', which TensorFlow needs; use '{names}' in the options of a pass to list such nodes"));
  return {};
}

Expected<Message> rewrite(const std::string &pipeline, const std::string &names,
                          std::string_view bytes) {
  WithheldFunctions library;
  std::string body = TREADLE_TRY(library.removeFrom(bytes));
  Graph graph = TREADLE_TRY(Graph::fromBytes(body));
  std::vector<std::string> kept = namesInGraph(lines(names), graph);
  Graph result = TREADLE_TRY(graph.runPasses(withKeptNodes(pipeline, kept)));
  TREADLE_TRY(checkKept(kept, result));
  Expected<std::string> out = result.toGraphDef();
  if (out)
    out = library.restoreTo(std::move(*out));
  if (!out)
    return Unexpected(out.error());
  return Message{
      "", std::move(*out),
      str(graph.nodeNames().size(), " nodes, ", result.nodeNames().size(), " after ", pipeline)};
}

void serve(Channel channel) {
  while (std::optional<Message> request = channel.receive()) {
    if (request->size() != 3)
      return;
    Expected<Message> reply = rewrite((*request)[0], (*request)[1], (*request)[2]);
    if (!channel.send(reply ? *reply : Message{reply.error().message, "", ""}))
      return;
  }
}

} // namespace

void rewriteInput() {
  // Redirects standard output, so that library output doesn't mix with messages.
  int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  serve(Channel(STDIN_FILENO, out));
}

} // namespace treadle::tensorflow
