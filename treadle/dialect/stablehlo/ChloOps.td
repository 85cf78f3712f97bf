// The ops of CHLO, the dialect for clients of StableHLO.

#ifndef TREADLE_DIALECT_STABLEHLO_CHLO
#define TREADLE_DIALECT_STABLEHLO_CHLO

include "treadle/dialect/stablehlo/Base.td"

def ChloDialect : HloDialect {
  let name = "chlo";
  let summary = "client ops that decompose into several StableHLO ops";
}

class Chlo<string name, list<Trait> traits = []> : HloOp<ChloDialect, name, traits>;

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

class ChloUnary<string name, TypeConstraint type> : Chlo<name, [Pure, SameTypes]> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
}

class ChloBinary<string name, TypeConstraint type> : Chlo<name, [Pure, SameTypes]> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
}

class ChloTest<string name> : Chlo<name, [Pure, SameShapes]> {
  let arguments = (ins FloatTensor:$operand);
  let results = (outs BoolTensor:$result);
}

def AcosOp : ChloUnary<"acos", FloatOrComplexTensor>;
def AcoshOp : ChloUnary<"acosh", FloatOrComplexTensor>;
def AsinOp : ChloUnary<"asin", FloatOrComplexTensor>;
def AsinhOp : ChloUnary<"asinh", FloatOrComplexTensor>;
def AtanOp : ChloUnary<"atan", FloatOrComplexTensor>;
def AtanhOp : ChloUnary<"atanh", FloatOrComplexTensor>;
def BesselI1eOp : ChloUnary<"bessel_i1e", FloatOrComplexTensor>;
def ConjOp : ChloUnary<"conj", FloatOrComplexTensor>;
def CoshOp : ChloUnary<"cosh", FloatOrComplexTensor>;
def DigammaOp : ChloUnary<"digamma", FloatTensor>;
def ErfInvOp : ChloUnary<"erf_inv", FloatTensor>;
def ErfOp : ChloUnary<"erf", FloatTensor>;
def ErfcOp : ChloUnary<"erfc", FloatTensor>;
def LgammaOp : ChloUnary<"lgamma", FloatTensor>;
def SinhOp : ChloUnary<"sinh", FloatOrComplexTensor>;
def SquareOp : ChloUnary<"square", FloatOrComplexTensor>;
def TanOp : ChloUnary<"tan", FloatOrComplexTensor>;

def IsInfOp : ChloTest<"is_inf">;
def IsNegInfOp : ChloTest<"is_neg_inf">;
def IsPosInfOp : ChloTest<"is_pos_inf">;

def MulhiOp : ChloBinary<"mulhi", IntegerTensor>;
def NextAfterOp : ChloBinary<"next_after", FloatTensor>;
def PolygammaOp : ChloBinary<"polygamma", FloatTensor>;
def ZetaOp : ChloBinary<"zeta", FloatTensor>;

//===----------------------------------------------------------------------===//
// Ops that broadcast their operands
//===----------------------------------------------------------------------===//

class Broadcasting<string name, TypeConstraint type>
    : Chlo<"broadcast_" # name, [Pure, SameElements]> {
  let arguments = (ins type:$lhs, type:$rhs, OptionalAttr<Numbers>:$broadcast_dimensions);
  let results = (outs type:$result);
}

def BroadcastAddOp : Broadcasting<"add", Tensor>;
def BroadcastAndOp : Broadcasting<"and", BoolOrIntegerTensor>;
def BroadcastAtan2Op : Broadcasting<"atan2", AnalyticTensor>;
def BroadcastDivOp : Broadcasting<"divide", NumberTensor>;
def BroadcastMaxOp : Broadcasting<"maximum", Tensor>;
def BroadcastMinOp : Broadcasting<"minimum", Tensor>;
def BroadcastMulOp : Broadcasting<"multiply", Tensor>;
def BroadcastNextAfterOp : Broadcasting<"next_after", FloatTensor>;
def BroadcastOrOp : Broadcasting<"or", BoolOrIntegerTensor>;
def BroadcastPolygammaOp : Broadcasting<"polygamma", FloatTensor>;
def BroadcastPowOp : Broadcasting<"power", NumberTensor>;
def BroadcastRemOp : Broadcasting<"remainder", NumberTensor>;
def BroadcastShiftLeftOp : Broadcasting<"shift_left", IntegerTensor>;
def BroadcastShiftRightArithmeticOp : Broadcasting<"shift_right_arithmetic", IntegerTensor>;
def BroadcastShiftRightLogicalOp : Broadcasting<"shift_right_logical", IntegerTensor>;
def BroadcastSubOp : Broadcasting<"subtract", NumberTensor>;
def BroadcastXorOp : Broadcasting<"xor", BoolOrIntegerTensor>;
def BroadcastZetaOp : Broadcasting<"zeta", FloatTensor>;

def BroadcastCompareOp : Chlo<"broadcast_compare", [Pure]> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, OptionalAttr<Numbers>:$broadcast_dimensions,
                       Direction:$comparison_direction,
                       OptionalAttr<ComparisonType>:$compare_type);
  let results = (outs BoolTensor:$result);
  let hasVerifier = 1;
}

def BroadcastComplexOp : Chlo<"broadcast_complex", [Pure]> {
  let arguments = (ins FloatTensor:$lhs, FloatTensor:$rhs,
                       OptionalAttr<Numbers>:$broadcast_dimensions);
  let results = (outs ComplexTensor:$result);
}

def BroadcastSelectOp : Chlo<"broadcast_select", [Pure]> {
  let arguments = (ins BoolTensor:$pred, Tensor:$on_true, Tensor:$on_false);
  let results = (outs Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

def ConstantOp : Chlo<"constant", [Pure]> {
  let arguments = (ins Elements:$value);
  let results = (outs Tensor:$output);
}

def ConstantLikeOp : Chlo<"constant_like", [Pure, SameShapes]> {
  let arguments = (ins Tensor:$operand, TypedAttrInterface:$value);
  let results = (outs Tensor:$result);
  let hasVerifier = 1;
}

def RaggedDotOp : Chlo<"ragged_dot", [Pure]> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, IntegerTensor:$group_sizes,
                       Fields:$ragged_dot_dimension_numbers,
                       OptionalAttr<Precision>:$precision_config);
  let results = (outs Tensor:$result);
}

def ScanOp : Chlo<"scan", [AttrSizedOperandSegments, AttrSizedResultSegments,
                           RecursiveMemoryEffects]> {
  let arguments = (ins Variadic<Tensor>:$inputs, Variadic<Tensor>:$inits, Position:$dimension,
                       OptionalAttr<Position>:$scan_dim_size, OptionalAttr<Flag>:$is_reverse,
                       OptionalAttr<Flag>:$is_associative);
  let results = (outs Variadic<Tensor>:$outputs, Variadic<Tensor>:$carries);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
}

def TopKOp : Chlo<"top_k", [Pure]> {
  let arguments = (ins Tensor:$operand, Position:$k, OptionalAttr<Flag>:$is_stable);
  let results = (outs Tensor:$values, IntegerTensor:$indices);
  let hasVerifier = 1;
}

#endif // TREADLE_DIALECT_STABLEHLO_CHLO
