// Neural network ops: normalization, softmax and losses, recurrent cells, optimizer steps.
#include "treadle/runtime/Kernel.h"

/// _Attention: softmax(query key' * scale + mask) value without materialized scores, and its
/// gradient.
TREADLE_FAMILY(attentionKernels)
/// BiasAdd adds a vector along the channels of a tensor; BiasAddGrad sums over everything else.
TREADLE_FAMILY(biasKernels)
/// BlockLSTM: an LSTM over all steps of a sequence at once, and its gradient.
TREADLE_FAMILY(blockLstmKernels)
/// CTC decoders: greedy, and beam search (A. Graves, "Supervised sequence labelling with recurrent
/// neural networks", section 7.5).
TREADLE_FAMILY(ctcDecodeKernels)
/// CTCLoss: the negative log-likelihood of a label sequence, summed over all its alignments with
/// the inputs, and its gradient (A. Graves, "Supervised sequence labelling with recurrent neural
/// networks", chapter 7; variables are named as there).
TREADLE_FAMILY(ctcLossKernels)
/// CudnnRNN: multi-layer recurrent networks with parameters in cuDNN's layout.
TREADLE_FAMILY(cudnnRnnKernels)
/// GatherTree: the sequences of a beam search, from each step's ids and parents.
TREADLE_FAMILY(gatherTreeKernels)
/// BatchNormWithGlobalNormalization, the first batch normalization op, and its gradient. Mean and
/// variance of each channel are inputs.
TREADLE_FAMILY(globalNormalizationKernels)
/// _GroupNorm: normalization over the positions and channels of a group of channels.
TREADLE_FAMILY(groupNormKernels)
/// GRUBlockCell: one step of a gated recurrent unit, and its gradient.
TREADLE_FAMILY(gruKernels)
/// Layer normalization over the last dimension.
TREADLE_FAMILY(layerNormKernels)
/// _FusedScale: a factor and an offset per channel, and an activation.
TREADLE_FAMILY(scaleKernels)
/// _FusedLstmGates: computes the next cell and the output from the gate sums and the cell of an
/// LSTM.
TREADLE_FAMILY(lstmGatesKernels)
/// Normalization across channels (LRN) and over batches (FusedBatchNorm, and _FusedBatchNormEx with
/// an addend and an activation), with their gradients.
TREADLE_FAMILY(normalizationKernels)
/// Fused ops that TensorFlow's optimizer creates for oneDNN: _MklFusedMish and the like.
TREADLE_FAMILY(oneDnnKernels)
/// Optimizer steps: one update rule each, and one table line for each op that applies it.
TREADLE_FAMILY(optimizerKernels)
/// LSTMBlockCell: one step of an LSTM, and its gradient.
TREADLE_FAMILY(lstmKernels)
/// Softmax and the cross entropies of logits.
TREADLE_FAMILY(softmaxKernels)
