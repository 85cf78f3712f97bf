// The lists of tensors of compiled code: one block of memory whose rows are the elements.
//
// The first dimension is the length. `count`, the number of elements of the block, may be larger:
// that is the capacity. A list whose element shape isn't known yet is open: it has no memory, and
// its first dimension is -1 - length. Such blocks never leave compiled code: `treadle_list_stack`
// returns an ordinary tensor.
//
// Functions that consume a list return it, a replacement, or null. In the last case the list has
// been released, and the code bails out.
#pragma once

#include "treadle/codegen/CallFrame.h"

extern "C" {

/// Creates a list of zeros, or an open one with the length dims[0].
treadle::TensorBlock *treadle_list(treadle::codegen::CallFrame *frame, uint8_t isOpen,
                                   uint8_t dtype, int32_t rank, const int64_t *dims);

/// Makes the caller the only owner of the list, and ensures that it has a row with these dimensions
/// at the index. Consumes the list. A list that grows is filled up with zero rows. Returns null if
/// the index is out of range, or the rows have other dimensions.
treadle::TensorBlock *treadle_list_own(treadle::codegen::CallFrame *frame,
                                       treadle::TensorBlock *list, int64_t index, uint8_t grows,
                                       int32_t rowRank, const int64_t *rowDims);

/// Writes a row without checks: the list comes from treadle_list_own.
void treadle_list_put(treadle::TensorBlock *list, int64_t index, const treadle::TensorBlock *row);

/// Returns a row, as a copy or sharing the list's memory. Returns null if the index is out of
/// range.
treadle::TensorBlock *treadle_list_row(treadle::codegen::CallFrame *frame,
                                       treadle::TensorBlock *list, int64_t index, uint8_t copies);

/// Removes the last row. Consumes the list. Returns null if it is empty.
treadle::TensorBlock *treadle_list_pop(treadle::codegen::CallFrame *frame,
                                       treadle::TensorBlock *list);

/// Returns the rows as a tensor. Consumes the list. Returns null if it is open.
treadle::TensorBlock *treadle_list_stack(treadle::TensorBlock *list);

} // extern "C"
