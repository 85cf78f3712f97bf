// libtreadle_pjrt.so: what programs that load plug-ins of PJRT look for. All of it is in
// libtreadle.
#include "treadle/pjrt/Api.h"

extern "C" __attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi() {
  return treadle_pjrt_api();
}
