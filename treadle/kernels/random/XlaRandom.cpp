// XlaRngBitGenerator: Philox 4x32 and ThreeFry 2x32 with explicit state.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/random/Philox.h"

#include <bit>
#include <cstring>

namespace treadle {
namespace {

/// ThreeFry 2x32 with twenty rounds (the paper named in Philox.h).
uint64_t threeFry(uint64_t key, uint64_t counter) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
  auto x0 = static_cast<uint32_t>(counter), x1 = static_cast<uint32_t>(counter >> 32);
  x0 += keys[0];
  x1 += keys[1];
  for (uint32_t round = 0; round < 5; ++round) {
    for (int rotation : rotations[round % 2]) {
      x0 += x1;
      x1 = std::rotl(x1, rotation) ^ x0;
    }
    x0 += keys[(round + 1) % 3];
    x1 += keys[(round + 2) % 3] + round + 1;
  }
  return uint64_t{x0} | uint64_t{x1} << 32;
}

/// Returns 32-bit numbers and advances the state: a key, and a counter of one or two words. If the
/// counter has one word, the key replaces the other, as in XLA.
std::vector<uint32_t> philoxWords(std::span<uint64_t> state, size_t count) {
  uint64_t high = state.size() > 2 ? state[2] : state[0];
  Philox stream = Philox::fromKey(state[0], state[1], high);
  std::vector<uint32_t> words;
  size_t blocks = (count + 3) / 4;
  for (size_t i = 0; i < blocks; ++i)
    for (uint32_t word : stream.next())
      words.push_back(word);
  uint64_t before = state[1];
  state[1] += blocks;
  if (state.size() > 2)
    state[2] += state[1] < before;
  return words;
}

/// For an odd count, the last number of a block is dropped.
std::vector<uint32_t> threeFryWords(std::span<uint64_t> state, size_t count) {
  std::vector<uint32_t> words;
  for (; words.size() < count; ++state[1]) {
    uint64_t pair = threeFry(state[0], state[1]);
    words.push_back(static_cast<uint32_t>(pair));
    words.push_back(static_cast<uint32_t>(pair >> 32));
  }
  return words;
}

constexpr int threeFryAlgorithm = 1;

void generate(OpContext &ctx) {
  if (!ctx.input(0).isScalar())
    return ctx.fail(
        invalidArgument("algorithm must be a scalar, but it is ", tensorTypeText(ctx.input(0))));
  int64_t algorithm = indexAt(ctx.input(0), 0);
  const Tensor &given = ctx.input(1);
  DType dtype = ctx.state<DType>();
  if (algorithm < 0 || algorithm > 2)
    return ctx.fail(invalidArgument("algorithm is ", algorithm, ", expected 0, 1 or 2"));
  if (given.rank() != 1 || given.count() < 2 || given.count() > 3)
    return ctx.fail(
        invalidArgument("the state is ", tensorTypeText(given), ", expected 2 or 3 elements"));
  DimVector dims = readIndices(ctx.input(2));
  auto state = ctx.check(given.clone());
  Tensor *out = TREADLE_OR_RETURN(state ? ctx.allocateOutput(1, dtype, dims) : nullptr);
  std::span<uint64_t> numbers(state->data<uint64_t>(), static_cast<size_t>(state->count()));
  size_t size = dtypeSize(dtype), count = static_cast<size_t>(out->count());
  if (algorithm == threeFryAlgorithm && size == 8) {
    for (size_t i = 0; i < count; ++i)
      out->data<uint64_t>()[i] = threeFry(numbers[0], numbers[1]++);
  } else {
    size_t wordsEach = size == 8 ? 2 : 1;
    std::vector<uint32_t> words = algorithm == threeFryAlgorithm
                                      ? threeFryWords(numbers, count)
                                      : philoxWords(numbers, count * wordsEach);
    if (size >= 4 && count > 0)
      std::memcpy(out->raw(), words.data(), count * size);
    for (size_t i = 0; i < count && size < 4; ++i)
      std::memcpy(static_cast<char *>(out->raw()) + i * size, &words[i], size);
  }
  ctx.setOutput(0, std::move(*state));
}

Expected<BoundKernel> bindGenerate(const BindContext &node) {
  return boundWith(generate, node.outputTypes[1]);
}

const KernelEntry table[] = {{"XlaRngBitGenerator", bindGenerate}};

} // namespace

std::span<const KernelEntry> xlaRandomKernels() { return table; }

} // namespace treadle
