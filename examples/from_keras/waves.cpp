// Calls a net of Keras on JAX, a SavedModel, without Python: which shape does each wave have?
#include <treadle/treadle.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace treadle;

static const char *const names[] = {"sine", "square", "sawtooth"};

static float wave(int shape, float t) {
  float turn = t / 3.14159265f;
  return shape == 0   ? std::sin(t)
         : shape == 1 ? std::copysign(1.0f, std::sin(t))
                      : std::fmod(turn, 2.0f) - 1;
}

static Expected<void> tell(const char *path) {
  constexpr int count = 3, length = 100;
  Model model = TREADLE_TRY(Model::load(path));
  Tensor waves = TREADLE_TRY(Tensor::make(DType::Float32, {count, length, 1}));
  for (int i = 0; i < count * length; ++i)
    waves.data<float>()[i] = wave(i / length, 0.3f * static_cast<float>(i % length));
  Model::Values results = TREADLE_TRY(model.call("serve", {{"waves", waves}}));
  std::span<const float> shares = results[0].second.values<float>();
  for (int i = 0; i < count; ++i, shares = shares.subspan(count)) {
    auto best = std::ranges::max_element(shares.first(count)) - shares.begin();
    std::printf("%s: %.0f %%\n", names[best], 100 * shares[best]);
  }
  return {};
}

int main(int argc, char **argv) {
  Expected<void> done = tell(argc > 1 ? argv[1] : "net");
  if (!done)
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
