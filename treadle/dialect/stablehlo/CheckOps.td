// The ops that StableHLO's test programs check their results with.

#ifndef TREADLE_DIALECT_STABLEHLO_CHECK
#define TREADLE_DIALECT_STABLEHLO_CHECK

include "treadle/dialect/stablehlo/Base.td"

def CheckDialect : HloDialect {
  let name = "check";
  let summary = "expected results of test programs";
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

// The differences are in units in the last place (ULP).
def ExpectCloseOp : Check<"expect_close"> {
  let arguments = (ins Tensor:$actual, Tensor:$expected, OptionalAttr<Number>:$min_ulp_difference,
                       OptionalAttr<Number>:$max_ulp_difference);
}

#endif // TREADLE_DIALECT_STABLEHLO_CHECK
