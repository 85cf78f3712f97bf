// Kernels for files: checkpoints, records and examples, whole files, event summaries.
#include "treadle/runtime/Kernel.h"

/// Saving and restoring of checkpoints.
TREADLE_FAMILY(checkpointKernels)
/// DecodeJSONExample: converts JSON to serialized tf.Example messages.
TREADLE_FAMILY(exampleJsonKernels)
/// Whole files: reading, writing and glob patterns; and Timestamp.
TREADLE_FAMILY(fileKernels)
/// Image summaries.
TREADLE_FAMILY(imageSummaryKernels)
/// Ops that read serialized tf.Example and tf.SequenceExample messages.
TREADLE_FAMILY(parseExampleKernels)
/// DecodeProtoV2 and EncodeProto: fields of protobuf messages, described by a FileDescriptorSet.
TREADLE_FAMILY(protoKernels)
/// Readers of records, and ops on them.
TREADLE_FAMILY(readerKernels)
/// Save and Restore, the ops of the v1 checkpoint format.
TREADLE_FAMILY(sliceFileKernels)
/// Summaries for TensorBoard: serialized `Summary` messages, passed as strings.
TREADLE_FAMILY(summaryKernels)
/// Ops that write summaries to an event file.
TREADLE_FAMILY(summaryWriterKernels)
