// What only nets have: normalisations, softmax and losses, cells of recurrent nets, steps of
// gradient descent.
#include "treadle/runtime/Kernel.h"

/// _Attention: softmax(query key' * scale + mask) value without the scores in memory, and its
/// gradient.
TREADLE_FAMILY(attentionKernels)
/// BiasAdd adds a vector along the channels of a tensor; BiasAddGrad sums over everything else.
TREADLE_FAMILY(biasKernels)
/// BlockLSTM: a long short-term memory over all steps of a sequence at once, and its gradient.
TREADLE_FAMILY(blockLstmKernels)
/// Decoders of connectionist temporal classification: the best class of each step, and a search
/// with a beam (A. Graves, "Supervised sequence labelling with recurrent neural networks", section
/// 7.5).
TREADLE_FAMILY(ctcDecodeKernels)
/// CTCLoss: how unlikely a sequence of labels is, summed over all its alignments with the inputs,
/// and the slope of that (A. Graves, "Supervised sequence labelling with recurrent neural
/// networks", chapter 7, whose names the variables have).
TREADLE_FAMILY(ctcLossKernels)
/// CudnnRNN: recurrent nets of several layers, with parameters as cuDNN lays them out.
TREADLE_FAMILY(cudnnRnnKernels)
/// GatherTree: the sequences of a search with a beam, from each step's ids and their parents.
TREADLE_FAMILY(gatherTreeKernels)
/// BatchNormWithGlobalNormalization, the first batch normalization, and its gradient: mean and
/// variance of each channel are given.
TREADLE_FAMILY(globalNormalizationKernels)
/// _GroupNorm: normalisation over the positions and channels of a group of channels.
TREADLE_FAMILY(groupNormKernels)
/// GRUBlockCell: one step of a gated recurrent unit, and its gradient.
TREADLE_FAMILY(gruKernels)
/// Normalisation over the last dimension.
TREADLE_FAMILY(layerNormKernels)
/// _FusedScale: a factor and an offset a channel, and an activation.
TREADLE_FAMILY(scaleKernels)
/// _FusedLstmGates: from the sums of a long short-term memory's gates and its cell to the next cell
/// and the output.
TREADLE_FAMILY(lstmGatesKernels)
/// Normalisation across channels (LRN) and over batches (FusedBatchNorm, and with a summand and an
/// activation _FusedBatchNormEx), with their gradients.
TREADLE_FAMILY(normalizationKernels)
/// What TensorFlow's optimizer makes for oneDNN and nothing else here computes: _MklFusedMish and
/// the like.
TREADLE_FAMILY(oneDnnKernels)
/// Steps of gradient descent in all its forms: a rule each, and one line for each op that applies
/// it.
TREADLE_FAMILY(optimizerKernels)
/// LSTMBlockCell: one step of a long short-term memory, and its gradient.
TREADLE_FAMILY(lstmKernels)
/// Softmax and the cross entropies of logits.
TREADLE_FAMILY(softmaxKernels)
