// The handles of treadle/c.h, and the error handling of its functions.
#pragma once

#include "treadle/c.h"
#include "treadle/treadle.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

struct treadle_status {
  treadle::Error error;
};

struct treadle_array {
  treadle::Tensor tensor;
};

struct treadle_graph {
  treadle::Graph graph;
};

struct treadle_values {
  struct Value {
    std::string key;
    treadle::Graph::Value value;
  };
  std::vector<Value> values;
};

struct treadle_ops {
  std::shared_ptr<treadle::KernelRegistry> kernels =
      std::make_shared<treadle::KernelRegistry>(&treadle::builtinKernels());
  std::shared_ptr<treadle::OpTraitsTable> traits = std::make_shared<treadle::OpTraitsTable>();
};

struct treadle_session {
  treadle_ops ops; // declared before the session, which refers to them
  treadle::Session session;
};

struct treadle_model {
  treadle_ops ops;
  treadle::Model model;
};

namespace treadle::c {

/// Returns null for success. If there is no memory for the status, returns one in static storage.
treadle_status *toStatus(Expected<void> result);
treadle_status *outOfMemoryStatus();

/// Runs `body()`, which returns an Expected<void>, and converts errors and exceptions to a status.
template <typename Body> treadle_status *toStatusCatching(const Body &body) {
  try {
    return toStatus(body());
  } catch (const std::bad_alloc &) {
    return outOfMemoryStatus();
  } catch (const std::exception &e) {
    return toStatus(Unexpected(internal(e.what())));
  }
}

/// InvalidArgument if a required pointer is null.
Expected<void> requireAll(std::initializer_list<std::pair<const char *, const void *>> arguments);

/// Returns the strings of a list, none of which may be null.
Expected<std::vector<std::string>> textsOf(const char *what, size_t count, const char *const *list);
/// Returns named arrays, none of which may be null.
Expected<Session::Feeds> namedArrays(const char *what, size_t count, const char *const *names,
                                     treadle_array *const *arrays);
/// Transfers ownership of all tensors, or of none if memory runs out.
void giveArrays(std::vector<Tensor> tensors, treadle_array **places);
/// Returns a copy, to be freed by `treadle_text_free`.
char *copyText(std::string_view text);

/// Converts options as they were when the caller was compiled: fields that it didn't know have
/// their defaults. InvalidArgument for an unknown tier and other invalid values.
Expected<SessionOptions> sessionOptions(const treadle_options *options, treadle_ops &ops);

} // namespace treadle::c
