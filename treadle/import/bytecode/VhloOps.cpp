// A VHLO op has the name, operands, results and regions of its StableHLO op. Its attributes are the
// fields of StableHLO's attributes, all explicit, including defaults. Later versions of an op have
// more of them.
#include "treadle/import/bytecode/VhloOps.h"

#include "treadle/dialect/stablehlo/Ops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::bytecode;

using llvm::StringLiteral;

// --- attributes ---------------------------------------------------------------------------------

namespace {

/// VHLO fields that are one attribute in StableHLO.
struct Group {
  StringLiteral name;
  std::initializer_list<StringLiteral> fields;
};

/// A version of an op, and the VHLO version that introduced it.
struct OpVersion {
  constexpr OpVersion(unsigned number, StringLiteral since = oldestVhlo)
      : number(number), since(since) {}
  unsigned number;
  StringLiteral since;
};

/// One version of an op.
struct OpRow {
  StringLiteral name;
  OpVersion version;
  /// Names of its attributes, in file order.
  StringLiteral fields = "";
  Expected<void> (*rewrite)(NamedAttrList &attrs, MLIRContext *context) = nullptr;
  /// Creates an op that differs from the op of the same name.
  Expected<Operation *> (*create)(OpBuilder &builder, SourceOp &&source) = nullptr;
  /// Whether this version can express an op; null if it can express all.
  bool (*expresses)(Operation *op) = nullptr;
};

} // namespace

static void group(NamedAttrList &attrs, MLIRContext *context, const Group &group) {
  NamedAttrList fields;
  for (StringRef name : group.fields)
    if (Attribute value = attrs.erase(name))
      fields.append(name, value);
  attrs.set(group.name, fields.getDictionary(context));
}

static Error attributeFault(StringRef name, StringRef expected) {
  return invalidArgument("attribute '", name.str(), "' in the bytecode isn't a ", expected.str());
}

static bool isFalse(Attribute value) {
  auto flag = dyn_cast_or_null<BoolAttr>(value);
  return flag && !flag.getValue();
}

static bool isZero(Attribute value) {
  auto number = dyn_cast_or_null<IntegerAttr>(value);
  return number && number.getValue().isZero();
}

static bool isEmpty(Attribute value) {
  if (auto list = dyn_cast_or_null<ArrayAttr>(value))
    return list.empty();
  if (auto text = dyn_cast_or_null<StringAttr>(value))
    return text.empty();
  if (auto fields = dyn_cast_or_null<DictionaryAttr>(value))
    return fields.empty();
  auto elements = dyn_cast_or_null<DenseElementsAttr>(value);
  return elements && elements.empty();
}

static void eraseIf(NamedAttrList &attrs, StringRef name, bool (*isDefault)(Attribute)) {
  if (isDefault(attrs.get(name)))
    attrs.erase(name);
}

/// Converts a bool to a unit attribute or its absence.
static void makeUnit(NamedAttrList &attrs, MLIRContext *context, StringRef name) {
  eraseIf(attrs, name, isFalse);
  if (attrs.get(name))
    attrs.set(name, UnitAttr::get(context));
}

static Expected<void> makeSymbol(NamedAttrList &attrs, StringRef name) {
  auto text = dyn_cast_or_null<StringAttr>(attrs.get(name));
  if (!text)
    return Unexpected(attributeFault(name, "name of a function"));
  attrs.set(name, FlatSymbolRefAttr::get(text));
  return {};
}

// --- ops ----------------------------------------------------------------------------------------

static Expected<void> rewriteComparison(NamedAttrList &attrs, MLIRContext *) {
  eraseIf(attrs, "compare_type", [](Attribute value) {
    auto word = dyn_cast_or_null<StringAttr>(value);
    return word && word.getValue() == "NOTYPE";
  });
  return {};
}

static bool isDefaultAccuracy(Attribute value) {
  auto fields = dyn_cast_or_null<DictionaryAttr>(value);
  auto mode = fields ? fields.getAs<StringAttr>("mode") : StringAttr();
  return mode && mode.getValue() == "DEFAULT";
}

static Expected<void> rewriteAccuracy(NamedAttrList &attrs, MLIRContext *) {
  eraseIf(attrs, "result_accuracy", isDefaultAccuracy);
  return {};
}

