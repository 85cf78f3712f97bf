// Errors, strings and arrays.
#include "treadle/c/Handles.h"

#include <algorithm>
#include <utility>

namespace treadle::c {

treadle_status *outOfMemoryStatus() {
  static treadle_status status{{Code::ResourceExhausted, "there is no memory"}};
  return &status;
}

treadle_status *toStatus(Expected<void> result) {
  if (result)
    return nullptr;
  return new treadle_status{std::move(result.error())};
}

Expected<void> requireAll(std::initializer_list<std::pair<const char *, const void *>> arguments) {
  for (auto [name, pointer] : arguments)
    if (!pointer)
      return Unexpected(invalidArgument("argument '", name, "' is null"));
  return {};
}

Expected<std::vector<std::string>> textsOf(const char *what, size_t count,
                                           const char *const *list) {
  std::vector<std::string> texts;
  if (count)
    TREADLE_TRY(requireAll({{what, list}}));
  for (size_t i = 0; i < count; ++i) {
    if (!list[i])
      return Unexpected(invalidArgument("element ", i, " of argument '", what, "' is null"));
    texts.emplace_back(list[i]);
  }
  return texts;
}

Expected<Session::Feeds> namedArrays(const char *what, size_t count, const char *const *names,
                                     treadle_array *const *arrays) {
  std::vector<std::string> texts = TREADLE_TRY(textsOf(what, count, names));
  Session::Feeds feeds;
  for (size_t i = 0; i < count; ++i) {
    if (!arrays || !arrays[i])
      return Unexpected(invalidArgument("the array for '", texts[i], "' is null"));
    feeds.emplace_back(std::move(texts[i]), arrays[i]->tensor);
  }
  return feeds;
}

void giveArrays(std::vector<Tensor> tensors, treadle_array **places) {
  std::vector<std::unique_ptr<treadle_array>> made;
  made.reserve(tensors.size());
  for (Tensor &tensor : tensors)
    made.push_back(std::make_unique<treadle_array>(std::move(tensor)));
  for (auto &array : made)
    *places++ = array.release();
}

char *copyText(std::string_view text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    throw std::bad_alloc();
  std::copy(text.begin(), text.end(), copy);
  copy[text.size()] = 0;
  return copy;
}

namespace {

/// Returns the dtype for a number; InvalidArgument for unknown numbers, handles and variants.
Expected<DType> dtypeOf(int32_t number) {
  bool isKnown = number > 0 && number < numDTypes;
  auto dtype = isKnown ? static_cast<DType>(number) : DType::Invalid;
  if (!isKnown || dtype == DType::Resource || dtype == DType::Variant)
    return Unexpected(
        invalidArgument("dtype is ", number, ", which arrays made from memory can't have"));
  return dtype;
}

Expected<Dims> dimsOf(int32_t rank, const int64_t *dims) {
  constexpr int32_t maxDims = 254;
  if (rank < 0 || rank > maxDims)
    return Unexpected(invalidArgument("rank is ", rank, ", expected 0 to ", maxDims));
  if (rank)
    TREADLE_TRY(requireAll({{"dims", dims}}));
  return Dims(dims, static_cast<size_t>(rank));
}

std::string *stringAt(const treadle_array *array, int64_t index) {
  if (!array || array->tensor.dtype() != DType::String || index < 0 ||
      index >= array->tensor.count())
    return nullptr;
  return const_cast<std::string *>(array->tensor.data<std::string>()) + index;
}

} // namespace
} // namespace treadle::c

using namespace treadle;
using namespace treadle::c;

const char *treadle_version(void) { return version().data(); }

treadle_code treadle_status_code(const treadle_status *status) {
  return status ? static_cast<treadle_code>(status->error.code) : TREADLE_OK;
}
const char *treadle_status_message(const treadle_status *status) {
  return status ? status->error.message.c_str() : "";
}
void treadle_status_free(treadle_status *status) {
  if (status != outOfMemoryStatus())
    delete status;
}

