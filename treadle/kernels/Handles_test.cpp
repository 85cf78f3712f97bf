// Handles of all forms refer to the same objects.
#include "treadle/kernels/Handles.h"

#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Variable.h"
#include "treadle/testing/KernelTest.h"

#include <thread>

namespace treadle {
namespace {

Ref<Variable> object() { return makeRef<Variable>("v", DType::Float32); }

Resource *behind(Tensor handle) {
  if (handle.isRef())
    handle = refVariable(handle).read();
  uint32_t index = 0;
  Execution ctx;
  ctx.bases[0] = &handle;
  ctx.inputIndex = &index;
  ctx.inputCount = 1;
  Resource *found = resourceInput(ctx, 0);
  EXPECT_EQ(ctx.hasFailed(), found == nullptr);
  return found;
}

TEST(Handles, everyFormRefersToItsObject) {
  auto variable = object();
  ResourceName name{"", "shared"};
  Tensor resource = makeHandleFor(DType::Resource, false, variable, name);
  Tensor text = makeHandleFor(DType::String, false, variable, name);
  Tensor reference = makeHandleFor(DType::String, true, variable, name);
  EXPECT_EQ(behind(resource), variable.get());
  EXPECT_EQ(behind(text), variable.get());
  EXPECT_EQ(behind(reference), variable.get());
  EXPECT_EQ(values<std::string>(text), (std::vector<std::string>{"localhost", "shared"}));
}

TEST(Handles, aCopyOfTheTextWorksIfTheNameIsUnambiguous) {
  auto variable = object(), other = object();
  Tensor handle = makeHandleFor(DType::String, false, variable, ResourceName{"", "copied"});
  Tensor copy = *handle.clone();
  EXPECT_EQ(behind(copy), variable.get());
  Tensor alike = makeHandleFor(DType::String, false, other, ResourceName{"", "copied"});
  EXPECT_EQ(behind(copy), nullptr);
  EXPECT_EQ(behind(handle), variable.get());
  EXPECT_EQ(behind(alike), other.get());
  alike.reset();
  EXPECT_EQ(behind(copy), variable.get());
  handle.reset();
  EXPECT_EQ(behind(copy), nullptr);
}

TEST(Handles, objectsWithoutANameAreDistinct) {
  auto a = object(), b = object();
  Tensor first = makeHandleFor(DType::String, false, a, "stack");
  Tensor second = makeHandleFor(DType::String, false, b, "stack");
  EXPECT_EQ(behind(*first.clone()), a.get());
  EXPECT_EQ(behind(*second.clone()), b.get());
}

TEST(Handles, aHandleMayEndWithAnotherText) {
  auto variable = object();
  Tensor handle = makeHandleFor(DType::String, false, variable, ResourceName{"", "overwritten"});
  Tensor copy = *handle.clone();
  handle.data<std::string>()[1] = "another";
  handle.reset();
  EXPECT_TRUE(variable->isUnique());
  EXPECT_EQ(behind(copy), nullptr);
}

TEST(Handles, anObjectLivesAsLongAsItsHandle) {
  auto variable = object();
  Tensor handle = makeHandleFor(DType::String, true, variable, ResourceName{"", "owned"});
  EXPECT_FALSE(variable->isUnique());
  handle.reset();
  EXPECT_TRUE(variable->isUnique());
}

TEST(Handles, sharedHandlesHaveTheirOwnReferenceCount) {
  auto variable = object();
  Tensor resource = makeHandleFor(DType::Resource, false, variable, ResourceName{"", "shared"});
  Tensor reference = makeRefTensor(variable);
  for (const Tensor *handle : {&resource, &reference}) {
    Tensor other = shareHandle(*handle);
    EXPECT_TRUE(handle->get()->references == 1 && other.get()->references == 1);
    EXPECT_EQ(other.isRef(), handle->isRef());
  }
  EXPECT_EQ(behind(shareHandle(resource)), variable.get());
  EXPECT_EQ(&refVariable(shareHandle(reference)), variable.get());
}

TEST(Handles, cachedHandlesAreLookedUpOnceUntilARemoval) {
  ResourceManager manager;
  CachedHandle cached;
  int lookups = 0;
  auto get = [&] {
    return cached.get(manager, [&] {
      ++lookups;
      return makeHandle(manager.lookupOrCreate<Variable>("", "v", object));
    });
  };
  Resource *first = behind(get());
  EXPECT_EQ(behind(get()), first);
  std::thread([&] { EXPECT_EQ(behind(get()), first); }).join();
  EXPECT_EQ(lookups, 1);
  manager.remove(first);
  Tensor fresh = get();
  EXPECT_EQ(lookups, 2);
  EXPECT_EQ(behind(fresh), manager.lookup<Variable>("", "v").get());
}

TEST(Handles, invalidHandles) {
  EXPECT_EQ(behind(Tensor::makeScalar(DType::Resource)), nullptr);
  EXPECT_EQ(behind(vec<std::string>({"", "nobody"})), nullptr);
  EXPECT_EQ(behind(vec<std::string>({"one"})), nullptr);
  EXPECT_EQ(behind(vec<float>({1})), nullptr);
}

} // namespace
} // namespace treadle
