// Calls a program of PyTorch, without Python. Its state belongs to the model.
#include <treadle/treadle.h>

#include <cstdio>
#include <vector>

using namespace treadle;

static Expected<void> watch(const char *path) {
  Model model = TREADLE_TRY(Model::load(path));
  for (const std::vector<float> &chunk : {std::vector<float>{4, 8, 8, 8}, {8, 16}, {0, 0, 0}}) {
    Tensor samples = Tensor::vector<float>(DType::Float32, chunk);
    std::vector<float> smooth;
    bool isHigh = false;
    for (auto &[key, value] : TREADLE_TRY(model.call("serving_default", {{"samples", samples}})))
      if (key == "is_high")
        isHigh = value.scalarValue<bool>();
      else
        smooth.assign(value.values<float>().begin(), value.values<float>().end());
    std::printf("%s", isHigh ? "high:" : "ok:");
    for (float level : smooth)
      std::printf(" %g", level);
    std::printf("\n");
  }
  return {};
}

int main(int argc, char **argv) {
  Expected<void> done = watch(argc > 1 ? argv[1] : "gauge.tfg");
  if (!done)
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
