// Barriers: elements are complete once all their components came.
#include "treadle/testing/KernelTest.h"

#include <thread>

namespace treadle {
namespace {

using Strings = std::vector<std::string>;

Tensor barrier() {
  AttrMap attrs;
  attrs.set("component_types", std::vector<TypeAttr>{{DType::Float32}, {DType::Int32}});
  attrs.set("shapes",
            std::vector<PartialShape>{PartialShape::ranked({}), PartialShape::ranked({2})});
  return run1("Barrier", {}, DType::String, attrs);
}

AttrMap with(std::string_view name, AttrValue value) {
  AttrMap attrs;
  attrs.set(name, std::move(value));
  return attrs;
}

std::string insert(const Tensor &barrier, int64_t component, Strings keys, Tensor values) {
  return errorClassOf("BarrierInsertMany",
                      {barrier, vec<std::string>(std::move(keys)), std::move(values)}, {},
                      with("component_index", component));
}
Tensor pairs(int64_t rows) { return iota<int32_t>({rows, 2}, 0); }

std::vector<Tensor> take(const Tensor &barrier, int32_t count) {
  return runAll("BarrierTakeMany", {barrier, scalar(count)},
                {DType::Int64, DType::String, DType::Float32, DType::Int32});
}
std::string takeError(const Tensor &barrier, int32_t count, bool allowsFewer = false) {
  return errorClassOf("BarrierTakeMany", {barrier, scalar(count)},
                      {DType::Int64, DType::String, DType::Float32, DType::Int32},
                      with("allow_small_batch", allowsFewer));
}
int32_t size(const Tensor &barrier, std::string_view op) {
  return run1(op, {barrier}, DType::Int32).scalarValue<int32_t>();
}
std::string close(const Tensor &barrier, bool cancels = false) {
  return errorClassOf("BarrierClose", {barrier}, {}, with("cancel_pending_enqueues", cancels));
}

TEST(Barrier, givesCompleteElementsByAge) {
  Tensor b = barrier();
  EXPECT_EQ(insert(b, 0, {"x", "y"}, vec<float>({1, 2})), "");
  EXPECT_EQ(insert(b, 1, {"z", "y"}, pairs(2)), "");
  EXPECT_EQ(size(b, "BarrierReadySize"), 1);
  EXPECT_EQ(size(b, "BarrierIncompleteSize"), 2);
  EXPECT_EQ(insert(b, 0, {"z"}, vec<float>({3})), "");
  EXPECT_EQ(insert(b, 1, {"x"}, pairs(1)), "");
  std::vector<Tensor> taken = take(b, 3);
  EXPECT_EQ(values<std::string>(taken.at(1)).back(), "z"); // the last new key
  EXPECT_EQ(values<float>(taken.at(2)).back(), 3.0f);
  EXPECT_EQ(dimsText(taken.at(3).dims()), "[3,2]");
  EXPECT_EQ(values<int64_t>(taken.at(0)),
            (std::vector<int64_t>{INT64_MIN, INT64_MIN, INT64_MIN + 1}));
}

TEST(Barrier, rejectsWrongComponents) {
  Tensor b = barrier();
  EXPECT_EQ(insert(b, 2, {"x"}, vec<float>({1})), "InvalidArgumentError");
  EXPECT_EQ(insert(b, -1, {"x"}, vec<float>({1})), "InvalidArgumentError");
  EXPECT_EQ(insert(b, 0, {"x"}, vec<int32_t>({1})), "InvalidArgumentError");
  EXPECT_EQ(insert(b, 0, {"x"}, vec<float>({1, 2})), "InvalidArgumentError");
  EXPECT_EQ(insert(b, 0, {"x", "x"}, vec<float>({1, 2})), "InvalidArgumentError");
  EXPECT_EQ(insert(b, 1, {"x"}, iota<int32_t>({1, 3}, 0)), "InvalidArgumentError");
  EXPECT_EQ(insert(b, 0, {"x"}, vec<float>({1})), "");
  EXPECT_EQ(insert(b, 0, {"x"}, vec<float>({1})), "InvalidArgumentError"); // is set already
}

TEST(Barrier, closedCompletesElements) {
  Tensor b = barrier();
  insert(b, 0, {"x"}, vec<float>({1}));
  EXPECT_EQ(close(b), "");
  EXPECT_EQ(close(b), "CancelledError");
  EXPECT_EQ(insert(b, 0, {"new"}, vec<float>({1})), "CancelledError");
  EXPECT_EQ(takeError(b, 2), "OutOfRangeError"); // there can't be two
  EXPECT_EQ(insert(b, 1, {"x"}, pairs(1)), "");
  EXPECT_EQ(takeError(b, 2, true), ""); // the only one
  EXPECT_EQ(takeError(b, 2, true), "OutOfRangeError");
}

TEST(Barrier, cancellingDropsIncompleteElements) {
  Tensor b = barrier();
  insert(b, 0, {"x"}, vec<float>({1}));
  EXPECT_EQ(close(b, true), "");
  EXPECT_EQ(size(b, "BarrierIncompleteSize"), 0);
  EXPECT_EQ(insert(b, 1, {"x"}, pairs(1)), "CancelledError");
}

TEST(Barrier, waitsForElements) {
  Tensor b = barrier();
  std::vector<Tensor> taken;
  std::thread taker([&] { taken = take(b, 1); });
  insert(b, 0, {"x"}, vec<float>({5}));
  insert(b, 1, {"x"}, pairs(1));
  taker.join();
  EXPECT_EQ(values<float>(taken.at(2)), (std::vector<float>{5}));
}

} // namespace
} // namespace treadle
