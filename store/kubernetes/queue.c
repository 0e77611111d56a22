/* SPDX-License-Identifier: Apache-2.0
 *
 * A lane is the line of operations on one object, in the order they were asked for; its first one
 * may be under way. Lanes whose turn it is wait in `ready` until fewer than `limit` are under way.
 * The limit is halved when the server asks for patience (API priority and fairness) and grows back
 * by one per `limit` answers.
 */
#include "store/kubernetes/queue.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

struct ab_kube_lane {
    ab_store_line ops;
    STAILQ_ENTRY(ab_kube_lane) next; /* READY */
    ab_kube_lane *next_held;
    enum { LANE_IDLE, LANE_READY, LANE_BUSY, LANE_HELD } state;
    uint64_t until_ms; /* HELD */
};

struct ab_kube_queue {
    ab_kube *kube;
    uv_timer_t timer; /* for what is held, refused or drained; the memory goes with it */
    ab_map *lanes;
    STAILQ_HEAD(, ab_kube_lane) ready;
    ab_kube_lane *held;
    ab_store_line refused;
    size_t ops; /* accepted and not reported */
    size_t busy;
    double limit;
    double limit_max;
    uint64_t halved_ms;
    ab_metric *waiting;
    void (*run)(ab_kube_op *op);
    void (*idle)(ab_kube *k);
};

/* The limit is not halved again for answers to what was sent before. */
#define HALVE_PAUSE_MS 1000

static void on_timer(uv_timer_t *timer);

static void wake_in(ab_kube_queue *q, uint64_t ms)
{
    if (!uv_is_active((uv_handle_t *)&q->timer) || uv_timer_get_due_in(&q->timer) > ms)
        (void)uv_timer_start(&q->timer, on_timer, ms, 0);
}

/* --- operations --- */

static void report(ab_kube_queue *q, ab_kube_op *op, ab_err code, ab_object *object,
                   const ab_error *err)
{
    q->ops--;
    ab_metric_add(q->waiting, -1);
    op->base.done(op->base.arg, code, object, err);
    ab_store_op_free(&op->base);
    if (q->ops == 0 && q->idle != NULL)
        wake_in(q, 0);
}

static void refuse(ab_kube_queue *q, ab_kube_op *op)
{
    ab_store_line_append(&q->refused, &op->base);
    wake_in(q, 0);
}

static void refuse_closed(ab_kube_queue *q, ab_kube_op *op)
{
    (void)ab_store_op_refuse(&op->base, AB_ERR_CLOSED, "the store is stopping");
    refuse(q, op);
}

static void report_refused(ab_kube_queue *q)
{
    ab_store_line refused = q->refused;
    q->refused = (ab_store_line){0};
    for (ab_store_op *op = ab_store_line_pop(&refused); op != NULL;
         op = ab_store_line_pop(&refused))
        report(q, (ab_kube_op *)op, op->code, NULL, &op->err);
}

/* --- lanes --- */

static ab_kube_op *first_of(const ab_kube_lane *lane)
{
    return (ab_kube_op *)lane->ops.first;
}

static ab_kube_op *take_first(ab_kube_lane *lane)
{
    ab_kube_op *op = (ab_kube_op *)ab_store_line_pop(&lane->ops);
    op->lane = NULL;
    return op;
}

static void make_ready(ab_kube_queue *q, ab_kube_lane *lane)
{
    lane->state = LANE_READY;
    STAILQ_INSERT_TAIL(&q->ready, lane, next);
}

static void start_ready(ab_kube_queue *q)
{
    while (!STAILQ_EMPTY(&q->ready) && (double)q->busy < q->limit) {
        ab_kube_lane *lane = STAILQ_FIRST(&q->ready);
        STAILQ_REMOVE_HEAD(&q->ready, next);
        lane->state = LANE_BUSY;
        q->busy++;
        ab_kube_op *op = first_of(lane);
        if (!op->begun)
            op->begun_ms = uv_now(q->kube->base.env.loop);
        op->begun = true;
        q->run(op);
    }
}

/* Its operation is gone: the next one's turn, or no lane is needed. */
static void next_of(ab_kube_queue *q, ab_kube_lane *lane)
{
    if (lane->ops.first != NULL) {
        make_ready(q, lane);
        return;
    }
    ab_map_drop(q->lanes, lane);
}

void ab_kube_submit(ab_kube_op *op)
{
    ab_kube_queue *q = op->kube->queue;
    q->ops++;
    ab_metric_add(q->waiting, 1);
    if (op->kube->stopping) {
        refuse_closed(q, op);
        return;
    }
    ab_kube_lane *lane = op->base.code != AB_ERR_OK
                             ? NULL
                             : ab_map_make(q->lanes, ab_str_of(op->base.key), sizeof(*lane));
    if (lane == NULL) {
        if (op->base.code == AB_ERR_OK)
            (void)ab_store_op_refuse(&op->base, AB_ERR_NOMEM, "out of memory for an operation");
        refuse(q, op);
        return;
    }
    op->lane = lane;
    ab_store_line_append(&lane->ops, &op->base);
    if (lane->state == LANE_IDLE)
        make_ready(q, lane);
    start_ready(q);
}

