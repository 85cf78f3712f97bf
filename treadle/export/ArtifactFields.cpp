#include "treadle/export/ArtifactFields.h"

#include "treadle/dialect/stablehlo/Attributes.h"
#include "treadle/dialect/stablehlo/Convolution.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::artifact;

namespace {

/// The value of a field whose attribute is missing.
enum class Missing : uint8_t { Error, Nothing, Zero, MinusOne, Ones, Zeros, Default, NoType };

struct FieldRow {
  StringLiteral name;
  FieldKind kind;
  Missing missing = Missing::Error;
  uint64_t enumeration = 0;
};

} // namespace

using enum FieldKind;

/// Fields of the same name have the same kind in all ops.
static constexpr FieldRow rows[] = {
    {"accumulation_type", Any, Missing::NoType},
    {"all_gather_dim", Whole64},
    {"allow_imprecise_accumulation", Flag, Missing::NoType},
    {"api_version", ApiVersion, Missing::Default},
    {"backend_config", Any, Missing::Default},
    {"base_dilations", Numbers, Missing::Ones},
    {"batch_dims", Whole64},
    {"batch_group_count", Whole64},
    {"broadcast_dimensions", Numbers},
    {"broadcast_sizes", Numbers},
    {"called_computations", Any, Missing::Nothing},
    {"channel_id", Whole64, Missing::Zero},
    {"channel_type", Whole64, Missing::Zero},
    {"collapsed_slice_dims", Numbers, Missing::Nothing},
    {"compare_type", Word, Missing::Default, 4},
    {"comparison_direction", Word, Missing::Error, 3},
    {"composite_attributes", Any, Missing::Default},
    {"concat_dimension", Whole64},
    {"dim", Whole64},
    {"dimension", Whole64, Missing::MinusOne},
    {"dimensions", Numbers},
    {"edge_padding_high", Numbers},
    {"edge_padding_low", Numbers},
    {"epsilon", Real32},
    {"exponent_bits", Whole32},
    {"feature_group_count", Whole64},
    {"feature_index", Whole64},
    {"fft_length", Numbers},
    {"fft_type", Word, Missing::Error, 7},
    {"has_dynamic_root", Flag, Missing::Zero},
    {"has_side_effect", Flag, Missing::Zero},
    {"index", Whole32},
    {"index_vector_dim", Whole64, Missing::Zero},
    {"indices_are_sorted", Flag, Missing::Zero},
    {"infeed_config", Any, Missing::Default},
    {"input_batch_dimension", Whole64},
    {"input_batching_dims", Numbers, Missing::Nothing},
    {"input_feature_dimension", Whole64},
    {"input_spatial_dimensions", Numbers, Missing::Nothing},
    {"inserted_window_dims", Numbers, Missing::Nothing},
    {"interior_padding", Numbers},
    {"iota_dimension", Whole64},
    {"is_host_transfer", Flag, Missing::Zero},
    {"is_stable", Flag, Missing::Zero},
    {"kernel_input_feature_dimension", Whole64},
    {"kernel_output_feature_dimension", Whole64},
    {"kernel_spatial_dimensions", Numbers, Missing::Nothing},
    {"known_expanding_dimensions", Numbers, Missing::Nothing},
    {"known_nonexpanding_dimensions", Numbers, Missing::Nothing},
    {"layout", Any, Missing::Nothing},
    {"left_side", Flag},
    {"lhs_batching_dimensions", Numbers, Missing::Nothing},
    {"lhs_component_count", Whole64, Missing::NoType},
    {"lhs_contracting_dimensions", Numbers, Missing::Nothing},
    {"lhs_dilation", Numbers, Missing::Ones},
    {"lhs_precision_type", Any, Missing::NoType},
    {"limit_indices", Numbers},
    {"lower", Flag, Missing::Zero},
    {"mantissa_bits", Whole32},
    {"num_primitive_operations", Whole64, Missing::NoType},
    {"offset_dims", Numbers, Missing::Nothing},
    {"operand_batching_dims", Numbers, Missing::Nothing},
    {"operand_layouts", Any, Missing::Nothing},
    {"outfeed_config", Any, Missing::Default},
    {"output_batch_dimension", Whole64},
    {"output_feature_dimension", Whole64},
    {"output_operand_aliases", Aliases, Missing::Nothing},
    {"output_spatial_dimensions", Numbers, Missing::Nothing},
    {"padding", Pairs, Missing::Zeros},
    {"permutation", Numbers},
    {"precision_config", Words, Missing::Default, 11},
    {"replica_groups", Pairs},
    {"result_accuracy", Accuracy, Missing::Default},
    {"result_layouts", Any, Missing::Nothing},
    {"result_tilings", Any, Missing::Nothing},
    {"rhs_batching_dimensions", Numbers, Missing::Nothing},
    {"rhs_component_count", Whole64, Missing::NoType},
    {"rhs_contracting_dimensions", Numbers, Missing::Nothing},
    {"rhs_dilation", Numbers, Missing::Ones},
    {"rhs_precision_type", Any, Missing::NoType},
    {"rng_algorithm", Word, Missing::Error, 12},
    {"rng_distribution", Word, Missing::Error, 13},
    {"scatter_dimension", Whole64},
    {"scatter_dims_to_operand_dims", Numbers, Missing::Nothing},
    {"scatter_indices_batching_dims", Numbers, Missing::Nothing},
    {"slice_sizes", Numbers},
    {"source_target_pairs", Pairs, Missing::Nothing},
    {"split_count", Whole64},
    {"split_dimension", Whole64},
    {"start_index_map", Numbers, Missing::Nothing},
    {"start_indices", Numbers},
    {"start_indices_batching_dims", Numbers, Missing::Nothing},
    {"strides", Numbers},
    {"transpose_a", Word, Missing::Error, 16},
    {"unique_indices", Flag, Missing::Zero},
    {"unit_diagonal", Flag},
    {"update_window_dims", Numbers, Missing::Nothing},
    {"use_global_device_ids", Flag, Missing::Zero},
    {"version", Any, Missing::Zero},
    {"window_dilations", Numbers, Missing::Ones},
    {"window_dimensions", Numbers, Missing::Ones},
    {"window_reversal", Flags, Missing::Zeros},
    {"window_strides", Numbers, Missing::Ones},
};

