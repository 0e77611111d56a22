/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/kafka/send_priv.h"

#include "schema/topics.h"
#include "transport/kafka/client/errors.h"
#include "transport/kafka/link_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ab_err ab_kafka_send_new(ab_kafka_link *l, ab_lane lane, ab_event *event, int64_t deadline_ms,
                         ab_sent done, void *arg, ab_kafka_send **out)
{
    ab_kafka_send *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return AB_ERR_NOMEM;
    s->link = ab_kafka_link_ref(l);
    s->event = ab_event_ref(event);
    s->lane = lane;
    s->deadline_ms = deadline_ms > 0 ? ab_kafka_now(l->kafka) + deadline_ms : INT64_MAX;
    s->done = done;
    s->arg = arg;
    *out = s;
    return AB_ERR_OK;
}

static void count_failure(ab_kafka *k, ab_err code)
{
    const ab_label label = {"reason", ab_str_of(ab_err_text(code))};
    ab_metric_add(ab_metric_get(k->base.env.metrics, AB_METRIC_COUNTER,
                                "argobus_send_failures_total", "Events that could not be sent.",
                                &label, 1),
                  1);
}

void ab_kafka_send_tell(ab_kafka_send *s, ab_err code, const ab_error *err)
{
    ab_sent done = s->done;
    s->done = NULL;
    if (done == NULL)
        return;
    if (code == AB_ERR_OK)
        ab_metric_add(s->link->metrics.sent[s->lane], 1);
    else
        count_failure(s->link->kafka, code);
    done(s->arg, code, code == AB_ERR_OK ? NULL : err);
}

/* The link stays ready: what it receives needs no right to write. */
static void explain_denied(const ab_kafka_send *s, const char *topic, ab_error *err)
{
    char what[AB_TOPIC_NAME_MAX + 16];
    (void)snprintf(what, sizeof(what), "not sent to topic %s", topic);
    ab_kafka_fail(err, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, what);
    ab_kafka_link_add_remedy(s->link, err);
    ab_kafka_host_error(&s->link->kafka->host, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
                        err->text);
}

void ab_kafka_send_explain(const ab_kafka_send *s, rd_kafka_resp_err_t code, ab_error *err)
{
    const char *topic =
        s->link->topics[s->lane == AB_LANE_STATE ? AB_KAFKA_OUT_STATE : AB_KAFKA_OUT_LIVE];
    if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
        explain_denied(s, topic, err);
    else if (ab_kafka_err(code) == AB_ERR_TOOBIG)
        (void)ab_fail(err, AB_ERR_TOOBIG,
                      "topic %s takes no event of %zu bytes: raise its max.message.bytes, and "
                      "kafka.message-max if that is less (%" PRId64 "), or make the object smaller",
                      topic, ab_event_size(s->event), s->link->kafka->settings.message_max_bytes);
    else
        ab_kafka_fail(err, code, "not sent");
}

void ab_kafka_send_drop(ab_kafka_send *s)
{
    ab_event_unref(s->event);
    ab_kafka_link_unref(s->link);
    free(s->why);
    free(s);
}

void ab_kafka_send_finish(ab_kafka_send *s, ab_err code, const ab_error *err)
{
    ab_kafka_send_tell(s, code, err);
    ab_kafka_send_drop(s);
}

void ab_kafka_send_fail_later(ab_kafka_send *s, ab_err code, const char *text)
{
    ab_kafka *k = s->link->kafka;
    s->failed = code;
    s->why = strdup(text);
    TAILQ_INSERT_TAIL(&k->failed, s, at);
    uv_async_send(&k->wake);
}
