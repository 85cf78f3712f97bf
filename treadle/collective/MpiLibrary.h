/* The interface of libtreadle_mpi.so, which transfers bytes between the processes that mpirun
 * started. It is loaded by name, so that single processes need neither it nor OpenMPI. */
#ifndef TREADLE_COLLECTIVE_MPILIBRARY_H
#define TREADLE_COLLECTIVE_MPILIBRARY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Receives a message. `bytes` are only valid during the call. */
typedef void (*treadle_mpi_take)(void *receiver, int from, const void *bytes, size_t size);

enum { treadle_mpi_late = -1 };

typedef struct {
  /* Joins the world and waits for all its processes. Returns 0, an MPI error code, or
   * treadle_mpi_late after `seconds`; it may then be called again. */
  int (*open)(int *rank, int *size, double seconds);
  /* Calls `take` for each message from now on, always on the same thread. */
  void (*listen)(treadle_mpi_take take, void *receiver);
  /* Sends a copy of the bytes. Doesn't block. */
  void (*send)(int to, const void *bytes, size_t size);
  /* Sends pending messages, for at most `seconds`, and leaves the world together with the other
   * processes. If `hasFailed` isn't 0, it waits for these for at most `seconds` as well, since they
   * may never leave. */
  void (*close)(int hasFailed, double seconds);
} treadle_mpi_functions;

/* The only exported symbol. Returns the functions, which live as long as the library. */
const treadle_mpi_functions *treadle_mpi(void);

#ifdef __cplusplus
}
#endif

#endif
