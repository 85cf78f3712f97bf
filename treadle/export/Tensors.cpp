// Converts dense attributes to TensorProto.
#include "treadle/export/Attributes.h"

#include <bit>
#include <cstring>

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

template <typename T> T load(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

struct Layout {
  int dtype;
  unsigned size; // bytes of an element
  void (*add)(pb::TensorProto &, const char *);
};

constexpr Layout layouts[] = {
    {pb::DT_FLOAT, 4, [](pb::TensorProto &t, const char *at) { t.add_float_val(load<float>(at)); }},
    {pb::DT_DOUBLE, 8,
     [](pb::TensorProto &t, const char *at) { t.add_double_val(load<double>(at)); }},
    {pb::DT_INT32, 4, [](pb::TensorProto &t, const char *at) { t.add_int_val(load<int32_t>(at)); }},
    {pb::DT_UINT8, 1, [](pb::TensorProto &t, const char *at) { t.add_int_val(load<uint8_t>(at)); }},
    {pb::DT_INT16, 2, [](pb::TensorProto &t, const char *at) { t.add_int_val(load<int16_t>(at)); }},
    {pb::DT_INT8, 1, [](pb::TensorProto &t, const char *at) { t.add_int_val(load<int8_t>(at)); }},
    {pb::DT_INT4, 1, [](pb::TensorProto &t, const char *at) { t.add_int_val(load<int8_t>(at)); }},
    {pb::DT_INT2, 1, [](pb::TensorProto &t, const char *at) { t.add_int_val(load<int8_t>(at)); }},
    {pb::DT_UINT4, 1, [](pb::TensorProto &t, const char *at) { t.add_int_val(load<uint8_t>(at)); }},
    {pb::DT_UINT2, 1, [](pb::TensorProto &t, const char *at) { t.add_int_val(load<uint8_t>(at)); }},
    {pb::DT_UINT16, 2,
     [](pb::TensorProto &t, const char *at) { t.add_int_val(load<uint16_t>(at)); }},
    {pb::DT_INT64, 8,
     [](pb::TensorProto &t, const char *at) { t.add_int64_val(load<int64_t>(at)); }},
    {pb::DT_UINT32, 4,
     [](pb::TensorProto &t, const char *at) { t.add_uint32_val(load<uint32_t>(at)); }},
    {pb::DT_UINT64, 8,
     [](pb::TensorProto &t, const char *at) { t.add_uint64_val(load<uint64_t>(at)); }},
    {pb::DT_HALF, 2,
     [](pb::TensorProto &t, const char *at) { t.add_half_val(load<uint16_t>(at)); }},
    {pb::DT_BFLOAT16, 2,
     [](pb::TensorProto &t, const char *at) { t.add_half_val(load<uint16_t>(at)); }},
    {pb::DT_COMPLEX64, 8,
     [](pb::TensorProto &t, const char *at) {
       t.add_scomplex_val(load<float>(at));
       t.add_scomplex_val(load<float>(at + 4));
     }},
    {pb::DT_COMPLEX128, 16,
     [](pb::TensorProto &t, const char *at) {
       t.add_dcomplex_val(load<double>(at));
       t.add_dcomplex_val(load<double>(at + 8));
     }},
    {pb::DT_FLOAT8_E5M2, 1,
     [](pb::TensorProto &t, const char *at) { t.mutable_float8_val()->push_back(*at); }},
    {pb::DT_FLOAT8_E4M3FN, 1,
     [](pb::TensorProto &t, const char *at) { t.mutable_float8_val()->push_back(*at); }},
    {pb::DT_FLOAT8_E4M3FNUZ, 1,
     [](pb::TensorProto &t, const char *at) { t.mutable_float8_val()->push_back(*at); }},
    {pb::DT_FLOAT8_E4M3B11FNUZ, 1,
     [](pb::TensorProto &t, const char *at) { t.mutable_float8_val()->push_back(*at); }},
    {pb::DT_FLOAT8_E5M2FNUZ, 1,
     [](pb::TensorProto &t, const char *at) { t.mutable_float8_val()->push_back(*at); }},
};

// MLIR packs bits, so bools are converted by value.
void exportBools(DenseElementsAttr tensor, pb::TensorProto &proto) {
  if (tensor.isSplat()) {
    proto.add_bool_val(tensor.getSplatValue<bool>());
    return;
  }
  for (bool value : tensor.getValues<bool>())
    proto.mutable_tensor_content()->push_back(value);
}

void exportStrings(DenseStringElementsAttr tensor, pb::TensorProto &proto) {
  for (StringRef value : tensor.getRawStringData())
    proto.add_string_val(value.str());
}

Expected<void> exportDense(DenseElementsAttr tensor, pb::TensorProto &proto) {
  if (tensor.getNumElements() == 0)
    return {};
  if (auto strings = dyn_cast<DenseStringElementsAttr>(tensor))
    return exportStrings(strings, proto), Expected<void>();
  if (proto.dtype() == pb::DT_BOOL)
    return exportBools(tensor, proto), Expected<void>();
  ArrayRef<char> bytes = tensor.getRawData();
  for (const Layout &layout : layouts) {
    if (layout.dtype != proto.dtype())
      continue;
    if (tensor.isSplat())
      layout.add(proto, bytes.data());
    else
      proto.set_tensor_content(bytes.data(), bytes.size());
    return {};
  }
  return Unexpected(unimplemented("a dense tensor of dtype ", int(proto.dtype()),
                                  " can't be encoded; write it as #tf_type<tensor_proto>"));
}

} // namespace

Expected<void> graphdef::exportTensor(Attribute tensor, pb::TensorProto &proto) {
  if (auto encoded = dyn_cast<tf_type::TensorProtoAttr>(tensor)) {
    if (!proto.ParsePartialFromArray(encoded.getValue().data(),
                                     static_cast<int>(encoded.getValue().size())))
      return Unexpected(
          invalidArgument("the bytes of a tensor_proto don't parse as a TensorProto"));
    return {};
  }
  auto dense = dyn_cast<DenseElementsAttr>(tensor);
  if (!dense)
    return Unexpected(unimplemented("a tensor of ", cast<ElementsAttr>(tensor).getNumElements(),
                                    " elements is not a dense constant, so it can't be exported"));
  pb::DataType dtype = TREADLE_TRY(exportType(dense.getElementType()));
  proto.set_dtype(dtype);
  for (int64_t dim : dense.getType().getShape())
    proto.mutable_tensor_shape()->add_dim()->set_size(dim);
  proto.mutable_tensor_shape();
  return exportDense(dense, proto);
}
