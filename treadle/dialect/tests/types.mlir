// RUN: treadle-opt %s | treadle-opt | FileCheck %s
// RUN: treadle-opt %s -mlir-print-op-generic | treadle-opt | FileCheck %s

// Every type of tf_type round-trips.

// CHECK-LABEL: @plain
// CHECK-SAME: [!tf_type.control, !tf_type.tensor, !tf_type.unknown, !tf_type.string, !tf_type.qint8, !tf_type.qint16, !tf_type.qint32, !tf_type.quint8, !tf_type.quint16]
module @plain attributes {tfg.types = [
  !tf_type.control, !tf_type.tensor, !tf_type.unknown, !tf_type.string, !tf_type.qint8,
  !tf_type.qint16, !tf_type.qint32, !tf_type.quint8, !tf_type.quint16
]} {}

// CHECK-LABEL: @handles
// CHECK-SAME: [!tf_type.resource, !tf_type.variant, !tf_type.resource<tensor<?xf32>>, !tf_type.variant<tensor<3xf32>, tensor<*x!tf_type.variant<tensor<i1>>>>]
module @handles attributes {tfg.types = [
  !tf_type.resource, !tf_type.variant, !tf_type.resource<tensor<?xf32>>,
  !tf_type.variant<tensor<3xf32>, tensor<*x!tf_type.variant<tensor<i1>>>>
]} {}

// CHECK-LABEL: @references
// CHECK-SAME: [!tf_type.f32ref, !tf_type.f64ref, !tf_type.halfref, !tf_type.bfloat16ref, !tf_type.float8e5m2ref, !tf_type.float8e4m3fnref, !tf_type.float8e4m3fnuzref, !tf_type.float8e4m3b11fnuzref, !tf_type.float8e5m2fnuzref, !tf_type.float4e2m1fnref]
module @references attributes {tfg.types = [
  !tf_type.f32ref, !tf_type.f64ref, !tf_type.halfref, !tf_type.bfloat16ref,
  !tf_type.float8e5m2ref, !tf_type.float8e4m3fnref, !tf_type.float8e4m3fnuzref,
  !tf_type.float8e4m3b11fnuzref, !tf_type.float8e5m2fnuzref, !tf_type.float4e2m1fnref
]} {}

// CHECK-LABEL: @integerReferences
// CHECK-SAME: [!tf_type.int2ref, !tf_type.int4ref, !tf_type.int8ref, !tf_type.int16ref, !tf_type.int32ref, !tf_type.int64ref, !tf_type.uint2ref, !tf_type.uint4ref, !tf_type.uint8ref, !tf_type.uint16ref, !tf_type.uint32ref, !tf_type.uint64ref, !tf_type.boolref]
module @integerReferences attributes {tfg.types = [
  !tf_type.int2ref, !tf_type.int4ref, !tf_type.int8ref, !tf_type.int16ref, !tf_type.int32ref,
  !tf_type.int64ref, !tf_type.uint2ref, !tf_type.uint4ref, !tf_type.uint8ref, !tf_type.uint16ref,
  !tf_type.uint32ref, !tf_type.uint64ref, !tf_type.boolref
]} {}

// CHECK-LABEL: @otherReferences
// CHECK-SAME: [!tf_type.complex64ref, !tf_type.complex128ref, !tf_type.stringref, !tf_type.resourceref, !tf_type.variantref, !tf_type.qint8ref, !tf_type.qint16ref, !tf_type.qint32ref, !tf_type.quint8ref, !tf_type.quint16ref]
module @otherReferences attributes {tfg.types = [
  !tf_type.complex64ref, !tf_type.complex128ref, !tf_type.stringref, !tf_type.resourceref,
  !tf_type.variantref, !tf_type.qint8ref, !tf_type.qint16ref, !tf_type.qint32ref,
  !tf_type.quint8ref, !tf_type.quint16ref
]} {}
