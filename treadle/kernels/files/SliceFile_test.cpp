#include "treadle/checkpoint/Slice.h"
#include "treadle/checkpoint/Table.h"
#include "treadle/tensor/Wire.h"
#include "treadle/testing/KernelTest.h"

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

TEST_F(SliceFile, RoundTripsEveryDtype) {
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

TEST_F(SliceFile, CombinesSlicesOfSeveralFiles) {
  auto save = [&](const char *file, const char *slice, std::vector<float> rows) {
    runAll(
        "SaveSlices",
        {at(file), vec<std::string>({"w"}), vec<std::string>({slice}), tensor<float>({2, 2}, rows)},
        {});
  };
  save("part-0", "4 2 0,2:-", {1, 2, 3, 4});
  EXPECT_EQ(errorOf("Restore", {at("part-*"), text("w")}, {DType::Float32}),
            "InvalidArgumentError: tensor 'w' has only 4 of 8 elements");
  save("part-1", "4 2 2,2:-", {5, 6, 7, 8});
  EXPECT_EQ(values<float>(run1("Restore", {at("part-*"), text("w")}, DType::Float32)),
            (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(values<float>(run1("RestoreSlice", {at("part-*"), text("w"), text("4 2 1,2:1,1")},
                               DType::Float32)),
            (std::vector<float>{4, 6}));
}

TEST_F(SliceFile, ReportsErrors) {
  runAll("Save", {at("ck"), vec<std::string>({"w"}), vec<float>({1})}, {});
  EXPECT_EQ(errorClassOf("Restore", {at("none"), text("w")}, {DType::Float32}), "NotFoundError");
  EXPECT_EQ(errorClassOf("Restore", {at("ck"), text("v")}, {DType::Float32}), "NotFoundError");
  std::string message = errorOf("Restore", {at("ck"), text("w")}, {DType::Int32});
  EXPECT_EQ(message, "InvalidArgumentError: tensor 'w' is float32 in the checkpoint, but int32 is "
                     "expected");
  std::ofstream(folder / "bad") << "no checkpoint at all, but long enough for a footer of a table";
  EXPECT_EQ(errorClassOf("Restore", {at("bad"), text("w")}, {DType::Float32}), "DataLossError");
}

/// Returns a file with a float32[4] tensor `w` in one slice, whose elements are the message
/// `elements`.
std::string fileOf(const std::string &elements) {
  std::string dim, shape, extent, tensor, contents, first, data, row;
  putNumber(dim, 1, 4);
  putBytes(shape, 2, dim);
  putBytes(extent, 1, "");
  putBytes(tensor, 1, "w");
  putBytes(tensor, 2, shape);
  putNumber(tensor, 3, static_cast<uint64_t>(DType::Float32));
  putBytes(tensor, 4, extent);
  putBytes(contents, 1, tensor);
  putBytes(first, 1, contents);
  putBytes(data, 3, elements);
  putBytes(row, 2, data);
  TableBuilder table;
  table.add("", first);
  table.add(sliceKey("w", TensorSlice{{{}}}), row);
  return table.finish();
}

// The elements' message could contain another dtype and shape.
TEST_F(SliceFile, RejectsElementsOfWrongDtypeOrShape) {
  auto errorOfElements = [&](const std::string &elements) {
    std::ofstream(folder / "ck", std::ios::binary) << fileOf(elements);
    return errorOf("Restore", {at("ck"), text("w")}, {DType::Float32});
  };
  std::string good, ofStrings, ofAnotherShape, one, dim, shape;
  putBytes(good, 5, std::string(16, '\0'));
  EXPECT_EQ(errorOfElements(good), "");
  putNumber(ofStrings, 1, static_cast<uint64_t>(DType::String));
  EXPECT_EQ(errorOfElements(good + ofStrings), "DataLossError: a slice of tensor 'w' is corrupted");
  putNumber(dim, 1, 0);
  putBytes(shape, 2, dim);
  putBytes(ofAnotherShape, 2, shape);
  EXPECT_EQ(errorOfElements(good + ofAnotherShape),
            "DataLossError: a slice of tensor 'w' is corrupted");
  putBytes(one, 5, "");
  EXPECT_EQ(errorOfElements(one), "DataLossError: a slice of tensor 'w' is corrupted");
}

} // namespace
} // namespace treadle
