// Calls a program of JAX, without Python. The caller chooses the number of planets.
#include <treadle/treadle.h>

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace treadle;

static Expected<void> watch(const char *path) {
  Model model = TREADLE_TRY(Model::load(path));
  Tensor place = TREADLE_TRY(Tensor::make(DType::Float32, {2, 2})),
         velocity = TREADLE_TRY(place.clone());
  std::copy_n(std::vector<float>{1, 0, 0, 2}.data(), 4, place.data<float>());
  std::copy_n(std::vector<float>{0, 1, -0.5, 0}.data(), 4, velocity.data<float>());
  for (auto &[key, value] :
       TREADLE_TRY(model.call("main", {{"place", place}, {"velocity", velocity}}))) {
    std::printf("%s:", key.c_str());
    for (float number : value.values<float>())
      std::printf(" %.2f", number);
    std::printf("\n");
  }
  return {};
}

int main(int argc, char **argv) {
  Expected<void> done = watch(argc > 1 ? argv[1] : "orbits.jax");
  if (!done)
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
