// Calls a SavedModel from several threads. docs/serving.md explains it.
#include "treadle/treadle.h"

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

using treadle::DType;
using treadle::Expected;
using treadle::Model;
using treadle::Tensor;

static Expected<Model::Values> answer(const Model &model, float number) {
  Tensor x = Tensor::vector<float>(DType::Float32, std::vector<float>{number});
  return model.call("serving_default", {{"x", x}});
}

/// Calls until all code that such a call can use has been compiled.
static Expected<void> warmUp(const Model &model) {
  int calls = 0;
  do
    TREADLE_TRY(answer(model, 1));
  while (++calls < 2 || model.session().isCompiling());
  return {};
}

/// The message of the first error, or nothing.
static std::string serve(const Model &model, int calls) {
  for (int i = 0; i < calls; ++i)
    if (Expected<Model::Values> values = answer(model, static_cast<float>(i)); !values)
      return values.error().message;
  return "";
}

int main(int argc, char **argv) {
  treadle::SessionOptions options;
  options.threads = 1; // each call stays on the thread that makes it
  Expected<Model> model = Model::load(argc > 1 ? argv[1] : "examples/words", options);
  Expected<void> ready = model.and_then(warmUp);
  if (!ready) {
    std::fprintf(stderr, "%s\n", ready.error().message.c_str());
    return 1;
  }
  std::vector<std::string> errors(4);
  std::vector<std::thread> threads;
  threads.reserve(errors.size());
  for (std::string &error : errors)
    threads.emplace_back([&model, &error] { error = serve(*model, 100); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &error : errors) {
    if (error.empty())
      continue;
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  for (const auto &[name, value] : model->session().variables())
    if (name == "calls")
      std::printf("calls: %lld\n", static_cast<long long>(value.scalarValue<int64_t>()));
  return 0;
}
