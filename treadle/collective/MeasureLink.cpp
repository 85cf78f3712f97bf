// Measures message times between ranks: in a ring, each rank sends to the next one.
#include "treadle/collective/Communicator.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>

namespace treadle {
namespace {

Expected<Tensor> wait(Communicator &world, const Collective &call) {
  std::promise<Expected<Tensor>> result;
  world.start(call, [&](Expected<Tensor> value) { result.set_value(std::move(value)); });
  return result.get_future().get();
}

/// Returns the median time in seconds in which each rank sends `bytes` bytes to the next one and
/// receives as many.
Expected<double> ringSeconds(Communicator &world, int64_t bytes, int repeats) {
  Tensor value = TREADLE_TRY(Tensor::make(DType::UInt8, std::array{bytes}));
  Collective call;
  call.kind = Collective::Permute;
  call.groupSize = world.size();
  call.instanceName = call.name = "measuring the link";
  for (int rank = 0; rank < world.size(); ++rank)
    call.pairs.emplace_back(rank, (rank + 1) % world.size());
  call.input = std::move(value);
  std::vector<double> times;
  for (int i = 0; i <= repeats; ++i) {
    auto begin = std::chrono::steady_clock::now();
    if (Expected<Tensor> got = wait(world, call); !got)
      return Unexpected(std::move(got.error()));
    if (i > 0) // the first round absorbs late starts
      times.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

/// Returns the largest value over all ranks.
Expected<double> largest(Communicator &world, double value) {
  Collective call;
  call.kind = Collective::AllReduce;
  call.reduction = Reduction::Max;
  call.groupSize = world.size();
  call.instanceName = call.name = "comparing links";
  call.input = Tensor::scalar<double>(DType::Float64, value);
  return wait(world, call).map([](const Tensor &most) { return *most.data<double>(); });
}

} // namespace

Expected<Link> measureLink(Communicator &world, LinkMeasurement how) {
  if (world.size() == 1)
    return Unexpected(failedPrecondition(
        "there is only one process, so there is no link to measure; start more: mpirun -n 2"));
  auto slowest = [&](int64_t bytes, int repeats) {
    return ringSeconds(world, bytes, repeats).and_then([&](double seconds) {
      return largest(world, seconds);
    });
  };
  return slowest(1, how.smallRepeats).and_then([&](double latency) {
    return slowest(how.bytes, how.largeRepeats).map([&](double seconds) {
      // With noise, a large message may seem as fast as a small one.
      double forBytes = std::max(seconds - latency, seconds / 10);
      return Link{latency, static_cast<double>(how.bytes) / forBytes};
    });
  });
}

} // namespace treadle
