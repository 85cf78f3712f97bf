// Tests of serialized tables, and of corrupted bytes.
#include "treadle/codegen/Tables.h"

#include <gtest/gtest.h>

#include <numeric>

namespace treadle::codegen {
namespace {

Tensor iota(int64_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::vector<float>(DType::Float32, values);
}

ClusterTables exampleTables() {
  ClusterTables tables;
  KernelCall call{"a/b", "Op", "/cpu:0", {}, {DType::Float32}, {DType::Int64, DType::Bool}, {}};
  call.attrs.set("none", std::monostate());
  call.attrs.set("text", std::string("x\0y", 3));
  call.attrs.set("number", int64_t(-7));
  call.attrs.set("real", 0.5f);
  call.attrs.set("flag", true);
  call.attrs.set("type", TypeAttr{DType::Int8, true});
  call.attrs.set("shape", PartialShape::ranked({2, -1}));
  call.attrs.set("tensor", iota(3));
  AttrMap inner;
  inner.set("T", TypeAttr{DType::Float64});
  call.attrs.set("f", FunctionRef{"f", std::make_shared<const AttrMap>(inner)});
  call.attrs.set("flags", std::vector<bool>{true, false, true});
  call.attrs.set("texts", std::vector<std::string>{"", "abc"});
  call.attrs.set("shapes", std::vector<PartialShape>{{}, PartialShape::ranked({})});
  call.outputs = {{}, {true, {3, -1}}};
  tables.kernels = {call, call};
  Tensor texts = *Tensor::make(DType::String, {2});
  texts.data<std::string>()[1] = "two";
  tables.constants = {Tensor::scalar<int64_t>(DType::Int64, 5), texts, iota(1000), iota(0)};
  return tables;
}

/// Bytes with the alignment that they have in an object file.
struct Aligned {
  explicit Aligned(const std::string &bytes) : memory(bytes.size() + 64) {
    size_t offset = -reinterpret_cast<uintptr_t>(memory.data()) % 64;
    span = {memory.data() + offset, bytes.size()};
    std::copy(bytes.begin(), bytes.end(), memory.data() + offset);
  }
  std::vector<char> memory;
  std::span<const char> span;
};

TEST(Tables, ComeBackFromBytes) {
  std::string bytes = *tablesToBytes(exampleTables());
  for (bool areKept : {false, true}) {
    Aligned image(bytes);
    Expected<ClusterTables> back = tablesFromBytes(image.span, areKept);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*tablesToBytes(*back), bytes);
    ASSERT_EQ(back->kernels.size(), 2u);
    const KernelCall &call = back->kernels[1];
    EXPECT_EQ(call.node, "a/b");
    EXPECT_EQ(*call.attrs.get<int64_t>("number"), -7);
    EXPECT_EQ(call.attrs.get<std::string>("text")->size(), 3u);
    EXPECT_EQ(*call.attrs.get<std::vector<bool>>("flags"), (std::vector<bool>{true, false, true}));
    FunctionRef f = *call.attrs.get<FunctionRef>("f");
    EXPECT_EQ(*f.attrs->get<DType>("T"), DType::Float64);
    EXPECT_EQ(call.outputs[1].dims, (std::vector<int64_t>{3, -1}));
    EXPECT_EQ(back->constants[1].data<std::string>()[1], "two");
    EXPECT_EQ(back->constants[2].data<float>()[999], 999.0f);
    const auto *elements = static_cast<const char *>(back->constants[2].raw());
    bool isInside = elements >= image.span.data() && elements < image.span.data() + bytes.size();
    EXPECT_EQ(isInside, areKept);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(elements) % 64, 0u);
  }
}

TEST(Tables, TruncatedBytesAreRefused) {
  std::string bytes = *tablesToBytes(exampleTables());
  for (size_t size = 0; size < bytes.size(); ++size) {
    Expected<ClusterTables> back = tablesFromBytes({bytes.data(), size}, false);
    ASSERT_FALSE(back) << size;
    EXPECT_EQ(back.error().code, Code::DataLoss);
  }
  EXPECT_FALSE(tablesFromBytes(Aligned(bytes + "x").span, false));
}

TEST(Tables, ChangedBytesDoNoHarm) {
  std::string bytes = *tablesToBytes(exampleTables());
  for (size_t i = 0; i < bytes.size(); ++i)
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      (void)tablesFromBytes({changed.data(), changed.size()}, false);
    }
}

TEST(Tables, HandlesAreRefused) {
  ClusterTables tables;
  tables.constants = {*Tensor::make(DType::Resource, {})};
  Expected<std::string> bytes = tablesToBytes(tables);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Code::Unimplemented);
}

} // namespace
} // namespace treadle::codegen
