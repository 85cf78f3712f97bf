// The ops of StableHLO. Semantics and the names of operands and attributes are those of the
// StableHLO specification. Old forms of some ops are accepted too.

#ifndef TREADLE_DIALECT_STABLEHLO_OPS
#define TREADLE_DIALECT_STABLEHLO_OPS

include "treadle/dialect/stablehlo/Base.td"

def StableHloDialect : HloDialect {
  let name = "stablehlo";
  let summary = "StableHLO ops, as JAX and other frameworks export them";
  let description = [{
    The ops of the StableHLO specification, with builtin attributes and types: an enumeration is a
    string, dimension numbers are a dictionary, a token is `none`, a future is a tuple. Ops of newer
    versions, which aren't declared, are parsed too, so that errors can name them.
  }];
}

class Hlo<string name, list<Trait> traits = []> : HloOp<StableHloDialect, name, traits>;

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

class Unary<string name, TypeConstraint type> : Hlo<name, [Pure, SameTypes, AnyRank]> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
}

// The requested accuracy is ignored: the runtime always computes with its best accuracy.
class Function<string name, TypeConstraint type> : Unary<name, type> {
  let arguments = (ins type:$operand, OptionalAttr<Accuracy>:$result_accuracy);
}

class Binary<string name, TypeConstraint type> : Hlo<name, [Pure, SameTypes, AnyRank]> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
}

// An elementwise op whose result has another element type than its operand.
class Part<string name, TypeConstraint from, TypeConstraint to>
    : Hlo<name, [Pure, SameShapes, AnyRank]> {
  let arguments = (ins from:$operand);
  let results = (outs to:$result);
}

def CbrtOp : Function<"cbrt", AnalyticTensor>;
def CeilOp : Unary<"ceil", RealTensor>;
def ClzOp : Unary<"count_leading_zeros", IntegerTensor>;
def CosineOp : Function<"cosine", AnalyticTensor>;
def ExpOp : Function<"exponential", AnalyticTensor>;
def Expm1Op : Function<"exponential_minus_one", AnalyticTensor>;
def FloorOp : Unary<"floor", RealTensor>;
def LogOp : Function<"log", AnalyticTensor>;
def Log1pOp : Function<"log_plus_one", AnalyticTensor>;
def LogisticOp : Function<"logistic", AnalyticTensor>;
def NegOp : Unary<"negate", NumberTensor>;
def NotOp : Unary<"not", BoolOrIntegerTensor>;
def PopulationCountOp : Unary<"popcnt", IntegerTensor>;
def RoundOp : Unary<"round_nearest_afz", RealTensor>;
def RoundNearestEvenOp : Unary<"round_nearest_even", RealTensor>;
def RsqrtOp : Function<"rsqrt", AnalyticTensor>;
def SignOp : Unary<"sign", SignedTensor>;
def SineOp : Function<"sine", AnalyticTensor>;
def SqrtOp : Function<"sqrt", AnalyticTensor>;
def TanOp : Function<"tan", AnalyticTensor>;
def TanhOp : Function<"tanh", AnalyticTensor>;

def AddOp : Binary<"add", Tensor>;
def AndOp : Binary<"and", BoolOrIntegerTensor>;
def Atan2Op : Binary<"atan2", AnalyticTensor>;
def DivOp : Binary<"divide", NumberTensor>;
def MaxOp : Binary<"maximum", Tensor>;
def MinOp : Binary<"minimum", Tensor>;
def MulOp : Binary<"multiply", Tensor>;
def OrOp : Binary<"or", BoolOrIntegerTensor>;
def PowOp : Binary<"power", NumberTensor>;
def RemOp : Binary<"remainder", NumberTensor>;
def ShiftLeftOp : Binary<"shift_left", IntegerTensor>;
def ShiftRightArithmeticOp : Binary<"shift_right_arithmetic", IntegerTensor>;
def ShiftRightLogicalOp : Binary<"shift_right_logical", IntegerTensor>;
def SubtractOp : Binary<"subtract", NumberTensor>;
def XorOp : Binary<"xor", BoolOrIntegerTensor>;

