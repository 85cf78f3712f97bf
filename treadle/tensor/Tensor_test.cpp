// Tensors: construction, sharing, views and construction errors.
#include "treadle/tensor/Tensor.h"

#include "treadle/tensor/Resource.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace treadle {
namespace {

TEST(Tensor, HoldsDTypeShapeAndElements) {
  Tensor t = *Tensor::make(DType::Int64, {2, 3});
  EXPECT_EQ(t.dtype(), DType::Int64);
  EXPECT_EQ(t.rank(), 2);
  EXPECT_EQ(t.dim(1), 3);
  EXPECT_EQ(t.count(), 6);
  EXPECT_EQ(t.bytes(), 48u);
  EXPECT_EQ(tensorTypeText(t), "int64[2,3]");
  EXPECT_EQ(tensorTypeText(Tensor()), "nothing");
}

TEST(Tensor, LargeOnesAreAlignedForVectors) {
  for (int64_t n : {17, 1000, 1 << 20}) {
    Tensor t = *Tensor::make(DType::Float32, {n});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % 64, 0u) << n;
  }
}

TEST(Tensor, WithoutElementsHasAShape) {
  Tensor t = *Tensor::make(DType::Float32, {0, int64_t{1} << 40});
  EXPECT_EQ(t.count(), 0);
  EXPECT_EQ(t.dim(1), int64_t{1} << 40);
  EXPECT_TRUE(t.clone());
}

TEST(Tensor, ImpossibleShapesAreErrors) {
  auto codeOf = [](DType dtype, std::vector<int64_t> dims) {
    Expected<Tensor> t = Tensor::make(dtype, dims);
    return t ? Code::Ok : t.error().code;
  };
  constexpr int64_t big = int64_t{1} << 40;
  EXPECT_EQ(codeOf(DType::Int32, {-1}), Code::InvalidArgument);
  EXPECT_EQ(codeOf(DType::Int32, {big, big}), Code::InvalidArgument);
  EXPECT_EQ(codeOf(DType::Int64, {big, 1 << 22}), Code::ResourceExhausted); // byte count overflows
  EXPECT_EQ(codeOf(DType::Float32, {big}), Code::ResourceExhausted); // more than the machine has
  EXPECT_EQ(codeOf(DType::Int32, std::vector<int64_t>(255, 1)), Code::InvalidArgument);
  EXPECT_EQ(codeOf(DType::Int32, std::vector<int64_t>(254, 1)), Code::Ok);
}

TEST(Tensor, CountHandlesZeroAndOverflow) {
  constexpr int64_t big = int64_t{1} << 40;
  EXPECT_EQ(countElements(std::vector<int64_t>{}), 1);
  EXPECT_EQ(countElements(std::vector<int64_t>{3, 0, 5}), 0);
  EXPECT_EQ(countElements(std::vector<int64_t>{big, big}), std::nullopt);
  EXPECT_EQ(countElements(std::vector<int64_t>{2, -3}), std::nullopt);
}

TEST(Tensor, CopiesShareAndAreNotUnique) {
  Tensor a = Tensor::scalar<int32_t>(DType::Int32, 7);
  EXPECT_TRUE(a.isUnique());
  {
    Tensor b = a; // NOLINT(performance-unnecessary-copy-initialization): the copy is the test
    EXPECT_TRUE(a.sharesElementsWith(b));
    EXPECT_FALSE(a.isUnique());
  }
  EXPECT_TRUE(a.isUnique());
  Tensor moved = std::move(a);
  EXPECT_FALSE(a); // NOLINT: that is what moving means here
  EXPECT_EQ(moved.scalarValue<int32_t>(), 7);
}

TEST(Tensor, AssigningToItselfKeepsIt) {
  Tensor a = Tensor::scalar<int32_t>(DType::Int32, 7);
  Tensor &same = a;
  a = same;
  a = std::move(same);
  ASSERT_TRUE(a);
  EXPECT_EQ(a.scalarValue<int32_t>(), 7);
}

TEST(Tensor, ViewsKeepTheirOwnerAliveAndShared) {
  std::vector<int32_t> values = {1, 2, 3, 4, 5, 6};
  Tensor view;
  {
    Tensor all = Tensor::vector<int32_t>(DType::Int32, values);
    std::vector<int64_t> two = {2};
    view = all.view(4, two);
    EXPECT_FALSE(view.isUnique()) << "the owner is held elsewhere";
    EXPECT_FALSE(all.isUnique()) << "a view reads it";
  }
  EXPECT_TRUE(view.isUnique());
  EXPECT_EQ(view.values<int32_t>()[0], 5);
  EXPECT_EQ(view.values<int32_t>()[1], 6);
}

