// Treadle's public C++ API: load a graph and run it. It needs no headers of LLVM or protobuf.
//
//     auto graph = treadle::Graph::fromFile("model.pb");
//     auto session = treadle::Session::create(*graph);
//     auto x = treadle::Tensor::scalar(treadle::DType::Float32, 1.0f);
//     auto values = session->run({"y:0"}, {{"x:0", x}});
//
// No function throws (except std::bad_alloc), prints (except Print ops) or exits; failures are
// returned as an `Error` with one of TensorFlow's canonical codes.
#pragma once

#include "treadle/Check.h"
#include "treadle/CodeProfile.h"
#include "treadle/Explain.h"
#include "treadle/Explore.h"
#include "treadle/Freeze.h"
#include "treadle/Gradients.h"
#include "treadle/Graph.h"
#include "treadle/Model.h"
#include "treadle/Profile.h"
#include "treadle/Schedule.h"
#include "treadle/Session.h"
#include "treadle/Summary.h"
#include "treadle/View.h"

namespace treadle {

/// The built-in kernels.
const KernelRegistry &builtinKernels();

/// The version of the library, `0.1.0`.
std::string_view version();

} // namespace treadle