def AbsOp : Part<"abs", SignedTensor, SignedTensor> { let hasVerifier = 1; }
def ConvertOp : Part<"convert", Tensor, Tensor>;
def ImagOp : Part<"imag", FloatOrComplexTensor, FloatTensor> { let hasVerifier = 1; }
def IsFiniteOp : Part<"is_finite", RealTensor, BoolTensor>;
def RealOp : Part<"real", FloatOrComplexTensor, FloatTensor> { let hasVerifier = 1; }
def UniformDequantizeOp : Part<"uniform_dequantize", TensorOf<[Quantized]>, FloatTensor>;
def UniformQuantizeOp : Part<"uniform_quantize", RealTensor, TensorOf<[Quantized]>>;

def ClampOp : Hlo<"clamp", [Pure, AnyRank]> {
  let arguments = (ins Tensor:$min, Tensor:$operand, Tensor:$max);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def CompareOp : Hlo<"compare", [Pure, SameShapes, AnyRank]> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, Direction:$comparison_direction,
                       OptionalAttr<ComparisonType>:$compare_type);
  let results = (outs BoolTensor:$result);
  let hasVerifier = 1;
}

def ComplexOp : Hlo<"complex", [Pure, SameShapes, AnyRank]> {
  let arguments = (ins TensorOf<[F32, F64]>:$lhs, TensorOf<[F32, F64]>:$rhs);
  let results = (outs ComplexTensor:$result);
  let hasVerifier = 1;
}

def ReducePrecisionOp : Hlo<"reduce_precision", [Pure, SameTypes, AnyRank]> {
  let arguments = (ins RealTensor:$operand, Count:$exponent_bits, Position:$mantissa_bits);
  let results = (outs RealTensor:$result);
}

