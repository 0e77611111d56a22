/* SPDX-License-Identifier: Apache-2.0 */
#include "services/state_db.h"

#include "services/state_db_priv.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Per batch. Rows that were read stay in memory until they are answered. */
#define WRITES_MAX AB_STATE_FILE_PRUNE_MAX /* so pruning keeps up with any load */
#define READS_MAX  256

/* One call: one allocation, key and texts behind the struct. */
struct job {
    struct job *next;
    bool reads;
    ab_str key;
    ab_received_state received;
    char *texts; /* of a row that was read */
    ab_state_db_done done;
    void *arg;
    ab_err code;
};

struct queue {
    struct job *head, *tail;
};

struct ab_state_db {
    ab_state_file *db; /* the worker owns it once there is a batch */
    const ab_clock *clock;
    uv_async_t told; /* by the worker: the batch is done */
    uv_thread_t worker;
    uv_sem_t wake;
    bool running;
    /* Owned by the thread that has the batch; `wake` and `told` hand it over. */
    struct job *batch; /* NULL: none is under way */
    int64_t now_s;
    ab_error error; /* the last one in the batch */
    atomic_bool stopping;
    /* Owned by the loop thread. */
    bool wrote; /* the last batch was one of writes */
    struct queue reads, writes;
    size_t pending;
    ab_error failure; /* of the last batch of writes */
};

/* --- the worker --- */

/* It could be written when it was opened. Like a full disk, a file or a folder that may not be
 * written for a while is tried again soon. */
static ab_err while_open(ab_state_db *c, ab_err e)
{
    if (e != AB_ERR_DENIED)
        return e;
    c->error.code = AB_ERR_IO;
    return AB_ERR_IO;
}

static void read_rows(ab_state_db *c)
{
    for (struct job *j = c->batch; j != NULL; j = j->next)
        j->code =
            while_open(c, ab_state_file_get(c->db, j->key, &j->received, &j->texts, &c->error));
}

static ab_err write_transaction(ab_state_db *c)
{
    ab_err e = ab_state_file_begin(c->db, &c->error);
    for (const struct job *j = c->batch; j != NULL && e == AB_ERR_OK; j = j->next)
        e = ab_state_file_put(c->db, j->key, &j->received, c->now_s, &c->error);
    if (e == AB_ERR_OK)
        e = ab_state_file_prune(c->db, c->now_s, &c->error);
    if (e == AB_ERR_OK)
        e = ab_state_file_commit(c->db, &c->error);
    if (e != AB_ERR_OK)
        ab_state_file_rollback(c->db);
    return e;
}

static void write_rows(ab_state_db *c)
{
    ab_err e = while_open(c, write_transaction(c));
    for (struct job *j = c->batch; j != NULL; j = j->next)
        j->code = e;
}

static void work(void *arg)
{
    ab_state_db *c = arg;
    for (uv_sem_wait(&c->wake); !c->stopping; uv_sem_wait(&c->wake)) {
        if (c->batch->reads)
            read_rows(c);
        else
            write_rows(c);
        uv_async_send(&c->told);
    }
}

/* --- the loop: batches --- */

static void append(struct queue *q, struct job *j)
{
    if (q->tail == NULL)
        q->head = j;
    else
        q->tail->next = j;
    q->tail = j;
}

static struct job *take(struct queue *q, size_t most)
{
    struct job *first = q->head;
    struct job *last = first;
    for (size_t n = 1; n < most && last->next != NULL; n++)
        last = last->next;
    q->head = last->next;
    if (q->head == NULL)
        q->tail = NULL;
    last->next = NULL;
    return first;
}

static void job_free(struct job *j)
{
    free(j->texts);
    free(j);
}

static void jobs_free(struct job *j)
{
    while (j != NULL) {
        struct job *next = j->next;
        job_free(j);
        j = next;
    }
}

/* Read and write batches alternate. */
static void start_batch(ab_state_db *c)
{
    if (c->batch != NULL || c->pending == 0)
        return;
    bool reads = c->reads.head != NULL && (c->wrote || c->writes.head == NULL);
    c->batch = reads ? take(&c->reads, READS_MAX) : take(&c->writes, WRITES_MAX);
    c->wrote = !reads;
    c->error = (ab_error){0};
    c->now_s = ab_clock_wall_us(c->clock) / 1000000;
    uv_sem_post(&c->wake);
}

