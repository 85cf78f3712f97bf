#include "treadle/graph/CompositeTensors.h"

namespace treadle {
namespace {

using Spec = pb::TypeSpecProto;
using Value = Graph::Value;

std::string kindOf(const Spec &spec) {
  switch (spec.type_spec_class()) {
  case Spec::RAGGED_TENSOR_SPEC:
    return "ragged";
  case Spec::SPARSE_TENSOR_SPEC:
    return "sparse";
  case Spec::INDEXED_SLICES_SPEC:
    return "indexed slices";
  default:
    return spec.type_spec_class_name().empty() ? "composite" : spec.type_spec_class_name();
  }
}

/// The name of component `i` of `count`.
std::string componentName(const Spec &spec, size_t i, size_t count) {
  constexpr const char *sparse[] = {"indices", "values", "dense_shape"};
  constexpr const char *slices[] = {"values", "indices", "dense_shape"};
  switch (spec.type_spec_class()) {
  case Spec::RAGGED_TENSOR_SPEC:
    if (i == 0)
      return "values";
    return count == 2 ? "row_splits" : str("row_splits_", i - 1); // outermost first
  case Spec::SPARSE_TENSOR_SPEC:
    return i < 3 ? sparse[i] : std::to_string(i);
  case Spec::INDEXED_SLICES_SPEC:
    return i < 3 ? slices[i] : std::to_string(i);
  default:
    return std::to_string(i);
  }
}

/// Names the components. A ragged tensor without ragged dimensions is a plain tensor.
NamedValues nameComponents(const std::string &key, const Spec &spec,
                           std::vector<Value> components) {
  NamedValues values;
  bool isPlain = components.size() == 1 && spec.type_spec_class() == Spec::RAGGED_TENSOR_SPEC;
  for (size_t i = 0; i < components.size(); ++i) {
    Value &value = components[i];
    if (!isPlain) {
      value.composite = key;
      value.compositeKind = kindOf(spec);
    }
    values.emplace_back(isPlain ? key : str(key, ".", componentName(spec, i, components.size())),
                        std::move(value));
  }
  return values;
}

Value vectorOf(DType dtype, int64_t size) { return {{}, dtype, true, {size}, {}, {}}; }

Value matrixOf(DType dtype, int64_t rows, int64_t columns) {
  return {{}, dtype, true, {rows, columns}, {}, {}};
}

Value describe(const pb::TensorInfo &info) {
  Value value = typedValue(info, info.tensor_shape(), info.has_tensor_shape());
  value.name = info.name();
  return value;
}

std::vector<Value> componentsOfSparse(DType dtype, bool hasRank, int64_t rank) {
  int64_t columns = hasRank ? rank : -1;
  return {matrixOf(DType::Int64, -1, columns), vectorOf(dtype, -1),
          vectorOf(DType::Int64, columns)};
}

/// The serialized fields of a TypeSpec: its shape, dtype and so on.
class SpecFields {
public:
  explicit SpecFields(const Spec &spec) : values(spec.type_state().tuple_value().values()) {}

  const pb::TensorShapeProto &shape() const { return at(0).tensor_shape_value(); }
  bool hasRank() const { return at(0).has_tensor_shape_value() && !shape().unknown_rank(); }
  DType dtype(int i) const { return static_cast<DType>(at(i).tensor_dtype_value()); }
  int64_t number(int i) const { return at(i).int64_value(); }

private:
  const pb::StructuredValue &at(int i) const {
    return i < values.size() ? values[i] : pb::StructuredValue::default_instance();
  }
  const google::protobuf::RepeatedPtrField<pb::StructuredValue> &values;
};

/// `shape` with its first `count` dimensions replaced by one unknown dimension.
Value withUnknownRows(const SpecFields &state, int count) {
  Value value{{}, state.dtype(1), state.hasRank(), {}, {}, {}};
  if (value.hasRank)
    value.dims.push_back(-1);
  for (int i = count; i < state.shape().dim_size(); ++i)
    value.dims.push_back(state.shape().dim(i).size());
  return value;
}

std::optional<std::vector<Value>> componentsOfRagged(const SpecFields &state) {
  constexpr int64_t maxDimensions = 255;
  int64_t raggedRank = state.number(2);
  if (raggedRank < 0 || raggedRank > maxDimensions)
    return std::nullopt;
  std::vector<Value> components = {withUnknownRows(state, static_cast<int>(raggedRank) + 1)};
  if (raggedRank == 0 && state.hasRank() && state.shape().dim_size() == 0)
    components[0].dims.clear();
  int64_t rows = state.hasRank() && state.shape().dim_size() ? state.shape().dim(0).size() : -1;
  for (int64_t i = 0; i < raggedRank; ++i)
    components.push_back(vectorOf(state.dtype(3), i == 0 && rows >= 0 ? rows + 1 : -1));
  return components;
}

std::vector<Value> componentsOfSlices(const SpecFields &state) {
  std::vector<Value> components = {withUnknownRows(state, 1), vectorOf(state.dtype(2), -1)};
  if (state.dtype(3) != DType::Invalid)
    components.push_back(vectorOf(state.dtype(3), -1));
  return components;
}

std::optional<std::vector<Value>> componentsOf(const Spec &spec) {
  SpecFields state(spec);
  switch (spec.type_spec_class()) {
  case Spec::RAGGED_TENSOR_SPEC:
    return componentsOfRagged(state);
  case Spec::SPARSE_TENSOR_SPEC:
    return componentsOfSparse(state.dtype(1), state.hasRank(), state.shape().dim_size());
  case Spec::INDEXED_SLICES_SPEC:
    return componentsOfSlices(state);
  default:
    return std::nullopt;
  }
}

} // namespace

NamedValues componentsOf(const std::string &key, const pb::TensorInfo &info) {
  if (info.has_coo_sparse()) {
    Value dense = describe(info);
    auto components = componentsOfSparse(dense.dtype, dense.hasRank, std::ssize(dense.dims));
    const pb::TensorInfo::CooSparse &coo = info.coo_sparse();
    components[0].name = coo.indices_tensor_name();
    components[1].name = coo.values_tensor_name();
    components[2].name = coo.dense_shape_tensor_name();
    Spec spec;
    spec.set_type_spec_class(Spec::SPARSE_TENSOR_SPEC);
    return nameComponents(key, spec, std::move(components));
  }
  if (!info.has_composite_tensor())
    return {{key, describe(info)}};
  std::vector<Value> components;
  for (const pb::TensorInfo &component : info.composite_tensor().components())
    components.push_back(describe(component));
  return nameComponents(key, info.composite_tensor().type_spec(), std::move(components));
}

std::optional<NamedValues> componentsOf(const std::string &name, const Spec &spec) {
  std::optional<std::vector<Value>> components = componentsOf(spec);
  return components ? std::optional(nameComponents(name, spec, std::move(*components)))
                    : std::nullopt;
}

} // namespace treadle
