// The hashes, and the ops that put strings into buckets by them.
#include "treadle/kernels/text/StringHash.h"

#include "treadle/kernels/Element.h"
#include "treadle/kernels/Families.h"

#include <bit>
#include <utility>

namespace treadle {
namespace {

static_assert(std::endian::native == std::endian::little, "hashes read words as little-endian");

uint64_t word64(const char *p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
uint64_t word32(const char *p) {
  uint32_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// --- FarmHash ----------------------------------------------------------------------------------

constexpr uint64_t farm0 = 0xc3a5c85c97cb3127, farm1 = 0xb492b66fbe98f273,
                   farm2 = 0x9ae16a3b2f90404f;

uint64_t mixShifted(uint64_t x) { return x ^ (x >> 47); }

uint64_t mixTwo(uint64_t u, uint64_t v, uint64_t multiplier) {
  uint64_t a = mixShifted((u ^ v) * multiplier);
  return mixShifted((v ^ a) * multiplier) * multiplier;
}

uint64_t farmUpTo16(const char *s, size_t n) {
  uint64_t multiplier = farm2 + n * 2;
  if (n >= 8) {
    uint64_t a = word64(s) + farm2, b = word64(s + n - 8);
    return mixTwo(std::rotr(b, 37) * multiplier + a, (std::rotr(a, 25) + b) * multiplier,
                  multiplier);
  }
  if (n >= 4)
    return mixTwo(n + (word32(s) << 3), word32(s + n - 4), multiplier);
  if (n == 0)
    return farm2;
  auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(s[i])); };
  uint32_t y = byte(0) + (byte(n >> 1) << 8);
  uint32_t z = static_cast<uint32_t>(n) + (byte(n - 1) << 2);
  return mixShifted(y * farm2 ^ z * farm0) * farm2;
}

uint64_t farmUpTo32(const char *s, size_t n) {
  uint64_t multiplier = farm2 + n * 2;
  uint64_t a = word64(s) * farm1, b = word64(s + 8);
  uint64_t c = word64(s + n - 8) * multiplier, d = word64(s + n - 16) * farm2;
  return mixTwo(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + farm2, 18) + c,
                multiplier);
}

uint64_t farmUpTo64(const char *s, size_t n) {
  uint64_t multiplier = farm2 + n * 2;
  uint64_t a = word64(s) * farm2, b = word64(s + 8);
  uint64_t c = word64(s + n - 8) * multiplier, d = word64(s + n - 16) * farm2;
  uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  uint64_t z = mixTwo(y, a + std::rotr(b + farm2, 18) + c, multiplier);
  uint64_t e = word64(s + 16) * multiplier, f = word64(s + 24);
  uint64_t g = (y + word64(s + n - 32)) * multiplier, h = (z + word64(s + n - 24)) * multiplier;
  return mixTwo(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g,
                multiplier);
}

struct Pair {
  uint64_t first = 0, second = 0;
};

Pair mix32Bytes(const char *s, uint64_t a, uint64_t b) {
  uint64_t w = word64(s), x = word64(s + 8), y = word64(s + 16), z = word64(s + 24);
  a += w;
  b = std::rotr(b + a + z, 21);
  uint64_t c = a;
  a += x + y;
  b += std::rotr(a, 44);
  return {a + z, b + c};
}

// The state of a long hash; each step takes in 64 bytes.
struct FarmState {
  uint64_t x, y, z;
  Pair v, w;

