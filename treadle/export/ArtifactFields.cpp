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
enum class FieldDefault : uint8_t { Error, Nothing, Zero, MinusOne, Ones, Zeros, Default, NoType };

struct FieldRow {
  StringLiteral name;
  FieldKind kind;
  FieldDefault missing = FieldDefault::Error;
  uint64_t enumeration = 0;
};

} // namespace

using enum FieldKind;

/// Fields of the same name have the same kind in all ops.
static constexpr FieldRow rows[] = {
    {"accumulation_type", Any, FieldDefault::NoType},
    {"all_gather_dim", Whole64},
    {"allow_imprecise_accumulation", Flag, FieldDefault::NoType},
    {"api_version", ApiVersion, FieldDefault::Default},
    {"backend_config", Any, FieldDefault::Default},
    {"base_dilations", Numbers, FieldDefault::Ones},
    {"batch_dims", Whole64},
    {"batch_group_count", Whole64},
    {"broadcast_dimensions", Numbers},
    {"broadcast_sizes", Numbers},
    {"called_computations", Any, FieldDefault::Nothing},
    {"channel_id", Whole64, FieldDefault::Zero},
    {"channel_type", Whole64, FieldDefault::Zero},
    {"collapsed_slice_dims", Numbers, FieldDefault::Nothing},
    {"compare_type", Word, FieldDefault::Default, 4},
    {"comparison_direction", Word, FieldDefault::Error, 3},
    {"composite_attributes", Any, FieldDefault::Default},
    {"concat_dimension", Whole64},
    {"dim", Whole64},
    {"dimension", Whole64, FieldDefault::MinusOne},
    {"dimensions", Numbers},
    {"edge_padding_high", Numbers},
    {"edge_padding_low", Numbers},
    {"epsilon", Real32},
    {"exponent_bits", Whole32},
    {"feature_group_count", Whole64},
    {"feature_index", Whole64},
    {"fft_length", Numbers},
    {"fft_type", Word, FieldDefault::Error, 7},
    {"has_dynamic_root", Flag, FieldDefault::Zero},
    {"has_side_effect", Flag, FieldDefault::Zero},
    {"index", Whole32},
    {"index_vector_dim", Whole64, FieldDefault::Zero},
    {"indices_are_sorted", Flag, FieldDefault::Zero},
    {"infeed_config", Any, FieldDefault::Default},
    {"input_batch_dimension", Whole64},
    {"input_batching_dims", Numbers, FieldDefault::Nothing},
    {"input_feature_dimension", Whole64},
    {"input_spatial_dimensions", Numbers, FieldDefault::Nothing},
    {"inserted_window_dims", Numbers, FieldDefault::Nothing},
    {"interior_padding", Numbers},
    {"iota_dimension", Whole64},
    {"is_host_transfer", Flag, FieldDefault::Zero},
    {"is_stable", Flag, FieldDefault::Zero},
    {"kernel_input_feature_dimension", Whole64},
    {"kernel_output_feature_dimension", Whole64},
    {"kernel_spatial_dimensions", Numbers, FieldDefault::Nothing},
    {"known_expanding_dimensions", Numbers, FieldDefault::Nothing},
    {"known_nonexpanding_dimensions", Numbers, FieldDefault::Nothing},
    {"layout", Any, FieldDefault::Nothing},
    {"left_side", Flag},
    {"lhs_batching_dimensions", Numbers, FieldDefault::Nothing},
    {"lhs_component_count", Whole64, FieldDefault::NoType},
    {"lhs_contracting_dimensions", Numbers, FieldDefault::Nothing},
    {"lhs_dilation", Numbers, FieldDefault::Ones},
    {"lhs_precision_type", Any, FieldDefault::NoType},
    {"limit_indices", Numbers},
    {"lower", Flag, FieldDefault::Zero},
    {"mantissa_bits", Whole32},
    {"num_primitive_operations", Whole64, FieldDefault::NoType},
    {"offset_dims", Numbers, FieldDefault::Nothing},
    {"operand_batching_dims", Numbers, FieldDefault::Nothing},
    {"operand_layouts", Any, FieldDefault::Nothing},
    {"outfeed_config", Any, FieldDefault::Default},
    {"output_batch_dimension", Whole64},
    {"output_feature_dimension", Whole64},
    {"output_operand_aliases", Aliases, FieldDefault::Nothing},
    {"output_spatial_dimensions", Numbers, FieldDefault::Nothing},
    {"padding", Pairs, FieldDefault::Zeros},
    {"permutation", Numbers},
    {"precision_config", Words, FieldDefault::Default, 11},
    {"replica_groups", Pairs},
    {"result_accuracy", Accuracy, FieldDefault::Default},
    {"result_layouts", Any, FieldDefault::Nothing},
    {"result_tilings", Any, FieldDefault::Nothing},
    {"rhs_batching_dimensions", Numbers, FieldDefault::Nothing},
    {"rhs_component_count", Whole64, FieldDefault::NoType},
    {"rhs_contracting_dimensions", Numbers, FieldDefault::Nothing},
    {"rhs_dilation", Numbers, FieldDefault::Ones},
    {"rhs_precision_type", Any, FieldDefault::NoType},
    {"rng_algorithm", Word, FieldDefault::Error, 12},
    {"rng_distribution", Word, FieldDefault::Error, 13},
    {"scatter_dimension", Whole64},
    {"scatter_dims_to_operand_dims", Numbers, FieldDefault::Nothing},
    {"scatter_indices_batching_dims", Numbers, FieldDefault::Nothing},
    {"slice_sizes", Numbers},
    {"source_target_pairs", Pairs, FieldDefault::Nothing},
    {"split_count", Whole64},
    {"split_dimension", Whole64},
    {"start_index_map", Numbers, FieldDefault::Nothing},
    {"start_indices", Numbers},
    {"start_indices_batching_dims", Numbers, FieldDefault::Nothing},
    {"strides", Numbers},
    {"transpose_a", Word, FieldDefault::Error, 16},
    {"unique_indices", Flag, FieldDefault::Zero},
    {"unit_diagonal", Flag},
    {"update_window_dims", Numbers, FieldDefault::Nothing},
    {"use_global_device_ids", Flag, FieldDefault::Zero},
    {"version", Any, FieldDefault::Zero},
    {"window_dilations", Numbers, FieldDefault::Ones},
    {"window_dimensions", Numbers, FieldDefault::Ones},
    {"window_reversal", Flags, FieldDefault::Zeros},
    {"window_strides", Numbers, FieldDefault::Ones},
};

// --- values in the forms of text ----------------------------------------------------------------

bool artifact::maybeNumbers(Attribute value) {
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

NamedAttrList artifact::splitGroups(Operation *op) {
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
  case FieldDefault::Error:
  case FieldDefault::NoType:
    return {};
  case FieldDefault::Nothing:
    return builder.getArrayAttr({});
  case FieldDefault::Zero:
    return row.kind == Flag ? Attribute(builder.getBoolAttr(false))
                            : Attribute(builder.getI64IntegerAttr(0));
  case FieldDefault::MinusOne:
    return op->getName().stripDialect() == "sort" ? builder.getI64IntegerAttr(-1) : Attribute();
  case FieldDefault::Ones:
    return builder.getDenseI64ArrayAttr(SmallVector<int64_t>(dims, 1));
  case FieldDefault::Zeros:
    return builder.getDenseI64ArrayAttr(SmallVector<int64_t>(row.kind == Pairs ? 2 * dims : dims));
  case FieldDefault::Default:
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
  if (!value && row && row->missing == FieldDefault::NoType)
    return Field{NoType, {}, 0};
  if (!value && row)
    value = missingValue(*row, op, splitGroups(op));
  return value ? std::optional(fieldOf(name, value)) : std::nullopt;
}
