// Runs in which one allocation fails, for each allocation in turn: the run returns an error, leaks
// nothing, and the session stays usable.
#include "treadle/Builder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

/// Number of allocations of this thread before one fails; negative: none fails.
thread_local int64_t untilFailure = -1;
thread_local bool hasFailed = false;

bool isToFail() {
  if (untilFailure < 0)
    return false;
  --untilFailure;
  if (untilFailure >= 0)
    return false;
  hasFailed = true;
  return true;
}

void *allocate(size_t bytes, size_t alignment) {
  void *memory = isToFail()
                     ? nullptr
                     : std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
  if (!memory)
    throw std::bad_alloc();
  return memory;
}

} // namespace

void *operator new(size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void *operator new[](size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void *operator new(size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }

/// The allocator of tensors.
extern "C" int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  if (isToFail())
    return ENOMEM;
  *memory = std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
  return *memory ? 0 : ENOMEM;
}

namespace treadle {
namespace {

using namespace builder;

struct Case {
  const char *name;
  void (*build)(Builder &); // adds nodes up to `y`
  const char *setup = nullptr;
};

AttrMap attrs(std::initializer_list<std::pair<std::string_view, AttrValue>> values) {
  AttrMap map;
  for (const auto &[name, value] : values)
    map.set(name, value);
  return map;
}

void growingLoop(Builder &g) {
  Output x = g.placeholder("x", DType::Float32, PartialShape::ranked({-1}));
  Loop loop = g.whileLoop({"loop", {{"i", 0}, {"v", x, PartialShape::ranked({-1})}}});
  loop.condition(loop["i"] < 4);
  loop.set("v", g.op({"ConcatV2", {loop["v"], loop["v"], 0}, attrs({{"N", int64_t{2}}})}));
  loop.set("i", loop["i"] + 1);
  loop.end();
  g.op({"Sum", {loop["v"], 0}, {}, "y"});
}

void variables(Builder &g) {
  Output x = g.placeholder("x", DType::Float32, PartialShape::ranked({-1}));
  Variable v = g.variable("v", 1.0);
  v.assignAdd(g.op({"Sum", {x, 0}}));
  v.assignSub(g.op({"Sum", {x, 0}}));
  g.op({"Identity", {v.read()}, {}, "y"});
}

void texts(Builder &g) {
  Output x = g.placeholder("x", DType::Float32, PartialShape::ranked({-1}));
  Output text = g.op({"AsString", {x}});
  Output joined =
      g.op({"StringJoin",
            {text, text},
            attrs({{"N", int64_t{2}}, {"separator", "a long separator, which takes memory"}})});
  g.op({"StringLength", {joined}, {}, "y"});
}

void products(Builder &g) {
  Output x = g.placeholder("x", DType::Float32, PartialShape::ranked({-1}));
  Output column = g.op({"ExpandDims", {x, 1}}), row = g.op({"ExpandDims", {x, 0}});
  Output product = g.op({"MatMul", {column, row}});
  g.op({"Softmax", {product}, {}, "y"});
}

class FailingMemory : public testing::TestWithParam<std::tuple<int, Tier>> {};

constexpr Case cases[] = {
    {"GrowingLoop", growingLoop},
    {"Variables", variables, "init"},
    {"Texts", texts},
    {"Products", products},
};

TEST_P(FailingMemory, IsAnErrorEachTime) {
  const auto &[number, tier] = GetParam();
  const Case &tried = cases[number];
  Builder g;
  tried.build(g);
  Expected<Graph> graph = g.build();
  ASSERT_TRUE(graph) << graph.error().message;
  SessionOptions options;
  options.threads = 1; // allocations fail on this thread only
  options.tier = tier;
  Expected<Session> session = Session::create(*graph, options);
  ASSERT_TRUE(session) << session.error().message;
  Tensor x = *Tensor::make(DType::Float32, {1000});
  std::fill_n(x.data<float>(), 1000, 0.5f);
  if (tried.setup) {
    auto ready = session->run({}, {}, {tried.setup});
    ASSERT_TRUE(ready) << ready.error().message;
  }
  const std::vector<std::string> fetches = {"y:0"};
  const Session::Feeds feeds = {{"x:0", x}};
  auto run = [&] { return session->run(fetches, feeds); };
  for (int i = 0; i < 3; ++i) { // warm up plans and code
    auto first = run();
    ASSERT_TRUE(first) << first.error().message;
  }
  int64_t failures = 0;
  for (int64_t n = 0;; ++n) {
    hasFailed = false;
    untilFailure = n;
    auto result = run();
    untilFailure = -1;
    if (!hasFailed)
      break;
    ++failures;
    if (!result)
      EXPECT_EQ(result.error().code, Code::ResourceExhausted)
          << n << ": " << result.error().message;
    auto after = run();
    ASSERT_TRUE(after) << n << ": " << after.error().message;
    ASSERT_LT(n, 100000);
  }
  EXPECT_GT(failures, 0);
}

std::string nameOf(const testing::TestParamInfo<std::tuple<int, Tier>> &param) {
  auto [number, tier] = param.param;
  return str(cases[number].name, tier == Tier::Jit ? "Jit" : "Interpret");
}

INSTANTIATE_TEST_SUITE_P(Cases, FailingMemory,
                         testing::Combine(testing::Range(0, static_cast<int>(std::size(cases))),
                                          testing::Values(Tier::Interpret, Tier::Jit)),
                         nameOf);

} // namespace
} // namespace treadle
