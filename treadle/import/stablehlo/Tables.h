// Internal to the folder: tables of the ops that have files of their own.
#pragma once

#include "treadle/import/stablehlo/Body.h"

namespace treadle::hlo {

ArrayRef<Row> batchNormRows();
ArrayRef<Row> broadcastingRows();
ArrayRef<Row> collectiveRows();
ArrayRef<Row> arithRows();
ArrayRef<Row> checkRows();
ArrayRef<Row> chloRows();
ArrayRef<Row> conversionRows();
ArrayRef<Row> linalgRows();
ArrayRef<Row> tensorRows();
ArrayRef<Row> transferRows();

/// The name that tables know the op by: other dialects keep theirs.
StringRef tableName(Operation *op);
/// What all devices come to together.
bool isExchange(Operation *op);
/// What one device hands to another or gets from it; feeds, too.
bool isTransfer(Operation *op);

/// `rows`, and a row for the op of each entry of another table, all of them read by one reader.
template <typename Table>
SmallVector<Row> withOpsOf(const Table &table, Converter reader, ArrayRef<Row> rows) {
  SmallVector<Row> all(rows);
  for (const auto &entry : table)
    all.push_back({entry.op, reader});
  return all;
}

/// Reads an op that joins its operands along the dimension in an attribute.
LogicalResult readConcatenation(Body &body, Operation *op, StringRef attribute);

/// The numbers of elements along a dimension of what has `shape`, of one element along all others.
Value indicesAlong(Body &body, Value shape, int64_t dim, mlir::RankedTensorType type);

/// Reads ops that stand for `op` and were made for that, in order, and erases them: its results are
/// `results`.
LogicalResult readInPlaceOf(Body &body, Operation *op, ArrayRef<Operation *> made,
                            mlir::ValueRange results);

/// Integers in the order that IEEE gives all floats: -NaN, -inf, ..., -0, 0, ..., inf, NaN; and the
/// floats of such integers.
Value totalOrder(Body &body, Value x);
Value ofTotalOrder(Body &body, Value order, Type element);

/// A custom call `@mhlo.NAME`, which stands for the op of that name, as JAX exports some.
bool isMhloCall(StringRef target);
LogicalResult readMhloCall(Body &body, Operation *op);

/// Custom calls of jax.export for ops whose sizes are operands.
LogicalResult readDynamicTopK(Body &body, Operation *op);
LogicalResult readDynamicRngBitGenerator(Body &body, Operation *op);

LogicalResult readRaggedDot(Body &body, Operation *op);

/// Reads a reduce, reduce_window or sort whose function uses scalars from outside.
LogicalResult readWithCaptures(Body &body, Operation *op, mlir::ValueRange captures);

/// Reads a scatter of any function as a loop over the elements of the updates.
LogicalResult readScatterLoop(Body &body, Operation *op);

/// Whether all ops of a function are declared: nothing is known of others, not even how many
/// operands they have. And whether it gives what its type says: it may end with a return of any
/// dialect. Emits an error that names what isn't so.
LogicalResult expectDeclared(mlir::func::FuncOp function);

/// Whether there are values of all these types. Emits an error at the op that names one.
LogicalResult verifyTypes(Operation *op, mlir::TypeRange types);

/// Whether values of the op's types and ranks can be read. Emits an error that names what can't.
LogicalResult expectSupported(Operation *op);

} // namespace treadle::hlo
