// Archives as numpy writes them, and corrupted archives.
#include "treadle/npy/Npz.h"

#include <gtest/gtest.h>

#include <zlib.h>

using namespace treadle;

namespace {

NamedTensors someArrays() {
  std::vector<float> numbers(100, 1.5f);
  return {{"in/x:0", Tensor::vector<float>(DType::Float32, numbers)},
          {"out/y:0", Tensor::scalar(DType::Int32, int32_t{7})},
          {"text", Tensor::scalarString("abc")}};
}

void put(std::string &out, uint64_t number, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out += static_cast<char>(number >> (8 * i));
}

std::string deflated(const std::string &content) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Packed {
  std::string content;
  uint16_t method = 8;
  uint64_t size = 0;   // size in the directory; 0: the true size
  bool isHuge = false; // sizes are in a 64-bit extra field
  uint32_t crcChange = 0;
  uint16_t flags = 0;
};

// Returns an archive of one array called `a`.
std::string archive(const Packed &packed) {
  std::string data = packed.method == 8 ? deflated(packed.content) : packed.content;
  uint64_t size = packed.size ? packed.size : packed.content.size();
  uint32_t crc =
      static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef *>(packed.content.data()),
                                  static_cast<uInt>(packed.content.size())));
  std::string common, extra;
  put(common, 20, 2), put(common, packed.flags, 2), put(common, packed.method, 2);
  put(common, 0, 4), put(common, crc ^ packed.crcChange, 4);
  put(common, packed.isHuge ? 0xffffffff : data.size(), 4);
  put(common, packed.isHuge ? 0xffffffff : size, 4);
  if (packed.isHuge)
    put(extra, 1, 2), put(extra, 16, 2), put(extra, size, 8), put(extra, data.size(), 8);
  put(common, 5, 2), put(common, extra.size(), 2);
  std::string out = "PK\3\4" + common + "a.npy" + extra + data;
  size_t start = out.size();
  out += "PK\1\2";
  put(out, 20, 2);
  out += common + std::string(14, '\0') + "a.npy" + extra;
  size_t size2 = out.size() - start;
  out += "PK\5\6";
  put(out, 0, 4), put(out, 1, 2), put(out, 1, 2), put(out, size2, 4), put(out, start, 4);
  put(out, 0, 2);
  return out;
}

std::string anArray() { return *writeNpy(someArrays()[0].second); }

Error readError(const Packed &packed) {
  Expected<Tensor> result = NpzFile::fromBytes(archive(packed)).and_then([](const NpzFile &file) {
    return file.read("a");
  });
  return result ? Error{Code::Ok, "no error"} : result.error();
}

} // namespace

TEST(Npz, roundTripsArrays) {
  NamedTensors arrays = someArrays();
  Expected<NpzFile> file = NpzFile::fromBytes(*writeNpz(arrays));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->names(), (std::vector<std::string>{"in/x:0", "out/y:0", "text"}));
  for (const auto &[name, tensor] : arrays) {
    Expected<Tensor> back = file->read(name);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*writeNpy(*back), *writeNpy(tensor));
  }
  EXPECT_TRUE(file->has("text") && !file->has("text.npy"));
  EXPECT_EQ(file->read("absent").error().code, Code::NotFound);
}

TEST(Npz, readsEveryPacking) {
  for (uint16_t method : {0, 8})
    for (bool isHuge : {false, true}) {
      Expected<NpzFile> file = NpzFile::fromBytes(archive({anArray(), method, 0, isHuge}));
      ASSERT_TRUE(file) << file.error().message;
      Expected<Tensor> tensor = file->read("a");
      ASSERT_TRUE(tensor) << tensor.error().message;
      EXPECT_EQ(*writeNpy(*tensor), anArray());
    }
}

TEST(Npz, damageIsNamed) {
  EXPECT_NE(readError({anArray(), 8, 0, false, 1}).message.find("checksum"), std::string::npos);
  EXPECT_NE(readError({anArray(), 0, 9}).message.find("two sizes"), std::string::npos);
  EXPECT_NE(readError({anArray(), 8, 9}).message.find("does not decompress"), std::string::npos);
  EXPECT_NE(readError({anArray(), 8, 1ull << 50, true}).message.find("declares more"),
            std::string::npos);
  EXPECT_NE(readError({"no array"}).message.find("array 'a': npy file"), std::string::npos);
  EXPECT_EQ(readError({anArray(), 12}).code, Code::Unimplemented);
  EXPECT_EQ(readError({anArray(), 8, 0, false, 0, 1}).code, Code::Unimplemented);
  EXPECT_EQ(NpzFile::fromBytes("no archive").error().code, Code::InvalidArgument);
  EXPECT_EQ(NpzFile::open("no-such-file.npz").error().code, Code::NotFound);
}

TEST(Npz, everyChangedByteIsSurvived) {
  const std::string whole = archive({anArray(), 8, 0, true});
  auto readAll = [](std::string bytes) {
    if (Expected<NpzFile> file = NpzFile::fromBytes(std::move(bytes)))
      for (const std::string &name : file->names())
        (void)file->read(name);
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    readAll(whole.substr(0, at));
    for (int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      readAll(std::move(changed));
    }
  }
  EXPECT_TRUE(NpzFile::fromBytes(whole)->read("a"));
}
