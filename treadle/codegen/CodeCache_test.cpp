// Tests of the code cache: code is found by content, and cached code works like new code.
#include "treadle/codegen/CodeCache.h"
#include "treadle/testing/CodegenTesting.h"

#include <barrier>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace treadle::codegen {
namespace {

/// x * `factor` + a constant vector.
std::string program(const std::string &factor) {
  return R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {)" +
         constant("factor", "f32", factor) +
         "%row, %row_ctl = Const name(\"row\") {dtype = f32, value = dense<[1.0, 2.0, 3.0]> : "
         "tensor<3xf32>} : () -> (tensor<3xf32>)\n" +
         op("product", "Mul", "%x, %factor", "T = f32",
            "(tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)") +
         op("sum", "AddV2", "%product, %row", "T = f32",
            "(tensor<*xf32>, tensor<3xf32>) -> (tensor<*xf32>)") +
         op("y", "Softmax", "%sum", "T = f32", "(tensor<*xf32>) -> (tensor<*xf32>)") +
         "return(%y) : tensor<*xf32> }";
}

class CodeCacheTest : public CodegenTest {
protected:
  CodeCacheTest() {
    std::string pattern = (fs::temp_directory_path() / "code-cache-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~CodeCacheTest() override { fs::remove_all(folder); }

  std::unique_ptr<CodeCache> onDisk(size_t maxBytes = 1 << 20) const {
    return std::make_unique<CodeCache>(std::make_unique<DiskCache>(folder), maxBytes);
  }

  /// Compiles in a new context, as each session has its own.
  std::shared_ptr<const CompiledCluster> make(const std::string &text, CodeCache *cache,
                                              const Tensor &argument) {
    mlir::MLIRContext own;
    own.loadDialect<tfg::TfgDialect>();
    auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &own);
    auto find = [&](llvm::StringRef name) { return parsed->lookupSymbol<tfg::FuncOp>(name); };
    auto made = translate(find("f"), {ArgumentClass::of(argument)}, find, own)
                    .and_then([&](TensorProgram program) {
                      return link(std::move(program), {&counters, nullptr, cache});
                    })
                    .and_then([](LinkedCluster cluster) {
                      return bind(std::move(cluster), builtinKernels());
                    });
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : nullptr;
  }

  std::vector<float> valuesOf(const std::string &text, CodeCache *cache,
                              const Tensor &argument = row({0, 1, 2})) {
    compiled = make(text, cache, argument);
    numResults = 1;
    return floats(call({argument}).at(0));
  }

  std::array<uint64_t, 3> counts() const {
    return {counters.compilations, counters.memoryHits, counters.diskHits};
  }
  using Counts = std::array<uint64_t, 3>;

  CompileCounters counters;
  fs::path folder;
};

TEST_F(CodeCacheTest, TheSameContentIsCompiledOnce) {
  CodeCache cache(nullptr);
  auto first = valuesOf(program("2.0"), &cache);
  EXPECT_EQ(counts(), Counts({1, 0, 0}));
  EXPECT_EQ(valuesOf(program("2.0"), &cache), first);
  EXPECT_EQ(counts(), Counts({1, 1, 0}));
}

TEST_F(CodeCacheTest, WhoWantsWhatIsBeingCompiledWaitsForIt) {
  constexpr int numThreads = 4;
  CodeCache cache(nullptr);
  std::barrier start(numThreads);
  {
    std::vector<std::jthread> threads;
    threads.reserve(numThreads);
    for (int i = 0; i < numThreads; ++i)
      threads.emplace_back([&] {
        start.arrive_and_wait();
        EXPECT_NE(make(program("2.0"), &cache, row({0, 1, 2})), nullptr);
      });
  }
  EXPECT_EQ(counts(), Counts({1, numThreads - 1, 0}));
}

TEST_F(CodeCacheTest, WhoIsCancelledWaitsForNobody) {
  CodeCache cache(nullptr);
  ContentKey key{};
  std::atomic<bool> isCancelled{true};
  CodeCache::KeyLock first(&cache, key, nullptr);
  CodeCache::KeyLock second(&cache, key, &isCancelled); // returns because of the flag
  ContentKey other{1};
  CodeCache::KeyLock third(&cache, other, nullptr); // waits for no other thread
}

TEST_F(CodeCacheTest, OtherContentIsNotTakenForIt) {
  CodeCache cache(nullptr);
  auto first = valuesOf(program("2.0"), &cache);
  EXPECT_NE(valuesOf(program("3.0"), &cache), first);
  valuesOf(program("2.0"), &cache, f32({0, 1, 2}, {1, 3})); // a dimension of 1
  EXPECT_EQ(counts(), Counts({3, 0, 0}));
}

TEST_F(CodeCacheTest, AnotherProcessFindsItOnDisk) {
  auto first = valuesOf(program("2.0"), onDisk().get());
  auto later = onDisk();
  EXPECT_EQ(valuesOf(program("2.0"), later.get()), first);
  EXPECT_EQ(counts(), Counts({1, 0, 1}));
  EXPECT_EQ(valuesOf(program("2.0"), later.get()), first);
  EXPECT_EQ(counts(), Counts({1, 1, 1}));
}

TEST_F(CodeCacheTest, DamageOnDiskIsCompiledAgain) {
  auto first = valuesOf(program("2.0"), onDisk().get());
  fs::path path = fs::directory_iterator(folder)->path();
  auto size = fs::file_size(path);
  for (uintmax_t at : {uintmax_t(0), uintmax_t(20), uintmax_t(100), size / 2, size - 1}) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ 0x10));
    file.close();
    EXPECT_EQ(valuesOf(program("2.0"), onDisk().get()), first);
  }
  EXPECT_EQ(counts(), Counts({6, 0, 0}));
}