  void step(const char *s, uint64_t multiplier, uint64_t weight) {
    x = std::rotr(x + y + v.first + word64(s + 8), 37) * multiplier;
    y = std::rotr(y + v.second + word64(s + 48), 42) * multiplier;
    x ^= w.second * weight;
    y += v.first * weight + word64(s + 40);
    z = std::rotr(z + w.first, 33) * multiplier;
    v = mix32Bytes(s, v.second * multiplier, x + w.first);
    w = mix32Bytes(s + 32, z + w.second, y + word64(s + 16));
    std::swap(z, x);
  }
};

uint64_t farmLong(const char *s, size_t n) {
  constexpr uint64_t seed = 81;
  FarmState state{seed * farm2 + word64(s), seed * farm1 + 113, 0, {}, {}};
  state.z = mixShifted(state.y * farm2 + 113) * farm2;
  const char *end = s + (n - 1) / 64 * 64, *last = s + n - 64;
  for (; s != end; s += 64)
    state.step(s, farm1, 1);
  uint64_t multiplier = farm1 + ((state.z & 0xff) << 1);
  state.w.first += (n - 1) & 63;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.step(last, multiplier, 9);
  return mixTwo(mixTwo(state.v.first, state.w.first, multiplier) + mixShifted(state.y) * farm0 +
                    state.z,
                mixTwo(state.v.second, state.w.second, multiplier) + state.x, multiplier);
}

} // namespace

uint64_t farmFingerprint64(std::string_view bytes) {
  const char *s = bytes.data();
  size_t n = bytes.size();
  return n <= 16   ? farmUpTo16(s, n)
         : n <= 32 ? farmUpTo32(s, n)
         : n <= 64 ? farmUpTo64(s, n)
                   : farmLong(s, n);
}

// --- the others --------------------------------------------------------------------------------

namespace {

// The last bytes, fewer than 8, as a little-endian number.
uint64_t tailWord(std::string_view bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

} // namespace

uint64_t murmurHash64(std::string_view bytes, uint64_t seed) {
  constexpr uint64_t m = 0xc6a4a7935bd1e995;
  uint64_t h = seed ^ (bytes.size() * m);
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t k = mixShifted(word64(bytes.data()) * m) * m;
    h = (h ^ k) * m;
  }
  if (!bytes.empty())
    h = (h ^ tailWord(bytes)) * m;
  return mixShifted(mixShifted(h) * m);
}

uint64_t sipHash24(std::string_view bytes, uint64_t key0, uint64_t key1) {
  uint64_t a = key0 ^ 0x736f6d6570736575, b = key1 ^ 0x646f72616e646f6d;
  uint64_t c = key0 ^ 0x6c7967656e657261, d = key1 ^ 0x7465646279746573;
  auto round = [&] {
    a += b;
    c += d;
    b = std::rotl(b, 13) ^ a;
    d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32) + d;
    c += b;
    d = std::rotl(d, 21) ^ a;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  };
  auto take = [&](uint64_t word) {
    d ^= word;
    round();
    round();
    a ^= word;
  };
  uint64_t length = bytes.size();
  for (; bytes.size() >= 8; bytes.remove_prefix(8))
    take(word64(bytes.data()));
  take(tailWord(bytes) | length << 56);
  c ^= 0xff;
  for (int i = 0; i < 4; ++i)
    round();
  return a ^ b ^ c ^ d;
}

// --- ops ---------------------------------------------------------------------------------------

