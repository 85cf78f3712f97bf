// `treadle links`: measures messages between processes.
#include "treadle/collective/World.h"
#include "treadle/npy/Npy.h"
#include "treadle/tools/cli/Command.h"
#include "treadle/tools/cli/Distributed.h"

#include <cstdio>

namespace treadle::cli {

static Expected<Link> measure(double timeout) {
  return joinWorld(timeout > 0 ? timeout : Communicator::defaultTimeout)
      .and_then([](const std::shared_ptr<Communicator> &world) { return measureLink(*world); });
}

static int links(const Arguments &args) {
  double timeout = TREADLE_OR_REPORT(args.number("--timeout", 0, 0));
  Expected<Link> link = measure(timeout);
  leaveWorld(!link);
  if (!link)
    return report(link.error());
  if (rankOfProcess() != 0)
    return 0;
  char text[128];
  std::snprintf(text, sizeof text, "{\"link\": {\"latency\": %.3g, \"bytes_per_second\": %.3g}}\n",
                link->latency, link->bytesPerSecond);
  print(text);
  Expected<void> written = writeFileBytes(std::string(args.positional[0]), text);
  return written ? 0 : report(written.error());
}

static constexpr OptionRow options[] = {
    {"--timeout", "S", "seconds to wait for the other processes to join"},
};

const Command linksCommand = {
    "links",
    "measure the latency and bandwidth between processes, as costs for explain",
    "FILE",
    1,
    options,
    "  mpirun -n 2 treadle links link.json\n"
    "  {\"link\": {\"latency\": 4.1e-05, \"bytes_per_second\": 1.9e+09}}\n",
    links,
};

} // namespace treadle::cli
