#include "treadle/tensor/Wire.h"

#include <gtest/gtest.h>
#include <vector>

namespace treadle {
namespace {

std::string sample() {
  std::string out;
  putNumber(out, 1, 300);
  putNumber(out, 2, 0); // left out since it is 0
  putNumberAlways(out, 3, 0);
  putTag(out, 4, WireType::Fixed32);
  putFixed(out, uint32_t{7});
  putBytes(out, 5, "text");
  return out;
}

TEST(Wire, RoundTripsFields) {
  std::vector<uint64_t> numbers, values;
  std::string text;
  EXPECT_TRUE(forEachField(sample(), [&](const WireReader::Field &field) {
    numbers.push_back(field.number);
    values.push_back(field.value);
    text += field.bytes;
    return true;
  }));
  EXPECT_EQ(numbers, (std::vector<uint64_t>{1, 3, 4, 5}));
  EXPECT_EQ(values, (std::vector<uint64_t>{300, 0, 7, 0}));
  EXPECT_EQ(text, "text");
}

TEST(Wire, RejectsTruncatedMessages) {
  std::string whole = sample();
  int complete = 0;
  for (size_t size = 0; size <= whole.size(); ++size)
    complete += forEachField(std::string_view(whole).substr(0, size), [](auto &) { return true; });
  EXPECT_EQ(complete, 5); // at the empty prefix, and after each field
}

TEST(Wire, ReadsGroupsWhole) {
  std::string group;
  putTag(group, 1, WireType::GroupBegin);
  putTag(group, 2, WireType::GroupBegin);
  putNumber(group, 3, 4);
  putTag(group, 2, WireType::GroupEnd);
  putTag(group, 1, WireType::GroupEnd);
  WireReader reader(group);
  WireReader::Field field;
  EXPECT_TRUE(reader.nextOrGroup(field));
  EXPECT_EQ(field.bytes, group);
  EXPECT_TRUE(reader.isAtEnd() && reader.isGood());
  EXPECT_FALSE(forEachField(group, [](auto &) { return true; }));
  WireReader open(std::string_view(group).substr(0, group.size() - 1));
  EXPECT_FALSE(open.nextOrGroup(field));
  std::string deep;
  for (int i = 0; i < 200; ++i)
    putTag(deep, 1, WireType::GroupBegin);
  WireReader tooDeep(deep);
  EXPECT_FALSE(tooDeep.nextOrGroup(field));
}

TEST(Wire, ReadsPackedNumbersAndSingleOnes) {
  std::string packed, message;
  putVarint(packed, 1);
  putVarint(packed, 1 << 20);
  putBytes(message, 1, packed);
  putNumber(message, 1, 3);
  std::vector<uint64_t> found;
  auto add = [&](const WireReader::Field &field) {
    return forEachNumber(field, WireType::Varint, [&](uint64_t x) { found.push_back(x); });
  };
  EXPECT_TRUE(forEachField(message, add));
  EXPECT_EQ(found, (std::vector<uint64_t>{1, 1 << 20, 3}));
  message.clear();
  putBytes(message, 1, "\x80");
  EXPECT_FALSE(forEachField(message, add));
}

} // namespace
} // namespace treadle