static void note_failure(ab_state_db *c)
{
    if (c->wrote)
        c->failure = c->batch->code == AB_ERR_OK ? (ab_error){0} : c->error;
}

/* The batch counts as under way until all of it is answered, so that the calls that the answers
 * cause form one batch. */
static void on_told(uv_async_t *told)
{
    ab_state_db *c = told->data;
    if (c->batch != NULL)
        note_failure(c);
    while (c->batch != NULL) {
        struct job *j = c->batch;
        j->done(j->arg, j->code, j->code == AB_ERR_OK ? &j->received : NULL, &c->error);
        c->pending--;
        c->batch = j->next;
        job_free(j);
    }
    start_batch(c);
    if (c->pending == 0)
        uv_unref((uv_handle_t *)told);
}

static ab_err ask(ab_state_db *c, struct queue *q, const struct job *like, ab_str key)
{
    struct job *j = malloc(sizeof(*j) + key.len + ab_received_state_bytes(&like->received));
    if (j == NULL)
        return AB_ERR_NOMEM;
    char *at = (char *)(j + 1);
    *j = *like;
    memcpy(at, key.ptr, key.len);
    j->key = (ab_str){at, key.len};
    j->received = ab_received_state_copy(&like->received, at + key.len);
    append(q, j);
    if (c->pending++ == 0)
        uv_ref((uv_handle_t *)&c->told);
    start_batch(c);
    return AB_ERR_OK;
}

ab_err ab_state_db_save(ab_state_db *c, ab_str key, const ab_received_state *received,
                        ab_state_db_done done, void *arg)
{
    const struct job like = {.received = *received, .done = done, .arg = arg};
    return ask(c, &c->writes, &like, key);
}

ab_err ab_state_db_load(ab_state_db *c, ab_str key, ab_state_db_done done, void *arg)
{
    const struct job like = {.reads = true, .done = done, .arg = arg};
    return ask(c, &c->reads, &like, key);
}

const ab_error *ab_state_db_failure(const ab_state_db *c)
{
    return &c->failure;
}

size_t ab_state_db_pending(const ab_state_db *c)
{
    return c->pending;
}

/* --- start and end --- */

static ab_err start_worker(ab_state_db *c, ab_error *err)
{
    if (uv_sem_init(&c->wake, 0) != 0)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    c->running = uv_thread_create(&c->worker, work, c) == 0;
    if (c->running)
        return AB_ERR_OK;
    uv_sem_destroy(&c->wake);
    return ab_fail(err, AB_ERR_NOMEM, "cannot start a thread");
}

ab_err ab_state_db_open(uv_loop_t *loop, const char *path, const ab_clock *clock, ab_state_db **out,
                        bool *fresh, ab_error *err)
{
    ab_state_db *c = calloc(1, sizeof(*c));
    if (c == NULL || uv_async_init(loop, &c->told, on_told) != 0) {
        free(c);
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    }
    c->told.data = c;
    uv_unref((uv_handle_t *)&c->told);
    c->clock = clock;
    ab_err e = ab_state_file_open(path, &c->db, fresh, err);
    if (e == AB_ERR_OK)
        e = ab_state_file_prune(c->db, ab_clock_wall_us(clock) / 1000000, err);
    if (e == AB_ERR_OK)
        e = start_worker(c, err);
    if (e == AB_ERR_OK)
        *out = c;
    else
        ab_state_db_close(c);
    return e;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void stop_worker(ab_state_db *c)
{
    c->stopping = true;
    uv_sem_post(&c->wake);
    (void)uv_thread_join(&c->worker);
    uv_sem_destroy(&c->wake);
}

void ab_state_db_close(ab_state_db *c)
{
    if (c == NULL)
        return;
    if (c->running)
        stop_worker(c);
    jobs_free(c->batch);
    jobs_free(c->reads.head);
    jobs_free(c->writes.head);
    ab_state_file_close(c->db);
    uv_close((uv_handle_t *)&c->told, on_closed);
}

ab_err ab_state_db_each(ab_state_db *c,
                        ab_err (*fn)(void *arg, ab_str key, const ab_received_state *received),
                        void *arg, ab_error *err)
{
    assert(c->pending == 0);
    return ab_state_file_each(c->db, fn, arg, err);
}

ab_err ab_state_db_release(ab_state_db *c, ab_error *err)
{
    assert(c->pending == 0);
    return ab_state_file_release(c->db, ab_clock_wall_us(c->clock) / 1000000, err);
}
