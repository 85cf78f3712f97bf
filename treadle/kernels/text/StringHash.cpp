// String hashes, and ops that assign strings to hash buckets.
#include "treadle/kernels/text/StringHash.h"

#include "treadle/kernels/Element.h"

#include <farmhash.h>
#include <highwayhash/sip_hash.h>

#include <bit>
#include <cstring>

namespace treadle {

static_assert(std::endian::native == std::endian::little, "hashes read words as little-endian");

uint64_t farmFingerprint64(std::string_view bytes) {
  return util::Fingerprint64(bytes.data(), bytes.size());
}

uint64_t murmurHash64(std::string_view bytes, uint64_t seed) {
  constexpr uint64_t m = 0xc6a4a7935bd1e995;
  auto mix = [](uint64_t x) { return x ^ (x >> 47); };
  uint64_t h = seed ^ (bytes.size() * m);
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    h = (h ^ mix(word * m) * m) * m;
  }
  if (!bytes.empty()) {
    uint64_t rest = 0;
    std::memcpy(&rest, bytes.data(), bytes.size());
    h = (h ^ rest) * m;
  }
  return mix(mix(h) * m);
}

uint64_t sipHash24(std::string_view bytes, uint64_t key0, uint64_t key1) {
  const highwayhash::SipHashState::Key key = {key0, key1};
  return highwayhash::SipHash(key, bytes.data(), bytes.size());
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

// Returns the bytes of a row. For strings, the bytes of their fingerprints, or a single string
// itself.
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
