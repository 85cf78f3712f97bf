// Small inputs that declare large contents: none may take more than a few seconds and some hundred
// megabytes.
#include "fuzz/readers/Readers.h"

#include "treadle/checkpoint/Crc32c.h"
#include "treadle/npy/Npz.h"
#include "treadle/proto/chunk.pb.h"
#include "treadle/proto/graph.pb.h"
#include "treadle/riegeli/Format.h"
#include "treadle/riegeli/HighwayHash.h"
#include "treadle/tensor/Wire.h"

#include <gtest/gtest.h>

#include <fstream>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

namespace treadle::fuzz {
namespace {

using namespace std::string_literals;

std::string repeated(std::string_view part, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i)
    text += part;
  return text;
}

template <typename T> void put(std::string &out, T value) { putFixed<T>(out, value); }

// --- text that nests ---------------------------------------------------------------------------

std::string nested(std::string_view open, std::string_view inner, std::string_view close) {
  constexpr size_t deep = 100'000;
  return repeated(open, deep) + std::string(inner) + repeated(close, deep);
}
std::string moduleWith(const std::string &attribute) {
  return "module attributes {a = " + attribute + "} {}";
}

/// Returns `count` aliases, each defined from the previous one by `form`, where `@` is replaced by
/// its name.
std::string aliases(size_t count, std::string_view mark, std::string_view form) {
  std::string text = std::string(mark) + "a0 = " + (mark == "#" ? "[1]" : "tuple<i1>") + "\n";
  for (size_t i = 1; i < count; ++i) {
    text += std::string(mark) + "a" + std::to_string(i) + " = ";
    for (char c : form)
      text += c == '@' ? std::string(mark) + "a" + std::to_string(i - 1) : std::string(1, c);
    text += '\n';
  }
  return text + moduleWith(std::string(mark) + "a" + std::to_string(count - 1));
}

// --- numpy -------------------------------------------------------------------------------------

std::string npy(const std::string &header, std::string_view data = "") {
  std::string bytes = "\x93NUMPY\1\0"s;
  put(bytes, static_cast<uint16_t>(header.size()));
  return bytes + header + std::string(data);
}

/// A long text, and an array that repeats it.
std::string recalledText() {
  std::string pickle = "](X"s;
  constexpr uint32_t size = 500'000;
  put(pickle, size);
  pickle += std::string(size, 'x') + "q\1" + repeated("h\1", size / 2) + "e";
  pickle = "N(NNNN" + pickle + "tb.";
  return npy("{'descr': '|O', 'fortran_order': False, 'shape': (250001,), }", pickle);
}

/// An archive whose only entry declares 4 GiB of contents.
std::string zipBomb() {
  std::string archive = *writeNpz({{"a", Tensor::scalar(DType::Int32, int32_t{1})}});
  size_t central = archive.find("PK\1\2");
  archive.replace(central + 10, 2, "\x08\0"s);
  archive.replace(central + 24, 4, "\xff\xff\xff\xfe");
  return archive;
}

// --- tables and records ------------------------------------------------------------------------

/// A long key, and many rows that share all of it.
std::string sharedKeys() {
  std::string block, key(400'000, 'k');
  putVarint(block, 0), putVarint(block, key.size()), putVarint(block, 0);
  block += key;
  for (size_t shared = key.size(); block.size() < 2 * key.size(); ++shared) {
    putVarint(block, shared), putVarint(block, 1), putVarint(block, 0);
    block += 'k';
  }
  put<uint32_t>(block, 0), put<uint32_t>(block, 1);
  return block;
}

/// A chunk of a Riegeli file with valid hashes.
std::string riegeliFile(const std::string &data, uint64_t numRecords, uint64_t decodedSize) {
  std::string file("\x83\xaf\x70\xd1\x0d\x88\x4a\x3f\0\0\0\0\0\0\0\0"
                   "\x40\0\0\0\0\0\0\0\x91\xba\xc2\x3c\x92\x87\xe1\xa9"
                   "\0\0\0\0\0\0\0\0\xe1\x9f\x13\xc0\xe9\xb1\xc3\x72"
                   "s\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                   64);
  std::string header;
  put<uint64_t>(header, data.size());
  put<uint64_t>(header, riegeli::hashOf({data}));
  put<uint64_t>(header, numRecords << 8 | 'r');
  put<uint64_t>(header, decodedSize);
  put<uint64_t>(file, riegeli::hashOf({header}));
  return file + header + data;
}

/// Records that declare 2 GiB of Zstandard or Brotli data, which is missing.
std::string emptyCompression(char kind) {
  std::string sizes, values, data(1, kind);
  putVarint(sizes, 1);
  sizes += "\0"s;
  putVarint(values, INT32_MAX);
  putVarint(data, sizes.size());
  return riegeliFile(data + sizes + values, 1, INT32_MAX);
}

/// Chunks that refer to distant elements, in one list after another.
std::string sparseChunks() {
  pb::ChunkMetadata metadata;
  std::vector<std::string> parts(2000, "");
  for (uint64_t i = 0; i < 2000; ++i) {
    pb::ChunkedField &field = *metadata.mutable_message()->add_chunked_fields();
    field.mutable_message()->set_chunk_index(i);
    field.add_field_tag()->set_field(2); // meta_graphs
    field.add_field_tag()->set_index((i + 1) * 1999);
  }
  parts.push_back(metadata.SerializeAsString());
  return joinParts(parts);
}

/// One chunk that is merged repeatedly.
std::string repeatedChunk() {
  pb::ChunkMetadata metadata;
  for (int i = 0; i < 100'000; ++i)
    metadata.mutable_message()->add_chunked_fields()->mutable_message()->set_chunk_index(0);
  pb::GraphDef graph;
  for (int i = 0; i < 3000; ++i)
    graph.add_node()->set_name("node");
  std::string inner = graph.SerializeAsString(), model;
  putBytes(model, 2, [&] {
    std::string meta;
    putBytes(meta, 2, inner);
    return meta;
  }());
  std::string last = metadata.SerializeAsString();
  return joinParts({model}) + std::string(2, '\xff') + last;
}

// --- images ------------------------------------------------------------------------------------

std::string gif(int width, int height, size_t frames) {
  std::string file = "\0GIF89a"s;
  put<uint16_t>(file, static_cast<uint16_t>(width)),
      put<uint16_t>(file, static_cast<uint16_t>(height));
  file += "\x80\0\0\0\0\0\xff\xff\xff"s;
  for (size_t i = 0; i < frames; ++i) {
    file += ",\0\0\0\0"s;
    put<uint16_t>(file, static_cast<uint16_t>(width)),
        put<uint16_t>(file, static_cast<uint16_t>(height));
    file += "\0\2\2\x84Q\0"s;
  }
  return file + ";";
}

std::string pngChunk(const std::string &kindAndData) {
  std::string bytes;
  auto big = [&](uint32_t value) { put(bytes, __builtin_bswap32(value)); };
  big(static_cast<uint32_t>(kindAndData.size() - 4));
  bytes += kindAndData;
  big(static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef *>(kindAndData.data()),
                                  static_cast<uInt>(kindAndData.size()))));
  return bytes;
}

std::string png(uint32_t width, uint32_t height) {
  std::string header = "IHDR";
  put(header, __builtin_bswap32(width)), put(header, __builtin_bswap32(height));
  header += "\x10\6\0\0\1"s; // 16 bits, with alpha, interlaced
  return "\0\x89PNG\r\n\x1a\n"s + pngChunk(header) + pngChunk("IDATx\x9c") + pngChunk("IEND");
}

/// A progressive file that ends after its frame header.
std::string jpeg() {
  return "\x38\xff\xd8\xff\xc2\0\x11\x08\x50\0\x50\0\3\1\x11\0\2\x11\0\3\x11\0"
         "\xff\xda\0\x0c\3\1\0\2\0\3\0\0\0\0\xff\xd9"s;
}

/// 16,383 by 16,383 pixels of one color.
std::string webp() {
  std::string bits = "\x2f\xfe\xff\xfe\x3f\x07\x10\x11\x11\x88\x88\xfe\7\0"s;
  std::string file = "\0RIFF"s;
  put<uint32_t>(file, static_cast<uint32_t>(12 + bits.size()));
  file += "WEBPVP8L";
  put<uint32_t>(file, static_cast<uint32_t>(bits.size()));
  return file + bits;
}

// --- messages ----------------------------------------------------------------------------------

std::string messageOfManyElements() {
  std::string bytes;
  put<uint32_t>(bytes, 0), put<uint16_t>(bytes, 1), put<uint16_t>(bytes, 1);
  put<int64_t>(bytes, int64_t{1} << 33);
  return bytes;
}

/// A large splat constant.
std::string splat(int64_t count) {
  return "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
         "'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: " +
         std::to_string(count) + " } } float_val: 1 } } } }";
}

std::string deepText() {
  return R"(node { attr { key: "a" value { )" +
         repeated(R"(list { func { attr { key: "b" value { )", 20'000);
}

std::string channel() {
  std::string bytes;
  put<uint64_t>(bytes, 0x31656C6461657274), put<uint64_t>(bytes, 1),
      put<uint64_t>(bytes, uint64_t{1} << 34);
  return bytes;
}

// --- the table ---------------------------------------------------------------------------------

struct Bomb {
  std::string_view name, reader;
  std::string (*bytes)();
};

constexpr Bomb bombs[] = {
    {"AffineOperators", "mlir",
     [] { return moduleWith("affine_map<(d0) -> (" + nested("d0+", "d0", "") + ")>"); }},
    {"AffineParentheses", "mlir",
     [] { return moduleWith("affine_map<(d0) -> (" + nested("(", "d0", ")") + ")>"); }},
    {"AffineSigns", "mlir",
     [] { return moduleWith("affine_map<(d0) -> (" + nested("-", "d0", "") + ")>"); }},
    {"Arrays", "mlir", [] { return moduleWith(nested("[", "1", "]")); }},
    {"AttributeAliases", "mlir", [] { return aliases(100'000, "#", "[@]"); }},
    {"ChannelPart", "channel", channel},
    {"ChunkMergedAgain", "chunks", repeatedChunk},
    {"ChunksFarApart", "chunks", sparseChunks},
    {"CollectiveElements", "collective", messageOfManyElements},
    {"CostsNested", "costs", [] { return repeated("[", 1'000'000); }},
    {"DenseElements", "mlir",
     [] { return moduleWith("dense<" + nested("[", "1", "]") + "> : tensor<1xi32>"); }},
    {"DoubledAliases", "mlir", [] { return aliases(60, "#", "[@, @]"); }},
    {"GifFrame", "image", [] { return gif(65535, 32768, 1); }},
    {"GifFrames", "image", [] { return gif(20000, 20000, 20); }},
    {"JpegProgressive", "image", jpeg},
    {"Locations", "mlir", [] { return "module {} loc(" + nested("fused[", "\"a\"", "]") + ")"; }},
    {"NpyEmptyStrings", "npy",
     [] { return npy("{'descr': '|S0', 'fortran_order': False, 'shape': (1099511627776,), }"); }},
    {"NpyOverflow", "npy",
     [] {
       return npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,4), }");
     }},
    {"NpyShape", "npy",
     [] { return npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1073741824,), }"); }},
    {"NpzSize", "npz", zipBomb},
    {"PickledTextAgain", "npy", recalledText},
    {"PngInterlaced", "image", [] { return png(20000, 20000); }},
    {"Regions", "mlir",
     [] { return "module {" + nested("\"a.b\"() ({", "", "}) : () -> ()") + "}"; }},
    {"RiegeliBrotli", "riegeli", [] { return emptyCompression('b'); }},
    {"RiegeliZstandard", "riegeli", [] { return emptyCompression('z'); }},
    {"SharedKeys", "block", sharedKeys},
    {"Splat", "graph_text", [] { return splat(int64_t{1} << 40); }},
    {"SplatOfOverflow", "graph_text", [] { return splat(INT64_MAX); }},
    {"SplatOfMemory", "graph_text", [] { return splat(int64_t{1} << 31); }},
    {"TextNested", "graph_text", deepText},
    {"TupleTypes", "mlir", [] { return moduleWith(nested("tuple<", "i1", ">")); }},
    {"TypeAliases", "mlir", [] { return aliases(100'000, "!", "tuple<@>"); }},
    {"ValueLists", "value", [] { return nested("[", "1", "]"); }},
    {"ValueShape", "value", [] { return "99999999999x99999999xf32=0"s; }},
    {"WavChunk", "wav", [] { return "RIFF\0\0\0\0WAVEfmt \xff\xff\xff\x7f"s; }},
    {"WebpOfOneColour", "image", webp},
};

/// Runs in a process of its own, with a limit of half a gigabyte of additional memory and few
/// seconds.
int statusOf(const Bomb &bomb, const std::string &bytes) {
  pid_t child = fork();
  if (child == 0) {
#if !__has_feature(address_sanitizer) // which reserves much more
    constexpr rlim_t more = rlim_t{512} << 20;
    rlimit limit;
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    limit.rlim_cur = limit.rlim_max = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + more;
    setrlimit(RLIMIT_AS, &limit);
#endif
    constexpr rlim_t seconds = 10;
    rlimit time{seconds, seconds};
    setrlimit(RLIMIT_CPU, &time);
    findReader(bomb.reader)->read(bytes);
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

class Bombs : public testing::TestWithParam<Bomb> {};

TEST_P(Bombs, TakeFewResources) {
  const Bomb &bomb = GetParam();
  ASSERT_TRUE(findReader(bomb.reader));
  int status = statusOf(bomb, bomb.bytes());
  EXPECT_EQ(status, 0) << (WIFSIGNALED(status) ? "signal " : "exit status ")
                       << (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

INSTANTIATE_TEST_SUITE_P(Inputs, Bombs, testing::ValuesIn(bombs),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace treadle::fuzz
