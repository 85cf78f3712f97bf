// What a program's results should be, as StableHLO's own test programs say it.

#ifndef TREADLE_DIALECT_STABLEHLO_CHECK
#define TREADLE_DIALECT_STABLEHLO_CHECK

include "treadle/dialect/stablehlo/Base.td"

def CheckDialect : HloDialect {
  let name = "check";
  let summary = "what a program's results should be";
}

class Check<string name> : HloOp<CheckDialect, name>;

def ExpectEqOp : Check<"expect_eq"> {
  let arguments = (ins AnyValue:$lhs, AnyValue:$rhs);
}

def ExpectEqConstOp : Check<"expect_eq_const"> {
  let arguments = (ins Tensor:$lhs, Elements:$value);
}

def ExpectAlmostEqOp : Check<"expect_almost_eq"> {
  let arguments = (ins Tensor:$lhs, Tensor:$rhs, OptionalAttr<F64Attr>:$tolerance);
}

def ExpectAlmostEqConstOp : Check<"expect_almost_eq_const"> {
  let arguments = (ins Tensor:$lhs, Elements:$value, OptionalAttr<F64Attr>:$tolerance);
}

// Distances in units in the last place.
def ExpectCloseOp : Check<"expect_close"> {
  let arguments = (ins Tensor:$actual, Tensor:$expected, OptionalAttr<Number>:$min_ulp_difference,
                       OptionalAttr<Number>:$max_ulp_difference);
}

#endif // TREADLE_DIALECT_STABLEHLO_CHECK