namespace {

struct Buckets {
  uint64_t count, key0, key1;
};

// Numbers are hashed as text.
template <typename T> struct NumberBuckets {
  static void run(OpContext &ctx) {
    const Tensor &in = ctx.input(0);
    Tensor *out = ctx.allocateOutput(0, DType::Int64, in.dims());
    for (int64_t i = 0; out && i < in.count(); ++i)
      out->data<int64_t>()[i] = static_cast<int64_t>(
          farmFingerprint64(std::to_string(in.data<T>()[i])) % ctx.state<Buckets>().count);
  }
};

struct OldHash {
  static uint64_t of(std::string_view text, const Buckets &) {
    return murmurHash64(text, 0xdecafcaffe);
  }
};
struct FastHash {
  static uint64_t of(std::string_view text, const Buckets &) { return farmFingerprint64(text); }
};
struct StrongHash {
  static uint64_t of(std::string_view text, const Buckets &b) {
    return sipHash24(text, b.key0, b.key1);
  }
};

template <typename Hash> void toBuckets(OpContext &ctx) {
  const auto &buckets = ctx.state<Buckets>();
  const Tensor &in = ctx.input(0);
  Tensor *out = ctx.allocateOutput(0, DType::Int64, in.dims());
  for (int64_t i = 0; out && i < in.count(); ++i)
    out->data<int64_t>()[i] =
        static_cast<int64_t>(Hash::of(in.data<std::string>()[i], buckets) % buckets.count);
}

template <typename Hash> Expected<BoundKernel> bindBuckets(const BindContext &node) {
  auto count = node.attrs.getOr<int64_t>("num_buckets", 0);
  if (count < 1)
    return Unexpected(invalidArgument("num_buckets is ", count, ", expected at least 1"));
  Buckets buckets{static_cast<uint64_t>(count), 0, 0};
  if constexpr (std::is_same_v<Hash, StrongHash>) {
    auto key = node.attrs.getOr("key", std::vector<int64_t>());
    if (key.size() != 2)
      return Unexpected(invalidArgument("the key has ", key.size(), " numbers, expected 2"));
    buckets.key0 = static_cast<uint64_t>(key[0]);
    buckets.key1 = static_cast<uint64_t>(key[1]);
  }
  return boundWith(toBuckets<Hash>, buckets);
}

Expected<BoundKernel> bindNumberBuckets(const BindContext &node) {
  Expected<BoundKernel> numbers = bindByType<NumberBuckets, IntegerTypes>(node);
  return numbers ? bindBuckets<FastHash>(node).map([&](BoundKernel bound) {
    bound.fn = numbers->fn;
    return bound;
  })
                 : numbers;
}

// The bytes of row `row`; of strings those of their fingerprints, or of the only one itself.
std::string rowBytes(const Tensor &in, int64_t row, int64_t width) {
  if (in.dtype() != DType::String) {
    size_t bytes = static_cast<size_t>(width) * dtypeSize(in.dtype());
    return {static_cast<const char *>(in.raw()) + static_cast<size_t>(row) * bytes, bytes};
  }
  const std::string *texts = in.data<std::string>() + row * width;
  if (width == 1)
    return texts[0];
  std::string prints;
  for (int64_t i = 0; i < width; ++i) {
    uint64_t print = farmFingerprint64(texts[i]);
    prints.append(reinterpret_cast<const char *>(&print), sizeof print);
  }
  return prints;
}

void fingerprint(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &method = ctx.input(1);
  if (!method.isScalar() || method.scalarValue<std::string>() != "farmhash64")
    return ctx.fail(invalidArgument("the method is ",
                                    method.isScalar() ? method.scalarValue<std::string>()
                                                      : tensorTypeText(method),
                                    ", expected farmhash64"));
  if (in.rank() == 0)
    return ctx.fail(invalidArgument("the data is a scalar, expected a dimension of rows"));
  int64_t rows = in.dim(0), width = rows ? in.count() / rows : 0;
  Tensor *out = ctx.allocateOutput(0, DType::UInt8, {rows, 8});
  for (int64_t row = 0; out && row < rows; ++row) {
    uint64_t print = farmFingerprint64(rowBytes(in, row, width));
    std::memcpy(out->data<uint8_t>() + row * 8, &print, sizeof print);
  }
}

Expected<BoundKernel> bindFingerprint(const BindContext &node) {
  DType dtype = node.inputTypes[0];
  if (!isPlain(dtype) && dtype != DType::String)
    return unsupportedDType(node, dtype);
  return bindPlain<fingerprint>(node);
}

const KernelEntry stringHashTable[] = {
    {"Fingerprint", bindFingerprint},
    {"StringToHashBucket", bindBuckets<OldHash>},
    {"StringToHashBucketFast", bindBuckets<FastHash>},
    {"StringToHashBucketStrong", bindBuckets<StrongHash>},
    {"_TensorToHashBucketFast", bindNumberBuckets},
};

} // namespace

std::span<const KernelEntry> stringHashKernels() { return stringHashTable; }

} // namespace treadle
