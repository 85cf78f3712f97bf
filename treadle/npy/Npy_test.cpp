// Arrays as numpy writes them, and malformed files.
#include "treadle/npy/Npy.h"
#include "treadle/npy/Pickle.h"

#include <gtest/gtest.h>

#include <cstdio>

using namespace treadle;

namespace {

std::string npy(std::string header, std::string_view data, char version = 1) {
  header += '\n';
  std::string out = "\x93NUMPY";
  out += version;
  out += '\0';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  if (version > 1)
    out += std::string(2, '\0');
  return out + header + std::string(data);
}

std::string header(std::string_view descr, std::string_view shape, bool isFortran = false) {
  return str("{'descr': '", descr, "', 'fortran_order': ", isFortran ? "True" : "False",
             ", 'shape': ", shape, ", }");
}

std::string_view bytes(const char *text, size_t size) { return {text, size}; }
// Literals with embedded zeros.
template <size_t N> std::string_view bytes(const char (&literal)[N]) { return {literal, N - 1}; }

template <typename T> std::vector<T> values(const Tensor &tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}

std::string errorOf(const Expected<Tensor> &result) {
  return result ? "no error" : result.error().message;
}

// np.save's output for np.array([b"a\0", "\u00e9"], object), protocol 3.
constexpr char pickledArray[] = "\x80\x03"
                                "cnumpy.core.multiarray\n_reconstruct\nq\0"
                                "cnumpy\nndarray\nq\1"
                                "K\0\x85q\2"
                                "C\1bq\3\x87q\4Rq\5(K\1K\2\x85q\6"
                                "cnumpy\ndtype\nq\7X\2\0\0\0O8q\x08\x89\x88\x87q\tRq\n"
                                "(K\3X\1\0\0\0|q\x0bNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tq\x0c"
                                "b\x89]q\r("
                                "C\2a\0q\x0eX\2\0\0\0\xc3\xa9q\x0f"
                                "etq\x10"
                                "b.";
constexpr size_t pickledSize = sizeof pickledArray - 1;

TEST(Npy, ADeviceIsNoFile) {
  Expected<Tensor> tensor = readNpyFile("/dev/zero", DType::Invalid);
  ASSERT_FALSE(tensor);
  EXPECT_NE(tensor.error().message.find("'/dev/zero' is a device, expected a file or a pipe"),
            std::string::npos)
      << tensor.error().message;
}

} // namespace

TEST(Npy, readsEveryVersion) {
  for (char version : {1, 2, 3}) {
    Expected<Tensor> tensor =
        readNpy(npy(header("<i4", "(2,)"), bytes("\1\0\0\0\xff\xff\xff\xff"), version));
    ASSERT_TRUE(tensor) << errorOf(tensor);
    EXPECT_EQ(tensorTypeText(*tensor), "int32[2]");
    EXPECT_EQ(values<int32_t>(*tensor), (std::vector<int32_t>{1, -1}));
  }
}

TEST(Npy, readsEitherByteOrder) {
  Expected<Tensor> integer = readNpy(npy(header(">i2", "()"), bytes("\1\2")));
  ASSERT_TRUE(integer) << errorOf(integer);
  EXPECT_EQ(integer->scalarValue<int16_t>(), 0x102);
  // The parts of a complex number are byte-swapped separately: 1 + 2i.
  Expected<Tensor> complex = readNpy(npy(header(">c8", "()"), bytes("\x3f\x80\0\0\x40\0\0\0")));
  ASSERT_TRUE(complex) << errorOf(complex);
  EXPECT_EQ(complex->data<float>()[0], 1);
  EXPECT_EQ(complex->data<float>()[1], 2);
}

TEST(Npy, readsFortranOrder) {
  Expected<Tensor> tensor = readNpy(npy(header("|u1", "(2, 3)", true), bytes("\1\4\2\5\3\6")));
  ASSERT_TRUE(tensor) << errorOf(tensor);
  EXPECT_EQ(values<uint8_t>(*tensor), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, anyByteButZeroIsTrue) {
  Expected<Tensor> tensor = readNpy(npy(header("|b1", "(3,)"), bytes("\0\1\2")));
  ASSERT_TRUE(tensor) << errorOf(tensor);
  EXPECT_EQ(values<uint8_t>(*tensor), (std::vector<uint8_t>{0, 1, 1}));
}

TEST(Npy, readsTextWithoutItsPadding) {
  Expected<Tensor> narrow = readNpy(npy(header("|S3", "(2,)"), bytes("a\0bc\0\0")));
  ASSERT_TRUE(narrow) << errorOf(narrow);
  EXPECT_EQ(values<std::string>(*narrow), (std::vector<std::string>{{"a\0b", 3}, "c"}));
  Expected<Tensor> wide =
      readNpy(npy(header("<U2", "(2,)"), bytes("\xe9\0\0\0\0\0\0\0\xac\x20\0\0\x00\xf6\1\0")));
  ASSERT_TRUE(wide) << errorOf(wide);
  EXPECT_EQ(values<std::string>(*wide), (std::vector<std::string>{"\u00e9", "\u20ac\U0001f600"}));
}

TEST(Npy, readsObjectArraysOfText) {
  Expected<Tensor> tensor = readNpy(npy(header("|O", "(2,)"), bytes(pickledArray, pickledSize)));
  ASSERT_TRUE(tensor) << errorOf(tensor);
  EXPECT_EQ(values<std::string>(*tensor), (std::vector<std::string>{{"a\0", 2}, "\u00e9"}));
}

TEST(Npy, unnamedElementsNeedADtype) {
  std::string file = npy(header("|V2", "(1,)"), bytes("\x80\x3f"));
  Expected<Tensor> tensor = readNpy(file, DType::BFloat16);
  ASSERT_TRUE(tensor) << errorOf(tensor);
  EXPECT_EQ(tensorTypeText(*tensor), "bfloat16[1]");
  EXPECT_EQ(readNpy(file).error().code, Code::Unimplemented);
  EXPECT_EQ(readNpy(file, DType::Float32).error().code, Code::Unimplemented);
}

TEST(Npy, roundTripsArrays) {
  std::vector<int64_t> numbers = {1, -2, 3};
  Tensor strings = *Tensor::make(DType::String, {2, 1});
  strings.data<std::string>()[0] = "long";
  Tensor halves = *Tensor::make(DType::BFloat16, {0, 3});
  for (const Tensor &tensor : {Tensor::vector<int64_t>(DType::Int64, numbers), strings, halves,
                               Tensor::scalar(DType::Bool, true)}) {
    Expected<std::string> file = writeNpy(tensor);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->find('\n') % 64, 63u) << "numpy aligns elements to 64 bytes";
    Expected<Tensor> back = readNpy(*file, tensor.dtype());
    ASSERT_TRUE(back) << errorOf(back);
    EXPECT_EQ(tensorTypeText(*back), tensorTypeText(tensor));
    if (isPlain(tensor.dtype()))
      EXPECT_EQ(std::memcmp(back->raw(), tensor.raw(), tensor.bytes()), 0);
    else
      EXPECT_EQ(values<std::string>(*back), values<std::string>(tensor));
  }
  Expected<std::string> lossy = writeNpy(Tensor::scalarString(std::string("a\0", 2)));
  EXPECT_EQ(lossy.error().code, Code::InvalidArgument);
}

