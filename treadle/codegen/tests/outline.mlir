// RUN: treadle-opt --rc-outline=weight=2 %s | FileCheck %s

// A number and a tensor are passed from one piece to the next through slots; a reference moves out
// of its slot at its last use.

// CHECK-LABEL: func.func @cluster
// CHECK: %[[WORDS:.*]] = memref.alloca() : memref<2xi64>
// CHECK: rc.clear_words %[[WORDS]], 2
// CHECK: rc.store_word %arg0, %[[WORDS]][0]
// CHECK: %[[FIRST:.*]] = rc.call @piece0(%[[WORDS]])
// CHECK-NEXT: rc.check %[[FIRST]]
// CHECK: %[[SECOND:.*]] = rc.call @piece1(%[[WORDS]])
// CHECK-NEXT: rc.check %[[SECOND]]
// CHECK: %[[RESULT:.*]] = rc.load_word %[[WORDS]][{{.}}] takes
// CHECK: return %[[RESULT]]
// CHECK: func.func private @piece0(%[[IN:.*]]: memref<2xi64>)
// CHECK: rc.load_word %[[IN]][0] takes
// CHECK: rc.kernel "A" 0
// CHECK: rc.store_word
// CHECK: func.func private @piece1
// CHECK: rc.load_word %{{.*}} takes
// CHECK: rc.kernel "B" 1
func.func @cluster(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = rc.kernel "A" 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = rc.kernel "B" 1 (%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
