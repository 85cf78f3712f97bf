// Inconsistent indices with valid checksums, as an attacker would write them.
#include "treadle/checkpoint/BundleReader.h"
#include "treadle/checkpoint/Crc32c.h"
#include "treadle/checkpoint/Table.h"
#include "treadle/tensor/Wire.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace treadle {
namespace {

class DamagedIndex : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("treadle-index-" + std::to_string(reinterpret_cast<uintptr_t>(this)));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// Adds a float32 tensor of ones at `offset` of the shard.
  void place(const std::string &name, std::vector<int64_t> dims, int64_t offset) {
    BundleEntry &entry = index.entries[name];
    entry.dtype = DType::Float32;
    entry.dims = std::move(dims);
    entry.offset = offset;
    entry.size = *countElements(entry.dims) * static_cast<int64_t>(sizeof(float));
    entry.crc = maskCrc(crc32c(std::string_view(shard).substr(0, static_cast<size_t>(entry.size))));
  }
  /// Adds a tensor in slices of rows, stored consecutively from `offset`.
  void placeParts(const std::vector<TensorSlice::Extent> &rows, int64_t offset) {
    BundleEntry &whole = index.entries["w"];
    whole.dtype = DType::Float32;
    whole.dims = {4};
    for (const TensorSlice::Extent &extent : rows) {
      TensorSlice slice{{extent}};
      place(sliceKey("w", slice), {extent.length}, offset);
      offset += extent.length * static_cast<int64_t>(sizeof(float));
      index.entries["w"].slices.push_back(slice);
    }
  }
  std::string errorOf(const std::string &bytes) {
    std::string prefix = folder / "ck";
    std::ofstream(prefix + ".index", std::ios::binary) << bytes;
    std::ofstream(prefix + ".data-00000-of-00001", std::ios::binary) << shard;
    auto reader = BundleReader::open(prefix, FileAccess::all());
    if (!reader)
      return reader.error().message;
    Expected<Tensor> value = reader->read("w");
    return value ? "" : value.error().message;
  }
  std::string error() { return errorOf(index.bytes()); }

  std::filesystem::path folder;
  std::string shard = std::string(64, '\0');
  BundleIndex index;
};

TEST_F(DamagedIndex, PartsBesideEachOtherAreGood) {
  placeParts({{0, 2}, {2, 2}}, 0);
  EXPECT_EQ(error(), "");
}

// Overlapping slices would leave elements uninitialized.
TEST_F(DamagedIndex, PartsOnEachOther) {
  placeParts({{0, 2}, {1, 2}}, 0);
  EXPECT_NE(error().find("the entry of tensor 'w' is malformed"), std::string::npos) << error();
}

TEST_F(DamagedIndex, APartThatIsNamedTwice) {
  placeParts({{0, 2}}, 0);
  index.entries["w"].slices.push_back(index.entries["w"].slices[0]);
  EXPECT_NE(error().find("the entry of tensor 'w' is malformed"), std::string::npos) << error();
}

TEST_F(DamagedIndex, PartsThatLeaveSomethingOut) {
  placeParts({{0, 2}, {3, 1}}, 0);
  EXPECT_NE(error().find("hold 3 of the 4 requested elements"), std::string::npos) << error();
}

TEST_F(DamagedIndex, TensorsOnTheSameBytes) {
  place("v", {2}, 4);
  place("w", {2}, 0);
  EXPECT_NE(error().find("'w' and 'v' overlap"), std::string::npos) << error();
}

TEST_F(DamagedIndex, AnOffsetBeyondAllNumbers) {
  place("w", {2}, INT64_MAX);
  EXPECT_NE(error().find("is truncated"), std::string::npos) << error();
}

TEST_F(DamagedIndex, ABlockThatIsListedTwice) {
  std::string handle("\0\x0b", 2),
      rows = std::string("\0\1\2a", 4) + handle + std::string("\0\1\2b", 4) + handle;
  putFixed<uint32_t>(rows, 0);
  putFixed<uint32_t>(rows, 1);
  std::string data("\0\0\0\0\0\0\0\1\0\0\0", 11), file = data + '\0';
  putFixed(file, maskCrc(crc32c(file)));
  std::string footer = handle;
  putVarint(footer, file.size());
  putVarint(footer, rows.size());
  footer.resize(40);
  rows += '\0';
  file += rows;
  putFixed(file, maskCrc(crc32c(rows)));
  file += footer;
  putFixed<uint64_t>(file, 0xdb4775248b80fb57);
  EXPECT_NE(errorOf(file).find("its blocks are out of order"), std::string::npos) << errorOf(file);
}

} // namespace
} // namespace treadle
