// A plug-in for TensorFlow: its graph optimizer hands every graph to TF_InitGraph's optimizer,
// which runs a pipeline of Treadle's passes over it. Whatever goes wrong, TensorFlow gets its graph
// back as it was.
//
// Environment: TREADLE_TENSORFLOW_PASSES, the pipeline (without it the plug-in does nothing);
// TREADLE_TENSORFLOW_LOG=1, a line on standard error for each graph.
#include "treadle/treadle.h"

#include "tensorflow/c/experimental/grappler/grappler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#define TREADLE_EXPORT __attribute__((visibility("default")))

namespace {

using treadle::str;

std::string setting(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

void log(const std::string &line) {
  if (setting("TREADLE_TENSORFLOW_LOG").empty())
    return;
  std::string text = "treadle: " + line + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void freeBuffer(void *data, size_t) { std::free(data); }

void give(std::string_view bytes, TF_Buffer *out) {
  if (out->data_deallocator)
    out->data_deallocator(const_cast<void *>(out->data), out->length);
  void *copy = std::malloc(std::max<size_t>(bytes.size(), 1));
  std::memcpy(copy, bytes.data(), bytes.size());
  out->data = copy;
  out->length = bytes.size();
  out->data_deallocator = freeBuffer;
}

/// The nodes whose names and values TensorFlow relies on: those that it fetches, feeds, and keeps.
std::set<std::string> preservedNodes(const TF_GrapplerItem *item) {
  std::set<std::string> names;
  TF_Status *status = TF_NewStatus();
  for (auto [getSize, getList] :
       {std::pair(&TF_GetNodesToPreserveListSize, &TF_GetNodesToPreserveList),
        std::pair(&TF_GetFetchNodesListSize, &TF_GetFetchNodesList)}) {
    int count = 0;
    size_t size = 0;
    getSize(item, &count, &size, status);
    if (TF_GetCode(status) != TF_OK || count == 0)
      continue;
    std::vector<char *> values(count);
    std::vector<size_t> lengths(count);
    std::vector<char> storage(size);
    getList(item, values.data(), lengths.data(), count, storage.data(), size, status);
    if (TF_GetCode(status) == TF_OK)
      for (int i = 0; i < count; ++i)
        names.insert(std::string(values[i], lengths[i]));
  }
  TF_DeleteStatus(status);
  return names;
}

/// Each pass that takes one of these options gets the names: `{names}` in the pipeline.
std::string fill(std::string pipeline, const std::set<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ",") + name;
  constexpr std::string_view mark = "{names}";
  for (size_t at; (at = pipeline.find(mark)) != std::string::npos;)
    pipeline.replace(at, mark.size(), list);
  return pipeline;
}

treadle::Expected<std::string> optimize(std::string_view bytes, const TF_GrapplerItem *item) {
  std::set<std::string> names = preservedNodes(item);
  std::string pipeline = fill(setting("TREADLE_TENSORFLOW_PASSES"), names);
  treadle::Expected<treadle::Graph> graph = treadle::Graph::fromBytes(bytes);
  if (!graph)
    return treadle::Unexpected(graph.error());
  treadle::Expected<treadle::Graph> result = graph->runPasses(pipeline);
  if (!result)
    return treadle::Unexpected(result.error());
  for (const std::string &name : names)
    if (graph->nodeOp(name) && !result->nodeOp(name))
      return treadle::Unexpected(
          treadle::invalidArgument("the pipeline removed node '", name,
                                   "', which TensorFlow needs; name such nodes by "
                                   "'{names}' in the options of passes"));
  log(str(graph->nodeNames().size(), " nodes, ", result->nodeNames().size(), " after ", pipeline));
  return result->toGraphDef();
}

void run(void *, const TF_Buffer *in, const TF_GrapplerItem *item, TF_Buffer *out,
         TF_Status *status) {
  std::string_view bytes(static_cast<const char *>(in->data), in->length);
  TF_SetStatus(status, TF_OK, "");
  if (setting("TREADLE_TENSORFLOW_PASSES").empty())
    return give(bytes, out);
  treadle::Expected<std::string> result = optimize(bytes, item);
  if (!result)
    log("a graph stays as it is: " + result.error().message);
  give(result ? std::string_view(*result) : bytes, out);
}

void *create() { return new char(); }
void destroy(void *optimizer) { delete static_cast<char *>(optimizer); }

} // namespace

extern "C" TREADLE_EXPORT void TF_InitGraph(TP_OptimizerRegistrationParams *params,
                                            TF_Status *status) {
  params->struct_size = TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params->optimizer_configs->struct_size = TP_OPTIMIZER_CONFIGS_STRUCT_SIZE;
  params->optimizer->struct_size = TP_OPTIMIZER_STRUCT_SIZE;
  params->device_type = "CPU";
  params->optimizer->create_func = create;
  params->optimizer->optimize_func = run;
  params->optimizer->destroy_func = destroy;
  TF_SetStatus(status, TF_OK, "");
}
