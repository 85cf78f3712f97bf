// Tensors and strings through a ring, and malformed messages.
#include "treadle/sandbox/Protocol.h"

#include "treadle/testing/TestExpected.h"

#include <limits>
#include <memory>
#include <random>

namespace treadle::sandbox {
namespace {

/// A ring with both ends in this process.
class Message : public testing::Test {
protected:
  MessageWriter writer() { return {writing, waitPolicy}; }
  MessageReader reader(uint64_t budget = 1 << 20) { return {reading, waitPolicy, budget}; }

  /// Sends numbers of 8 bytes each.
  void send(std::initializer_list<int64_t> numbers) {
    MessageWriter message = writer();
    for (int64_t number : numbers)
      message.number(number);
    ASSERT_TRUE(message.finish());
  }
  void send(const Tensor &tensor) {
    MessageWriter message = writer();
    message.tensor(tensor);
    ASSERT_TRUE(message.finish());
  }
  void sendBytes(std::string_view bytes) {
    MessageWriter message = writer();
    for (char c : bytes)
      message.number(c);
    ASSERT_TRUE(message.finish());
  }

  std::unique_ptr<Ring> ring = std::make_unique<Ring>();
  WaitPolicy waitPolicy{.until = Clock::now() + std::chrono::seconds(1)};
  RingWriter writing{*ring};
  RingReader reading{*ring};
};

constexpr int64_t f32 = static_cast<int64_t>(DType::Float32);

TEST_F(Message, ATensorOfNumbers) {
  Tensor sent = *Tensor::make(DType::Float64, {2, 3});
  for (int i = 0; i < 6; ++i)
    sent.data<double>()[i] = i / 7.0;
  send(sent);
  Tensor got = *reader().tensor();
  EXPECT_EQ(tensorTypeText(got), "float64[2,3]");
  EXPECT_TRUE(std::ranges::equal(got.values<double>(), sent.values<double>()));
}

TEST_F(Message, ATensorOfTexts) {
  Tensor sent = *Tensor::make(DType::String, {3});
  sent.data<std::string>()[1] = std::string("a\0b", 3);
  sent.data<std::string>()[2] = std::string(100'000, 'x');
  send(sent);
  Tensor got = *reader().tensor();
  EXPECT_TRUE(std::ranges::equal(got.values<std::string>(), sent.values<std::string>()));
}

TEST_F(Message, ATensorWithoutElements) {
  send(*Tensor::make(DType::Int32, {4, 0}));
  EXPECT_EQ(tensorTypeText(*reader().tensor()), "int32[4,0]");
}

TEST_F(Message, InvalidDType) {
  for (int64_t dtype : {int64_t{0}, int64_t{numDTypes}, int64_t{-1}, int64_t{1} << 40}) {
    send({dtype});
    EXPECT_FAILS(reader().tensor(), DataLoss, "dtype");
  }
}

TEST_F(Message, UntransferableDType) {
  send({static_cast<int64_t>(DType::Resource)});
  EXPECT_FAILS(reader().tensor(), DataLoss, "dtype");
}

TEST_F(Message, InvalidRank) {
  send({f32, 255});
  EXPECT_FAILS(reader().tensor(), DataLoss, "rank");
}

TEST_F(Message, ANegativeDimension) {
  send({f32, 1, -1});
  EXPECT_FAILS(reader().tensor(), DataLoss, "dimensions [-1]");
}

TEST_F(Message, DimensionsWhoseProductOverflows) {
  send({f32, 2, int64_t{1} << 62, 4});
  EXPECT_FAILS(reader().tensor(), DataLoss, "dimensions");
}

TEST_F(Message, MoreElementsThanTheBudget) {
  send({f32, 1, 1 << 20});
  EXPECT_FAILS(reader().tensor(), ResourceExhausted, "more than");
}

TEST_F(Message, MoreTextsThanTheBudget) {
  send({static_cast<int64_t>(DType::String), 1, 1 << 16});
  EXPECT_FAILS(reader().tensor(), ResourceExhausted, "more than");
}

TEST_F(Message, ALongerTextThanTheBudget) {
  send({std::numeric_limits<int64_t>::max()});
  EXPECT_FAILS(reader().text(), ResourceExhausted, "more than");
}

TEST_F(Message, ManyTensorsShareOneBudget) {
  Tensor tensor = *Tensor::make(DType::UInt8, {600});
  MessageWriter message = writer();
  message.tensor(tensor);
  message.tensor(tensor);
  ASSERT_TRUE(message.finish());
  MessageReader reader = this->reader(1000);
  EXPECT_TRUE(reader.tensor());
  EXPECT_FAILS(reader.tensor(), ResourceExhausted, "more than");
}

TEST_F(Message, InvalidBool) {
  send({static_cast<int64_t>(DType::Bool), 1, 2});
  sendBytes(std::string_view("\1\2", 2));
  EXPECT_FAILS(reader().tensor(), DataLoss, "2 is out of range for dtype bool");
}

TEST_F(Message, InvalidInt4) {
  send({static_cast<int64_t>(DType::Int4), 1, 2});
  sendBytes(std::string_view("\7\10", 2));
  EXPECT_FAILS(reader().tensor(), DataLoss, "8 is out of range for dtype int4");
}

TEST_F(Message, AnErrorWithControlCharacters) {
  MessageWriter message = writer();
  writeOutcome(message, Unexpected(Error{Code::NotFound, "a\x1b[2Jb\nc\x7f"}));
  ASSERT_TRUE(message.finish());
  MessageReader reader = this->reader();
  Expected<Expected<void>> outcome = readOutcome(reader);
  ASSERT_TRUE(outcome);
  EXPECT_FAILS(*outcome, NotFound, "a?[2Jb\nc?");
}

TEST_F(Message, AnErrorWithoutEnd) {
  MessageWriter message = writer();
  writeOutcome(message, Unexpected(Error{Code::NotFound, std::string(100'000, 'x')}));
  ASSERT_TRUE(message.finish());
  MessageReader reader = this->reader();
  EXPECT_EQ((*readOutcome(reader)).error().message.size(), 16384u);
}

TEST_F(Message, InvalidErrorCode) {
  send({17});
  MessageReader reader = this->reader();
  EXPECT_FAILS(readOutcome(reader), DataLoss, "an error's code 17");
}

TEST_F(Message, ANameWithControlCharacters) {
  MessageWriter message = writer();
  message.text("x\x1b");
  ASSERT_TRUE(message.finish());
  EXPECT_FAILS(reader().name(), DataLoss, "control characters");
}

TEST_F(Message, ModelInterfaceRoundTrip) {
  Graph::Value value{"x:0", DType::Float32, true, {-1, 3}, "x", "ragged"};
  MessageWriter message = writer();
  write(message, ModelInterface{{{"serve", "predict", "tag", {{"in", value}}, {{"out", value}}}},
                                {value},
                                {}});
  ASSERT_TRUE(message.finish());
  MessageReader reader = this->reader();
  ModelInterface contents = *readContents(reader);
  ASSERT_EQ(contents.signatures.size(), 1u);
  EXPECT_EQ(contents.signatures[0].name, "serve");
  EXPECT_EQ(contents.signatures[0].inputs[0].first, "in");
  EXPECT_EQ(contents.signatures[0].outputs[0].second.dims, value.dims);
  EXPECT_EQ(contents.signatures[0].outputs[0].second.compositeKind, "ragged");
  EXPECT_EQ(contents.inputs[0].name, "x:0");
  EXPECT_TRUE(contents.outputs.empty());
}

TEST_F(Message, InvalidSignatureDimension) {
  MessageWriter message = writer();
  write(message, ModelInterface{{}, {{"x:0", DType::Float32, true, {-2}}}, {}});
  ASSERT_TRUE(message.finish());
  MessageReader reader = this->reader();
  EXPECT_FAILS(readContents(reader), DataLoss, "dimension -2");
}

/// For any input, reading returns an error or a value, quickly and within the budget.
TEST_F(Message, BytesAtRandom) {
  waitPolicy.until = Clock::now(); // don't wait for missing bytes
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    ring->written.store(0), ring->read.store(0);
    RingWriter end(*ring);
    MessageWriter message(end, waitPolicy);
    // Small numbers pass more checks than uniform ones.
    for (size_t left = random() % 24; left > 0; --left)
      message.number(random() % 4 ? random() % 40 - 2 : random());
    ASSERT_TRUE(message.finish());
    RingReader start(*ring);
    MessageReader reader(start, waitPolicy, 4096);
    switch (random() % 4) {
    case 0:
      static_cast<void>(readContents(reader));
      break;
    case 1:
      static_cast<void>(readOutcome(reader));
      break;
    case 2:
      static_cast<void>(readCall(reader));
      break;
    default:
      if (Expected<Tensor> tensor = reader.tensor())
        EXPECT_LE(tensor->bytes(), 4096u);
    }
  }
}

TEST_F(Message, MoreSignaturesThanThereAre) {
  send({int64_t{1} << 30});
  MessageReader reader = this->reader();
  EXPECT_FAILS(readContents(reader), DataLoss, "the number of signatures");
}

} // namespace
} // namespace treadle::sandbox
