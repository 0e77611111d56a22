/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/labels.h"
#include "services/agent/labels.h"
#include "services/ctl/check/parts.h"
#include "transport/grpc/try_login.h"

static const char *remedy_for(ab_err code)
{
    switch (code) {
    case AB_ERR_DENIED:
        return "the principal's log has the reason: docs/operate/authentication.md";
    case AB_ERR_NOTFOUND:
        return "apply the agent's cluster Secret (argobusctl agent create), or add the agent to "
               "option agents of the principal; run this again if the principal registers agents";
    case AB_ERR_CONFIG:
        return "argobusctl check says more";
    default:
        return "look at the principal's log, and at proxies on the way";
    }
}

static void log_in(const ab_setup *s, uv_loop_t *loop, const char *labels, ab_findings *out)
{
    char version[AB_GRPC_VERSION_TEXT];
    ab_error err = {0};
    ab_transport_env env = {.loop = loop,
                            .config = s->config,
                            .metrics = ab_metrics_new(),
                            .clock = &ab_clock_real,
                            .role = AB_ROLE_AGENT,
                            .agent = s->agent,
                            .mode = ab_config_str(s->config, "agent.mode"),
                            .labels = labels,
                            .namespace = ab_config_str(s->config, "store.namespace")};
    const char *where = ab_config_str(s->config, "grpc.address");
    ab_err e = env.metrics == NULL ? AB_ERR_NOMEM : ab_grpc_try_login(&env, version, &err);
    if (e == AB_ERR_OK)
        ab_findings_add(out, AB_FOUND_OK, where, NULL,
                        "logged in as %s, mode %s; the principal is %s", s->agent, env.mode,
                        version);
    else
        ab_findings_add(out, AB_FOUND_ERROR, where, remedy_for(e), "%s",
                        err.text[0] == '\0' ? ab_err_text(e) : err.text);
    ab_metrics_free(env.metrics);
}

void ab_check_login(const ab_setup *s, ab_findings *out)
{
    uv_loop_t loop;
    ab_error err = {0};
    if (uv_loop_init(&loop) != 0) {
        out->complete = false;
        return;
    }
    ab_buf labels = ab_buf_up_to(AB_LABELS_TEXT_MAX);
    if (ab_agent_labels_write(s->config, &labels, &err) == AB_ERR_OK)
        log_in(s, &loop, labels.ptr, out);
    else
        ab_findings_add(out, AB_FOUND_ERROR, "agent.labels", "docs/configure.md", "%s", err.text);
    ab_buf_fini(&labels);
    uv_loop_close(&loop);
}
