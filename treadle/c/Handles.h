// What the handles of treadle/c.h are, and how its functions end.
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
  treadle_ops ops; // before the session, which refers to them
  treadle::Session session;
};

struct treadle_model {
  treadle_ops ops;
  treadle::Model model;
};

namespace treadle::c {

/// Null for success. Where there is no memory for an error either, it is one of static storage.
treadle_status *toStatus(Expected<void> result);
treadle_status *noMemory();

/// What `body()`, an Expected<void>, ends with: C sees no exception.
template <typename Body> treadle_status *guarded(const Body &body) {
  try {
    return toStatus(body());
  } catch (const std::bad_alloc &) {
    return noMemory();
  } catch (const std::exception &e) {
    return toStatus(Unexpected(internal(e.what())));
  }
}

/// InvalidArgument if a pointer that can't be null is.
Expected<void> requireAll(std::initializer_list<std::pair<const char *, const void *>> arguments);

/// The texts of a list, none of which may be null.
Expected<std::vector<std::string>> textsOf(const char *what, size_t count, const char *const *list);
/// Named arrays, none of which may be null.
Expected<Session::Feeds> namedArrays(const char *what, size_t count, const char *const *names,
                                     treadle_array *const *arrays);
/// Hands over all tensors, or, where memory runs out, none.
void giveArrays(std::vector<Tensor> tensors, treadle_array **places);
/// A copy that `treadle_text_free` frees.
char *copyText(std::string_view text);

/// Options as they were when the caller was compiled: what it didn't know is as by default.
/// InvalidArgument for a tier that doesn't exist, and the like.
Expected<SessionOptions> sessionOptions(const treadle_options *options, treadle_ops &ops);

} // namespace treadle::c