TEST(Tensor, ViewOfAViewBelongsToTheFirstOwner) {
  std::vector<int32_t> values = {1, 2, 3, 4};
  Tensor all = Tensor::vector<int32_t>(DType::Int32, values);
  std::vector<int64_t> square = {2, 2}, row = {2};
  Tensor view = all.withDims(square).view(2, row);
  all.reset();
  EXPECT_TRUE(view.isUnique());
  EXPECT_EQ(view.values<int32_t>()[0], 3);
  Tensor bits = view.withDType(DType::Float32, row);
  EXPECT_EQ(bits.dtype(), DType::Float32);
  EXPECT_TRUE(bits.sharesElementsWith(view));
}

TEST(Tensor, CloneIsItsOwn) {
  Tensor text = Tensor::scalarString(std::string(100, 'x'));
  Tensor copy = *text.clone();
  *copy.data<std::string>() += "y";
  EXPECT_EQ(text.scalarValue<std::string>().size(), 100u);
  EXPECT_EQ(copy.scalarValue<std::string>().size(), 101u);
}

TEST(Tensor, ExternalElementsAreReleasedOnceWithTheLastView) {
  int released = 0;
  std::vector<float> elements = {1, 2, 3, 4};
  std::vector<int64_t> dims = {4}, two = {2};
  Tensor t = Tensor::external(DType::Float32, dims, elements.data(), [&] { ++released; });
  Tensor view = t.view(2, two);
  t.reset();
  EXPECT_EQ(released, 0);
  EXPECT_EQ(view.values<float>()[0], 3);
  view.reset();
  EXPECT_EQ(released, 1);
}

struct Counted final : VariantObject {
  static inline std::atomic<int> live = 0;
  Counted() { ++live; }
  ~Counted() override { --live; }
  std::string_view kind() const override { return "counted"; }
};

TEST(Tensor, VariantsAreLetGoOf) {
  {
    Tensor t = *Tensor::make(DType::Variant, {3});
    for (int i = 0; i < 3; ++i)
      t.data<Variant>()[i].object = makeRef<Counted>();
    Tensor copy = *t.clone();
    t.reset();
    EXPECT_EQ(Counted::live, 3);
  }
  EXPECT_EQ(Counted::live, 0);
}

TEST(Tensor, LiveBytesGoUpAndDown) {
  int64_t before = Tensor::liveBytes();
  Tensor t = *Tensor::make(DType::UInt8, {3 << 20});
  EXPECT_EQ(Tensor::liveBytes() - before, 3 << 20);
  t.reset();
  EXPECT_EQ(Tensor::liveBytes(), before);
}

// Blocks made by one thread and freed by another, in every size class. Under the address sanitizer
// all blocks come from the system, to detect uses after free.
#if !__has_feature(address_sanitizer)
TEST(Tensor, LargeBlocksServeAgain) {
  constexpr int64_t count = 2 << 20;
  const void *first = Tensor::make(DType::Float32, {count})->raw();
  EXPECT_EQ(Tensor::make(DType::Float32, {count})->raw(), first);
  Tensor smaller = *Tensor::make(DType::Float32, {count - count / 8});
  EXPECT_EQ(smaller.raw(), first);
  EXPECT_NE(Tensor::make(DType::Float32, {count})->raw(), first);
}

TEST(Tensor, LargeBlocksAreNotWastedOnMuchSmallerTensors) {
  constexpr int64_t count = 2 << 20;
  const void *first = Tensor::make(DType::Float32, {count})->raw();
  Tensor quarter = *Tensor::make(DType::Float32, {count / 4});
  EXPECT_NE(quarter.raw(), first);
}

TEST(Tensor, LastFreedLargeBlockIsReusedFirst) {
  constexpr int64_t count = 2 << 20;
  Tensor fitting = *Tensor::make(DType::Float32, {count / 2});
  Tensor larger = *Tensor::make(DType::Float32, {count});
  const void *last = larger.raw();
  fitting.reset();
  larger.reset();
  EXPECT_EQ(Tensor::make(DType::Float32, {count / 2})->raw(), last);
}
#endif

TEST(Tensor, LargeBlocksMoveBetweenThreads) {
  auto work = [] {
    for (int64_t i = 0; i < 200; ++i) {
      Tensor t = *Tensor::make(DType::Int8, {(1 << 20) + i % 7 * 300000});
      std::fill_n(t.data<int8_t>(), t.count(), static_cast<int8_t>(i));
      EXPECT_EQ(t.data<int8_t>()[t.count() - 1], static_cast<int8_t>(i));
    }
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(Tensor, BlocksMoveBetweenThreads) {
  std::vector<Tensor> made;
  std::thread([&] {
    for (int64_t n = 1; n < (1 << 20); n = n * 3 + 1)
      for (int i = 0; i < 4; ++i) {
        made.push_back(*Tensor::make(DType::Int32, {n}));
        std::fill_n(made.back().data<int32_t>(), n, 1);
      }
  }).join();
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([copies = made] {
      for (const Tensor &t : copies)
        EXPECT_EQ(std::ranges::count(t.values<int32_t>(), 1), t.count());
    });
  made.clear();
  for (std::thread &t : threads)
    t.join();
}

} // namespace
} // namespace treadle
