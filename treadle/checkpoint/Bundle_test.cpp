// Checkpoints: round trips, slices, merging, atomic replacement, and every kind of damage.
#include "treadle/checkpoint/BundleReader.h"
#include "treadle/checkpoint/BundleWriter.h"
#include "treadle/testing/TestExpected.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace treadle {
namespace {

namespace fs = std::filesystem;

class Bundle : public testing::Test {
protected:
  void SetUp() override {
    folder =
        fs::path(testing::TempDir()) /
        (std::string("bundle-") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder);
    prefix = (folder / "sub" / "variables").string();
  }
  void TearDown() override { fs::remove_all(folder); }

  using Named = std::vector<std::pair<std::string, Tensor>>;
  Expected<void> write(const Named &tensors, std::string at = {}) {
    BundleWriter writer =
        TREADLE_TRY(BundleWriter::create(at.empty() ? prefix : at, FileAccess::all()));
    for (const auto &[name, value] : tensors)
      TREADLE_TRY(writer.add(name, value));
    return writer.finish();
  }
  Expected<Tensor> read(const std::string &name) {
    return BundleReader::open(prefix, FileAccess::all()).and_then([&](const BundleReader &reader) {
      return reader.read(name);
    });
  }
  std::set<std::string> files() {
    std::set<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder / "sub"))
      names.insert(entry.path().filename().string());
    return names;
  }
  std::string data() { return prefix + ".data-00000-of-00001"; }

  fs::path folder;
  std::string prefix;
};

Tensor floats(std::vector<float> values) { return Tensor::vector<float>(DType::Float32, values); }

Tensor strings(std::vector<std::string> values) {
  return Tensor::vector<std::string>(DType::String, values);
}

Tensor counting(std::vector<int64_t> dims) {
  Tensor t = *Tensor::make(DType::Int32, dims);
  for (int32_t i = 0; i < t.count(); ++i)
    t.data<int32_t>()[i] = i;
  return t;
}

std::vector<int32_t> ints(const Tensor &t) {
  return {t.values<int32_t>().begin(), t.values<int32_t>().end()};
}

void changeByte(const std::string &path, int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(at);
  file.put(byte);
}

TEST_F(Bundle, EveryPlainDTypeComesBackBitForBit) {
  Named tensors;
  for (int number = 1; number < numDTypes; ++number) {
    auto dtype = static_cast<DType>(number);
    if (!isPlain(dtype))
      continue;
    Tensor t = *Tensor::make(dtype, {2, 3});
    for (size_t i = 0; i < t.bytes(); ++i)
      t.data<unsigned char>()[i] = static_cast<unsigned char>(i * 37 + size_t(number));
    tensors.emplace_back(std::string(dtypeName(dtype)), std::move(t));
  }
  ASSERT_GT(tensors.size(), 25u);
  ASSERT_TRUE(write(tensors));
  for (const auto &[name, value] : tensors) {
    Expected<Tensor> back = read(name);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(tensorTypeText(*back), tensorTypeText(value));
    EXPECT_EQ(std::memcmp(back->raw(), value.raw(), value.bytes()), 0) << name;
  }
}

TEST_F(Bundle, LargeTensorsScalarsAndEmptyOnesComeBack) {
  ASSERT_TRUE(write({{"large", counting({1000, 300})},
                     {"scalar", Tensor::scalar<int32_t>(DType::Int32, 7)},
                     {"none", *Tensor::make(DType::Float64, {3, 0})}}));
  EXPECT_EQ(ints(*read("large")), ints(counting({1000, 300})));
  EXPECT_EQ(tensorTypeText(*read("scalar")), "int32[]");
  EXPECT_EQ(tensorTypeText(*read("none")), "float64[3,0]");
}

TEST_F(Bundle, LargeTensorsStayInTheirFileWhereTheyAreAligned) {
  Tensor large = counting({1 << 18}), other = counting({1 << 10, 1 << 9});
  auto bytes = static_cast<int64_t>(large.bytes());
  ASSERT_TRUE(write({{"a", large}, {"b", floats({1})}, {"c", other}}));
  int64_t before = Tensor::liveBytes();
  Tensor mapped = *read("a");
  EXPECT_LT(Tensor::liveBytes() - before, bytes);
  Tensor moved = *read("c"); // misaligned by four bytes
  EXPECT_GE(Tensor::liveBytes() - before, bytes);
  EXPECT_EQ(ints(mapped), ints(large));
  EXPECT_EQ(ints(moved), ints(other));
  ASSERT_TRUE(mapped.isUnique());
  mapped.data<int32_t>()[0] = 7; // changes this tensor only
  EXPECT_EQ(ints(*read("a")), ints(large));
  fs::remove_all(folder);
  EXPECT_EQ(mapped.data<int32_t>()[1], 1);
}

