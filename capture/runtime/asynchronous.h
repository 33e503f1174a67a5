/* Input and output that goes on while the program does: what it changes and makes durable is not seen, and said to be unseen of
 * every file. */

#define AIO "asynchronous input and output (aio): what it writes, and what it makes durable"

/* What failed set up nothing. */
static void asynchronous(long result, const char *text, uint32_t location) {
    struct buffer *b = result < 0 ? NULL : begin();
    if (b) goes_out_of_sight(b, text, location);
}

#define ASYNCHRONOUS(name, text, parameters, arguments) \
    extern int name parameters; \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        int result = REAL(name) arguments; \
        asynchronous(result, text, PC); \
        return result; \
    }
ASYNCHRONOUS(aio_write, AIO, (struct aiocb * a), (a))
ASYNCHRONOUS(aio_write64, AIO, (struct aiocb64 * a), (a))
ASYNCHRONOUS(aio_fsync, AIO, (int how, struct aiocb *a), (how, a))
ASYNCHRONOUS(aio_fsync64, AIO, (int how, struct aiocb64 *a), (how, a))
ASYNCHRONOUS(lio_listio, AIO, (int how, struct aiocb *const list[], int count, struct sigevent *signal), (how, list, count, signal))
ASYNCHRONOUS(lio_listio64, AIO, (int how, struct aiocb64 *const list[], int count, struct sigevent *signal), (how, list, count, signal))

/* Of libaio and liburing, which make their system calls themselves. */
ASYNCHRONOUS(io_submit, IO_SUBMIT, (void *context, long count, void **list), (context, count, list))
ASYNCHRONOUS(io_uring_queue_init, IO_URING, (unsigned entries, void *ring, unsigned flags), (entries, ring, flags))
ASYNCHRONOUS(io_uring_queue_init_params, IO_URING, (unsigned entries, void *ring, void *parameters), (entries, ring, parameters))
ASYNCHRONOUS(io_uring_queue_init_mem, IO_URING, (unsigned entries, void *ring, void *parameters, void *memory, size_t bytes), (entries, ring, parameters, memory, bytes))
