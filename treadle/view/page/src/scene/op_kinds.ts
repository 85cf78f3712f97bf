// The category of an op, which determines its color. The first matching pattern applies. It is only
// used for display.

export const opKinds = [
  "matrices, convolutions", "arithmetic", "shapes, moves", "state, input and output of files", "control flow, calls",
  "arguments and results", "constants",
] as const;

/** Prefixes of the names of these ops. */
const arithmetic = new RegExp(
  "^(" +
  "Abs|Acos|Add|All|And|Any|Approximate|ArgM|Asin|Atan|Bessel|Betainc|Bias|Bincount|Bitwise|" +
  "Bucketize|Ceil|Clip|Complex|Conj|Cos|Cross|Cum|Dequantize|Digamma|Div|Elu|Equal|Erf|" +
  "EuclideanNorm|Exp|FakeQuant|Floor|Gelu|Greater|Igamma|Imag|InTopK|Inv|Is(Finite|Inf|Nan)|" +
  "LeakyRelu|LeftShift|Less|Lgamma|Log|Max|Mean|Min|Mod|Mul|Ndtri|Neg|Next|NotEqual|" +
  "Polygamma|Pow|Prod|Quantize|Real|Reciprocal|Relu|RightShift|Rint|Round|Rsqrt|Segment|" +
  "Select|Selu|Sigmoid|Sign|Sin|Soft|Sort|Sq|Sub|Sum|Tan|TopK|Trunc|Unique|UnsortedSegment|" +
  "Xdivy|Xlog|Zeta" +
  ")");

const patterns: [RegExp, number][] = [
  [/^(Const|HostConst|VarHandleOp|Variable|VariableV2)$/, 6],
  [/^(_?Arg|_?Retval|_ControlResult|Placeholder|PlaceholderWithDefault|_Device(Arg|Retval)|_Send|_Recv|_Host(Send|Recv))$/, 5],
  [/^(Ref)?(Switch|Merge|Enter|Exit|NextIteration)$|^_SwitchN$|LoopCond|^(Stateless)?(While|If|Case)$|PartitionedCall|^NoOp$|ControlTrigger|RemoteCall|^For$/, 4],
  [/Variable|Assign|TensorArray|TensorList|Queue|Stack(V2|Push|Pop)|Lookup|HashTable|Iterator|Dataset|^(Save|Restore)|ReadFile|WriteFile|Print|Assert|Random|Resource|Summary|Checkpoint/, 3],
  [/MatMul|Conv|Pool|Einsum|FFT|Cholesky|Qr|Svd|Norm|LSTM|GRU|Attention|MatrixSolve|^Xla|SparseTensorDense/, 0],
  [/Reshape|Transpose|Concat|Split|Slice|Gather|Scatter|^Pack|^Unpack|Squeeze|ExpandDims|Tile|Pad|Shape|Size|Rank|Range|Fill|Broadcast|Identity|StopGradient|Reverse|OneHot|Where|Cast|Bitcast|ZerosLike|OnesLike|Snapshot/, 2],
  [arithmetic, 1],
];

/** Returns -1 for other ops. */
export function kindOfOp(op: string): number {
  for (const [pattern, kind] of patterns) if (pattern.test(op)) return kind;
  return -1;
}
