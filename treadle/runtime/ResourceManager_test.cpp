// Tests of named resources, and of variables behind handles and references.
#include "treadle/runtime/ResourceManager.h"

#include "treadle/runtime/Variable.h"

#include <gtest/gtest.h>

#include <thread>

namespace treadle {
namespace {

Ref<Variable> makeVariable(std::string name) {
  return makeRef<Variable>(std::move(name), DType::Int32);
}

Ref<Variable> lookUp(ResourceManager &resources, std::string_view container, std::string name) {
  return resources.lookupOrCreate<Variable>(container, name, [&] { return makeVariable(name); });
}

struct Other final : Resource {
  static constexpr std::string_view kindName = "other";
  std::string_view kind() const override { return kindName; }
};

TEST(ResourceManager, GivesTheSameResourceAgain) {
  ResourceManager resources;
  EXPECT_FALSE(resources.lookup<Variable>("", "a"));
  Ref<Variable> a = lookUp(resources, "", "a");
  EXPECT_EQ(lookUp(resources, "", "a"), a);
  EXPECT_EQ(resources.lookup<Variable>("", "a"), a);
}

TEST(ResourceManager, TellsContainersNamesAndKindsApart) {
  ResourceManager resources;
  Ref<Variable> a = lookUp(resources, "", "a");
  EXPECT_FALSE(lookUp(resources, "box", "a") == a);
  EXPECT_FALSE(lookUp(resources, "", "b") == a);
  Ref<Other> other = resources.lookupOrCreate<Other>("", "a", [] { return makeRef<Other>(); });
  EXPECT_EQ(other->kind(), "other");
  std::vector<std::string> names;
  for (const auto &[name, resource] : resources.all())
    names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a", "b", "box/a"}));
}

TEST(ResourceManager, ForgottenResourcesLiveOnWithTheirHolders) {
  ResourceManager resources;
  Ref<Variable> a = lookUp(resources, "", "a");
  a->assign(Tensor::scalar<int32_t>(DType::Int32, 4));
  uint64_t generation = resources.generation();
  EXPECT_TRUE(resources.remove(a.get()));
  EXPECT_FALSE(resources.remove(a.get()));
  EXPECT_NE(resources.generation(), generation);
  EXPECT_EQ(a->read().scalarValue<int32_t>(), 4);
  EXPECT_FALSE(lookUp(resources, "", "a")->read());
  resources.clear();
  EXPECT_TRUE(resources.all().empty());
}

TEST(ResourceManager, IsMadeOnceByManyThreads) {
  ResourceManager resources;
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::vector<Ref<Variable>> found(4);
  for (auto &slot : found)
    threads.emplace_back([&] {
      slot = resources.lookupOrCreate<Variable>("", "a", [&] {
        ++made;
        return makeVariable("a");
      });
    });
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(made, 1);
  for (const auto &slot : found)
    EXPECT_EQ(slot, found[0]);
}

TEST(Variable, ReadersKeepWhatTheyRead) {
  Ref<Variable> v = makeVariable("v");
  EXPECT_FALSE(v->read());
  v->assign(Tensor::scalar<int32_t>(DType::Int32, 1));
  Tensor read = v->read();
  v->assign(Tensor::scalar<int32_t>(DType::Int32, 2));
  EXPECT_EQ(read.scalarValue<int32_t>(), 1);
  EXPECT_EQ(v->read().scalarValue<int32_t>(), 2);
}

TEST(Variable, ReferencesNameItAndKeepItAlive) {
  Ref<Variable> v = makeVariable("v");
  Tensor reference = makeRefTensor(v);
  EXPECT_TRUE(reference.isRef());
  EXPECT_EQ(reference.dtype(), DType::Int32);
  EXPECT_FALSE(reference.isUnique()) << "a reference may not be written over";
  EXPECT_EQ(&refVariable(reference), v.get());
  EXPECT_FALSE(v->isUnique());
  reference.reset();
  EXPECT_TRUE(v->isUnique());
  EXPECT_EQ(uninitialized(*v).code, Code::FailedPrecondition);
  EXPECT_NE(uninitialized(*v).message.find("'v'"), std::string::npos);
}

TEST(Variable, IsSafeToReadAndAssignAtOnce) {
  Ref<Variable> v = makeVariable("v");
  v->assign(Tensor::scalar<int32_t>(DType::Int32, 0));
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        int32_t next = v->read().scalarValue<int32_t>() + 1;
        v->assign(Tensor::scalar(DType::Int32, next));
      }
    });
  for (std::thread &t : threads)
    t.join();
  int32_t end = v->read().scalarValue<int32_t>();
  EXPECT_GE(end, 1000);
  EXPECT_LE(end, 3000);
}

} // namespace
} // namespace treadle
