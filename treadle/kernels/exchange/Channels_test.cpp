// Channels between the devices of a program: what a graph may say wrong. test/test_transfers.py
// runs them.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

constexpr DType number = DType::Float32, token = DType::Bool;

AttrMap channelAttrs(std::vector<int64_t> pairs, std::vector<PartialShape> shapes = {}) {
  AttrMap attrs;
  attrs.set("tensor_name", std::string("channel 1"));
  attrs.set("pairs", std::move(pairs));
  attrs.set("output_shapes", std::move(shapes));
  return attrs;
}

std::string sendError(std::vector<Tensor> inputs, std::vector<int64_t> pairs) {
  return errorOf("_ChannelSend", std::move(inputs), {token}, channelAttrs(std::move(pairs)));
}

TEST(Channels, PairsContainValidRanks) {
  std::vector<Tensor> inputs{scalar(1.0F), scalar(true)};
  EXPECT_EQ(sendError(inputs, {0, 1, 2}),
            "InvalidArgumentError: pairs has 3 ranks, expected pairs");
  EXPECT_EQ(sendError(inputs, {0, -1}),
            "InvalidArgumentError: pairs has the ranks 0 and -1, expected numbers from 0");
  EXPECT_EQ(sendError(inputs, {0, 3}),
            "InvalidArgumentError: its pairs contain rank 3, but there is 1; run it on as many "
            "processes as it has devices");
}

TEST(Channels, ATokenIsLast) {
  EXPECT_EQ(sendError({scalar(true), scalar(1.0F)}, {0, 0}),
            "InvalidArgumentError: its last input and output are tokens, of dtype bool");
}

TEST(Channels, StringsAreNotSent) {
  EXPECT_TRUE(sendError({Tensor::scalarString("a"), scalar(true)}, {0, 0})
                  .starts_with("UnimplementedError"));
}

TEST(Channels, ReceivedShapesMustBeStatic) {
  auto one = PartialShape::ranked({}), open = PartialShape::ranked({-1});
  for (const std::vector<PartialShape> &shapes : {std::vector{one}, std::vector{open, one}})
    EXPECT_EQ(
        errorOf("_ChannelReceive", {scalar(true)}, {number, token}, channelAttrs({0, 0}, shapes)),
        str("InvalidArgumentError: output_shapes has ", shapes.size(),
            " shapes for 2 outputs, expected a known shape for each output"));
}

} // namespace
} // namespace treadle
