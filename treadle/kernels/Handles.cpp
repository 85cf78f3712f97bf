#include "treadle/kernels/Handles.h"

#include "treadle/runtime/Variable.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <unordered_map>

namespace treadle {
namespace {

struct StringHandle {
  std::array<std::string, 2> text; // container, name: the graph can read and overwrite these
  const std::string name;
  Ref<Resource> object;
};

// All string handles. Names are not unique if several sessions use the same one, so a handle is
// identified by the address of its text; a copy of the text works if the name is unambiguous.
class StringHandles {
public:
  static StringHandles &instance() {
    static auto *handles = new StringHandles; // outlives every tensor
    return *handles;
  }
  void add(const StringHandle &handle) {
    std::lock_guard lock(mutex);
    byText[handle.text.data()] = handle.object.get();
    byName.emplace(handle.name, handle.object.get());
  }
  void remove(const StringHandle &handle) {
    std::lock_guard lock(mutex);
    byText.erase(handle.text.data());
    auto [first, last] = byName.equal_range(handle.name);
    byName.erase(std::find_if(
        first, last, [&](const auto &entry) { return entry.second == handle.object.get(); }));
  }
  Resource *find(const std::string *text) {
    std::lock_guard lock(mutex);
    if (auto it = byText.find(text); it != byText.end())
      return it->second;
    auto [first, last] = byName.equal_range(text[1]);
    bool isClear = first != last && std::all_of(first, last, [first = first](const auto &entry) {
                     return entry.second == first->second;
                   });
    return isClear ? first->second : nullptr;
  }

private:
  std::mutex mutex;
  std::unordered_map<const std::string *, Resource *> byText;
  std::unordered_multimap<std::string, Resource *> byName;
};

Resource *findByString(const Tensor &handle) {
  return handle.count() == 2 ? StringHandles::instance().find(handle.data<std::string>()) : nullptr;
}

Tensor makeStringHandle(Ref<Resource> resource, const ResourceName &name) {
  // TensorFlow's name for the default container.
  std::string container = name.container.empty() ? "localhost" : name.container;
  auto *own = new StringHandle{{std::move(container), name.name}, name.name, std::move(resource)};
  StringHandles::instance().add(*own);
  int64_t two = 2;
  return Tensor::external(DType::String, Dims(&two, 1), own->text.data(), [own] {
    StringHandles::instance().remove(*own);
    delete own;
  });
}

} // namespace

Tensor makeHandle(Ref<Resource> resource) {
  Tensor handle = Tensor::makeScalar(DType::Resource);
  handle.data<ResourceHandle>()->resource = std::move(resource);
  return handle;
}

Tensor shareHandle(const Tensor &handle) {
  if (handle.isRef())
    return makeRefTensor(Ref<Variable>::share(&refVariable(handle)));
  if (handle.dtype() == DType::Resource && handle.count() == 1)
    return makeHandle(handle.data<ResourceHandle>()->resource);
  return handle;
}

Tensor makeHandleFor(DType dtype, bool isRef, Ref<Resource> resource, const ResourceName &name) {
  if (dtype == DType::Resource)
    return makeHandle(std::move(resource));
  Tensor handle = makeStringHandle(std::move(resource), name);
  if (!isRef)
    return handle;
  auto variable = makeRef<Variable>(name.name, DType::String);
  variable->assign(std::move(handle));
  return makeRefTensor(std::move(variable));
}

Tensor makeHandleFor(DType dtype, bool isRef, Ref<Resource> resource, std::string_view prefix) {
  static std::atomic<uint64_t> counter{0};
  ResourceName name;
  if (dtype == DType::String)
    name = {"", str(prefix, "_", ++counter)};
  return makeHandleFor(dtype, isRef, std::move(resource), name);
}

Resource *resourceInput(OpContext &ctx, int i) {
  const Tensor &handle = ctx.input(i);
  Resource *resource = nullptr;
  if (handle.dtype() == DType::Resource && handle.count() == 1)
    resource = handle.data<ResourceHandle>()->resource.get();
  else if (handle.dtype() == DType::String)
    resource = findByString(handle);
  if (!resource)
    ctx.fail(
        notFound("input ", i, " (", tensorTypeText(handle),
                 ") refers to no resource; expected a handle that an op of this session created"));
  return resource;
}

Error wrongKind(const Resource &found, std::string_view expected) {
  return invalidArgument("the handle refers to a ", found.kind(), ", expected a ", expected);
}

ResourceName ResourceName::of(const BindContext &node) {
  return {node.attrs.getOr("container", std::string()),
          node.attrs.getOr("shared_name", std::string())};
}

ResourceName ResourceName::ofOrNode(const BindContext &node) {
  ResourceName name = of(node);
  return name.name.empty() ? ResourceName{name.container, std::string(node.node)} : name;
}

} // namespace treadle
