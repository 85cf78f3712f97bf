// The dialect of counted references: tensors as the runtime holds them, seen by compiled code.
#ifndef TREADLE_CODEGEN_RC_TD
#define TREADLE_CODEGEN_RC_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rc_Dialect : Dialect {
  let name = "rc";
  let cppNamespace = "::treadle::rc";
  let summary = "Tensors with reference counts that the IR shows";
  let description = [{
    Between tensors, which nobody owns, and machine code, which only has addresses. A value of
    type `!rc.ref<T>` is one pointer to a block of the runtime: its reference count, shape and
    elements. `rc-insert-counts` makes ownership explicit:

    - An operation borrows its operands: they are there before it and after it.
    - A branch, a return, and `rc.release` take theirs over: a value handed on this way is owned by
      the block argument, or by the caller.
    - What an operation gives is owned by the block that holds it, until it is released or handed
      on. A value that is needed twice is retained first.

    Nothing in the dialect has an effect on anything but memory, so compiled code can stop at any
    check, free what it holds, and leave the rest to the interpreter.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Rc_Op<string mnemonic, list<Trait> traits = []> : Op<Rc_Dialect, mnemonic, traits>;

def Rc_Ref : TypeDef<Rc_Dialect, "Ref"> {
  let mnemonic = "ref";
  let summary = "One reference to a tensor of this type";
  let parameters = (ins "::mlir::TensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

def Rc_KernelOp : Rc_Op<"kernel"> {
  let summary = "Calls a kernel of the runtime";
  let description = [{
    Runs the op that has this number in the cluster's table. Its operands and results are tensors
    or references. It may overwrite operands marked in `takes`, which it gets for good; the others
    it borrows. Over references there is one result more: whether the kernel succeeded.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, I32Attr:$index, StrAttr:$op,
                       OptionalAttr<DenseBoolArrayAttr>:$takes);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$op $index `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}

def Rc_ConstantOp : Rc_Op<"constant", [Pure]> {
  let summary = "A constant of the cluster's table";
  let arguments = (ins I32Attr:$index);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$index attr-dict `:` type($result)";
}

def Rc_CheckOp : Rc_Op<"check"> {
  let summary = "Leaves the compiled code unless a condition holds";
  let description = [{
    Where it doesn't, everything that is held is released and the interpreter runs the cluster from
    its inputs again. So no check needs a message, and errors are the interpreter's own.
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Rc_RunningOp : Rc_Op<"running"> {
  let summary = "False once the run was cancelled, failed elsewhere, or is over its deadline";
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Rc_UnchangedOp : Rc_Op<"unchanged"> {
  let summary = "False once somebody else changed one of the `count` variables of the cluster";
  let arguments = (ins I64Attr:$count);
  let results = (outs I1:$result);
  let assemblyFormat = "$count attr-dict";
}

def Rc_BailOp : Rc_Op<"bail", [Terminator]> {
  let summary = "Returns to the interpreter without results";
  let assemblyFormat = "attr-dict";
}

def Rc_AllocOp : Rc_Op<"alloc", [AttrSizedOperandSegments]> {
  let summary = "A new tensor that holds one reference, with any elements";
  let description = [{
    `models` are tensors of the same shape that are read element by element where the new one is
    written: one of them may give its elements up for it, if it is not needed afterwards. `copies`
    marks a tensor that will hold nothing but elements of others: statistics count these.
  }];
  let arguments = (ins Variadic<Index>:$dims, Variadic<Rc_Ref>:$models, UnitAttr:$copies);
  let results = (outs Rc_Ref:$result, I1:$ok);
  let assemblyFormat = [{
    `(` $dims `)` (`like` `(` $models^ `:` type($models) `)`)? attr-dict `:` type($result)
  }];
}

def Rc_LocalOp : Rc_Op<"local"> {
  let summary = "A tensor on the stack, with any elements: one that ends where it is made";
  let description = [{
    Each time it is reached it is the same memory, which the call of the code takes as it begins.
    Nobody counts references to it, so that they are used for views and dimensions alone.
  }];
  let results = (outs Rc_Ref:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Rc_ReuseOp : Rc_Op<"reuse"> {
  let summary = "The block of a tensor that is about to end, or a new tensor";
  let description = [{
    Where the operand has one reference, and is of the same type and size, the result is the same
    block with the same reference, which `rc.drop` then leaves alone. Where not, the result is as of
    `rc.alloc`.
  }];
  let arguments = (ins Rc_Ref:$of, Variadic<Index>:$dims);
  let results = (outs Rc_Ref:$result, I1:$ok);
  let assemblyFormat = "$of `(` $dims `)` attr-dict `:` type($of) `->` type($result)";
}

def Rc_DropOp : Rc_Op<"drop"> {
  let summary = "Gives a reference back, unless another tensor took its block over by `rc.reuse`";
  let arguments = (ins Rc_Ref:$ref, Rc_Ref:$by);
  let assemblyFormat = "$ref `,` $by attr-dict `:` type($ref) `,` type($by)";
}

def Rc_RetainOp : Rc_Op<"retain"> {
  let summary = "Adds a reference";
  let arguments = (ins Rc_Ref:$ref);
  let assemblyFormat = "$ref attr-dict `:` type($ref)";
}

def Rc_ReleaseOp : Rc_Op<"release"> {
  let summary = "Gives a reference back; the last one frees the tensor";
  let arguments = (ins Rc_Ref:$ref);
  let assemblyFormat = "$ref attr-dict `:` type($ref)";
}

def Rc_DimOp : Rc_Op<"dim"> {
  let summary = "A dimension of a tensor";
  let arguments = (ins Rc_Ref:$ref, I64Attr:$index);
  let results = (outs Index:$result);
  let assemblyFormat = "$ref `,` $index attr-dict `:` type($ref)";
}

def Rc_CastOp : Rc_Op<"cast", [Pure]> {
  let summary = "The same reference, with more or less of its shape known";
  let description = [{
    More than was known is taken for granted: `rc.check` it first.
  }];
  let arguments = (ins Rc_Ref:$ref);
  let results = (outs Rc_Ref:$result);
  let assemblyFormat = "$ref attr-dict `:` type($ref) `->` type($result)";
}

def Rc_SelectOp : Rc_Op<"select"> {
  let summary = "Another reference to one of two tensors";
  let arguments = (ins I1:$condition, Rc_Ref:$first, Rc_Ref:$second);
  let results = (outs Rc_Ref:$result);
  let assemblyFormat = [{
    $condition `,` $first `,` $second attr-dict `:` functional-type(operands, $result)
  }];
}

def Rc_ReshapeOp : Rc_Op<"reshape", [Pure]> {
  let summary = "The same elements in another shape, without a copy";
  let description = [{
    `dims` are the dimensions that the result's type doesn't tell. Over references there is one
    result more: whether the shape has as many elements as the operand.
  }];
  let arguments = (ins AnyType:$from, Variadic<Index>:$dims);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$from `(` $dims `)` attr-dict `:` type($from) `->` type($outputs)";
}

def Rc_ListOp : Rc_Op<"list"> {
  let summary = "A list of tensors of one shape: a tensor whose rows they are, all zeros";
  let description = [{
    `dims` are the dimensions that the type doesn't tell. An open list has a length, its first
    dimension, and no elements yet: what the shape of an element is, the first one tells. The
    dimensions of an open list are not to be used, its first one is -1 - length. Over references
    there is one result more: whether there was memory.
  }];
  let arguments = (ins Variadic<Index>:$dims, UnitAttr:$isOpen);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "`(` $dims `)` (`open` $isOpen^)? attr-dict `:` type($outputs)";
}

def Rc_SetOp : Rc_Op<"set"> {
  let summary = "A list with another element at an index";
  let description = [{
    Leaves the compiled code where there is no such index, or the element has another shape than
    those of the list. A list that `grows` is made longer instead, by zeros.
  }];
  let arguments = (ins AnyType:$list, Index:$index, AnyType:$element, UnitAttr:$grows);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $list `[` $index `]` `=` $element (`grows` $grows^)? attr-dict `:` type($element) `in` type($list)
    `->` type($result)
  }];
}

def Rc_OwnOp : Rc_Op<"own"> {
  let summary = "A list for nobody else, with room for an element of these dimensions at an index";
  let description = [{
    Takes the operand over. It is the same list where that is the only reference and has room, else
    a copy; none where the index or the dimensions don't fit.
  }];
  let arguments = (ins Rc_Ref:$list, Index:$index, Variadic<Index>:$dims, UnitAttr:$grows);
  let results = (outs Rc_Ref:$result, I1:$ok);
  let assemblyFormat = [{
    $list `[` $index `]` `(` $dims `)` (`grows` $grows^)? attr-dict `:` type($list) `->`
    type($result)
  }];
}

def Rc_PutOp : Rc_Op<"put"> {
  let summary = "Copies an element into a list that is nobody else's, and has room for it";
  let arguments = (ins Rc_Ref:$list, Index:$index, Rc_Ref:$element);
  let assemblyFormat = [{
    $list `[` $index `]` `=` $element attr-dict `:` type($element) `in` type($list)
  }];
}

def Rc_RowOp : Rc_Op<"row"> {
  let summary = "The element of a list at an index";
  let description = [{
    A share of the list's memory, or a copy: for lists that are to be changed while the element is
    there. Leaves the compiled code where there is none. Over references there is one result more:
    whether there was one.
  }];
  let arguments = (ins AnyType:$list, Index:$index, UnitAttr:$copies);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $list `[` $index `]` (`copies` $copies^)? attr-dict `:` type($list) `->` type($outputs)
  }];
}

def Rc_PopOp : Rc_Op<"pop"> {
  let summary = "A list without its last element";
  let description = [{
    Takes the operand over, as `rc.own`. Over references there is one result more: whether there was
    an element.
  }];
  let arguments = (ins AnyType:$list);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$list attr-dict `:` type($list) `->` type($outputs)";
}

def Rc_StackOp : Rc_Op<"stack"> {
  let summary = "The elements of a list as one tensor, without a copy";
  let description = [{
    Takes the operand over. Leaves the compiled code where the list is open. Over references there
    is one result more: whether it was not.
  }];
  let arguments = (ins AnyType:$list);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$list attr-dict `:` type($list) `->` type($outputs)";
}

def Rc_UpdateOp : Rc_Op<"update", [AttrSizedOperandSegments]> {
  let summary = "A tensor with other elements in a block of it";
  let description = [{
    The block begins at `places`, is inside, and has `sizes`. `elements` are its elements, scalars
    in the order of memory.
  }];
  let arguments = (ins AnyType:$tensor, Variadic<Index>:$places, Variadic<AnyType>:$elements,
                       DenseI64ArrayAttr:$sizes);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $tensor `[` $places `]` $sizes `=` $elements attr-dict `:` type($elements) `in` type($tensor)
    `->` type($result)
  }];
}

def Rc_WriteOp : Rc_Op<"write", [NoTerminator, SingleBlock]> {
  let summary = "A tensor with other elements, written one after the other by a loop nest";
  let description = [{
    The body runs for all indices below `sizes`, the last one innermost. Its first argument is the
    tensor as it is by then, for `rc.current` and `rc.store`; the others are the indices. No two
    runs of a body of `isParallel` meet in memory. Over memory there are no results.
  }];
  let arguments = (ins AnyType:$tensor, Variadic<Index>:$sizes, UnitAttr:$isParallel);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $tensor `for` `(` $sizes `)` (`parallel` $isParallel^)? attr-dict `:` type($tensor)
    (`->` type($outputs)^)? $body
  }];
}

def Rc_CurrentOp : Rc_Op<"current"> {
  let summary = "An element of what is being written";
  let arguments = (ins AnyType:$tensor, Variadic<Index>:$places);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$tensor `[` $places `]` attr-dict `:` type($tensor) `->` type($result)";
}

def Rc_StoreOp : Rc_Op<"store"> {
  let summary = "Writes an element";
  let arguments = (ins AnyType:$tensor, Variadic<Index>:$places, AnyType:$element);
  let assemblyFormat = [{
    $tensor `[` $places `]` `=` $element attr-dict `:` type($element) `in` type($tensor)
  }];
}

def Rc_UniqueOp : Rc_Op<"unique"> {
  let summary = "A tensor for nobody else, to be written in place";
  let description = [{
    Takes the operand over. It is the same tensor where that is the only reference, else a copy.
  }];
  let arguments = (ins Rc_Ref:$ref);
  let results = (outs Rc_Ref:$result, I1:$ok);
  let assemblyFormat = "$ref attr-dict `:` type($ref) `->` type($result)";
}

def Rc_RankOp : Rc_Op<"rank"> {
  let summary = "The number of dimensions of a tensor";
  let arguments = (ins Rc_Ref:$ref);
  let results = (outs Index:$result);
  let assemblyFormat = "$ref attr-dict `:` type($ref)";
}

def Rc_ViewOp : Rc_Op<"view"> {
  let summary = "The elements of a tensor";
  let description = [{
    Good while the reference is. Booleans are bytes. A row of unknown length is all elements, in
    the order of memory, whatever the shape.
  }];
  let arguments = (ins Rc_Ref:$ref);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$ref attr-dict `:` type($ref) `->` type($result)";
}

def Rc_ParallelOp : Rc_Op<"parallel"> {
  let summary = "Says of the innermost loop around it that its iterations don't meet in memory";
  let description = [{
    An iteration may write what it read itself, as where a tensor is overwritten in place; a test of
    addresses couldn't tell that from iterations that depend on each other.
  }];
  let assemblyFormat = "attr-dict";
}

def Rc_SpreadOp : Rc_Op<"spread"> {
  let summary = "Runs a part of the code for all numbers below a size";
  let description = [{
    The part is a function of the module that is marked with `rc.part`: it has the captures as its
    arguments, and the begin and the end of a range. Ranges meet neither in memory nor otherwise, so
    threads of the run may share them; `alone` says that this thread does all. There are `count`
    elements, each of which takes about `cost` picoseconds.
  }];
  let arguments = (ins FlatSymbolRefAttr:$part, Index:$size, Index:$count,
                       Variadic<AnyType>:$captures, I64Attr:$cost, UnitAttr:$alone);
  let assemblyFormat = [{
    $part `(` $size `,` $count `)` (`alone` $alone^)? `cost` $cost `with` `(` $captures `)` attr-dict
    `:` type($captures)
  }];
}

def Rc_Words : MemRefRankOf<[I64], [1]>;

def Rc_CallOp : Rc_Op<"call"> {
  let summary = "Runs a piece of the cluster";
  let description = [{
    The piece is a function of the module that is marked with `rc.piece`. It gets the cluster's words,
    through which values come and go. The result is false where it left.
  }];
  let arguments = (ins FlatSymbolRefAttr:$piece, Rc_Words:$words);
  let results = (outs I1:$ok);
  let assemblyFormat = "$piece `(` $words `)` attr-dict `:` type($words)";
}

def Rc_StoreWordOp : Rc_Op<"store_word"> {
  let summary = "Puts a number into a word, or moves a reference there";
  let arguments = (ins AnyType:$value, Rc_Words:$words, I64Attr:$word);
  let assemblyFormat = "$value `,` $words `[` $word `]` attr-dict `:` type($value) `,` type($words)";
}

def Rc_LoadWordOp : Rc_Op<"load_word"> {
  let summary = "What a word holds: a number, or a tensor's reference";
  let description = [{
    Of a reference, one more is made, but `takes` moves it out of the word.
  }];
  let arguments = (ins Rc_Words:$words, I64Attr:$word, UnitAttr:$takes);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $words `[` $word `]` (`takes` $takes^)? attr-dict `:` type($words) `->` type($result)
  }];
}

def Rc_ClearWordsOp : Rc_Op<"clear_words"> {
  let summary = "Lets the first `count` words hold no reference";
  let arguments = (ins Rc_Words:$words, I64Attr:$count);
  let assemblyFormat = "$words `,` $count attr-dict `:` type($words)";
}

def Rc_ReleaseWordsOp : Rc_Op<"release_words"> {
  let summary = "Releases the references that the first `count` words hold";
  let arguments = (ins Rc_Words:$words, I64Attr:$count);
  let assemblyFormat = "$words `,` $count attr-dict `:` type($words)";
}

#endif // TREADLE_CODEGEN_RC_TD