// --- values in the forms of text ----------------------------------------------------------------

bool artifact::holdsNumbers(Attribute value) {
  return isa_and_nonnull<DenseI64ArrayAttr, DenseBoolArrayAttr, DenseIntElementsAttr, ArrayAttr>(
      value);
}

/// `[b, f]x[i, o]->[b, f]`: three lists of letters and numbers.
static void addConvolution(ArrayAttr lists, NamedAttrList &attrs) {
  FailureOr<stablehlo::ConvDimensions> dims = stablehlo::convDimensionsOf(lists);
  if (failed(dims))
    return;
  Builder builder(lists.getContext());
  auto add = [&](const stablehlo::ConvLayout &layout, StringRef first, StringRef last,
                 StringRef spatial) {
    attrs.set(first, builder.getI64IntegerAttr(layout.first));
    attrs.set(last, builder.getI64IntegerAttr(layout.last));
    attrs.set(spatial, builder.getDenseI64ArrayAttr(layout.spatial));
  };
  add(dims->input, "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions");
  add(dims->filter, "kernel_input_feature_dimension", "kernel_output_feature_dimension",
      "kernel_spatial_dimensions");
  add(dims->output, "output_batch_dimension", "output_feature_dimension",
      "output_spatial_dimensions");
}

NamedAttrList artifact::ungrouped(Operation *op) {
  NamedAttrList attrs(op->getAttrDictionary());
  for (StringRef name : {"dot_dimension_numbers", "algorithm", "dimension_numbers",
                         "scatter_dimension_numbers", "channel_handle"}) {
    Attribute group = attrs.erase(name);
    if (auto fields = dyn_cast_or_null<DictionaryAttr>(group))
      for (NamedAttribute field : fields) {
        StringRef key = field.getName();
        attrs.set(key == "handle" ? "channel_id"
                  : key == "type" ? "channel_type"
                                  : key,
                  field.getValue());
      }
    if (auto lists = dyn_cast_or_null<ArrayAttr>(group))
      addConvolution(lists, attrs);
  }
  return attrs;
}

