// Converts TensorProto to dense attributes if the conversion is reversible.
#include "treadle/import/Attributes.h"
#include "treadle/import/UnknownFields.h"

#include <cstring>

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

/// Counts the values of all kinds, to detect a tensor with values of a second kind.
int64_t countValues(const pb::TensorProto &t) {
  return int64_t(t.half_val_size()) + t.float_val_size() + t.double_val_size() + t.int_val_size() +
         t.string_val_size() + t.scomplex_val_size() + t.int64_val_size() + t.bool_val_size() +
         t.dcomplex_val_size() + t.resource_handle_val_size() + t.variant_val_size() +
         t.uint32_val_size() + t.uint64_val_size() + static_cast<int64_t>(t.float8_val().size());
}

bool hasPlainHeader(const pb::TensorProto &t) {
  auto isPlain = [](const pb::TensorShapeProto::Dim &dim) {
    return dim.name().empty() && !hasUnknownFields(dim);
  };
  // A missing shape differs from a present one.
  return t.version_number() == 0 && !hasUnknownFields(t) && t.has_tensor_shape() &&
         !hasUnknownFields(t.tensor_shape()) && llvm::all_of(t.tensor_shape().dim(), isPlain);
}

/// Copies the value of a tensor that has exactly one; returns false if there are more or none.
template <typename T, typename Field> bool singleValue(const Field &field, char *out) {
  if (field.size() != 1)
    return false;
  auto value = static_cast<T>(field.Get(0));
  // Integers are stored in wider fields.
  if (std::is_integral_v<T> && static_cast<decltype(field.Get(0) + 0)>(value) != field.Get(0))
    return false;
  std::memcpy(out, &value, sizeof(T));
  return true;
}

template <typename T, typename Field> bool singleComplex(const Field &field, char *out) {
  if (field.size() != 2)
    return false;
  std::memcpy(out, field.data(), 2 * sizeof(T));
  return true;
}

struct Layout {
  int dtype;
  unsigned size;      // bytes of an element
  unsigned numValues; // values of an element in its field
  bool (*single)(const pb::TensorProto &, char *);
};

constexpr Layout layouts[] = {
    {pb::DT_FLOAT, 4, 1,
     [](const pb::TensorProto &t, char *out) { return singleValue<float>(t.float_val(), out); }},
    {pb::DT_DOUBLE, 8, 1,
     [](const pb::TensorProto &t, char *out) { return singleValue<double>(t.double_val(), out); }},
    {pb::DT_INT32, 4, 1,
     [](const pb::TensorProto &t, char *out) { return singleValue<int32_t>(t.int_val(), out); }},
    {pb::DT_UINT8, 1, 1,
     [](const pb::TensorProto &t, char *out) { return singleValue<uint8_t>(t.int_val(), out); }},
    {pb::DT_INT16, 2, 1,
     [](const pb::TensorProto &t, char *out) { return singleValue<int16_t>(t.int_val(), out); }},
    {pb::DT_INT8, 1, 1,
     [](const pb::TensorProto &t, char *out) { return singleValue<int8_t>(t.int_val(), out); }},
    {pb::DT_UINT16, 2, 1,
     [](const pb::TensorProto &t, char *out) { return singleValue<uint16_t>(t.int_val(), out); }},
    {pb::DT_INT64, 8, 1,
     [](const pb::TensorProto &t, char *out) { return singleValue<int64_t>(t.int64_val(), out); }},
    {pb::DT_UINT32, 4, 1,
     [](const pb::TensorProto &t, char *out) {
       return singleValue<uint32_t>(t.uint32_val(), out);
     }},
    {pb::DT_UINT64, 8, 1,
     [](const pb::TensorProto &t, char *out) {
       return singleValue<uint64_t>(t.uint64_val(), out);
     }},
    {pb::DT_HALF, 2, 1,
     [](const pb::TensorProto &t, char *out) { return singleValue<uint16_t>(t.half_val(), out); }},
    {pb::DT_BFLOAT16, 2, 1,
     [](const pb::TensorProto &t, char *out) { return singleValue<uint16_t>(t.half_val(), out); }},
    {pb::DT_COMPLEX64, 8, 2,
     [](const pb::TensorProto &t, char *out) {
       return singleComplex<float>(t.scomplex_val(), out);
     }},
    {pb::DT_COMPLEX128, 16, 2,
     [](const pb::TensorProto &t, char *out) {
       return singleComplex<double>(t.dcomplex_val(), out);
     }},
};

bool areAllEqual(StringRef bytes, size_t size) {
  return std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

ElementsAttr importNumbers(const pb::TensorProto &tensor, RankedTensorType type, int64_t count,
                           const Layout &layout) {
  const std::string &content = tensor.tensor_content();
  int64_t numValues = countValues(tensor);
  if (count == 0) {
    if (numValues != 0 || !content.empty())
      return {};
    return DenseElementsAttr::getFromRawBuffer(type, {});
  }
  if (content.empty()) {
    alignas(16) char single[16];
    if (numValues != layout.numValues || !layout.single(tensor, single))
      return {};
    return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(single, layout.size));
  }
  if (numValues != 0 || count == 1 || content.size() % layout.size != 0 ||
      static_cast<int64_t>(content.size() / layout.size) != count ||
      areAllEqual(content, layout.size))
    return {};
  return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(content.data(), content.size()));
}

// MLIR packs bits, so bools are converted by value.
ElementsAttr importBools(const pb::TensorProto &tensor, RankedTensorType type, int64_t count) {
  const std::string &content = tensor.tensor_content();
  int64_t numValues = countValues(tensor);
  if (count == 0)
    return {};
  if (content.empty()) {
    if (numValues != 1 || tensor.bool_val_size() != 1)
      return {};
    bool value = tensor.bool_val(0);
    return DenseElementsAttr::get(type, ArrayRef<bool>(value));
  }
  if (numValues != 0 || count == 1 || static_cast<int64_t>(content.size()) != count ||
      areAllEqual(content, 1) ||
      llvm::any_of(content, [](char c) { return static_cast<unsigned char>(c) > 1; }))
    return {};
  return DenseElementsAttr::get(
      type, ArrayRef<bool>(reinterpret_cast<const bool *>(content.data()), content.size()));
}

ElementsAttr importStrings(const pb::TensorProto &tensor, RankedTensorType type, int64_t count) {
  int64_t numValues = tensor.string_val_size();
  if (count == 0 || numValues == 0 || !tensor.tensor_content().empty() ||
      countValues(tensor) != numValues)
    return {};
  if (numValues != 1 && numValues != count)
    return {};
  SmallVector<StringRef> values;
  for (const std::string &value : tensor.string_val())
    values.push_back(value);
  if (numValues != 1 && llvm::all_equal(values))
    return {};
  // MLIR's bytecode ends a string at its first zero byte.
  if (llvm::any_of(values, [](StringRef value) { return value.contains('\0'); }))
    return {};
  return DenseElementsAttr::get(type, values);
}

} // namespace

ElementsAttr graphdef::importDense(const pb::TensorProto &tensor, RankedTensorType type,
                                   int64_t numElements) {
  if (!hasPlainHeader(tensor))
    return {};
  if (tensor.dtype() == pb::DT_BOOL)
    return importBools(tensor, type, numElements);
  if (tensor.dtype() == pb::DT_STRING)
    return importStrings(tensor, type, numElements);
  for (const Layout &layout : layouts)
    if (layout.dtype == tensor.dtype())
      return importNumbers(tensor, type, numElements, layout);
  return {};
}
