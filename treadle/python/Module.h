// What the parts of the Python module give each other.
#pragma once

#include "treadle/runtime/OpTraits.h"
#include "treadle/treadle.h"

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>

namespace treadle::python {

/// treadle.Value, of a placeholder, an output or an entry of a signature.
nanobind::object toValue(const Graph::Value &value);

/// A str or a path object, as the file system has it. Raises what os.fsencode raises.
std::string toPath(nanobind::handle path);

/// Bytes of a GraphDef, a path, or a treadle.Graph.
Graph toGraph(nanobind::handle value);

/// The built-in kernels, and above them all ops registered so far. Never changes: an op that is
/// registered later is in the next one.
struct RegisteredOps {
  KernelRegistry kernels{&builtinKernels()};
  OpTraitsTable traits;
};
std::shared_ptr<const RegisteredOps> currentOps();

/// What sessions and models take as keywords. `ops` must outlive what is made with them.
SessionOptions sessionOptions(std::optional<int> threads, std::optional<std::vector<int>> cores,
                              const std::string &tier, const std::string &loopOverlap,
                              std::optional<double> timeout, bool statistics, bool trace,
                              bool fastMath, std::optional<int64_t> memory, Permissions permissions,
                              const RegisteredOps &ops);
/// Of paths: one, or a list.
Permissions toPermissions(nanobind::handle allowRead, nanobind::handle allowWrite, bool allowClock);

/// A treadle.Session of a session that was made already.
nanobind::object toSession(Session session, std::shared_ptr<const RegisteredOps> ops);

/// For each signature its inputs, its outputs, and the names of what callers give in order.
nanobind::dict toDict(const std::vector<Graph::Signature> &signatures);
/// Arrays by key as tensors of the dtypes that the signature states, and back. A ragged or sparse
/// tensor is one argument or result.
Model::Values toInputs(const Graph::Signature &signature, nanobind::dict inputs);
nanobind::dict toOutputs(const Graph::Signature &signature, Model::Values values);

/// A str that has a UTF-8 form. `what` holds it, for messages.
std::string toName(nanobind::handle name, const char *what);

void bindCommunicator(nanobind::module_ &module);
void bindBuilder(nanobind::module_ &module);
void bindGraph(nanobind::module_ &module);
void bindModel(nanobind::module_ &module);
void bindOps(nanobind::module_ &module);
void bindSandbox(nanobind::module_ &module);
void bindSession(nanobind::module_ &module);
/// To be called once all is bound.
void makeErrorsPlain(nanobind::module_ &module);

} // namespace treadle::python