static bool isNoType(Attribute value) {
  auto type = dyn_cast_or_null<TypeAttr>(value);
  return type && isa<NoneType>(type.getValue());
}

static Expected<void> rewriteDotGeneral(NamedAttrList &attrs, MLIRContext *context) {
  static const Group dimensions = {"dot_dimension_numbers",
                                   {"lhs_batching_dimensions", "rhs_batching_dimensions",
                                    "lhs_contracting_dimensions", "rhs_contracting_dimensions"}};
  static const Group algorithm = {"algorithm",
                                  {"lhs_precision_type", "rhs_precision_type", "accumulation_type",
                                   "lhs_component_count", "rhs_component_count",
                                   "num_primitive_operations", "allow_imprecise_accumulation"}};
  group(attrs, context, dimensions);
  // Fields of a missing algorithm aren't types.
  bool hasAlgorithm =
      attrs.get("lhs_component_count") && !isNoType(attrs.get("lhs_component_count"));
  group(attrs, context, algorithm);
  if (!hasAlgorithm)
    attrs.erase("algorithm");
  return {};
}

static Expected<void> rewriteConvolution(NamedAttrList &attrs, MLIRContext *context) {
  static const Group dimensions = {"dimension_numbers",
                                   {"input_batch_dimension", "input_feature_dimension",
                                    "input_spatial_dimensions", "kernel_input_feature_dimension",
                                    "kernel_output_feature_dimension", "kernel_spatial_dimensions",
                                    "output_batch_dimension", "output_feature_dimension",
                                    "output_spatial_dimensions"}};
  group(attrs, context, dimensions);
  return {};
}

/// Removes the padding attribute of the first version, which had no meaning.
static Expected<void> rewriteDynamicConvolution(NamedAttrList &attrs, MLIRContext *context) {
  attrs.erase("padding");
  return rewriteConvolution(attrs, context);
}

static Expected<void> rewriteGather(NamedAttrList &attrs, MLIRContext *context) {
  static const Group dimensions = {"dimension_numbers",
                                   {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                                    "start_indices_batching_dims", "start_index_map",
                                    "index_vector_dim"}};
  group(attrs, context, dimensions);
  return {};
}

static Expected<void> rewriteScatter(NamedAttrList &attrs, MLIRContext *context) {
  static const Group dimensions = {"scatter_dimension_numbers",
                                   {"update_window_dims", "inserted_window_dims",
                                    "input_batching_dims", "scatter_indices_batching_dims",
                                    "scatter_dims_to_operand_dims", "index_vector_dim"}};
  group(attrs, context, dimensions);
  return {};
}

static void makeChannel(NamedAttrList &attrs, MLIRContext *context, Attribute handle,
                        Attribute type) {
  NamedAttrList fields;
  fields.append("handle", handle);
  fields.append("type", type);
  attrs.set("channel_handle", fields.getDictionary(context));
}

static Expected<void> rewriteTransfer(NamedAttrList &attrs, MLIRContext *context) {
  Attribute handle = attrs.erase("channel_id"), type = attrs.erase("channel_type");
  if (!handle || !type)
    return Unexpected(attributeFault("channel_id", "number of a channel"));
  makeChannel(attrs, context, handle, type);
  eraseIf(attrs, "source_target_pairs", isEmpty);
  return {};
}

/// Channel 0 means no channel.
static Expected<void> rewriteCollective(NamedAttrList &attrs, MLIRContext *context) {
  eraseIf(attrs, "channel_id", isZero);
  if (Attribute handle = attrs.erase("channel_id"))
    makeChannel(attrs, context, handle, Builder(context).getI64IntegerAttr(0));
  makeUnit(attrs, context, "use_global_device_ids");
  makeUnit(attrs, context, "has_dynamic_root");
  return {};
}

static Expected<void> rewriteComposite(NamedAttrList &attrs, MLIRContext *) {
  eraseIf(attrs, "version", isZero);
  eraseIf(attrs, "composite_attributes", isEmpty);
  return makeSymbol(attrs, "decomposition");
}

