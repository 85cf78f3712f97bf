// Tables: round trips and damage.
#include "treadle/checkpoint/Crc32c.h"
#include "treadle/checkpoint/Table.h"
#include "treadle/tensor/Wire.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

TableRows manyRows(int count) {
  TableRows rows{{"", "header"}};
  for (int i = 0; i < count; ++i)
    rows.emplace_back("layer/" + std::to_string(100000 + i), std::string(size_t(i % 300), 'v'));
  return rows;
}

std::string build(const TableRows &rows) {
  TableBuilder builder;
  for (const auto &[key, value] : rows)
    builder.add(key, value);
  return builder.finish();
}

TEST(Crc32c, HasTheStandardsValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32c, IsTheSameInOnePieceAndInMany) {
  std::string bytes(100003, '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * i >> 3);
  uint32_t crc = 0;
  for (size_t at = 0; at < bytes.size(); at += 17)
    crc = extendCrc32c(crc, bytes.data() + at, std::min<size_t>(17, bytes.size() - at));
  EXPECT_EQ(crc32c(bytes), crc);
}

TEST(Table, GivesBackItsRows) {
  for (int count : {0, 1, 15, 16, 17, 5000}) {
    TableRows rows = manyRows(count);
    Expected<TableRows> read = readTable(build(rows));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, rows);
  }
}

TEST(Table, EveryFlippedByteIsFound) {
  TableRows rows = manyRows(3);
  const std::string table = build(rows);
  for (size_t at = 0; at < table.size(); ++at) {
    std::string damaged = table;
    damaged[at] ^= 0x20;
    Expected<TableRows> read = readTable(damaged);
    if (read) { // metadata block and padding are ignored
      EXPECT_EQ(*read, rows);
      EXPECT_GE(at, table.size() - 48 - 80);
    }
  }
}

TEST(Table, EveryTruncationIsFound) {
  std::string table = build(manyRows(3));
  for (size_t size = 0; size < table.size(); ++size) {
    Expected<TableRows> read = readTable(std::string_view(table).substr(0, size));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().code, Code::DataLoss);
    EXPECT_NE(read.error().message.find("the table is corrupted"), std::string::npos);
  }
}

TEST(Table, CompressedBlocksAreUnimplemented) {
  std::string table = build({});
  // The index block precedes the footer of 48 bytes; its trailer is 5 bytes.
  size_t type = table.size() - 48 - 5;
  size_t start = type - 8;
  table[type] = 1;
  uint32_t crc = maskCrc(crc32c(std::string_view(table).substr(start, 9)));
  std::memcpy(table.data() + type + 1, &crc, sizeof crc);
  Expected<TableRows> read = readTable(table);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::Unimplemented);
  EXPECT_NE(read.error().message.find("Snappy"), std::string::npos);
}

} // namespace
} // namespace treadle