void ab_kube_op_end(ab_kube_op *op, ab_err code, ab_object *object, const ab_error *err)
{
    ab_kube_queue *q = op->kube->queue;
    ab_kube_lane *lane = op->lane;
    assert(lane != NULL && first_of(lane) == op && lane->state == LANE_BUSY);
    (void)take_first(lane);
    q->busy--;
    next_of(q, lane);
    report(q, op, code, object, err);
    start_ready(q);
}

void ab_kube_op_refuse(ab_kube_op *op)
{
    ab_kube_queue *q = op->kube->queue;
    ab_kube_lane *lane = op->lane;
    (void)take_first(lane);
    q->busy--;
    refuse(q, op);
    next_of(q, lane);
}

/* --- patience --- */

void ab_kube_op_hold(ab_kube_op *op, int64_t ms)
{
    ab_kube_queue *q = op->kube->queue;
    ab_kube_lane *lane = op->lane;
    uint64_t now = uv_now(q->kube->base.env.loop);
    if (now - q->halved_ms >= HALVE_PAUSE_MS) {
        q->halved_ms = now;
        q->limit = q->limit / 2 < 1 ? 1 : q->limit / 2;
    }
    q->busy--;
    lane->state = LANE_HELD;
    lane->until_ms = now + (uint64_t)ms;
    lane->next_held = q->held;
    q->held = lane;
    wake_in(q, (uint64_t)ms);
    start_ready(q);
}

void ab_kube_queue_relax(ab_kube_queue *q)
{
    q->limit += 1 / q->limit;
    if (q->limit > q->limit_max)
        q->limit = q->limit_max;
}

static void release_held(ab_kube_queue *q)
{
    uint64_t now = uv_now(q->kube->base.env.loop);
    ab_kube_lane **at = &q->held;
    while (*at != NULL) {
        ab_kube_lane *lane = *at;
        if (lane->until_ms > now) {
            wake_in(q, lane->until_ms - now);
            at = &lane->next_held;
            continue;
        }
        *at = lane->next_held;
        make_ready(q, lane);
    }
}

static void on_timer(uv_timer_t *timer)
{
    ab_kube_queue *q = timer->data;
    release_held(q);
    report_refused(q);
    start_ready(q);
    if (q->ops > 0 || q->idle == NULL)
        return;
    void (*idle)(ab_kube *) = q->idle;
    q->idle = NULL;
    idle(q->kube);
}

/* --- life --- */

ab_kube_queue *ab_kube_queue_new(ab_kube *k, void (*run)(ab_kube_op *op))
{
    ab_kube_queue *q = calloc(1, sizeof(*q));
    if (q == NULL)
        return NULL;
    STAILQ_INIT(&q->ready);
    q->lanes = ab_map_new();
    if (q->lanes == NULL) {
        free(q);
        return NULL;
    }
    int failed = uv_timer_init(k->base.env.loop, &q->timer);
    assert(failed == 0);
    (void)failed;
    q->timer.data = q;
    q->kube = k;
    q->run = run;
    q->limit_max = (double)ab_config_int(k->base.env.config, "store.kubernetes.concurrency");
    q->limit = q->limit_max;
    q->waiting =
        ab_metric_get(k->base.env.metrics, AB_METRIC_GAUGE, "argobus_store_operations",
                      "Reads and writes asked of the store and not answered yet.", NULL, 0);
    return q;
}

static void clear_ops(void *value)
{
    ab_kube_lane *lane = value;
    while (lane->ops.first != NULL)
        ab_store_op_free(&take_first(lane)->base);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void ab_kube_queue_free(ab_kube_queue *q)
{
    if (q == NULL)
        return;
    ab_map_free(q->lanes, clear_ops);
    for (ab_store_op *op = ab_store_line_pop(&q->refused); op != NULL;
         op = ab_store_line_pop(&q->refused))
        ab_store_op_free(op);
    uv_close((uv_handle_t *)&q->timer, on_closed);
}

/* What is under way stays, the rest of the lane is refused. */
static void clear_lane(ab_kube_queue *q, ab_kube_lane *lane)
{
    ab_kube_op *stays = lane->state == LANE_BUSY ? take_first(lane) : NULL;
    while (lane->ops.first != NULL)
        refuse_closed(q, take_first(lane));
    if (stays == NULL) {
        ab_map_drop(q->lanes, lane);
        return;
    }
    stays->lane = lane;
    ab_store_line_append(&lane->ops, &stays->base);
}

void ab_kube_queue_drain(ab_kube_queue *q, void (*idle)(ab_kube *k))
{
    q->idle = idle;
    STAILQ_INIT(&q->ready);
    q->held = NULL;
    for (ab_map_iter i = ab_map_first(q->lanes); i.entry != NULL; ab_map_next(&i))
        clear_lane(q, i.value);
    wake_in(q, 0);
}
