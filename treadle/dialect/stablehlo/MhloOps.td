// What StableHLO was before. Its ops are read as those of StableHLO and CHLO that have their names;
// here are those without.

#ifndef TREADLE_DIALECT_STABLEHLO_MHLO
#define TREADLE_DIALECT_STABLEHLO_MHLO

include "treadle/dialect/stablehlo/Base.td"

def MhloDialect : HloDialect {
  let name = "mhlo";
  let summary = "what StableHLO was before";
}

def TopKOp : HloOp<MhloDialect, "topk", [Pure]> {
  let arguments = (ins Tensor:$operand, Position:$k, OptionalAttr<Flag>:$largest);
  let results = (outs Tensor:$values, IntegerTensor:$indices);
  let hasVerifier = 1;
}

#endif // TREADLE_DIALECT_STABLEHLO_MHLO
