// treadle.Communicator, and the schedules that hide communication.
#include "treadle/collective/World.h"
#include "treadle/python/Errors.h"
#include "treadle/python/Module.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace treadle::python {
namespace {

std::shared_ptr<Communicator> world(double timeout) {
  Expected<std::shared_ptr<Communicator>> joined = [&] {
    nb::gil_scoped_release release;
    return joinWorld(timeout);
  }();
  // At exit, disconnect from the other processes, so that they don't wait for this one.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    nb::gil_scoped_release release;
    leaveWorld(false);
  }));
  return orRaise(std::move(joined));
}

std::vector<std::shared_ptr<Communicator>>
simulated(int size, double latency, std::optional<double> bytesPerSecond, double timeout) {
  if (size < 1 || !(latency >= 0) || !(bytesPerSecond.value_or(1) > 0))
    orRaise(Expected<void>(Unexpected(invalidArgument(
        "a simulated world requires size >= 1, latency >= 0 and bytes_per_second > 0"))));
  std::vector<std::shared_ptr<Communicator>> ranks;
  for (auto &transport : simulatedWorld(size, {latency, bytesPerSecond.value_or(0)}))
    ranks.push_back(std::make_shared<Communicator>(std::move(transport), timeout));
  return ranks;
}

std::pair<double, double> measuredLink(Communicator &world) {
  Expected<Link> link = [&] {
    nb::gil_scoped_release release;
    return measureLink(world);
  }();
  Link found = orRaise(std::move(link));
  return {found.latency, found.bytesPerSecond};
}

void bindSchedule(nb::module_ &module) {
  using Schedule = Schedule;
  nb::class_<Schedule::Line>(module, "ScheduledNode",
                             "The time at which a node runs, by the cost model.")
      .def_ro("name", &Schedule::Line::name)
      .def_ro("op", &Schedule::Line::op)
      .def_ro("is_communication", &Schedule::Line::isCommunication)
      .def_ro("begin", &Schedule::Line::begin)
      .def_ro("end", &Schedule::Line::end);
  nb::class_<Schedule>(
      module, "CommunicationSchedule",
      "The result of Graph.schedule_communication, by the cost model: the seconds of a "
      "step\nunscheduled and scheduled; its compute, communication, and hidden "
      "communication;\nhidden_share: the fraction of the communication that can be "
      "hidden.")
      .def_ro("unscheduled", &Schedule::unscheduled)
      .def_ro("scheduled", &Schedule::scheduled)
      .def_ro("compute", &Schedule::compute)
      .def_ro("communication", &Schedule::communication)
      .def_ro("hidden", &Schedule::hidden)
      .def_ro("hidden_share", &Schedule::hiddenShare)
      .def_ro("edges", &Schedule::edges)
      .def_ro("buckets", &Schedule::buckets)
      .def_ro("nodes", &Schedule::lines)
      .def("__str__", [](const Schedule &schedule) { return schedule.text; });
}

} // namespace

void bindCommunicator(nb::module_ &module) {
  bindSchedule(module);
  nb::class_<Communicator>(
      module, "Communicator",
      "Processes, or ranks in this process, that collective ops communicate with. "
      "Pass it to a\nSession. Runs of sessions that share it have the same order on "
      "all ranks.")
      .def_static("world", world, nb::kw_only(), nb::arg("timeout") = Communicator::defaultTimeout,
                  "Returns the processes that mpirun started, or this process only. timeout: "
                  "seconds after\nwhich a collective fails that a rank hasn't joined.")
      .def_static(
          "simulated", simulated, nb::arg("size"), nb::kw_only(), nb::arg("latency") = 0.0,
          nb::arg("bytes_per_second") = nb::none(),
          nb::arg("timeout") = Communicator::defaultTimeout,
          "Returns ranks in this process, for one session each, on separate threads. Messages "
          "take\nas long as over a link with this latency in seconds, and this bandwidth.")
      .def("measure_link", measuredLink,
           "Measures messages between all ranks; returns the latency in seconds, and the bandwidth "
           "in\n"
           "bytes per second. All ranks must call it, each on its own thread, and get the same "
           "result.")
      .def_prop_ro("rank", &Communicator::rank)
      .def_prop_ro("size", &Communicator::size);
}

} // namespace treadle::python
