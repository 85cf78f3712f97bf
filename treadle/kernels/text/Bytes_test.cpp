// Tests of ops that read and write bytes, numbers and hashes of strings.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using Strings = std::vector<std::string>;

TEST(BytesTest, Base64) {
  Tensor in = vec<std::string>({"", "a", "ab", "\xff\xfe\xfd"});
  Tensor encoded = run1("EncodeBase64", {in});
  EXPECT_EQ(values<std::string>(encoded), (Strings{"", "YQ", "YWI", "__79"}));
  EXPECT_EQ(values<std::string>(run1("DecodeBase64", {encoded})), values<std::string>(in));
  AttrMap padded;
  padded.set("pad", true);
  EXPECT_EQ(values<std::string>(run1("EncodeBase64", {in}, DType::String, padded)),
            (Strings{"", "YQ==", "YWI=", "__79"}));
  EXPECT_EQ(errorClassOf("DecodeBase64", {vec<std::string>({"+/+/"})}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("DecodeBase64", {vec<std::string>({"a"})}), "InvalidArgumentError");
}

TEST(BytesTest, DecodeRaw) {
  Tensor in = vec<std::string>({std::string("\1\0\2\0", 4), std::string("\3\0\4\1", 4)});
  Tensor out = run1("DecodeRaw", {in}, DType::Int16);
  EXPECT_EQ(dimsText(out.dims()), "[2,2]");
  EXPECT_EQ(values<int16_t>(out), (std::vector<int16_t>{1, 2, 3, 260}));
  AttrMap big;
  big.set("little_endian", false);
  EXPECT_EQ(values<int16_t>(run1("DecodeRaw", {in}, DType::Int16, big)),
            (std::vector<int16_t>{256, 512, 768, 1025}));
  EXPECT_EQ(errorClassOf("DecodeRaw", {vec<std::string>({"ab", "abc"})}, {DType::UInt8}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("DecodeRaw", {vec<std::string>({"abc"})}, {DType::Int16}),
            "InvalidArgumentError");
  Tensor padded =
      run1("DecodePaddedRaw", {vec<std::string>({"ab"}), scalar<int32_t>(4)}, DType::UInt8);
  EXPECT_EQ(values<uint8_t>(padded), (std::vector<uint8_t>{'a', 'b', 0, 0}));
  EXPECT_EQ(errorClassOf("DecodePaddedRaw", {vec<std::string>({"ab"}), scalar<int32_t>(3)},
                         {DType::Int16}),
            "InvalidArgumentError");
}

TEST(BytesTest, SerializedTensors) {
  for (const Tensor &in :
       {iota<float>({2, 3}, 1), vec<std::string>({"a", ""}), scalar<bool>(true)}) {
    Tensor bytes = run1("SerializeTensor", {in}, DType::String);
    Tensor out = run1("ParseTensor", {bytes}, in.dtype());
    EXPECT_EQ(tensorTypeText(out), tensorTypeText(in));
    EXPECT_EQ(values<std::string>(run1("SerializeTensor", {out}, DType::String)),
              values<std::string>(bytes));
    EXPECT_EQ(errorClassOf("ParseTensor", {bytes}, {DType::Int64}), "InvalidArgumentError");
  }
  // An int32[3] with two listed values, 7 and 9: the last one is repeated.
  std::string listed("\x08\x03\x12\x04\x12\x02\x08\x03\x3a\x02\x07\x09", 12);
  EXPECT_EQ(values<int32_t>(run1("ParseTensor", {scalar(listed)}, DType::Int32)),
            (std::vector<int32_t>{7, 9, 9}));
  // Truncated messages, and invalid fields of number 0.
  for (const char *bytes : {"\x08", "\x01", "\xff\xfe"})
    EXPECT_EQ(errorClassOf("ParseTensor", {scalar<std::string>(bytes)}, {DType::Int32}),
              "InvalidArgumentError");
}

TEST(BytesTest, Decompression) {
  AttrMap gzip, odd;
  gzip.set("compression_type", std::string("GZIP"));
  odd.set("compression_type", std::string("LZ4"));
  EXPECT_EQ(errorClassOf("DecodeCompressed", {scalar<std::string>("nonsense")}, {}, gzip),
            "DataLossError");
  EXPECT_EQ(errorClassOf("DecodeCompressed", {scalar<std::string>("")}, {}, odd),
            "InvalidArgumentError");
}

TEST(BytesTest, Numbers) {
  Tensor in = vec<std::string>({" 1.5 ", "-inf", "1e3"});
  EXPECT_EQ(values<float>(run1("StringToNumber", {in}, DType::Float32)),
            (std::vector<float>{1.5f, -INFINITY, 1000}));
  EXPECT_EQ(values<int32_t>(run1("StringToNumber", {vec<std::string>({"+7"})}, DType::Int32)),
            (std::vector<int32_t>{7}));
  for (const char *text : {"", "2147483648", "1.0", "x"})
    EXPECT_EQ(errorClassOf("StringToNumber", {vec<std::string>({text})}, {DType::Int32}),
              "InvalidArgumentError")
        << text;
}

TEST(BytesTest, Csv) {
  Tensor records = vec<std::string>({"1,\"a\"\",b\"", "2,"});
  std::vector<Tensor> out =
      runAll("DecodeCSV", {records, vec<int32_t>({}), vec<std::string>({"x"})},
             {DType::Int32, DType::String});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<int32_t>(out[0]), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(values<std::string>(out[1]), (Strings{"a\",b", "x"}));
  for (const char *text : {",a", "x,a", "1", "1,a,b", "1,\"a", "1,a\"b"})
    EXPECT_EQ(errorClassOf("DecodeCSV",
                           {vec<std::string>({text}), vec<int32_t>({}), vec<std::string>({"x"})},
                           {DType::Int32, DType::String}),
              "InvalidArgumentError")
        << text;
}

TEST(BytesTest, Hashes) {
  AttrMap attrs;
  attrs.set("num_buckets", int64_t{1} << 62);
  attrs.set("key", std::vector<int64_t>{1, 2});
  Tensor in = vec<std::string>({"", "a", "abcdefgh", std::string(40, 'x'), std::string(200, 'y')});
  auto hashes = [&](const char *op) {
    return values<int64_t>(run1(op, {in}, DType::Int64, attrs));
  };
  EXPECT_EQ(hashes("StringToHashBucketFast"),
            (std::vector<int64_t>{1936946117179621455, 3694432073954588131, 4533385575889643785,
                                  3168538174772821140, 577833072005583796}));
  EXPECT_EQ(hashes("StringToHashBucketStrong"),
            (std::vector<int64_t>{443797209252341627, 546566331822570742, 2649018002260510108,
                                  620143099891017215, 674175070631711542}));
  EXPECT_EQ(hashes("StringToHashBucket"),
            (std::vector<int64_t>{105434511174508091, 2996632905371535868, 3429851175771700306,
                                  573866885909517461, 4354273915233296679}));
  EXPECT_EQ(errorClassOf("Fingerprint", {in, scalar<std::string>("md5")}, {DType::UInt8}),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