bool artifact::isDefault(Attribute value) {
  if (auto fields = dyn_cast<DictionaryAttr>(value)) {
    auto mode = fields.getAs<StringAttr>("mode");
    return fields.empty() || (mode && mode.getValue() == "DEFAULT");
  }
  if (auto text = dyn_cast<StringAttr>(value))
    return text.empty();
  if (isa<IntegerAttr>(value))
    return stablehlo::numbers(value)[0] == 0;
  if (isa<DenseI64ArrayAttr, DenseElementsAttr, ArrayAttr>(value))
    return stablehlo::numbers(value).empty() &&
           !(isa<ArrayAttr>(value) && !cast<ArrayAttr>(value).empty());
  return false;
}

// --- fields -------------------------------------------------------------------------------------

/// Returns the number of dimensions of the op's windows.
static size_t numWindowDims(Operation *op, const NamedAttrList &all) {
  if (Attribute spatial = all.get("input_spatial_dimensions"))
    return stablehlo::numbers(spatial).size();
  if (Attribute window = all.get("window_dimensions"))
    return stablehlo::numbers(window).size();
  auto type = op->getNumOperands() ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                                   : RankedTensorType();
  return type ? static_cast<size_t>(type.getRank()) : 0;
}

static Attribute defaultOf(const FieldRow &row, Operation *op, const NamedAttrList &all) {
  Builder builder(op->getContext());
  if (row.name == "api_version")
    return builder.getI32IntegerAttr(1);
  if (row.name == "backend_config") {
    SmallVector<int64_t> version = stablehlo::numbers(all.get("api_version"));
    constexpr int64_t typed = 4;
    return version.size() == 1 && version[0] == typed ? Attribute(builder.getDictionaryAttr({}))
                                                      : Attribute(builder.getStringAttr(""));
  }
  if (row.name == "compare_type")
    return builder.getStringAttr("NOTYPE");
  if (row.name == "precision_config")
    return builder.getStrArrayAttr({"DEFAULT", "DEFAULT"});
  if (row.name == "infeed_config" || row.name == "outfeed_config")
    return builder.getStringAttr("");
  return builder.getDictionaryAttr({});
}

static Attribute missingValue(const FieldRow &row, Operation *op, const NamedAttrList &all) {
  Builder builder(op->getContext());
  size_t dims = numWindowDims(op, all);
  switch (row.missing) {
  case Missing::Error:
  case Missing::NoType:
    return {};
  case Missing::Nothing:
    return builder.getArrayAttr({});
  case Missing::Zero:
    return row.kind == Flag ? Attribute(builder.getBoolAttr(false))
                            : Attribute(builder.getI64IntegerAttr(0));
  case Missing::MinusOne:
    return op->getName().stripDialect() == "sort" ? builder.getI64IntegerAttr(-1) : Attribute();
  case Missing::Ones:
    return builder.getDenseI64ArrayAttr(SmallVector<int64_t>(dims, 1));
  case Missing::Zeros:
    return builder.getDenseI64ArrayAttr(SmallVector<int64_t>(row.kind == Pairs ? 2 * dims : dims));
  case Missing::Default:
    return defaultOf(row, op, all);
  }
  return {};
}

static const FieldRow *findRow(StringRef name) {
  const FieldRow *row = llvm::find_if(rows, [&](const FieldRow &row) { return row.name == name; });
  return row == std::end(rows) ? nullptr : row;
}

Field artifact::fieldOf(StringRef name, Attribute value) {
  const FieldRow *row = findRow(name);
  return row ? Field{row->kind, value, row->enumeration} : Field{Any, value, 0};
}

std::optional<Field> artifact::takeField(Operation *op, StringRef name, NamedAttrList &attrs) {
  const FieldRow *row = findRow(name);
  Attribute value = attrs.erase(name);
  if (!value && row && row->missing == Missing::NoType)
    return Field{NoType, {}, 0};
  if (!value && row)
    value = missingValue(*row, op, ungrouped(op));
  return value ? std::optional(fieldOf(name, value)) : std::nullopt;
}