void treadle_text_free(char *text) { std::free(text); }

treadle_status *treadle_array_make(int32_t dtype, int32_t rank, const int64_t *dims,
                                   treadle_array **array) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"array", array}}));
    DType type = TREADLE_TRY(dtypeOf(dtype));
    Dims sizes = TREADLE_TRY(dimsOf(rank, dims));
    Tensor tensor = TREADLE_TRY(Tensor::make(type, sizes));
    if (isPlain(type) && tensor.count())
      std::memset(tensor.raw(), 0, tensor.bytes());
    *array = new treadle_array{std::move(tensor)};
    return {};
  });
}

treadle_status *treadle_array_of(int32_t dtype, int32_t rank, const int64_t *dims, void *data,
                                 void (*release)(void *context), void *context,
                                 treadle_array **array) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"array", array}}));
    DType type = TREADLE_TRY(dtypeOf(dtype));
    if (!isPlain(type))
      return Unexpected(
          invalidArgument("strings can't be passed as raw bytes; make an array of strings"));
    Dims sizes = TREADLE_TRY(dimsOf(rank, dims));
    std::optional<int64_t> count = countElements(sizes);
    int64_t bytes;
    if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(dtypeSize(type)), &bytes))
      return Unexpected(invalidArgument("invalid array shape ", dimsText(sizes)));
    if (*count)
      TREADLE_TRY(requireAll({{"data", data}}));
    size_t alignment = isComplex(type) ? dtypeSize(type) / 2 : dtypeSize(type);
    if (reinterpret_cast<uintptr_t>(data) % alignment)
      return Unexpected(
          invalidArgument("data isn't aligned to ", alignment, " bytes, the size of a number"));
    std::function<void()> end = [] {};
    if (release)
      end = [release, context] { release(context); };
    *array = new treadle_array{Tensor::external(type, sizes, data, std::move(end))};
    return {};
  });
}

treadle_array *treadle_array_share(const treadle_array *array) {
  return array ? new (std::nothrow) treadle_array{array->tensor} : nullptr;
}
void treadle_array_free(treadle_array *array) { delete array; }

int32_t treadle_array_dtype(const treadle_array *array) {
  return array ? static_cast<int32_t>(array->tensor.dtype()) : 0;
}
int32_t treadle_array_rank(const treadle_array *array) { return array ? array->tensor.rank() : 0; }
const int64_t *treadle_array_dims(const treadle_array *array) {
  return array ? array->tensor.dims().data() : nullptr;
}
int64_t treadle_array_count(const treadle_array *array) {
  return array ? array->tensor.count() : 0;
}
const void *treadle_array_data(const treadle_array *array) {
  return array && isPlain(array->tensor.dtype()) ? array->tensor.raw() : nullptr;
}
void *treadle_array_mutable_data(treadle_array *array) {
  bool isOwn = array && isPlain(array->tensor.dtype()) && array->tensor.isUnique();
  return isOwn ? array->tensor.raw() : nullptr;
}
size_t treadle_array_bytes(const treadle_array *array) {
  return array && isPlain(array->tensor.dtype()) ? array->tensor.bytes() : 0;
}

const char *treadle_array_string(const treadle_array *array, int64_t index, size_t *size) {
  const std::string *element = stringAt(array, index);
  if (element && size)
    *size = element->size();
  return element ? element->c_str() : nullptr;
}

treadle_status *treadle_array_set_string(treadle_array *array, int64_t index, const char *bytes,
                                         size_t size) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"array", array}, {"bytes", bytes}}));
    std::string *element = stringAt(array, index);
    if (!element)
      return Unexpected(invalidArgument("the array has no string ", index));
    if (!array->tensor.isUnique())
      return Unexpected(failedPrecondition("the array's elements are shared"));
    element->assign(bytes, size);
    return {};
  });
}
