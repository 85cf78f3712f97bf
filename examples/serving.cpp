// Answers requests from several threads, each within a time limit. docs/serving.md explains it.
#include <treadle/treadle.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

using namespace treadle;

/// The angle of a pendulum after some steps.
static Expected<float> simulate(const Model &model, int32_t steps) {
  Model::Values angle =
      TREADLE_TRY(model.call("main", {{"angle", Tensor::scalar(DType::Float32, 1.0F)},
                                      {"speed", Tensor::scalar(DType::Float32, 0.0F)},
                                      {"steps", Tensor::scalar(DType::Int32, steps)}}));
  return angle.front().second.scalarValue<float>();
}

/// Calls until all code that such a call can use has been compiled.
static Expected<void> warmUp(const Model &model) {
  int calls = 0;
  do
    TREADLE_TRY(simulate(model, 100));
  while (++calls < 2 || model.session().isCompiling());
  return {};
}

/// Handles a request: a status as in HTTP, and a text. Any number of threads may call it.
static std::string handle(const Model &model, int32_t steps) {
  Expected<float> angle = simulate(model, steps);
  if (angle)
    return "200 " + std::to_string(*angle);
  return (angle.error().code == Code::DeadlineExceeded ? "504 " : "500 ") + angle.error().message;
}

int main(int argc, char **argv) {
  SessionOptions options;
  options.threads = 1; // each call stays on the thread that makes it
  options.timeout = 2; // seconds for each call
  auto model = Model::load(argc > 1 ? argv[1] : "examples/simulator/pendulum.mlir", options);
  if (Expected<void> ready = model.and_then(warmUp); !ready) {
    std::fprintf(stderr, "%s\n", ready.error().message.c_str());
    return 1;
  }
  const std::vector<int32_t> requests = {100, 2'000'000'000, 200, 2'000'000'000};
  std::vector<std::string> answers(requests.size());
  {
    std::vector<std::jthread> threads;
    threads.reserve(requests.size());
    for (size_t i = 0; i < requests.size(); ++i)
      threads.emplace_back([&, i] { answers[i] = handle(*model, requests[i]); });
  }
  for (const std::string &answer : answers)
    std::printf("%s\n", answer.c_str());
}
