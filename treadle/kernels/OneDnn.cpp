#include "treadle/kernels/OneDnn.h"

#include "treadle/runtime/InstructionSet.h"

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

namespace {

dnnl::cpu_isa isaOf(InstructionSet set) {
  switch (set) {
  case InstructionSet::X86_64_V2:
    return dnnl::cpu_isa::sse41;
  case InstructionSet::X86_64_V3:
    return dnnl::cpu_isa::avx2;
  case InstructionSet::X86_64_V4:
    return dnnl::cpu_isa::avx512_core;
  }
}

/// oneDNN asks the processor itself; it may use no more than what is asked of us.
dnnl::engine *makeEngine() {
  if (const auto &request = requestedInstructionSet(); request && *request)
    dnnl::set_max_cpu_isa(isaOf(**request));
  return new dnnl::engine(dnnl::engine::kind::cpu, 0);
}

} // namespace

// Never destroyed: who has something of it may outlive any static object.
dnnl::engine &dnnlEngine() {
  static auto *engine = makeEngine();
  return *engine;
}

dnnl::stream &dnnlStream() {
  thread_local dnnl::stream stream(dnnlEngine());
  return stream;
}

} // namespace treadle
