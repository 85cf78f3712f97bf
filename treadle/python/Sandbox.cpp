// treadle._native.Sandbox: a treadle.Model whose model is in a separate process.
#include "treadle/Sandbox.h"
#include "treadle/python/Interrupt.h"
#include "treadle/python/Module.h"
#include "treadle/sandbox/Options.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace treadle::python {

namespace {

class PySandbox {
public:
  PySandbox(const std::string &path, SandboxOptions options) {
    Expected<Sandbox> loaded = [&] {
      nb::gil_scoped_release release;
      return Sandbox::load(path, std::move(options));
    }();
    sandbox = orRaise(std::move(loaded));
    if (sandbox.signatures().empty())
      raise(invalidArgument(
          "'", path, "' has no signatures to call; use 'treadle run --sandbox' for plain graphs"));
  }
  /// Waits for the process to end.
  ~PySandbox() {
    nb::gil_scoped_release release;
    sandbox = Sandbox();
  }

  nb::dict signatures() const { return toDict(sandbox.signatures()); }

  nb::dict call(const std::string &name, nb::dict inputs) {
    const Graph::Signature &signature = *orRaise(sandbox.signature(name));
    Model::Values values = toInputs(signature, inputs);
    return toOutputs(signature, interruptibly(sandbox, [&] { return sandbox.call(name, values); }));
  }

  nb::object status() const {
    SandboxStatus status = sandbox.status();
    return nb::module_::import_("treadle").attr("SandboxStatus")(
        status.landlock, status.startSeconds, status.loadSeconds, status.end);
  }

  [[noreturn]] void session() const {
    raise(failedPrecondition("the model is in a sandbox, so its variables and its session are not "
                             "accessible; call its signatures"));
  }

private:
  Sandbox sandbox;
};

} // namespace

void bindSandbox(nb::module_ &module) {
  nb::class_<PySandbox>(module, "_Sandbox")
      .def("__init__",
           [](PySandbox *self, nb::handle path, std::vector<std::string> tags,
              std::optional<int> threads, std::optional<std::vector<int>> cores,
              const std::string &tier, const std::string &loopOverlap,
              std::optional<double> timeout, bool fastMath, const std::string &denormals,
              std::optional<int64_t> memory, nb::handle allowRead, nb::handle allowWrite,
              bool allowClock) {
             std::shared_ptr<const RegisteredOps> ops = currentOps();
             SessionOptions options = sessionOptions(
                 threads, std::move(cores), tier, loopOverlap, timeout, false, false, fastMath,
                 denormals, memory, toPermissions(allowRead, allowWrite, allowClock), *ops);
             SandboxOptions sandboxed = sandbox::fromSession(options);
             sandboxed.tags = std::move(tags);
             new (self) PySandbox(toPath(path), std::move(sandboxed));
           })
      .def("signatures", &PySandbox::signatures,
           "Returns by name the inputs and the outputs, by key.")
      .def("call", &PySandbox::call, "Signature.__call__.")
      .def("status", &PySandbox::status, "Model.sandbox.")
      .def("session", &PySandbox::session, "Raises FailedPreconditionError.")
      .def(
          "save", [](PySandbox &self, nb::handle) { self.session(); }, nb::arg("folder").none(),
          "Raises FailedPreconditionError.");
}

} // namespace treadle::python
