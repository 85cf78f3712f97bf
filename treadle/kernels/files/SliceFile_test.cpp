#include "treadle/kernels/KernelTest.h"

#include <filesystem>
#include <fstream>

namespace treadle {
namespace {

class SliceFile : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("treadle-slices-" + std::to_string(reinterpret_cast<uintptr_t>(this)));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Tensor at(const char *name) const { return scalar((folder / name).string()); }
  static Tensor text(const char *s) { return scalar<std::string>(s); }
  std::filesystem::path folder;
};

TEST_F(SliceFile, RestoresWhatWasSavedOfEveryKind) {
  std::vector<Tensor> saved = {tensor<float>({2, 2}, {1, -2, 3.5f, 0}),
                               vec<int32_t>({-1, 7}),
                               vec<int64_t>({-5}),
                               scalar<uint8_t>(200),
                               vec<std::string>({"", "x"}),
                               vec<Complex64>({{1, -2}}),
                               vec<Half>({Half(-0.5f)}),
                               tensor<double>({0, 3}, {})};
  std::vector<std::string> names;
  for (size_t i = 0; i < saved.size(); ++i)
    names.push_back("t" + std::to_string(i));
  std::vector<Tensor> in = {at("ck"), vec<std::string>(names)};
  in.insert(in.end(), saved.begin(), saved.end());
  runAll("Save", in, {});
  for (size_t i = 0; i < saved.size(); ++i) {
    Tensor back = run1("Restore", {at("ck"), scalar(names[i])}, saved[i].dtype());
    ASSERT_TRUE(back);
    EXPECT_TRUE(std::ranges::equal(back.dims(), saved[i].dims()));
    if (saved[i].dtype() == DType::String)
      EXPECT_EQ(values<std::string>(back), values<std::string>(saved[i]));
    else
      EXPECT_EQ(std::memcmp(back.raw(), saved[i].raw(), back.bytes()), 0) << names[i];
  }
}

TEST_F(SliceFile, PutsSlicesOfSeveralFilesTogether) {
  auto save = [&](const char *file, const char *slice, std::vector<float> rows) {
    runAll(
        "SaveSlices",
        {at(file), vec<std::string>({"w"}), vec<std::string>({slice}), tensor<float>({2, 2}, rows)},
        {});
  };
  save("part-0", "4 2 0,2:-", {1, 2, 3, 4});
  EXPECT_EQ(errorOf("Restore", {at("part-*"), text("w")}, {DType::Float32}),
            "InvalidArgumentError: of tensor 'w' only 4 of 8 elements are there");
  save("part-1", "4 2 2,2:-", {5, 6, 7, 8});
  EXPECT_EQ(values<float>(run1("Restore", {at("part-*"), text("w")}, DType::Float32)),
            (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(values<float>(run1("RestoreSlice", {at("part-*"), text("w"), text("4 2 1,2:1,1")},
                               DType::Float32)),
            (std::vector<float>{4, 6}));
}

TEST_F(SliceFile, SaysWhatIsWrong) {
  runAll("Save", {at("ck"), vec<std::string>({"w"}), vec<float>({1})}, {});
  EXPECT_EQ(errorClassOf("Restore", {at("none"), text("w")}, {DType::Float32}), "NotFoundError");
  EXPECT_EQ(errorClassOf("Restore", {at("ck"), text("v")}, {DType::Float32}), "NotFoundError");
  std::string message = errorOf("Restore", {at("ck"), text("w")}, {DType::Int32});
  EXPECT_EQ(message, "InvalidArgumentError: tensor 'w' is float32 in the checkpoint, but int32 is "
                     "expected");
  std::ofstream(folder / "bad") << "no checkpoint at all, but long enough for a footer of a table";
  EXPECT_EQ(errorClassOf("Restore", {at("bad"), text("w")}, {DType::Float32}), "DataLossError");
}

} // namespace
} // namespace treadle
