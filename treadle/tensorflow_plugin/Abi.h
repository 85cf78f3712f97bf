// The part of TensorFlow's C API for graph optimizers (version 0.0.1) that the plug-in uses,
// declared here because the plug-in is built without TensorFlow. Fields and functions have
// TensorFlow's order and types; TensorFlow appends newer fields to structs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace treadle::tensorflow {

struct Status; // TF_Status
struct Item;   // TF_GrapplerItem

/// TF_Buffer. `free` is set by the function that fills `data`.
struct Buffer {
  const void *data;
  size_t length;
  void (*deallocate)(void *data, size_t length);
};

/// TP_Optimizer
struct Optimizer {
  size_t structSize;
  void *ext;
  void *(*create)();
  void (*optimize)(void *optimizer, const Buffer *graph, const Item *item, Buffer *out,
                   Status *status);
  void (*destroy)(void *optimizer);
};

/// TP_OptimizerRegistrationParams. TensorFlow sets the sizes. The configuration, which can disable
/// TensorFlow's optimizers, is left unchanged.
struct Registration {
  size_t structSize;
  void *ext;
  int32_t major, minor, patch;
  const char *deviceType;
  void *configs;
  Optimizer *optimizer;
};

/// TF_SetStatus; code 0 is OK.
using SetStatus = void (*)(Status *status, int code, const char *message);
using NewStatus = Status *(*)();
using DeleteStatus = void (*)(Status *status);
/// TF_GetNodesToPreserveListSize
using NodesToPreserveSize = void (*)(const Item *item, int *count, size_t *bytes, Status *status);
/// TF_GetNodesToPreserveList: sets `values` to pointers into `storage`.
using NodesToPreserve = void (*)(const Item *item, char **values, size_t *lengths, int count,
                                 void *storage, size_t bytes, Status *status);

} // namespace treadle::tensorflow
