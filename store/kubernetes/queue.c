/* SPDX-License-Identifier: Apache-2.0
 *
 * A lane is the line of operations on one object, in the order they were asked for; its first one
 * may be under way. Lanes whose turn it is wait in `ready` until fewer than `limit` are under way.
 * The limit is halved when the server asks for patience (API priority and fairness) and grows back
 * by one per `limit` answers.
 */
#include "store/kubernetes/kubernetes_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct ab_kube_lane {
    char key[AB_OBJECT_KEY_MAX];
    ab_kube_op *first;
    ab_kube_op *last;
    ab_kube_lane *next; /* in `ready` or `held` */
    enum { LANE_IDLE, LANE_READY, LANE_BUSY, LANE_HELD } state;
    uint64_t until_ms; /* HELD */
};

struct ab_kube_queue {
    ab_kube *kube;
    uv_timer_t timer; /* for what is held, refused or drained; the memory goes with it */
    ab_map *lanes;
    ab_kube_lane *ready_first;
    ab_kube_lane *ready_last;
    ab_kube_lane *held;
    ab_kube_op *refused_first;
    ab_kube_op *refused_last;
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

static void free_op(ab_kube_op *op)
{
    ab_object_unref(op->object);
    free(op->status);
    free(op->status_version);
    free(op->want_version);
    free(op->want_uid);
    free(op);
}

ab_kube_op *ab_kube_op_new(ab_kube *k, ab_kube_verb verb, ab_str key, ab_store_done done, void *arg)
{
    ab_error err = {0};
    ab_kube_op *op = calloc(1, sizeof(*op));
    if (op == NULL) {
        (void)ab_fail(&err, AB_ERR_NOMEM, "out of memory for an operation");
        done(arg, AB_ERR_NOMEM, NULL, &err);
        return NULL;
    }
    op->kube = k;
    op->verb = verb;
    op->done = done;
    op->arg = arg;
    if (key.len < sizeof(op->key))
        memcpy(op->key, key.ptr, key.len);
    else
        op->code = ab_fail(&op->err, AB_ERR_INVALID, "a key of %zu bytes", key.len);
    return op;
}

static void report(ab_kube_queue *q, ab_kube_op *op, ab_err code, ab_object *object,
                   const ab_error *err)
{
    q->ops--;
    ab_metric_add(q->waiting, -1);
    op->done(op->arg, code, object, err);
    free_op(op);
    if (q->ops == 0 && q->idle != NULL)
        wake_in(q, 0);
}

static void refuse(ab_kube_queue *q, ab_kube_op *op)
{
    op->next = NULL;
    if (q->refused_last == NULL)
        q->refused_first = op;
    else
        q->refused_last->next = op;
    q->refused_last = op;
    wake_in(q, 0);
}

static void refuse_closed(ab_kube_queue *q, ab_kube_op *op)
{
    op->code = ab_fail(&op->err, AB_ERR_CLOSED, "%s: the store is stopping", op->key);
    refuse(q, op);
}

static void report_refused(ab_kube_queue *q)
{
    ab_kube_op *op = q->refused_first;
    q->refused_first = NULL;
    q->refused_last = NULL;
    while (op != NULL) {
        ab_kube_op *next = op->next;
        report(q, op, op->code, NULL, &op->err);
        op = next;
    }
}

/* --- lanes --- */

static ab_kube_lane *lane_for(ab_kube_queue *q, const char *key)
{
    ab_kube_lane *lane = ab_map_find(q->lanes, ab_str_of(key));
    if (lane != NULL)
        return lane;
    lane = calloc(1, sizeof(*lane));
    if (lane == NULL)
        return NULL;
    memcpy(lane->key, key, sizeof(lane->key));
    if (ab_map_put(q->lanes, ab_str_of(key), lane, NULL) != AB_ERR_OK) {
        free(lane);
        return NULL;
    }
    return lane;
}

static void make_ready(ab_kube_queue *q, ab_kube_lane *lane)
{
    lane->state = LANE_READY;
    lane->next = NULL;
    if (q->ready_last == NULL)
        q->ready_first = lane;
    else
        q->ready_last->next = lane;
    q->ready_last = lane;
}

static void start_ready(ab_kube_queue *q)
{
    while (q->ready_first != NULL && (double)q->busy < q->limit) {
        ab_kube_lane *lane = q->ready_first;
        q->ready_first = lane->next;
        if (q->ready_first == NULL)
            q->ready_last = NULL;
        lane->state = LANE_BUSY;
        q->busy++;
        if (!lane->first->begun)
            lane->first->begun_ms = uv_now(q->kube->base.env.loop);
        lane->first->begun = true;
        q->run(lane->first);
    }
}

static ab_kube_op *take_first(ab_kube_lane *lane)
{
    ab_kube_op *op = lane->first;
    lane->first = op->next;
    if (lane->first == NULL)
        lane->last = NULL;
    op->next = NULL;
    op->lane = NULL;
    return op;
}

/* Its operation is gone: the next one's turn, or no lane is needed. */
static void next_of(ab_kube_queue *q, ab_kube_lane *lane)
{
    if (lane->first != NULL) {
        make_ready(q, lane);
        return;
    }
    free(ab_map_take(q->lanes, ab_str_of(lane->key)));
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
    ab_kube_lane *lane = op->code == AB_ERR_OK ? lane_for(q, op->key) : NULL;
    if (lane == NULL) {
        if (op->code == AB_ERR_OK)
            op->code = ab_fail(&op->err, AB_ERR_NOMEM, "out of memory for an operation");
        refuse(q, op);
        return;
    }
    op->lane = lane;
    if (lane->last == NULL)
        lane->first = op;
    else
        lane->last->next = op;
    lane->last = op;
    if (lane->state == LANE_IDLE)
        make_ready(q, lane);
    start_ready(q);
}

void ab_kube_op_end(ab_kube_op *op, ab_err code, ab_object *object, const ab_error *err)
{
    ab_kube_queue *q = op->kube->queue;
    ab_kube_lane *lane = op->lane;
    assert(lane != NULL && lane->first == op && lane->state == LANE_BUSY);
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
    lane->next = q->held;
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
            at = &lane->next;
            continue;
        }
        *at = lane->next;
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

static void free_lane(void *value)
{
    ab_kube_lane *lane = value;
    while (lane->first != NULL)
        free_op(take_first(lane));
    free(lane);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void ab_kube_queue_free(ab_kube_queue *q)
{
    if (q == NULL)
        return;
    ab_map_free(q->lanes, free_lane);
    while (q->refused_first != NULL) {
        ab_kube_op *op = q->refused_first;
        q->refused_first = op->next;
        free_op(op);
    }
    uv_close((uv_handle_t *)&q->timer, on_closed);
}

/* What is under way stays, the rest of the lane is refused. */
static void clear_lane(ab_kube_queue *q, ab_kube_lane *lane)
{
    ab_kube_op *stays = lane->state == LANE_BUSY ? take_first(lane) : NULL;
    while (lane->first != NULL)
        refuse_closed(q, take_first(lane));
    if (stays == NULL) {
        free(ab_map_take(q->lanes, ab_str_of(lane->key)));
        return;
    }
    stays->lane = lane;
    lane->first = stays;
    lane->last = stays;
}

void ab_kube_queue_drain(ab_kube_queue *q, void (*idle)(ab_kube *k))
{
    q->idle = idle;
    q->ready_first = NULL;
    q->ready_last = NULL;
    q->held = NULL;
    for (ab_map_iter i = ab_map_first(q->lanes); i.entry != NULL; ab_map_next(&i))
        clear_lane(q, i.value);
    wake_in(q, 0);
}
