/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations wait here, one line per object, and end here. Loop thread.
 */
#pragma once

#include "store/kubernetes/write.h"

/** @param run  makes an operation's first request, or the one that was held
 *  @return NULL when out of memory */
ab_kube_queue *ab_kube_queue_new(ab_kube *k, void (*run)(ab_kube_op *op));
/** Free it and what waits in it, without upcalls; NULL is allowed. */
void ab_kube_queue_free(ab_kube_queue *q);
/** Accept an operation, which is moved. One with `code` set is refused with that. */
void ab_kube_submit(ab_kube_op *op);
/** Report what came of it and free it. */
void ab_kube_op_end(ab_kube_op *op, ab_err code, ab_object *object, const ab_error *err);
/** As end, for one that made no request: reports its `code` later. */
void ab_kube_op_refuse(ab_kube_op *op);
/** The server is busy: begin the operation's request again after `ms`, and send less at once. */
void ab_kube_op_hold(ab_kube_op *op, int64_t ms);
/** The server has answered in time: send more at once again, up to what is configured. */
void ab_kube_queue_relax(ab_kube_queue *q);
/** Refuse what has not begun; `idle` is called once, later, when nothing is under way. */
void ab_kube_queue_drain(ab_kube_queue *q, void (*idle)(ab_kube *k));
