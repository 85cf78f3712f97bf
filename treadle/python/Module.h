// What the parts of the Python module give each other.
#pragma once

#include "treadle/treadle.h"

#include <nanobind/nanobind.h>

namespace treadle::python {

/// Bytes of a GraphDef, a path, or a treadle.Graph.
Graph toGraph(nanobind::handle value);

/// The built-in kernels, and above them all ops registered so far. Never changes: an op that is
/// registered later is in the next one.
std::shared_ptr<const KernelRegistry> currentKernels();

void bindGraph(nanobind::module_ &module);
void bindOps(nanobind::module_ &module);
void bindSession(nanobind::module_ &module);

} // namespace treadle::python