TEST_F(Bundle, LargeTensorsThatStayInTheirFileAreChecked) {
  ASSERT_TRUE(write({{"a", counting({1 << 18})}}));
  std::fstream file(data(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(500'000).put('!');
  file.close();
  EXPECT_EQ(read("a").error().code, Code::DataLoss);
}

TEST_F(Bundle, StringsComeBack) {
  std::vector<std::string> values{"", "x", std::string(100000, 'y'), std::string("\0\xff", 2)};
  ASSERT_TRUE(write({{"s", strings(values)}, {"none", strings({})}}));
  Tensor back = *read("s");
  EXPECT_TRUE(std::ranges::equal(back.values<std::string>(), values));
  EXPECT_EQ(tensorTypeText(*read("none")), "string[0]");
}

TEST_F(Bundle, WritesNothingButItsFiles) {
  ASSERT_TRUE(write({{"a", floats({1})}}));
  EXPECT_EQ(files(), (std::set<std::string>{"variables.data-00000-of-00001", "variables.index"}));
}

TEST_F(Bundle, WhatIsReplacedStaysReadableUntilTheEnd) {
  ASSERT_TRUE(write({{"a", floats({1})}}));
  Expected<BundleWriter> writer = BundleWriter::create(prefix, FileAccess::all());
  ASSERT_TRUE(writer->add("a", floats({2})));
  EXPECT_EQ(*read("a")->data<float>(), 1);
  {
    BundleWriter abandoned = std::move(*writer);
  }
  EXPECT_EQ(*read("a")->data<float>(), 1);
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(Bundle, ANewShardNeverTakesTheOldOnesName) {
  for (float value : {1.0f, 2.0f, 3.0f}) {
    ASSERT_TRUE(write({{"a", floats({value})}}));
    EXPECT_EQ(*read("a")->data<float>(), value);
    EXPECT_EQ(files().size(), 2u);
  }
  EXPECT_TRUE(files().contains("variables.data-00000-of-00001")); // there and back again
}

TEST_F(Bundle, PartsMakeAWhole) {
  Tensor whole = counting({4, 6});
  TensorSlice left{{{}, {0, 2}}}, right{{{}, {2, 4}}};
  Expected<BundleWriter> writer = BundleWriter::create(prefix, FileAccess::all());
  for (const TensorSlice &slice : {left, right}) {
    Tensor part = *Tensor::make(DType::Int32, *slice.dimsIn(whole.dims()));
    TensorSlice all = TensorSlice{{{}, {}}}.resolved(whole.dims());
    TensorSlice of = slice.resolved(whole.dims());
    copyRegion(of, whole, all, part, of);
    ASSERT_TRUE(writer->addSlice("w", whole.dims(), slice, part));
  }
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(ints(*read("w")), ints(whole));
  Expected<BundleReader> reader = BundleReader::open(prefix, FileAccess::all());
  EXPECT_EQ(ints(*reader->readSlice("w", {{{1, 2}, {1, 2}}})),
            (std::vector<int32_t>{7, 8, 13, 14}));
  EXPECT_EQ(ints(*reader->readSlice("w", right)).size(), 16u);
  EXPECT_FAILS(reader->readSlice("w", {{{1, 9}, {}}}), InvalidArgument, "beyond dimension 0");
}

TEST_F(Bundle, APartOfAWholeIsRead) {
  ASSERT_TRUE(write({{"w", counting({4, 6})}, {"s", strings({"a", "b", "c"})}}));
  Expected<BundleReader> reader = BundleReader::open(prefix, FileAccess::all());
  EXPECT_EQ(ints(*reader->readSlice("w", {{{2, 1}, {3, 2}}})), (std::vector<int32_t>{15, 16}));
  EXPECT_EQ(*reader->readSlice("s", {{{1, 1}}})->data<std::string>(), "b");
}

TEST_F(Bundle, MissingPartsAreFound) {
  Expected<BundleWriter> writer = BundleWriter::create(prefix, FileAccess::all());
  Tensor part = floats({1, 2});
  ASSERT_TRUE(writer->addSlice("w", std::vector<int64_t>{4}, {{{0, 2}}}, part));
  ASSERT_TRUE(writer->finish());
  EXPECT_FAILS(read("w"), DataLoss, "hold 2 of the 4 requested elements");
}

TEST_F(Bundle, MergesCheckpointsAndTheirParts) {
  std::string a = prefix + "_temp/a", b = prefix + "_temp/b";
  Expected<BundleWriter> first = BundleWriter::create(a, FileAccess::all()),
                         second = BundleWriter::create(b, FileAccess::all());
  ASSERT_TRUE(first->addSlice("w", std::vector<int64_t>{4}, {{{0, 2}}}, floats({1, 2})));
  ASSERT_TRUE(first->add("x", floats({9})) && first->finish());
  ASSERT_TRUE(second->addSlice("w", std::vector<int64_t>{4}, {{{2, 2}}}, floats({3, 4})));
  ASSERT_TRUE(second->finish());
  std::vector<std::string> both{a, b};
  ASSERT_TRUE(write({{"old", floats({0})}}));
  ASSERT_TRUE(mergeBundles(both, prefix, FileAccess::all()));
  Tensor whole = *read("w");
  EXPECT_TRUE(std::ranges::equal(whole.values<float>(), std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(*read("x")->data<float>(), 9);
  EXPECT_FAILS(read("old"), NotFound, "key old not found");
  EXPECT_EQ(files().size(), 4u); // two shards, index, folder of the slices
  EXPECT_TRUE(fs::is_empty(prefix + "_temp"));
}

TEST_F(Bundle, MergingTheSameNameTwiceIsAnError) {
  ASSERT_TRUE(write({{"x", floats({1})}}, prefix + "1"));
  ASSERT_TRUE(write({{"x", floats({1})}}, prefix + "2"));
  std::vector<std::string> both{prefix + "1", prefix + "2"};
  EXPECT_FAILS(mergeBundles(both, prefix, FileAccess::all()), InvalidArgument,
               "'x' is in more than one");
  EXPECT_EQ(files().size(), 4u); // unchanged
}

TEST_F(Bundle, BadNamesAndTensorsAreRefused) {
  EXPECT_FAILS(write({{"", floats({1})}}), InvalidArgument, "has no name");
  EXPECT_FAILS(write({{"a", floats({1})}, {"a", floats({2})}}), InvalidArgument, "saved twice");
  EXPECT_FAILS(write({{"v", *Tensor::make(DType::Variant, {})}}), Unimplemented, "variant");
  Expected<BundleWriter> writer = BundleWriter::create(prefix, FileAccess::all());
  EXPECT_FAILS(writer->addSlice("w", std::vector<int64_t>{4}, {{{0, 2}}}, floats({1})),
               InvalidArgument, "has the shape [2]");
}

// --- damage --------------------------------------------------------------------------------------

TEST_F(Bundle, MissingIndex) { EXPECT_FAILS(read("a"), NotFound, "variables.index'"); }

TEST_F(Bundle, MissingTensor) {
  ASSERT_TRUE(write({{"a", floats({1})}}));
  EXPECT_FAILS(read("b"), NotFound, "key b not found in checkpoint '" + prefix);
}

TEST_F(Bundle, MissingShard) {
  ASSERT_TRUE(write({{"a", floats({1})}}));
  fs::remove(data());
  EXPECT_FAILS(read("a"), NotFound, "shard 0 of checkpoint '" + prefix + "' is missing");
}

TEST_F(Bundle, TruncatedShard) {
  ASSERT_TRUE(write({{"a", floats({1, 2, 3})}}));
  fs::resize_file(data(), 8);
  EXPECT_FAILS(read("a"), DataLoss, "it has 8 bytes, but tensor 'a' ends at 12");
}

TEST_F(Bundle, ChangedElements) {
  ASSERT_TRUE(write({{"a", floats({1, 2, 3})}, {"s", strings({"some", "text"})}}));
  changeByte(data(), 5);
  EXPECT_FAILS(read("a"), DataLoss, "tensor 'a' of the checkpoint doesn't match its checksum");
  changeByte(data(), 12); // a length
  EXPECT_FAILS(read("s"), DataLoss, "lengths don't match");
  changeByte(data(), 12);
  changeByte(data(), 20);
  EXPECT_FAILS(read("s"), DataLoss, "doesn't match its checksum");
}

TEST_F(Bundle, TruncatedIndex) {
  ASSERT_TRUE(write({{"a", floats({1})}}));
  fs::resize_file(prefix + ".index", 60);
  EXPECT_FAILS(read("a"), DataLoss, ".index': the table is corrupted");
}

TEST_F(Bundle, IndexOfAnotherCheckpoint) {
  std::string other = prefix + "-other";
  ASSERT_TRUE(write({{"a", floats({1, 2})}}));
  ASSERT_TRUE(write({{"a", floats({3, 4})}}, other));
  fs::copy_file(other + ".index", prefix + ".index", fs::copy_options::overwrite_existing);
  EXPECT_FAILS(read("a"), DataLoss, "doesn't match its checksum");
}

} // namespace
} // namespace treadle
