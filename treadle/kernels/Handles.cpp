#include "treadle/kernels/Handles.h"

#include "treadle/runtime/Variable.h"

#include <array>
#include <atomic>
#include <unordered_map>

namespace treadle {
namespace {

// The objects that string handles name. A handle's tensor owns the object and takes the entry out
// when it goes.
class NamedObjects {
public:
  static NamedObjects &instance() {
    static auto *objects = new NamedObjects; // outlives every tensor
    return *objects;
  }
  void add(const std::string &name, Resource *object) {
    std::lock_guard lock(mutex);
    byName[name] = object;
  }
  void remove(const std::string &name) {
    std::lock_guard lock(mutex);
    byName.erase(name);
  }
  Resource *find(const std::string &name) {
    std::lock_guard lock(mutex);
    auto it = byName.find(name);
    return it == byName.end() ? nullptr : it->second;
  }

private:
  std::mutex mutex;
  std::unordered_map<std::string, Resource *> byName;
};

struct StringHandle {
  std::array<std::string, 2> text; // container, name
  Ref<Resource> object;
};

Resource *findByString(const Tensor &handle) {
  return handle.count() == 2 ? NamedObjects::instance().find(handle.data<std::string>()[1])
                             : nullptr;
}

} // namespace

Tensor makeHandle(Ref<Resource> resource) {
  Tensor handle = Tensor::makeScalar(DType::Resource);
  handle.data<ResourceHandle>()->resource = std::move(resource);
  return handle;
}

Tensor makeStringHandle(Ref<Resource> resource, std::string_view name) {
  static std::atomic<uint64_t> counter{0};
  auto *own = new StringHandle{{"", str(name, "_", ++counter)}, std::move(resource)};
  NamedObjects::instance().add(own->text[1], own->object.get());
  int64_t two = 2;
  return Tensor::external(DType::String, Dims(&two, 1), own->text.data(), [own] {
    NamedObjects::instance().remove(own->text[1]);
    delete own;
  });
}

Tensor makeHandleFor(DType dtype, bool isRef, Ref<Resource> resource, std::string_view name) {
  if (dtype == DType::Resource)
    return makeHandle(std::move(resource));
  Tensor handle = makeStringHandle(std::move(resource), name);
  if (!isRef)
    return handle;
  auto variable = makeRef<Variable>(std::string(name), DType::String);
  variable->assign(std::move(handle));
  return makeRefTensor(std::move(variable));
}

Resource *resourceInput(OpContext &ctx, int i) {
  const Tensor &handle = ctx.input(i);
  Resource *resource = nullptr;
  if (handle.dtype() == DType::Resource && handle.count() == 1)
    resource = handle.data<ResourceHandle>()->resource.get();
  else if (handle.dtype() == DType::String)
    resource = findByString(handle);
  if (!resource)
    ctx.fail(notFound("input ", i, " (", tensorTypeText(handle),
                      ") names no object; expected a handle that an op of this session made"));
  return resource;
}

Error wrongKind(const Resource &found, std::string_view expected) {
  return invalidArgument("the handle is of a ", found.kind(), ", expected one of a ", expected);
}

ResourceName ResourceName::of(const BindContext &node) {
  return {node.attrs.getOr("container", std::string()),
          node.attrs.getOr("shared_name", std::string())};
}

} // namespace treadle
