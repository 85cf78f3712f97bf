// What family an op belongs to, for its colour. The first pattern that fits decides; this is for the
// eye alone, and nothing depends on it.

export const opKinds = [
  "matrices, convolutions", "elementwise", "shapes, moves", "state, input and output of files", "control flow, calls",
  "arguments and results", "constants", "others",
] as const;

const patterns: [RegExp, number][] = [
  [/^(Const|HostConst|VarHandleOp|Variable|VariableV2)$/, 6],
  [/^(_?Arg|_?Retval|Placeholder|PlaceholderWithDefault|_Device(Arg|Retval)|_Send|_Recv|_Host(Send|Recv))$/, 5],
  [/^(Ref)?(Switch|Merge|Enter|Exit|NextIteration)$|^_SwitchN$|LoopCond|^(Stateless)?(While|If|Case)$|PartitionedCall|^NoOp$|ControlTrigger|RemoteCall|^For$/, 4],
  [/Variable|Assign|TensorArray|TensorList|Queue|Stack(V2|Push|Pop)|Lookup|HashTable|Iterator|Dataset|^(Save|Restore)|ReadFile|WriteFile|Print|Assert|Random|Resource|Summary|Checkpoint/, 3],
  [/MatMul|Conv|Pool|Einsum|FFT|Cholesky|Qr|Svd|Norm|LSTM|GRU|Attention|MatrixSolve|^Xla|SparseTensorDense/, 0],
  [/Reshape|Transpose|Concat|Split|Slice|Gather|Scatter|^Pack|^Unpack|Squeeze|ExpandDims|Tile|Pad|Shape|Size|Rank|Range|Fill|Broadcast|Identity|StopGradient|Reverse|OneHot|Where|Cast|Bitcast|ZerosLike|OnesLike|Snapshot/, 2],
  [/^[A-Z][A-Za-z0-9]*(Grad|V2)?$/, 1],
];

export function kindOfOp(op: string): number {
  for (const [pattern, kind] of patterns) if (pattern.test(op)) return kind;
  return 7;
}