TEST(Npy, malformedFilesAreErrors) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"", "does not start like one"},
      {"PK\3\4 and so on", "does not start like one"},
      {std::string(bytes("\x93NUMPY\1\0\xff\xff{")), "header is truncated"},
      {std::string(bytes("\x93NUMPY\2\0\xff\xff")), "header is truncated"},
      {npy("{}", ""), "lacks descr, fortran_order or shape"},
      {npy(header("<i4", "3"), ""), "no shape"},
      {npy(header("<i4", "(-1,)"), ""), "not a list of up to 32 sizes"},
      {npy(header("<i4", "(4294967296, 4294967296)"), ""), "overflows"},
      {npy(header("<i4", "(4611686018427387904,)"), ""), "needs more bytes"},
      {npy(header("<i4", "(2,)"), "1234567"), "needs more bytes than the 7 in the file"},
      {npy(header("<U9223372036854775807", "(1,)"), ""), "needs more bytes"},
      {npy(header("|S0", "(99999999999,)"), ""), "implausibly many"},
      {npy(header("<", "()"), ""), "has no element type"},
      {npy(header("|O", "(1,)"), "\x80\x03"), "pickle is corrupted"},
  };
  for (const auto &[file, message] : cases) {
    Expected<Tensor> result = readNpy(file);
    ASSERT_FALSE(result) << message;
    EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().message;
    EXPECT_EQ(result.error().code, Code::InvalidArgument);
  }
}

TEST(Npy, whatTensorsLackIsUnimplemented) {
  for (const char *descr : {"<M8[D]", "<f16", "|V3"})
    EXPECT_EQ(readNpy(npy(header(descr, "()"), "0123456789abcdef")).error().code,
              Code::Unimplemented);
  std::string structured = "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (), }";
  EXPECT_EQ(readNpy(npy(structured, "0123")).error().code, Code::Unimplemented);
}

TEST(Npy, filesThatCannotBeRead) {
  Expected<Tensor> absent = readNpyFile("no-such-folder/no-such-file.npy");
  EXPECT_EQ(absent.error().code, Code::NotFound);
  EXPECT_NE(absent.error().message.find("no-such-file.npy"), std::string::npos);
  EXPECT_FALSE(readNpyFile("."));
  EXPECT_EQ(writeFileBytes("no-such-folder/file", "x").error().code, Code::NotFound);
}

TEST(Pickle, everyPrefixIsAnError) {
  ASSERT_TRUE(readPickledStrings(bytes(pickledArray, pickledSize)));
  for (size_t size = 0; size < pickledSize; ++size)
    EXPECT_FALSE(readPickledStrings(bytes(pickledArray, size))) << size;
}

TEST(Pickle, everyChangedByteIsSurvived) {
  std::string pickle(pickledArray, pickledSize);
  for (size_t at = 0; at < pickle.size(); ++at)
    for (int change = 1; change < 256; ++change) {
      std::string changed = pickle;
      changed[at] = static_cast<char>(changed[at] ^ change);
      Expected<std::vector<std::string>> texts = readPickledStrings(changed);
      EXPECT_TRUE(!texts || texts->size() <= pickle.size());
    }
}

TEST(Pickle, depthIsSurvived) {
  EXPECT_FALSE(readPickledStrings(")" + std::string(300'000, '\x85')));
  EXPECT_FALSE(readPickledStrings(std::string(300'000, '(')));
  EXPECT_FALSE(readPickledStrings(std::string(300'000, ']') + std::string(299'999, 'a')));
}

TEST(Pickle, nothingIsCalled) {
  // os.system("true"): parsed as an opaque call, which isn't an array.
  Expected<std::vector<std::string>> texts =
      readPickledStrings("\x80\x03"
                         "cos\nsystem\nX\4" +
                         std::string(3, '\0') + "true\x85R.");
  ASSERT_FALSE(texts);
  EXPECT_NE(texts.error().message.find("contains no array"), std::string::npos);
}
