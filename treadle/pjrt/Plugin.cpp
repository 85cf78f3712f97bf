// libtreadle_pjrt.so: the entry point that PJRT plug-in loaders look up. The implementation is in
// libtreadle.
#include "treadle/pjrt/Api.h"

extern "C" __attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi() {
  return treadle_pjrt_api();
}