def SelectOp : Hlo<"select", [Pure, AnyRank]> {
  let arguments = (ins BoolTensor:$pred, Tensor:$on_true, Tensor:$on_false);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def MapOp : Hlo<"map", [RecursiveMemoryEffects, SameShapes]> {
  let arguments = (ins Variadic<Tensor>:$inputs, Numbers:$dimensions);
  let results = (outs Tensor:$result);
  let regions = (region SizedRegion<1>:$computation);
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Constants, iotas and random numbers
//===----------------------------------------------------------------------===//

def ConstantOp : Hlo<"constant", [Pure, AnyRank]> {
  let arguments = (ins Elements:$value);
  let results = (outs Tensor:$output);
  let hasVerifier = 1;
}

def IotaOp : Hlo<"iota", [Pure]> {
  let arguments = (ins Position:$iota_dimension);
  let results = (outs NumberTensor:$output);
  let hasVerifier = 1;
}

def DynamicIotaOp : Hlo<"dynamic_iota", [Pure]> {
  let arguments = (ins IntegerTensor:$output_shape, Position:$iota_dimension);
  let results = (outs NumberTensor:$result);
  let hasVerifier = 1;
}

// Not pure: it advances the state of a generator.
def RngOp : Hlo<"rng"> {
  let arguments = (ins Tensor:$a, Tensor:$b, IntegerTensor:$shape, Distribution:$rng_distribution);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def RngBitGeneratorOp : Hlo<"rng_bit_generator", [Pure]> {
  let arguments = (ins Algorithm:$rng_algorithm, TensorOf<[Integer, AnyFloat]>:$initial_state);
  let results = (outs TensorOf<[Integer, AnyFloat]>:$output_state,
                      TensorOf<[Integer, AnyFloat]>:$output);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

def BitcastConvertOp : Hlo<"bitcast_convert", [Pure]> {
  let arguments = (ins Tensor:$operand);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def BroadcastOp : Hlo<"broadcast", [Pure]> {
  let arguments = (ins Tensor:$operand, Numbers:$broadcast_sizes);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def BroadcastInDimOp : Hlo<"broadcast_in_dim", [Pure]> {
  let arguments = (ins Tensor:$operand, Numbers:$broadcast_dimensions);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def DynamicBroadcastInDimOp : Hlo<"dynamic_broadcast_in_dim", [Pure]> {
  let arguments = (ins Tensor:$operand, IntegerTensor:$output_dimensions,
                       Numbers:$broadcast_dimensions,
                       OptionalAttr<Numbers>:$known_expanding_dimensions,
                       OptionalAttr<Numbers>:$known_nonexpanding_dimensions);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def ConcatenateOp : Hlo<"concatenate", [Pure]> {
  let arguments = (ins Variadic<Tensor>:$inputs, Position:$dimension);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def PadOp : Hlo<"pad", [Pure]> {
  let arguments = (ins Tensor:$operand, Tensor:$padding_value, Numbers:$edge_padding_low,
                       Numbers:$edge_padding_high, Numbers:$interior_padding);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def DynamicPadOp : Hlo<"dynamic_pad", [Pure]> {
  let arguments = (ins Tensor:$operand, Tensor:$padding_value, IntegerTensor:$edge_padding_low,
                       IntegerTensor:$edge_padding_high, IntegerTensor:$interior_padding);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def ReshapeOp : Hlo<"reshape", [Pure]> {
  let arguments = (ins Tensor:$operand);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def DynamicReshapeOp : Hlo<"dynamic_reshape", [Pure, AnyRank]> {
  let arguments = (ins Tensor:$operand, IntegerTensor:$output_shape);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def ReverseOp : Hlo<"reverse", [Pure, SameTypes]> {
  let arguments = (ins Tensor:$operand, Numbers:$dimensions);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def TransposeOp : Hlo<"transpose", [Pure]> {
  let arguments = (ins Tensor:$operand, Numbers:$permutation);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def GetDimensionSizeOp : Hlo<"get_dimension_size", [Pure]> {
  let arguments = (ins Tensor:$operand, Position:$dimension);
  let results = (outs IntegerTensor:$result);
  let hasVerifier = 1;
}

def SetDimensionSizeOp : Hlo<"set_dimension_size", [Pure]> {
  let arguments = (ins Tensor:$operand, IntegerTensor:$size, Position:$dimension);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Slices, gathers and scatters
//===----------------------------------------------------------------------===//

def SliceOp : Hlo<"slice", [Pure]> {
  let arguments = (ins Tensor:$operand, Numbers:$start_indices, Numbers:$limit_indices,
                       OptionalAttr<Numbers>:$strides);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def RealDynamicSliceOp : Hlo<"real_dynamic_slice", [Pure]> {
  let arguments = (ins Tensor:$operand, IntegerTensor:$start_indices, IntegerTensor:$limit_indices,
                       IntegerTensor:$strides);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

// For this op and the next one, old programs pass all indices in one vector.
def DynamicSliceOp : Hlo<"dynamic_slice", [Pure]> {
  let arguments = (ins Tensor:$operand, Variadic<IntegerTensor>:$start_indices,
                       Numbers:$slice_sizes);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def DynamicUpdateSliceOp : Hlo<"dynamic_update_slice", [Pure]> {
  let arguments = (ins Tensor:$operand, Tensor:$update, Variadic<IntegerTensor>:$start_indices);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def GatherOp : Hlo<"gather", [Pure]> {
  let arguments = (ins Tensor:$operand, IntegerTensor:$start_indices, Fields:$dimension_numbers,
                       Numbers:$slice_sizes, OptionalAttr<Flag>:$indices_are_sorted);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def DynamicGatherOp : Hlo<"dynamic_gather", [Pure]> {
  let arguments = (ins Tensor:$operand, IntegerTensor:$start_indices, IntegerTensor:$slice_sizes,
                       Fields:$dimension_numbers, OptionalAttr<Flag>:$indices_are_sorted);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def ScatterOp : Hlo<"scatter", [RecursiveMemoryEffects, SameVariadicOperandSize]> {
  let arguments = (ins Variadic<Tensor>:$inputs, IntegerTensor:$scatter_indices,
                       Variadic<Tensor>:$updates, Fields:$scatter_dimension_numbers,
                       OptionalAttr<Flag>:$indices_are_sorted, OptionalAttr<Flag>:$unique_indices);
  let results = (outs Variadic<Tensor>:$results);
  let regions = (region SizedRegion<1>:$update_computation);
  let hasRegionVerifier = 1;
}

def TorchIndexSelectOp : Hlo<"torch_index_select", [Pure]> {
  let arguments = (ins Tensor:$operand, IntegerTensor:$index, Position:$dim, Position:$batch_dims);
  let results = (outs Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Reductions, windows, sorts
//===----------------------------------------------------------------------===//

def ReduceOp : Hlo<"reduce", [RecursiveMemoryEffects, SameVariadicOperandSize]> {
  let arguments = (ins Variadic<Tensor>:$inputs, Variadic<Tensor>:$init_values,
                       Numbers:$dimensions);
  let results = (outs Variadic<Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
}

def ReduceWindowOp : Hlo<"reduce_window", [RecursiveMemoryEffects, SameVariadicOperandSize]> {
  let arguments = (ins Variadic<Tensor>:$inputs, Variadic<Tensor>:$init_values,
                       Numbers:$window_dimensions, OptionalAttr<Numbers>:$window_strides,
                       OptionalAttr<Numbers>:$base_dilations,
                       OptionalAttr<Numbers>:$window_dilations, OptionalAttr<Numbers>:$padding);
  let results = (outs Variadic<Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
}

def SelectAndScatterOp : Hlo<"select_and_scatter", [RecursiveMemoryEffects]> {
  let arguments = (ins Tensor:$operand, Tensor:$source, Tensor:$init_value,
                       OptionalAttr<Numbers>:$window_dimensions,
                       OptionalAttr<Numbers>:$window_strides, OptionalAttr<Numbers>:$padding);
  let results = (outs Tensor:$result);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let hasRegionVerifier = 1;
}

def SortOp : Hlo<"sort", [RecursiveMemoryEffects, SameShapes]> {
  let arguments = (ins Variadic<Tensor>:$inputs, OptionalAttr<Number>:$dimension,
                       OptionalAttr<Flag>:$is_stable);
  let results = (outs Variadic<Tensor>:$results);
  let regions = (region SizedRegion<1>:$comparator);
  let hasRegionVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def DotOp : Hlo<"dot", [Pure]> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, OptionalAttr<Precision>:$precision_config);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def DotGeneralOp : Hlo<"dot_general", [Pure]> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, Fields:$dot_dimension_numbers,
                       OptionalAttr<Precision>:$precision_config, OptionalAttr<Fields>:$algorithm);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def EinsumOp : Hlo<"einsum", [Pure]> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, Text:$einsum_config);
  let results = (outs Tensor:$result);
}

def UnaryEinsumOp : Hlo<"unary_einsum", [Pure]> {
  let arguments = (ins Tensor:$operand, Text:$einsum_config);
  let results = (outs Tensor:$result);
}

// Dimension numbers are a dictionary, or three lists of letters and numbers.
def ConvolutionOp : Hlo<"convolution", [Pure]> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, OptionalAttr<Numbers>:$window_strides,
                       OptionalAttr<Numbers>:$padding, OptionalAttr<Numbers>:$lhs_dilation,
                       OptionalAttr<Numbers>:$rhs_dilation, OptionalAttr<Numbers>:$window_reversal,
                       AnyAttr:$dimension_numbers, Count:$feature_group_count,
                       Count:$batch_group_count, OptionalAttr<Precision>:$precision_config);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def DynamicConvOp : Hlo<"dynamic_conv", [Pure]> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, IntegerTensor:$padding,
                       OptionalAttr<Numbers>:$window_strides, OptionalAttr<Numbers>:$lhs_dilation,
                       OptionalAttr<Numbers>:$rhs_dilation, OptionalAttr<Numbers>:$window_reversal,
                       AnyAttr:$dimension_numbers, Count:$feature_group_count,
                       Count:$batch_group_count, OptionalAttr<Precision>:$precision_config);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Linear algebra, normalization
//===----------------------------------------------------------------------===//

def CholeskyOp : Hlo<"cholesky", [Pure, SameTypes]> {
  let arguments = (ins FloatOrComplexTensor:$a, OptionalAttr<Flag>:$lower);
  let results = (outs FloatOrComplexTensor:$result);
  let hasVerifier = 1;
}

def TriangularSolveOp : Hlo<"triangular_solve", [Pure]> {
  let arguments = (ins FloatOrComplexTensor:$a, FloatOrComplexTensor:$b, Flag:$left_side,
                       Flag:$lower, Flag:$unit_diagonal, Transposition:$transpose_a);
  let results = (outs FloatOrComplexTensor:$result);
  let hasVerifier = 1;
}

def FftOp : Hlo<"fft", [Pure]> {
  let arguments = (ins FloatOrComplexTensor:$operand, FftType:$fft_type, Numbers:$fft_length);
  let results = (outs FloatOrComplexTensor:$result);
  let hasVerifier = 1;
}

def BatchNormGradOp : Hlo<"batch_norm_grad", [Pure]> {
  let arguments = (ins RealTensor:$operand, RealTensor:$scale, RealTensor:$mean,
                       RealTensor:$variance, RealTensor:$grad_output, F32Attr:$epsilon,
                       Position:$feature_index);
  let results = (outs RealTensor:$grad_operand, RealTensor:$grad_scale, RealTensor:$grad_offset);
  let hasVerifier = 1;
}

def BatchNormInferenceOp : Hlo<"batch_norm_inference", [Pure]> {
  let arguments = (ins RealTensor:$operand, RealTensor:$scale, RealTensor:$offset, RealTensor:$mean,
                       RealTensor:$variance, F32Attr:$epsilon, Position:$feature_index);
  let results = (outs RealTensor:$result);
  let hasVerifier = 1;
}

def BatchNormTrainingOp : Hlo<"batch_norm_training", [Pure]> {
  let arguments = (ins RealTensor:$operand, RealTensor:$scale, RealTensor:$offset, F32Attr:$epsilon,
                       Position:$feature_index);
  let results = (outs RealTensor:$output, RealTensor:$batch_mean, RealTensor:$batch_var);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Control flow, tuples, tokens
//===----------------------------------------------------------------------===//

// Conditionals of old programs pass operands to their branches.
def CaseOp : Hlo<"case", [RecursiveMemoryEffects, AnyRank]> {
  let arguments = (ins IntegerTensor:$index, Variadic<AnyValue>:$branch_operands);
  let results = (outs Variadic<AnyValue>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let hasRegionVerifier = 1;
}

def IfOp : Hlo<"if", [RecursiveMemoryEffects, AnyRank]> {
  let arguments = (ins BoolTensor:$pred, Variadic<AnyValue>:$branch_operands);
  let results = (outs Variadic<AnyValue>:$results);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let hasRegionVerifier = 1;
}

def WhileOp : Hlo<"while", [RecursiveMemoryEffects, AnyRank]> {
  let arguments = (ins Variadic<AnyValue>:$operands);
  let results = (outs Variadic<AnyValue>:$results);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
}

def ReturnOp : Hlo<"return", [Pure, Terminator]> {
  let arguments = (ins Variadic<AnyType>:$results);
}

def AfterAllOp : Hlo<"after_all", [Pure]> {
  let arguments = (ins Variadic<Token>:$inputs);
  let results = (outs Token:$result);
}

def CreateTokenOp : Hlo<"create_token", [Pure]> {
  let results = (outs Token:$output);
}

def OptimizationBarrierOp : Hlo<"optimization_barrier", [Pure, AnyRank, Pairwise]> {
  let arguments = (ins Variadic<AnyValue>:$operands);
  let results = (outs Variadic<AnyValue>:$results);
}

// The result is a future of the body's results.
def AsyncStartOp : Hlo<"async_start", [RecursiveMemoryEffects]> {
  let arguments = (ins Variadic<AnyValue>:$operands);
  let results = (outs AnyTuple:$future);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
}

def AsyncDoneOp : Hlo<"async_done", [Pure]> {
  let arguments = (ins AnyTuple:$future);
  let results = (outs Variadic<AnyValue>:$results);
  let hasVerifier = 1;
}

def TupleOp : Hlo<"tuple", [Pure]> {
  let arguments = (ins Variadic<AnyValue>:$operands);
  let results = (outs AnyTuple:$result);
  let hasVerifier = 1;
}

def GetTupleElementOp : Hlo<"get_tuple_element", [Pure]> {
  let arguments = (ins AnyTuple:$operand, Position:$index);
  let results = (outs AnyValue:$result);
  let hasVerifier = 1;
}

def CompositeOp : Hlo<"composite", [
    AnyRank, DeclareOpInterfaceMethods<SymbolUserOpInterface>
  ]> {
  let arguments = (ins Variadic<AnyValue>:$inputs, Text:$name,
                       OptionalAttr<Fields>:$composite_attributes,
                       FlatSymbolRefAttr:$decomposition, OptionalAttr<Number>:$version);
  let results = (outs Variadic<AnyValue>:$results);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
}

def CustomCallOp : Hlo<"custom_call", [AnyRank]> {
  let arguments = (ins Variadic<AnyType>:$inputs, Text:$call_target_name,
                       OptionalAttr<Flag>:$has_side_effect, OptionalAttr<AnyAttr>:$backend_config,
                       OptionalAttr<AnyAttr>:$api_version,
                       OptionalAttr<ArrayAttr>:$called_computations,
                       OptionalAttr<ArrayAttr>:$operand_layouts,
                       OptionalAttr<ArrayAttr>:$result_layouts,
                       OptionalAttr<ArrayAttr>:$output_operand_aliases,
                       OptionalAttr<ArrayAttr>:$result_tilings);
  let results = (outs Variadic<AnyType>:$results);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

def PartitionIdOp : Hlo<"partition_id", [Pure]> {
  let results = (outs IntegerTensor:$result);
}

def ReplicaIdOp : Hlo<"replica_id", [Pure]> {
  let results = (outs IntegerTensor:$result);
}

def InfeedOp : Hlo<"infeed"> {
  let arguments = (ins Token:$token, OptionalAttr<Text>:$infeed_config,
                       OptionalAttr<ArrayAttr>:$layout);
  let results = (outs Variadic<AnyValue>:$results);
  let hasVerifier = 1;
}

def OutfeedOp : Hlo<"outfeed"> {
  let arguments = (ins Variadic<Tensor>:$inputs, Token:$token, OptionalAttr<Text>:$outfeed_config);
  let results = (outs Token:$result);
}

def SendOp : Hlo<"send"> {
  let arguments = (ins Variadic<Tensor>:$inputs, Token:$token, Fields:$channel_handle,
                       OptionalAttr<Flag>:$is_host_transfer,
                       OptionalAttr<Numbers>:$source_target_pairs);
  let results = (outs Token:$result);
  let hasVerifier = 1;
}

def RecvOp : Hlo<"recv"> {
  let arguments = (ins Token:$token, Fields:$channel_handle, OptionalAttr<Flag>:$is_host_transfer,
                       OptionalAttr<Numbers>:$source_target_pairs);
  let results = (outs Variadic<AnyValue>:$results);
  let hasVerifier = 1;
}

// A collective of the devices of a group. Groups are lists of device ids, or axes of a mesh.
class Collective<string name, list<Trait> traits = []> : Hlo<name, traits> {
  dag operandsAndGroups = (ins Variadic<Tensor>:$operands, AnyAttr:$replica_groups,
                               OptionalAttr<Fields>:$channel_handle);
  let arguments = operandsAndGroups;
  let results = (outs Variadic<Tensor>:$results);
}

def AllGatherOp : Collective<"all_gather"> {
  let arguments = !con((ins Position:$all_gather_dim), operandsAndGroups,
                       (ins OptionalAttr<Flag>:$use_global_device_ids));
  let hasVerifier = 1;
}

def AllReduceOp : Collective<"all_reduce"> {
  let arguments = !con(operandsAndGroups, (ins OptionalAttr<Flag>:$use_global_device_ids));
  let regions = (region SizedRegion<1>:$computation);
  let hasRegionVerifier = 1;
}

def AllToAllOp : Collective<"all_to_all"> {
  let arguments = !con((ins Position:$split_dimension, Position:$concat_dimension,
                            Count:$split_count), operandsAndGroups);
  let hasVerifier = 1;
}

def CollectiveBroadcastOp : Collective<"collective_broadcast"> {
  let arguments = !con(operandsAndGroups, (ins OptionalAttr<Flag>:$has_dynamic_root));
  let hasVerifier = 1;
}

def CollectivePermuteOp : Hlo<"collective_permute", [SameTypes]> {
  let arguments = (ins Tensor:$operand, Numbers:$source_target_pairs,
                       OptionalAttr<Fields>:$channel_handle);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def CollectiveReduceOp : Collective<"collective_reduce"> {
  let arguments = !con(operandsAndGroups, (ins OptionalAttr<Flag>:$use_global_device_ids,
                                               OptionalAttr<Flag>:$has_dynamic_root));
  let regions = (region SizedRegion<1>:$computation);
  let hasRegionVerifier = 1;
}

def ReduceScatterOp : Collective<"reduce_scatter"> {
  let arguments = !con((ins Position:$scatter_dimension), operandsAndGroups,
                       (ins OptionalAttr<Flag>:$use_global_device_ids));
  let regions = (region SizedRegion<1>:$computation);
  let hasRegionVerifier = 1;
}

def CrossReplicaSumOp : Hlo<"cross-replica-sum", [Pure, SameTypes]> {
  let arguments = (ins Tensor:$operand, Numbers:$replica_groups);
  let results = (outs Tensor:$result);
}

#endif // TREADLE_DIALECT_STABLEHLO_OPS
