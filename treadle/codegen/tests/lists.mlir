// RUN: treadle-opt --rc-bufferize %s | FileCheck %s --check-prefix=REF
// RUN: treadle-opt --rc-bufferize --rc-lower-control-flow --rc-insert-counts %s | FileCheck %s --check-prefix=COUNT

// An element is written in place after the list is made unique. That op consumes the list, which is
// retained before only if it is used again.

// REF-LABEL: func.func @cluster
// REF-SAME: (%[[LIST:.*]]: !rc.ref<tensor<?x?xf32>>, %[[ROW:.*]]: !rc.ref<tensor<?xf32>>, %[[I:.*]]: index)
// REF: %[[SIZE:.*]] = rc.dim %[[ROW]], 0
// REF: %[[OWN:.*]], %[[OK:.*]] = rc.own %[[LIST]][%[[I]]] (%[[SIZE]])
// REF: rc.check %[[OK]]
// REF: rc.put %[[OWN]][%[[I]]] = %[[ROW]]
// REF: rc.own %[[OWN]]
// REF: %[[ROWS:.*]]:2 = rc.stack
// REF: rc.check %[[ROWS]]#1

// COUNT-LABEL: func.func @cluster
// COUNT: rc.own %[[LIST:[a-z0-9]+]][
// COUNT-NOT: rc.release %[[LIST]]
// COUNT: rc.put %[[SET:[a-z0-9]+]][
// COUNT: rc.retain %[[SET]]
// COUNT: rc.own %[[SET]][
func.func @cluster(%list: tensor<?x?xf32>, %row: tensor<?xf32>, %i: index)
    -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %set = rc.set %list[%i] = %row : tensor<?xf32> in tensor<?x?xf32> -> tensor<?x?xf32>
  %more = rc.set %set[%i] = %row grows : tensor<?xf32> in tensor<?x?xf32> -> tensor<?x?xf32>
  %first = rc.stack %set : tensor<?x?xf32> -> tensor<?x?xf32>
  %second = rc.stack %more : tensor<?x?xf32> -> tensor<?x?xf32>
  return %first, %second : tensor<?x?xf32>, tensor<?x?xf32>
}