static Expected<void> rewriteCustomCall(NamedAttrList &attrs, MLIRContext *context) {
  for (StringRef name :
       {"backend_config", "called_computations", "output_operand_aliases", "result_tilings"})
    eraseIf(attrs, name, isEmpty);
  // Layouts are specified for both operands and results, or for neither.
  if (isEmpty(attrs.get("operand_layouts")) && isEmpty(attrs.get("result_layouts")))
    for (StringRef name : {"operand_layouts", "result_layouts"})
      attrs.erase(name);
  eraseIf(attrs, "has_side_effect", isFalse);
  Attribute functions = attrs.get("called_computations");
  if (!functions)
    return {};
  auto names = dyn_cast<ArrayAttr>(functions);
  SmallVector<Attribute> symbols;
  for (Attribute name : names ? names : ArrayAttr::get(context, {})) {
    if (!isa<StringAttr>(name))
      return Unexpected(attributeFault("called_computations", "list of functions"));
    symbols.push_back(FlatSymbolRefAttr::get(cast<StringAttr>(name)));
  }
  attrs.set("called_computations", ArrayAttr::get(context, symbols));
  return {};
}

static Expected<void> rewriteDynamicBroadcast(NamedAttrList &attrs, MLIRContext *) {
  eraseIf(attrs, "known_expanding_dimensions", isEmpty);
  eraseIf(attrs, "known_nonexpanding_dimensions", isEmpty);
  return {};
}

// --- functions ----------------------------------------------------------------------------------

static Expected<ArrayAttr> dictionaries(NamedAttrList &attrs, StringRef name, size_t size) {
  Attribute value = attrs.erase(name);
  if (!value || isEmpty(value))
    return ArrayAttr();
  auto list = dyn_cast<ArrayAttr>(value);
  if (!list || list.size() != size || !llvm::all_of(list, llvm::IsaPred<DictionaryAttr>))
    return Unexpected(attributeFault(name, "list of dictionaries, one for each value"));
  return list;
}

static Expected<Operation *> createFunction(OpBuilder &builder, SourceOp &&source) {
  if (source.state.regions.size() != 1)
    return Unexpected(invalidArgument("a function in the bytecode has ",
                                      source.state.regions.size(), " regions, expected 1"));
  NamedAttrList attrs = source.state.attributes;
  auto name = dyn_cast_or_null<StringAttr>(attrs.erase("sym_name"));
  auto typeAttr = dyn_cast_or_null<TypeAttr>(attrs.erase("function_type"));
  auto type = typeAttr ? dyn_cast<FunctionType>(typeAttr.getValue()) : FunctionType();
  auto visibility = dyn_cast_or_null<StringAttr>(attrs.erase("sym_visibility"));
  if (!name || name.empty() || !type)
    return Unexpected(
        attributeFault(name ? "function_type" : "sym_name", "name or type of a function"));
  ArrayAttr arguments = TREADLE_TRY(dictionaries(attrs, "arg_attrs", type.getNumInputs()));
  ArrayAttr results = TREADLE_TRY(dictionaries(attrs, "res_attrs", type.getNumResults()));
  auto function = func::FuncOp::create(builder, source.state.location, name.getValue(), type);
  function.getBody().takeBody(*source.state.regions.front());
  if (visibility && !visibility.empty())
    function.setSymVisibilityAttr(visibility);
  if (arguments)
    function.setArgAttrsAttr(arguments);
  if (results)
    function.setResAttrsAttr(results);
  for (NamedAttribute attr : attrs)
    if (attr.getName().strref().contains('.'))
      function->setDiscardableAttr(attr.getName(), attr.getValue());
  return function.getOperation();
}

static Expected<Operation *> createCall(OpBuilder &builder, SourceOp &&source) {
  auto callee = dyn_cast_or_null<StringAttr>(source.state.attributes.get("callee"));
  if (!callee)
    return Unexpected(attributeFault("callee", "name of a function"));
  return func::CallOp::create(builder, source.state.location, FlatSymbolRefAttr::get(callee),
                              source.state.types, source.state.operands)
      .getOperation();
}

