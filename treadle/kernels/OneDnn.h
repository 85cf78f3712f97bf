// What the kernels that oneDNN computes have in common.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace treadle {

/// ns that a multiplication of floats takes, and that a thread's part of the work should last.
constexpr double nsPerProduct = 0.012, nsPerPart = 20000;

/// oneDNN runs on this thread alone while it exists: our own threads share the work.
class OneThread {
public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread &) = delete;
  OneThread &operator=(const OneThread &) = delete;

private:
  int before;
};

/// The processor.
dnnl::engine &dnnlEngine();
/// What this thread gives its work to; it is done on return.
dnnl::stream &dnnlStream();

} // namespace treadle
