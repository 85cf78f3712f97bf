// RUN: treadle-opt %s | treadle-opt | FileCheck %s
// RUN: treadle-opt %s -mlir-print-op-generic | treadle-opt | FileCheck %s

// Every attribute of tf_type round-trips.

// CHECK-LABEL: @versions
// CHECK-SAME: [#tf_type.version<producer = 42, min_consumer = -3>, #tf_type.version<producer = 1, min_consumer = 2, bad_consumers = [5, 12]>]
module @versions attributes {tfg.versions = [
  #tf_type.version<producer = 42, min_consumer = -3>,
  #tf_type.version<producer = 1, min_consumer = 2, bad_consumers = [5, 12]>
]} {}

// A zero followed by x isn't a hexadecimal number here.
// CHECK-LABEL: @shapes
// CHECK-SAME: [#tf_type.shape<>, #tf_type.shape<*>, #tf_type.shape<7>, #tf_type.shape<10x?x30>, #tf_type.shape<0x128x0>]
module @shapes attributes {tfg.shapes = [
  #tf_type.shape<>, #tf_type.shape<*>, #tf_type.shape<7>, #tf_type.shape<10x?x30>,
  #tf_type.shape<0x128x0>
]} {}

// CHECK-LABEL: @functions
// CHECK-SAME: [#tf_type.func<@f, {}>, #tf_type.func<"", {T = f32}>, #tf_type.func<@"a b/c", {"odd name" = #tf_type.func<@f, {}>}>]
module @functions attributes {tfg.functions = [
  #tf_type.func<@f, {}>, #tf_type.func<"", {T = f32}>,
  #tf_type.func<@"a b/c", {"odd name" = #tf_type.func<@f, {}>}>
]} {}

// CHECK-LABEL: @placeholders
// CHECK-SAME: [#tf_type.placeholder<"T">, #tf_type.placeholder<"a\22b">]
module @placeholders attributes {tfg.placeholders = [
  #tf_type.placeholder<"T">, #tf_type.placeholder<"a\"b">
]} {}

// CHECK-LABEL: @fullTypes
// CHECK-SAME: [#tf_type.full_type<unset 0 : i64>, #tf_type.full_type<array<for_each<product, tensor<var "T">, var "T">>>, #tf_type.full_type<product>, #tf_type.full_type<4711<legacy_variant>>]
module @fullTypes attributes {tfg.types = [
  #tf_type.full_type<unset 0 : i64>,
  #tf_type.full_type<array<for_each<product, tensor<var "T">, var "T">>>,
  #tf_type.full_type<product<>>, #tf_type.full_type<4711<legacy_variant>>
]} {}

// CHECK-LABEL: @encoded
// CHECK-SAME: [#tf_type<tensor_proto : "0x00FF0A"> : tensor<2xf32>, #tf_type<tensor_proto : "0x"> : tensor<*x!tf_type.string>, #tf_type.message<"AttrValue" = "0x1A00">]
module @encoded attributes {tfg.encoded = [
  #tf_type<tensor_proto : "0x00ff0a"> : tensor<2xf32>,
  #tf_type<tensor_proto : "0x"> : tensor<*x!tf_type.string>,
  #tf_type.message<"AttrValue" = "0x1A00">
]} {}
