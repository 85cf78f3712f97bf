#include "treadle/testing/KernelTest.h"

#include <filesystem>

namespace treadle {
namespace {

class Remapping : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("treadle-remapping-" + std::to_string(reinterpret_cast<uintptr_t>(this)));
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Tensor at(const char *name) const { return scalar((folder / name).string()); }
  std::filesystem::path folder;
};

TEST_F(Remapping, FindsNewWordsInTheOldVocabulary) {
  runAll("WriteFile", {at("new"), scalar<std::string>("the\ncat\nsat\n")}, {});
  runAll("WriteFile", {at("old"), scalar<std::string>("sat\non\nthe\n")}, {});
  AttrMap attrs;
  attrs.set("num_new_vocab", int64_t{2});
  attrs.set("new_vocab_offset", int64_t{1});
  std::vector<Tensor> out =
      runAll("GenerateVocabRemapping", {at("new"), at("old")}, {DType::Int64, DType::Int32}, attrs);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<int64_t>(out[0]), (std::vector<int64_t>{-1, 0}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{1}));
  attrs.set("num_new_vocab", int64_t{3});
  EXPECT_EQ(errorOf("GenerateVocabRemapping", {at("new"), at("old")}, {DType::Int64, DType::Int32},
                    attrs),
            "InvalidArgumentError: new_vocab_file has 3 lines, expected 3 from line 1");
  for (int64_t offset : {int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    attrs.set("new_vocab_offset", offset);
    std::string error = errorOf("GenerateVocabRemapping", {at("new"), at("old")},
                                {DType::Int64, DType::Int32}, attrs);
    EXPECT_NE(error.find("has 3 lines"), error.npos) << error;
  }
}

TEST_F(Remapping, ReadsAMatrixInAnotherOrder) {
  runAll("SaveV2",
         {at("ck"), vec<std::string>({"m"}), vec<std::string>({""}), iota<float>({3, 2}, 0)}, {});
  AttrMap attrs;
  attrs.set("num_rows", int64_t{2});
  attrs.set("num_cols", int64_t{2});
  auto load = [&](std::vector<float> fill) {
    return std::vector<Tensor>{at("ck"), scalar<std::string>("m"), vec<int64_t>({2, -1}),
                               vec<int64_t>({1, 0}), vec<float>(std::move(fill))};
  };
  EXPECT_EQ(values<float>(run1("LoadAndRemapMatrix", load({8, 9}), DType::Float32, attrs)),
            (std::vector<float>{5, 4, 8, 9}));
  EXPECT_EQ(errorOf("LoadAndRemapMatrix", load({8, 9, 10}), {DType::Float32}, attrs),
            "InvalidArgumentError: initializing_values has 3 elements, but only 2 are missing");
}

} // namespace
} // namespace treadle
