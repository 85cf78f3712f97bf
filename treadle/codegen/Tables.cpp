#include "treadle/codegen/Tables.h"
#include "treadle/runtime/Plan.h"

#include <type_traits>

namespace treadle::codegen {
namespace {

/// Visits the fields of a call in serialization order.
template <typename Call, typename Visit> void eachField(Call &call, Visit &visit) {
  visit(call.node);
  visit(call.op);
  visit(call.device);
  visit(call.attrs);
  visit(call.inputTypes);
  visit(call.outputTypes);
  visit(call.outputs);
}

constexpr size_t alignment = 64;
/// Smaller constants are copied and needn't be aligned.
constexpr size_t smallBytes = 256;

bool isHandle(DType dtype) { return dtype == DType::Resource || dtype == DType::Variant; }

class Writer {
public:
  template <typename T> void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void operator()(std::monostate) {}
  void operator()(const std::string &text) {
    number<uint64_t>(text.size());
    out += text;
  }
  void operator()(int64_t value) { number(value); }
  void operator()(float value) { number(value); }
  void operator()(bool value) { number<uint8_t>(value); }
  void operator()(DType dtype) { number(static_cast<uint8_t>(dtype)); }
  void operator()(TypeAttr type) {
    (*this)(type.dtype);
    (*this)(type.isRef);
  }
  void operator()(const PartialShape &shape) {
    (*this)(shape.hasRank);
    (*this)(shape.dims);
  }
  void operator()(const ExpectedShape &shape) {
    (*this)(shape.hasRank);
    (*this)(shape.dims);
  }
  void operator()(const FunctionRef &function) {
    (*this)(function.name);
    (*this)(function.attrs ? *function.attrs : AttrMap());
  }
  void operator()(const Tensor &tensor) {
    (*this)(tensor.dtype());
    number<uint8_t>(static_cast<uint8_t>(tensor.rank()));
    for (int64_t dim : tensor.dims())
      number(dim);
    if (isHandle(tensor.dtype())) {
      hasHandle = true;
    } else if (tensor.dtype() == DType::String) {
      for (const std::string &text : tensor.values<std::string>())
        (*this)(text);
    } else {
      if (tensor.bytes() > smallBytes)
        out.resize((out.size() + alignment - 1) / alignment * alignment);
      out.append(static_cast<const char *>(tensor.raw()), tensor.bytes());
    }
  }
  void operator()(const AttrValue &value) {
    number<uint8_t>(static_cast<uint8_t>(value.index()));
    std::visit([this](const auto &held) { (*this)(held); }, value);
  }
  void operator()(const AttrMap &attrs) {
    number<uint64_t>(attrs.size());
    for (const auto &[name, value] : attrs) {
      (*this)(name);
      (*this)(value);
    }
  }
  void operator()(const KernelCall &call) { eachField(call, *this); }
  template <typename T> void operator()(const std::vector<T> &values) {
    number<uint64_t>(values.size());
    for (const T &value : values)
      (*this)(value);
  }

  std::string out;
  bool hasHandle = false;
};

/// Reads what a Writer wrote. After an error, all further reads return empty values.
class Reader {
public:
  Reader(std::span<const char> bytes, bool areKept) : bytes(bytes), areKept(areKept) {}

  template <typename T> T number() {
    T value{};
    if (const char *from = take(sizeof value))
      std::memcpy(&value, from, sizeof value);
    return value;
  }
  void operator()(std::monostate &) {}
  void operator()(std::string &text) {
    size_t size = length(1);
    if (const char *from = take(size))
      text.assign(from, size);
  }
  void operator()(int64_t &value) { value = number<int64_t>(); }
  void operator()(float &value) { value = number<float>(); }
  void operator()(bool &value) { value = number<uint8_t>() != 0; }
  void operator()(DType &dtype) {
    auto value = number<uint8_t>();
    hasFailed |= value >= numDTypes;
    dtype = hasFailed ? DType::Invalid : static_cast<DType>(value);
  }
  void operator()(TypeAttr &type) {
    (*this)(type.dtype);
    (*this)(type.isRef);
  }
  void operator()(PartialShape &shape) {
    (*this)(shape.hasRank);
    (*this)(shape.dims);
  }
  void operator()(ExpectedShape &shape) {
    (*this)(shape.hasRank);
    (*this)(shape.dims);
  }
  void operator()(FunctionRef &function) {
    AttrMap attrs;
    (*this)(function.name);
    (*this)(attrs);
    if (!attrs.isEmpty())
      function.attrs = std::make_shared<const AttrMap>(std::move(attrs));
  }
  void operator()(Tensor &tensor);
  void operator()(AttrValue &value) { alternative(value, number<uint8_t>()); }
  void operator()(AttrMap &attrs) {
    for (size_t left = length(1); left && !hasFailed; --left) {
      std::string name;
      AttrValue value;
      (*this)(name);
      (*this)(value);
      attrs.set(name, std::move(value));
    }
  }
  void operator()(KernelCall &call) {
    eachField(call, *this);
    hasFailed |= call.outputs.size() != call.outputTypes.size();
  }
  template <typename T> void operator()(std::vector<T> &values) {
    for (size_t left = length(1); left && !hasFailed; --left) {
      T value{};
      (*this)(value);
      values.push_back(std::move(value));
    }
  }

