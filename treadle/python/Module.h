// Declarations shared by the parts of the native module.
#pragma once

#include "treadle/runtime/OpTraits.h"
#include "treadle/treadle.h"

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>

namespace treadle::python {

/// Makes a treadle.Value of a placeholder, an output or an entry of a signature.
nanobind::object toValue(const Graph::Value &value);

/// Encodes a str or a path object for the file system. Raises what os.fsencode raises.
std::string toPath(nanobind::handle path);

/// Returns the graph of bytes of a GraphDef, a path, or a treadle.Graph.
Graph toGraph(nanobind::handle value);

/// Returns an immutable snapshot of the kernels: the built-in ones, and all ops registered so far,
/// which take precedence.
struct RegisteredOps {
  KernelRegistry kernels{&builtinKernels()};
  OpTraitsTable traits;
};
std::shared_ptr<const RegisteredOps> currentOps();

/// The keyword arguments of sessions and models. `ops` must outlive the objects created with them.
SessionOptions sessionOptions(std::optional<int> threads, std::optional<std::vector<int>> cores,
                              const std::string &tier, const std::string &loopOverlap,
                              std::optional<double> timeout, bool statistics, bool trace,
                              bool fastMath, const std::string &denormals,
                              std::optional<int64_t> memory, Permissions permissions,
                              const RegisteredOps &ops);
/// Converts one path or a list of paths.
Permissions toPermissions(nanobind::handle allowRead, nanobind::handle allowWrite, bool allowClock);

/// Wraps an existing session in a treadle.Session.
nanobind::object toSession(Session session, std::shared_ptr<const RegisteredOps> ops);

/// Returns for each signature its inputs, its outputs, and the names of its arguments in order.
nanobind::dict toDict(const std::vector<Graph::Signature> &signatures);
/// Convert arrays by key to tensors with the dtypes of the signature, and back. A ragged or sparse
/// tensor is one argument or result.
Model::Values toInputs(const Graph::Signature &signature, nanobind::dict inputs);
nanobind::dict toOutputs(const Graph::Signature &signature, Model::Values values);

/// Returns the UTF-8 form of a str, or raises an error. `what`: its subject.
std::string toName(nanobind::handle name, const char *what);

void bindCommunicator(nanobind::module_ &module);
void bindBuilder(nanobind::module_ &module);
void bindGraph(nanobind::module_ &module);
void bindModel(nanobind::module_ &module);
void bindOps(nanobind::module_ &module);
void bindSandbox(nanobind::module_ &module);
void bindSession(nanobind::module_ &module);
/// Must be called after everything is bound.
void installArgumentErrors(nanobind::module_ &module);

} // namespace treadle::python
