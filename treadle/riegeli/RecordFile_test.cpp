// Riegeli files: round trips and damage.
#include "treadle/riegeli/RecordReader.h"
#include "treadle/riegeli/RecordWriter.h"

#include "treadle/riegeli/HighwayHash.h"

#include <cstring>
#include <gtest/gtest.h>
#include <zstd.h>

using namespace treadle;
using namespace treadle::riegeli;

namespace {

std::string contentOf(size_t size) {
  std::string content(size, '\0');
  for (size_t i = 0; i < size; ++i)
    content[i] = static_cast<char>(i * 31 + i / 251);
  return content;
}

struct File {
  std::string bytes;
  std::vector<uint64_t> positions;
};

File write(const std::vector<std::string> &records) {
  File file;
  RecordWriter writer([&](std::string_view part) { return file.bytes.append(part), true; });
  for (const std::string &record : records)
    file.positions.push_back(writer.write({record}));
  return file;
}

TEST(RecordFileTest, BeginsWithTheSignatureOfTheFormat) {
  constexpr std::string_view signature("\x83\xaf\x70\xd1\x0d\x88\x4a\x3f\0\0\0\0\0\0\0\0"
                                       "\x40\0\0\0\0\0\0\0\x91\xba\xc2\x3c\x92\x87\xe1\xa9"
                                       "\0\0\0\0\0\0\0\0\xe1\x9f\x13\xc0\xe9\xb1\xc3\x72"
                                       "s\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                                       64);
  EXPECT_EQ(write({}).bytes, signature);
}

/// Sizes around what fits in a block beside its header, the signature and a chunk's header.
class RecordSizeTest : public testing::TestWithParam<size_t> {};

TEST_P(RecordSizeTest, IsReadAsWritten) {
  std::vector<std::string> records = {contentOf(GetParam()), "", contentOf(3),
                                      contentOf(GetParam() + 1), contentOf(200'000)};
  File file = write(records);
  auto reader = RecordReader::open(file.bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  for (size_t i = records.size(); i-- > 0;) {
    auto record = reader->read(file.positions[i]);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(*record, records[i]);
  }
  EXPECT_EQ(*reader->readLast(), records.back());
}

INSTANTIATE_TEST_SUITE_P(Sizes, RecordSizeTest,
                         testing::Values(0, 1, 127, 128, 65421, 65422, 65423, 65424, 65425, 65426,
                                         65427, 65428, 65429, 65430, 65472, 65512, 65536, 131'000));

TEST(RecordFileTest, RecordsInParts) {
  std::string bytes;
  RecordWriter writer([&](std::string_view part) { return bytes.append(part), true; });
  uint64_t at = writer.write({"a", "", "bc"});
  EXPECT_EQ(*RecordReader::open(bytes)->read(at), "abc");
}

TEST(RecordFileTest, APositionWithoutARecord) {
  File file = write({"a", "b"});
  auto read = RecordReader::open(file.bytes)->read(file.positions[1] + 1);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::InvalidArgument);
}

TEST(RecordFileTest, EveryCutIsFound) {
  File file = write({contentOf(100)});
  for (size_t size = 65; size < file.bytes.size(); ++size) {
    auto reader = RecordReader::open(std::string_view(file.bytes).substr(0, size));
    ASSERT_FALSE(reader) << size;
    EXPECT_EQ(reader.error().code, Code::DataLoss);
  }
}

TEST(RecordFileTest, EveryDamagedByteIsFound) {
  File file = write({contentOf(100)});
  for (size_t i = file.positions[0]; i < file.bytes.size(); ++i) {
    std::string damaged = file.bytes;
    damaged[i] ^= 1;
    auto reader = RecordReader::open(damaged);
    auto record = reader ? reader->read(file.positions[0]) : Unexpected(reader.error());
    ASSERT_FALSE(record) << i;
    EXPECT_EQ(record.error().code, Code::DataLoss);
  }
}

std::string zstd(const std::string &bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

/// Returns a file with one compressed record of zeros whose stated size is `said`.
std::string packedZeros(size_t size, uint64_t said) {
  auto number = [](uint64_t value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  };
  std::string sizes = varint(size), packedSizes = varint(sizes.size()) + zstd(sizes);
  std::string data =
      "z" + varint(packedSizes.size()) + packedSizes + varint(said) + zstd(std::string(size, '\0'));
  std::string header =
      number(data.size()) + number(hashOf({data})) + number(1 << 8 | 'r') + number(said);
  return write({}).bytes + number(hashOf({header})) + header + data;
}

Expected<std::string> readFirst(const std::string &bytes) {
  return RecordReader::open(bytes).and_then([](RecordReader reader) { return reader.readLast(); });
}

TEST(RecordFileTest, ZerosThatArePacked) {
  constexpr size_t size = 40 << 20; // compresses to less than one block of 64 KiB
  std::string bytes = packedZeros(size, size);
  ASSERT_LT(bytes.size(), 1 << 16);
  auto read = readFirst(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, std::string(size, '\0'));
}

TEST(RecordFileTest, WhatIsPackedIsBounded) {
  auto read = readFirst(packedZeros(1000, uint64_t{2'000'000'000}));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::ResourceExhausted);
  EXPECT_NE(read.error().message.find("more than the 1073741824 allowed for a file of"),
            std::string::npos)
      << read.error().message;
}

TEST(RecordFileTest, CallersSayWhatMayBecomeOfAFile) {
  std::string bytes = packedZeros(100'000, 100'000);
  {
    ExpansionLimit limit(50'000);
    EXPECT_EQ(readFirst(bytes).error().code, Code::ResourceExhausted);
    ExpansionLimit same(0);
    EXPECT_FALSE(readFirst(bytes));
    ExpansionLimit more(200'000);
    EXPECT_TRUE(readFirst(bytes));
  }
  EXPECT_TRUE(readFirst(bytes));
}

TEST(RecordFileTest, AWriteThatFails) {
  int numWrites = 0;
  RecordWriter writer([&](std::string_view) { return ++numWrites < 5; });
  writer.write({"a"});
  writer.write({"b"});
  EXPECT_FALSE(writer.ok());
  EXPECT_EQ(numWrites, 5);
}

} // namespace