static Expected<Operation *> createReturn(OpBuilder &builder, SourceOp &&source) {
  Location location = source.state.location;
  if (source.isInFunction)
    return func::ReturnOp::create(builder, location, source.state.operands).getOperation();
  return stablehlo::ReturnOp::create(builder, location, TypeRange(), source.state.operands)
      .getOperation();
}

// --- any op -------------------------------------------------------------------------------------

static bool hasOneOperand(Operation *op) { return op->getNumOperands() == 1; }
// Futures are tuples here.
static bool expressesNone(Operation *) { return false; }
static bool hasNoRegion(Operation *op) { return op->getNumRegions() == 0; }

static constexpr OpRow ops[] = {
    {"abs", 1},
    {"add", 1},
    {"after_all", 1},
    {"all_gather", 1, "all_gather_dim channel_id replica_groups use_global_device_ids",
     rewriteCollective, nullptr, hasOneOperand},
    {"all_gather",
     {2, "1.5.0"},
     "all_gather_dim channel_id replica_groups use_global_device_ids",
     rewriteCollective},
    {"all_reduce", 1, "channel_id replica_groups use_global_device_ids", rewriteCollective, nullptr,
     hasOneOperand},
    {"all_reduce",
     {2, "1.5.0"},
     "channel_id replica_groups use_global_device_ids",
     rewriteCollective},
    {"all_to_all", 1, "channel_id concat_dimension replica_groups split_count split_dimension",
     rewriteCollective, nullptr, hasOneOperand},
    {"all_to_all",
     {2, "1.5.0"},
     "channel_id concat_dimension replica_groups split_count split_dimension",
     rewriteCollective},
    {"and", 1},
    {"async_done", {1, "1.15.0"}, "", nullptr, nullptr, expressesNone},
    {"async_start", {1, "1.15.0"}, "", nullptr, nullptr, expressesNone},
    {"atan2", 1},
    {"batch_norm_grad", 1, "epsilon feature_index"},
    {"batch_norm_inference", 1, "epsilon feature_index"},
    {"batch_norm_training", 1, "epsilon feature_index"},
    {"bitcast_convert", 1},
    {"broadcast", 1, "broadcast_sizes"},
    {"broadcast_in_dim", 1, "broadcast_dimensions"},
    {"call", 1, "callee", nullptr, createCall},
    {"case", 1, "", nullptr, nullptr, hasOneOperand},
    {"cbrt", 1},
    {"cbrt", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"ceil", 1},
    {"cholesky", 1, "lower"},
    {"clamp", 1},
    {"collective_broadcast",
     {1, "0.16.0"},
     "channel_id replica_groups",
     rewriteCollective,
     nullptr,
     hasOneOperand},
    {"collective_broadcast",
     {2, "1.20.0"},
     "channel_id has_dynamic_root replica_groups",
     rewriteCollective},
    {"collective_permute", 1, "channel_id source_target_pairs", rewriteCollective},
    {"collective_reduce",
     {1, "1.19.0"},
     "channel_id has_dynamic_root replica_groups use_global_device_ids",
     rewriteCollective},
    {"compare", 1, "compare_type comparison_direction", rewriteComparison},
    {"complex", 1},
    {"composite",
     {1, "0.19.0"},
     "composite_attributes decomposition name version",
     rewriteComposite,
     nullptr,
     hasNoRegion},
    {"composite",
     {2, "1.14.0"},
     "composite_attributes decomposition name version",
     rewriteComposite},
    {"concatenate", 1, "dimension"},
    {"constant", 1, "value"},
    {"convert", 1},
    {"convolution", 1,
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
     "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions padding precision_config rhs_dilation window_reversal "
     "window_strides",
     rewriteConvolution},
    {"cosine", 1},
    {"cosine", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"count_leading_zeros", 1},
    {"create_token", 1},
    {"cross-replica-sum", 1, "replica_groups"},
    {"custom_call", 1,
     "api_version backend_config call_target_name called_computations has_side_effect "
     "operand_layouts output_operand_aliases result_layouts",
     rewriteCustomCall},
    {"custom_call",
     {2, "1.18.0"},
     "api_version backend_config call_target_name called_computations has_side_effect "
     "operand_layouts output_operand_aliases result_layouts result_tilings",
     rewriteCustomCall},
    {"divide", 1},
    {"dot", 1, "precision_config"},
    {"dot_general", 1,
     "lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions "
     "rhs_contracting_dimensions",
     rewriteDotGeneral},
    {"dot_general",
     {2, "1.6.0"},
     "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
     "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config "
     "rhs_batching_dimensions rhs_component_count rhs_contracting_dimensions rhs_precision_type",
     rewriteDotGeneral},
    {"dynamic_broadcast_in_dim", 1,
     "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions",
     rewriteDynamicBroadcast},
    {"dynamic_conv", 1,
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
     "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions padding precision_config rhs_dilation window_reversal "
     "window_strides",
     rewriteDynamicConvolution},
    {"dynamic_conv",
     {2, "0.20.0"},
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
     "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions precision_config rhs_dilation window_reversal window_strides",
     rewriteDynamicConvolution},
    {"dynamic_gather", 1,
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map",
     rewriteGather},
    {"dynamic_gather",
     {2, "1.1.0"},
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims "
     "start_index_map start_indices_batching_dims",
     rewriteGather},
    {"dynamic_iota", 1, "iota_dimension"},
    {"dynamic_pad", 1},
    {"dynamic_reshape", 1},
    {"dynamic_slice", 1, "slice_sizes"},
    {"dynamic_update_slice", 1},
    {"einsum", 1, "einsum_config"},
    {"exponential", 1},
    {"exponential", {2, "1.9.0"}, "result_accuracy", rewriteAccuracy},
    {"exponential_minus_one", 1},
    {"exponential_minus_one", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"fft", 1, "fft_length fft_type"},
    {"floor", 1},
    {"func", 1, "arg_attrs function_type res_attrs sym_name sym_visibility", nullptr,
     createFunction},
    {"gather", 1,
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes "
     "start_index_map",
     rewriteGather},
    {"gather",
     {2, "1.1.0"},
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims "
     "slice_sizes start_index_map start_indices_batching_dims",
     rewriteGather},
    {"get_dimension_size", 1, "dimension"},
    {"get_tuple_element", 1, "index"},
    {"if", 1, "", nullptr, nullptr, hasOneOperand},
    {"imag", 1},
    {"infeed", 1, "infeed_config layout"},
    {"iota", 1, "iota_dimension"},
    {"is_finite", 1},
    {"log", 1},
    {"log", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"log_plus_one", 1},
    {"log_plus_one", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"logistic", 1},
    {"logistic", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"map", 1, "dimensions"},
    {"maximum", 1},
    {"minimum", 1},
    {"multiply", 1},
    {"negate", 1},
    {"not", 1},
    {"optimization_barrier", 1},
    {"or", 1},
    {"outfeed", 1, "outfeed_config"},
    {"pad", 1, "edge_padding_high edge_padding_low interior_padding"},
    {"partition_id", 1},
    {"popcnt", 1},
    {"power", 1},
    {"real", 1},
    {"real_dynamic_slice", 1},
    {"recv", 1, "channel_id channel_type is_host_transfer", rewriteTransfer},
    {"recv",
     {2, "1.12.0"},
     "channel_id channel_type is_host_transfer source_target_pairs",
     rewriteTransfer},
    {"reduce", 1, "dimensions"},
    {"reduce_precision", 1, "exponent_bits mantissa_bits"},
    {"reduce_scatter", 1, "channel_id replica_groups scatter_dimension use_global_device_ids",
     rewriteCollective},
    {"reduce_window", 1,
     "base_dilations padding window_dilations window_dimensions window_strides"},
    {"remainder", 1},
    {"replica_id", 1},
    {"reshape", 1},
    {"return", 1, "", nullptr, createReturn},
    {"reverse", 1, "dimensions"},
    {"rng", 1, "rng_distribution"},
    {"rng_bit_generator", 1, "rng_algorithm"},
    {"round_nearest_afz", 1},
    {"round_nearest_even", 1},
    {"rsqrt", 1},
    {"rsqrt", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"scatter", 1,
     "index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims "
     "unique_indices update_window_dims",
     rewriteScatter},
    {"scatter",
     {2, "1.1.0"},
     "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims "
     "scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices update_window_dims",
     rewriteScatter},
    {"select", 1},
    {"select_and_scatter", 1, "padding window_dimensions window_strides"},
    {"send", 1, "channel_id channel_type is_host_transfer", rewriteTransfer},
    {"send",
     {2, "1.12.0"},
     "channel_id channel_type is_host_transfer source_target_pairs",
     rewriteTransfer},
    {"set_dimension_size", 1, "dimension"},
    {"shift_left", 1},
    {"shift_right_arithmetic", 1},
    {"shift_right_logical", 1},
    {"sign", 1},
    {"sine", 1},
    {"sine", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"slice", 1, "limit_indices start_indices strides"},
    {"sort", 1, "dimension is_stable"},
    {"sqrt", 1},
    {"sqrt", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"subtract", 1},
    {"tan", {1, "1.4.0"}},
    {"tan", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"tanh", 1},
    {"tanh", {2, "1.10.0"}, "result_accuracy", rewriteAccuracy},
    {"torch_index_select", 1, "batch_dims dim"},
    {"transpose", 1, "permutation"},
    {"triangular_solve", 1, "left_side lower transpose_a unit_diagonal"},
    {"tuple", 1},
    {"unary_einsum", 1, "einsum_config"},
    {"uniform_dequantize", 1},
    {"uniform_quantize", 1},
    {"while", 1},
    {"xor", 1},
};