  bool isAtEnd() const { return !hasFailed && at == bytes.size(); }

private:
  const char *take(size_t size) {
    hasFailed |= size > bytes.size() - at;
    if (hasFailed)
      return nullptr;
    at += size;
    return bytes.data() + at - size;
  }
  /// Reads the number of items, each of which takes at least `least` bytes.
  size_t length(size_t least) {
    auto count = number<uint64_t>();
    hasFailed |= count > (bytes.size() - at) / least;
    return hasFailed ? 0 : count;
  }
  template <size_t i = 0> void alternative(AttrValue &value, size_t index) {
    if constexpr (i == std::variant_size_v<AttrValue>) {
      hasFailed = true;
    } else if (index == i) {
      std::variant_alternative_t<i, AttrValue> held{};
      (*this)(held);
      value = std::move(held);
    } else {
      alternative<i + 1>(value, index);
    }
  }

  std::span<const char> bytes;
  const bool areKept;
  size_t at = 0;
  bool hasFailed = false;
};

void Reader::operator()(Tensor &tensor) {
  DType dtype{};
  (*this)(dtype);
  std::vector<int64_t> dims(number<uint8_t>());
  for (int64_t &dim : dims)
    (*this)(dim);
  std::optional<int64_t> count = countElements(dims);
  size_t least = dtype == DType::String ? sizeof(uint64_t) : dtypeSize(dtype);
  hasFailed |= isHandle(dtype) || dtype == DType::Invalid || !count || !least ||
               static_cast<uint64_t>(*count) > bytes.size() / least;
  if (hasFailed)
    return;
  size_t size = static_cast<size_t>(*count) * least;
  bool isLarge = dtype != DType::String && size > smallBytes;
  if (isLarge)
    take((alignment - at % alignment) % alignment);
  if (isLarge && areKept) {
    if (const char *from = take(size))
      tensor = Tensor::external(dtype, dims, const_cast<char *>(from), [] {});
    return;
  }
  Expected<Tensor> made = Tensor::make(dtype, dims);
  if (!made) {
    hasFailed = true;
    return;
  }
  if (dtype == DType::String) {
    for (int64_t i = 0; i < *count; ++i)
      (*this)(made->data<std::string>()[i]);
  } else if (const char *from = take(size)) {
    std::memcpy(made->raw(), from, size);
  }
  tensor = std::move(*made);
}

} // namespace

/// Binds a kernel that calls functions, which must exist and not suspend.
static Expected<BoundKernel> bindFunctionKernel(const KernelCall &call,
                                                const FunctionKernelEntry &entry,
                                                FunctionLibrary &functions) {
  for (const auto &[name, value] : call.attrs)
    if (const auto *function = std::get_if<FunctionRef>(&value)) {
      if (auto plan = functions.plan(*function, ArgMode::Owned); !plan)
        return Unexpected(std::move(plan.error()));
      if (functions.mayBlock(function->name))
        return Unexpected(unimplemented("function '", function->name, "' may block"));
    }
  NodeSpec spec;
  spec.name = call.node;
  spec.op = call.op;
  spec.device = call.device;
  spec.attrs = call.attrs;
  spec.inputs.resize(call.inputTypes.size());
  for (DType type : call.inputTypes)
    spec.inputTypes.push_back({type});
  for (DType type : call.outputTypes)
    spec.outputTypes.push_back({type});
  return entry.bind(spec, &functions);
}

static Expected<BoundKernel> bindAny(const KernelCall &call, const KernelRegistry &registry,
                                     FunctionLibrary *functions) {
  if (const KernelRegistry::Bind *binder = registry.find(call.op))
    return (*binder)(
        {call.node, call.op, call.attrs, call.inputTypes, call.outputTypes, call.device});
  const FunctionKernelEntry *entry = registry.findFunctionKernel(call.op);
  if (!entry)
    return Unexpected(unimplemented("there is no kernel"));
  if (!functions)
    return Unexpected(unimplemented("its kernel calls functions"));
  return bindFunctionKernel(call, *entry, *functions);
}

Expected<BoundKernel> bindKernel(const KernelCall &call, const KernelRegistry &registry,
                                 FunctionLibrary *functions) {
  Expected<BoundKernel> kernel = bindAny(call, registry, functions);
  if (!kernel)
    return Unexpected(std::move(kernel.error()).atNode(call.node, call.op));
  if (kernel->mayBlock)
    return Unexpected(unimplemented("its kernel may block").atNode(call.node, call.op));
  return kernel;
}

Expected<std::string> tablesToBytes(const ClusterTables &tables) {
  Writer writer;
  writer(tables.kernels);
  writer(tables.constants);
  if (writer.hasHandle)
    return Unexpected(unimplemented("a constant is a handle, which is valid in one process only"));
  return std::move(writer.out);
}

Expected<ClusterTables> tablesFromBytes(std::span<const char> bytes, bool areKept) {
  Reader reader(bytes, areKept);
  ClusterTables tables;
  reader(tables.kernels);
  reader(tables.constants);
  if (!reader.isAtEnd())
    return Unexpected(dataLoss("the tables of the compiled code are corrupted"));
  return tables;
}

} // namespace treadle::codegen
