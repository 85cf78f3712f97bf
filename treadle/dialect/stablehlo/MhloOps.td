// MHLO, the predecessor of StableHLO. Its ops are parsed as the StableHLO and CHLO ops of the same
// names; this file declares the ones without a counterpart.

#ifndef TREADLE_DIALECT_STABLEHLO_MHLO
#define TREADLE_DIALECT_STABLEHLO_MHLO

include "treadle/dialect/stablehlo/Base.td"

def MhloDialect : HloDialect {
  let name = "mhlo";
  let summary = "predecessor of StableHLO";
}

def TopKOp : HloOp<MhloDialect, "topk", [Pure]> {
  let arguments = (ins Tensor:$operand, Position:$k, OptionalAttr<Flag>:$largest);
  let results = (outs Tensor:$values, IntegerTensor:$indices);
  let hasVerifier = 1;
}

#endif // TREADLE_DIALECT_STABLEHLO_MHLO