/// Returns the row of an op such as `add_v1`; null if it isn't known.
static const OpRow *findOp(StringRef name) {
  auto [base, text] = name.rsplit("_v");
  unsigned version = 0;
  if (text.getAsInteger(10, version))
    return nullptr;
  const OpRow *row = llvm::find_if(ops, [&, base = base](const OpRow &row) {
    return row.name == base && row.version.number == version;
  });
  return row == std::end(ops) ? nullptr : row;
}

static llvm::VersionTuple versionOf(StringRef text) {
  llvm::VersionTuple version;
  (void)version.tryParse(text);
  return version;
}

Expected<VhloOp> bytecode::vhloOpIn(StringRef op, llvm::VersionTuple target) {
  const OpRow *found = nullptr, *first = nullptr;
  for (const OpRow &row : ops) // rows of one op are sorted by version
    if (row.name == op) {
      first = first ? first : &row;
      if (versionOf(row.version.since) <= target)
        found = &row;
    }
  if (found)
    return VhloOp{str(op.str(), "_v", found->version.number), found->fields, found->expresses};
  if (!first)
    return Unexpected(unimplemented(op.str(), " isn't an op of portable artifacts"));
  return Unexpected(unimplemented("stablehlo.", op.str(), " can't be written for version ",
                                  target.getAsString(), ": ", first->version.since.str(),
                                  " is the first that supports it"));
}