TEST_F(CodeCacheTest, BytesThatAreNoCodeAreCompiledAgain) {
  auto first = valuesOf(program("2.0"), onDisk().get());
  std::string name = fs::directory_iterator(folder)->path().stem().string();
  ContentKey key;
  for (size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<uint8_t>(std::stoi(name.substr(2 * i, 2), nullptr, 16));
  for (const std::string &image :
       {std::string(), std::string("short"), std::string(16, '\xff'), std::string(8, '\0'),
        std::string("\x10\0\0\0\0\0\0\0not an object at all", 28),
        std::string(8, '\0') + std::string(16, '\0')}) {
    DiskCache(folder).keep(key, image);
    EXPECT_EQ(valuesOf(program("2.0"), onDisk().get()), first);
  }
  EXPECT_EQ(counts(), Counts({7, 0, 0}));
}

TEST_F(CodeCacheTest, CodeIsForgottenAboveItsSizeButLivesWhereItIsUsed) {
  CodeCache cache(nullptr, 1); // keeps only the newest entry
  auto held = make(program("2.0"), &cache, row({0, 1, 2}));
  valuesOf(program("3.0"), &cache);
  EXPECT_EQ(counts(), Counts({2, 0, 0}));
  valuesOf(program("3.0"), &cache);
  EXPECT_EQ(counts(), Counts({2, 1, 0}));
  auto anew = valuesOf(program("2.0"), &cache);
  EXPECT_EQ(counts(), Counts({3, 1, 0}));
  compiled = held;
  EXPECT_EQ(floats(call({row({0, 1, 2})}).at(0)), anew);
}

TEST_F(CodeCacheTest, ConstantsComeWithTheCode) {
  std::string large = R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"})
      -> (tensor<*xf32> {tfg.name = "y"}) {
      %row, %row_ctl = Const name("row") {dtype = f32, value = dense<0.5> : tensor<1000xf32>}
        : () -> (tensor<1000xf32>)
    )" +
                      op("y", "Sub", "%x, %row", "T = f32",
                         "(tensor<*xf32>, tensor<1000xf32>) -> (tensor<*xf32>)") +
                      "return(%y) : tensor<*xf32> }";
  Tensor x = row(std::vector<float>(1000, 2));
  auto first = valuesOf(large, onDisk().get(), x);
  EXPECT_EQ(first, std::vector<float>(1000, 1.5));
  EXPECT_EQ(valuesOf(large, onDisk().get(), x), first);
  EXPECT_EQ(counts(), Counts({1, 0, 1}));
}

TEST_F(CodeCacheTest, WhatIsCancelledIsNotKept) {
  std::atomic<bool> isCancelled{true};
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(program("2.0"), &context);
  auto find = [&](llvm::StringRef name) { return parsed->lookupSymbol<tfg::FuncOp>(name); };
  auto cache = onDisk();
  auto made = translate(find("f"), {ArgumentClass::of(row({0, 1, 2}))}, find, context)
                  .and_then([&](TensorProgram program) {
                    return link(std::move(program), {&counters, &isCancelled, cache.get()});
                  });
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::Cancelled);
  EXPECT_TRUE(fs::is_empty(folder));
}

} // namespace
} // namespace treadle::codegen
