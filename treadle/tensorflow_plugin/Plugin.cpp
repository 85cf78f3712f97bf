// The plug-in for TensorFlow: a graph optimizer that sends graphs to Treadle's rewriter, a separate
// process. Only this file is loaded into TensorFlow's process, so that Treadle's libraries can't
// conflict with TensorFlow's copies of them, and a crash of the rewriter doesn't end TensorFlow. On
// any failure, TensorFlow gets its graph back unchanged, and the reason is written to standard
// error.
//
// Environment variables: TREADLE_PIPELINE, the passes (none: graphs stay unchanged);
// TREADLE_REWRITER, the path of treadle-rewriter, if it isn't in its default place; TREADLE_LOG=1,
// a line for each graph.
#include "treadle/tensorflow_plugin/Abi.h"
#include "treadle/tensorflow_plugin/RewriterProcess.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include <dlfcn.h>

namespace treadle::tensorflow {
namespace {

std::string setting(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

void print(const std::string &text) {
  std::string line = "treadle: " + text + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// Each text is written once: a model may have thousands of graphs that fail for the same reason.
void warn(const std::string &text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  std::lock_guard lock(mutex);
  if (said.size() < 100 && said.insert(text).second)
    print("a graph was left unchanged: " + text);
}

/// Finds a function of TensorFlow in the libraries that this process has loaded.
template <typename Function> Function find(const char *name) {
  for (const char *library : {"libtensorflow_cc.so.2", "libtensorflow_framework.so.2"})
    if (void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD))
      if (void *symbol = dlsym(handle, name))
        return reinterpret_cast<Function>(symbol);
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

struct Api {
  SetStatus setStatus = find<SetStatus>("TF_SetStatus");
  NewStatus newStatus = find<NewStatus>("TF_NewStatus");
  DeleteStatus deleteStatus = find<DeleteStatus>("TF_DeleteStatus");
  NodesToPreserveSize preservedSize = find<NodesToPreserveSize>("TF_GetNodesToPreserveListSize");
  NodesToPreserve preserved = find<NodesToPreserve>("TF_GetNodesToPreserveList");

  bool isComplete() const {
    return setStatus && newStatus && deleteStatus && preservedSize && preserved;
  }
};

const Api &api() {
  static const Api found;
  return found;
}

/// Returns the nodes that TensorFlow feeds, fetches or keeps, one per line.
std::string namesToPreserve(const Item *item) {
  Status *status = api().newStatus();
  int count = 0;
  size_t bytes = 0;
  api().preservedSize(item, &count, &bytes, status);
  std::vector<char *> values(static_cast<size_t>(count));
  std::vector<size_t> lengths(values.size());
  std::string storage(bytes, '\0');
  if (count > 0)
    api().preserved(item, values.data(), lengths.data(), count, storage.data(), bytes, status);
  api().deleteStatus(status);
  std::string names;
  for (size_t i = 0; i < values.size(); ++i)
    names.append(values[i], lengths[i]).push_back('\n');
  return names;
}

void give(std::string_view bytes, Buffer *out) {
  void *copy = std::malloc(bytes.size() + 1);
  std::memcpy(copy, bytes.data(), bytes.size());
  *out = {copy, bytes.size(), [](void *data, size_t) { std::free(data); }};
}

/// Returns the path of the rewriter relative to this library, in the build tree (library/ and
/// python/treadle/) or in a wheel (treadle/bin/ and treadle/).
std::string rewriterProgram() {
  if (std::string program = setting("TREADLE_REWRITER"); !program.empty())
    return program;
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&rewriterProgram), &info) || !info.dli_fname)
    return "treadle-rewriter";
  std::string folder = info.dli_fname;
  folder.resize(folder.find_last_of('/') + 1);
  for (const char *place : {"bin/", "../../library/"})
    if (std::string program = folder + place + "treadle-rewriter"; isProgram(program))
      return program;
  return "treadle-rewriter";
}

void optimize(void *, const Buffer *graph, const Item *item, Buffer *out, Status *status) {
  static RewriterProcess rewriter(rewriterProgram());
  api().setStatus(status, 0, "");
  std::string bytes(static_cast<const char *>(graph->data), graph->length);
  std::string pipeline = setting("TREADLE_PIPELINE");
  if (pipeline.empty())
    return give(bytes, out);
  RewriterProcess::Result result = rewriter.rewrite({pipeline, namesToPreserve(item), bytes});
  if (!result.error.empty()) {
    warn(result.error);
    return give(bytes, out);
  }
  if (!setting("TREADLE_LOG").empty())
    print(result.summary);
  give(result.graph, out);
}

} // namespace
} // namespace treadle::tensorflow

extern "C" __attribute__((visibility("default"))) void
TF_InitGraph(treadle::tensorflow::Registration *registration, treadle::tensorflow::Status *status) {
  using namespace treadle::tensorflow;
  if (!api().setStatus)
    return print("this process has no TensorFlow that the plug-in supports");
  if (!api().isComplete() || registration->major != 0)
    return api().setStatus(status, /*UNIMPLEMENTED=*/12,
                           "treadle: this TensorFlow has another version of the graph optimizer "
                           "API than the plug-in, which supports version 0");
  registration->deviceType = "CPU";
  registration->optimizer->create = [] { return static_cast<void *>(new char()); };
  registration->optimizer->optimize = optimize;
  registration->optimizer->destroy = [](void *optimizer) { delete static_cast<char *>(optimizer); };
  api().setStatus(status, 0, "");
}