StringRef bytecode::firstWithField(StringRef op, StringRef field) {
  for (const OpRow &row : ops)
    if (row.name == op && llvm::is_contained(llvm::split(row.fields, ' '), field))
      return row.version.since;
  return {};
}

static Expected<void> nameFields(const OpRow &row, SourceOp &source) {
  SmallVector<StringRef> names;
  row.fields.split(names, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (names.size() != source.fields.size())
    return Unexpected(invalidArgument("vhlo.", source.name.str(), " in the bytecode has ",
                                      source.fields.size(), " attributes, expected ",
                                      names.size()));
  NamedAttrList attrs(source.state.attributes.getDictionary(source.state.getContext()));
  for (auto [name, value] : llvm::zip(names, source.fields))
    attrs.set(name, value);
  source.state.attributes = attrs;
  return {};
}

Expected<Operation *> bytecode::createFromVhlo(OpBuilder &builder, SourceOp &&source) {
  const OpRow *row = findOp(source.name);
  if (!row)
    return Unexpected(unimplemented("vhlo.", source.name.str()));
  if (source.hasFields)
    TREADLE_TRY(nameFields(*row, source));
  OperationState &state = source.state;
  if (row->create)
    return row->create(builder, std::move(source));
  if (row->rewrite)
    TREADLE_TRY(row->rewrite(state.attributes, builder.getContext()));
  state.name = OperationName(("stablehlo." + row->name).str(), builder.getContext());
  return builder.create(state);
}
