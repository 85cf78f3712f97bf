#include "treadle/analysis/effects/EffectTable.h"

#include "treadle/ops/OpTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace treadle::tfg {
namespace {

using Reach = OpEffects::Reach;

constexpr Access none{}, read{Access::Read}, write{Access::Write}, put{Access::Write, Part::In},
    take{Access::Write, Part::Out};

/// Ops that differ from the rule for stateful ops, by what they do. Words of one row are separated
/// by spaces; `V2` and the like are spelled out.
struct Row {
  OpEffects effects;
  StringLiteral ops;
};

constexpr OpEffects onHandles(Access access) { return {access, Reach::Nothing, none}; }
constexpr OpEffects onReach(Reach reach, Access access) { return {none, reach, access}; }

const Row rows[] = {
    {onHandles(read),
     "ReadVariableOp ReadVariableXlaSplitND _ReadVariablesOp ResourceGather ResourceGatherNd "
     "VarIsInitializedOp VariableShape IsVariableInitialized ResourceInitializedOp "
     "LookupTableFind LookupTableFindV2 LookupTableSize LookupTableSizeV2 LookupTableExport "
     "LookupTableExportV2 QueueSize QueueSizeV2 QueueIsClosed QueueIsClosedV2 BarrierReadySize "
     "BarrierIncompleteSize AccumulatorNumAccumulated ResourceAccumulatorNumAccumulated "
     "ReaderNumRecordsProduced ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompleted "
     "ReaderNumWorkUnitsCompletedV2 ReaderSerializeState ReaderSerializeStateV2 "
     "SerializeIterator IteratorGetModelProto BoostedTreesExampleDebugOutputs "
     "BoostedTreesGetEnsembleStates BoostedTreesPredict BoostedTreesSerializeEnsemble "
     "BoostedTreesTrainingPredict BoostedTreesQuantileStreamResourceGetBucketBoundaries "
     "IsBoostedTreesEnsembleInitialized IsBoostedTreesQuantileStreamResourceInitialized "
     "RpcCheckStatus RpcGetValue"},
    // Whether an array's element is cleared when it is read shows only in a second read of it,
    // which fails in either order; the arrays of gradients are made once, whoever asks first.
    {onHandles(read),
     "TensorArrayRead TensorArrayReadV2 TensorArrayReadV3 TensorArrayGather TensorArrayGatherV2 "
     "TensorArrayGatherV3 TensorArrayConcat TensorArrayConcatV2 TensorArrayConcatV3 "
     "TensorArraySize TensorArraySizeV2 TensorArraySizeV3 TensorArrayPack TensorArrayGrad "
     "TensorArrayGradV2 TensorArrayGradV3 TensorArrayGradWithShape"},
    // In the op table these aren't stateful: their reference says it.
    {onHandles(write),
     "Assign AssignAdd AssignSub ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA "
     "ApplyAdagradV2 ApplyAdam ApplyAddSign ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 "
     "ApplyGradientDescent ApplyMomentum ApplyPowerSign ApplyProximalAdagrad "
     "ApplyProximalGradientDescent ApplyRMSProp CountUpTo DestroyTemporaryVariable NegTrain "
     "ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterSub ScatterUpdate "
     "ScatterNdAdd ScatterNdMax ScatterNdMin ScatterNdSub ScatterNdUpdate SdcaShrinkL1 "
     "SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA SparseApplyAdagradV2 "
     "SparseApplyCenteredRMSProp SparseApplyFtrl SparseApplyFtrlV2 SparseApplyMomentum "
     "SparseApplyProximalAdagrad SparseApplyProximalGradientDescent SparseApplyRMSProp "
     "StridedSliceAssign AccumulatorApplyGradient AccumulatorSetGlobalStep "
     "AccumulatorTakeGradient SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient "
     "BarrierClose BarrierInsertMany BarrierTakeMany InitializeTable "
     "InitializeTableFromTextFile LookupTableImport LookupTableInsert QueueClose ReaderRead "
     "ReaderReadUpTo ReaderReset ReaderRestoreState StackClose StackPop StackPush "
     "TensorArrayClose TensorArrayCloseV2 TensorArrayScatter TensorArrayScatterV2 "
     "TensorArraySplit TensorArraySplitV2 TensorArrayUnpack TensorArrayWrite "
     "TensorArrayWriteV2"},
    {onHandles(put), "QueueEnqueue QueueEnqueueV2 QueueEnqueueMany QueueEnqueueManyV2"},
    {onHandles(take), "QueueDequeue QueueDequeueV2 QueueDequeueMany QueueDequeueManyV2 "
                      "QueueDequeueUpTo QueueDequeueUpToV2"},
    // They pass a handle or a reference on, say something about it, or hold a lock: that orders
    // what is done under it, and is ordered by it.
    {onHandles(none),
     "RefEnter RefExit RefIdentity RefMerge RefNextIteration RefSelect RefSwitch "
     "DebugGradientRefIdentity FakeQueue IsResourceHandleRefCounting MakeWeakResourceHandle "
     "DisableCopyOnRead IteratorToStringHandle IteratorGetDevice ExperimentalIteratorGetDevice "
     "MultiDeviceIteratorToStringHandle IteratorFromStringHandle IteratorFromStringHandleV2 "
     "MultiDeviceIteratorFromStringHandle MutexLock ConsumeMutexLock"},
    // Stateful lest they be folded away or run twice, without an effect that another node sees.
    // What an error stops is not a matter of effects.
    {OpEffects{},
     "Assert CheckNumerics CheckNumericsV2 GuaranteeConst Empty DeepCopy _Arg _Retval _DeviceArg "
     "_DeviceRetval DeviceIndex StatelessRandomGetAlg GraphDefVersion IsTensorFloat32Enabled "
     "TPUOrdinalSelector _ParallelConcatStart DummyIterationCounter DummyMemoryCache "
     "DummySeedGenerator Case If While _If _While XlaIf XlaWhile RiscWhile "
     "StatefulPartitionedCall RemoteCall XlaLaunch"},
    {onReach(Reach::Own, write),
     "RandomUniform RandomUniformInt RandomStandardNormal ParameterizedTruncatedNormal "
     "TruncatedNormal RandomShuffle Multinomial RandomGamma RandomPoisson RandomPoissonV2 "
     "RandomCrop SampleDistortedBoundingBox SampleDistortedBoundingBoxV2 AllCandidateSampler "
     "FixedUnigramCandidateSampler LearnedUnigramCandidateSampler LogUniformCandidateSampler "
     "ThreadUnsafeUnigramCandidateSampler UniformCandidateSampler Skipgram NonDeterministicInts "
     "RecordInput CudnnRNN CudnnRNNV2 CudnnRNNV3 CudnnRNNBackprop CudnnRNNBackpropV2 "
     "CudnnRNNBackpropV3 SleepOp SleepIdentityOp"},
    {onReach(Reach::World, read), "Timestamp Restore RestoreV2 RestoreSlice LoadAndRemapMatrix "
                                  "ReadFile MatchingFiles DTensorRestoreV2"},
    {onReach(Reach::Named, put), "Stage"},
    {onReach(Reach::Named, take), "Unstage"},
    {onReach(Reach::Named, write),
     "StageClear MapClear MapStage MapUnstage MapUnstageNoKey OrderedMapClear OrderedMapStage "
     "OrderedMapUnstage OrderedMapUnstageNoKey"},
    {onReach(Reach::Named, read), "StagePeek StageSize MapPeek MapSize MapIncompleteSize "
                                  "OrderedMapPeek OrderedMapSize OrderedMapIncompleteSize"},
    {onReach(Reach::Channel, put), "Send _Send _HostSend"},
    {onReach(Reach::Channel, take), "Recv _Recv _HostRecv"},
};

StringMap<OpEffects> makeTable() {
  StringMap<OpEffects> table;
  for (const Row &row : rows) {
    llvm::SmallVector<StringRef> ops;
    StringRef(row.ops).split(ops, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef op : ops)
      table[op] = row.effects;
  }
  return table;
}

/// `MapDataset` and all others, but for what runs one to its end at once.
bool isDataset(StringRef op) {
  return op.contains("Dataset") && !op.starts_with("DatasetTo") && op != "ReduceDataset" &&
         !op.starts_with("ExperimentalDatasetTo") && !op.starts_with("SaveDataset") &&
         !op.starts_with("InitializeTable");
}

OpEffects byOpTable(StringRef op) {
  const OpDef *def = lookupOp(op);
  if (!def)
    return {write, Reach::World, write};
  if (isDataset(op)) {
    OpEffects effects;
    effects.isDeferred = true;
    return effects;
  }
  if (!def->isStateful() || !resourceFamily(op).empty())
    return {};
  for (const ArgDef &input : def->inputs())
    if (input.type() == DType::Resource || input.isRef())
      return onHandles(write);
  return onReach(Reach::World, write);
}

} // namespace

