// Files: checkpoints, records and examples, lines and whole files, summaries of events.
#include "treadle/runtime/Kernel.h"

/// Saving to and restoring from checkpoints.
TREADLE_FAMILY(checkpointKernels)
/// DecodeJSONExample: texts in JSON as serialized tf.Example messages.
TREADLE_FAMILY(exampleJsonKernels)
/// Files as wholes: reading, writing, and finding them by pattern; and the time of day.
TREADLE_FAMILY(fileKernels)
/// Summaries of images.
TREADLE_FAMILY(imageSummaryKernels)
/// Ops that read serialized tf.Example and tf.SequenceExample messages.
TREADLE_FAMILY(parseExampleKernels)
/// DecodeProtoV2 and EncodeProto: fields of protocol buffers' messages, by a FileDescriptorSet.
TREADLE_FAMILY(protoKernels)
/// The kinds of readers, and the ops on them.
TREADLE_FAMILY(readerKernels)
/// Save and Restore, the ops of the first format of checkpoints.
TREADLE_FAMILY(sliceFileKernels)
/// Summaries, as TensorBoard reads them: bytes of a protocol buffer `Summary`, which ops exchange
/// as strings.
TREADLE_FAMILY(summaryKernels)
/// Ops that write summaries to a file of events.
TREADLE_FAMILY(summaryWriterKernels)
