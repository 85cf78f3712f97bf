#include "treadle/kernels/OneDnn.h"

// Of the OpenMP runtime that oneDNN is built for.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int);

namespace treadle {

OneThread::OneThread() : before(omp_get_max_threads()) {
  if (before != 1)
    omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before != 1)
    omp_set_num_threads(before);
}

// Never destroyed: who has something of it may outlive any static object.
dnnl::engine &dnnlEngine() {
  static auto *engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream &dnnlStream() {
  thread_local dnnl::stream stream(dnnlEngine());
  return stream;
}

} // namespace treadle