OpEffects lookupEffects(StringRef op) {
  static const StringMap<OpEffects> table = makeTable();
  auto known = table.find(op);
  return known == table.end() ? byOpTable(op) : known->second;
}

StringRef resourceFamily(StringRef op) {
  static const std::pair<StringLiteral, StringLiteral> families[] = {
      {"VarHandleOp", "variable"},
      {"_XlaAotOnlyVarHandleOp", "variable"},
      {"_VarHandlesOp", "variable"},
      {"Variable", "reference variable"},
      {"VariableV2", "reference variable"},
      {"TemporaryVariable", "temporary variable"},
      {"HashTable", "table"},
      {"MutableHashTable", "table"},
      {"MutableHashTableOfTensors", "table"},
      {"MutableDenseHashTable", "table"},
      {"FIFOQueue", "queue"},
      {"PaddingFIFOQueue", "queue"},
      {"PriorityQueue", "unordered queue"},
      {"RandomShuffleQueue", "unordered queue"},
      {"Barrier", "barrier"},
      {"ConditionalAccumulator", "accumulator"},
      {"SparseConditionalAccumulator", "accumulator"},
      {"ResourceConditionalAccumulator", "accumulator"},
      {"Iterator", "iterator"},
      {"OneShotIterator", "iterator"},
      {"MultiDeviceIterator", "iterator"},
      {"Mutex", "mutex"},
      {"Stack", "stack"},
      {"TensorArray", "tensor array"},
      {"SummaryWriter", "summary writer"},
  };
  const OpDef *def = lookupOp(op);
  if (!def || !def->isStateful())
    return {};
  bool givesHandle = llvm::any_of(def->outputs(), [](const ArgDef &output) {
    return output.type() == DType::Resource || output.isRef();
  });
  bool takesHandle = llvm::any_of(def->inputs(), [](const ArgDef &input) {
    return input.type() == DType::Resource || input.isRef();
  });
  StringRef base = op;
  if (base.ends_with("V2") || base.ends_with("V3"))
    base = base.drop_back(2);
  bool isNamed = llvm::any_of(families, [&](auto &row) { return row.first == base; });
  if (takesHandle || (!givesHandle && !isNamed))
    return {};
  base.consume_front("Anonymous");
  for (auto [maker, family] : families)
    if (maker == base || maker == op)
      return family;
  return base.ends_with("Reader") ? "reader" : "resource";
}

} // namespace treadle::tfg
