/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/labels.h"

#include "schema/labels.h"

ab_err ab_agent_labels_write(const ab_config *config, ab_buf *out, ab_error *err)
{
    const char *key, *value;
    for (size_t i = 0; i < ab_config_count(config, "agent.labels"); i++) {
        ab_config_pair(config, "agent.labels", i, &key, &value);
        if (!ab_label_is_valid(ab_str_of(key), ab_str_of(value)))
            return ab_fail(
                err, AB_ERR_CONFIG,
                "agent.labels: \"%s: %s\" is not a label of Kubernetes: letters, digits, "
                "-, _ and . in name and value, at most 63 each",
                key, value);
        ab_buf_printf(out, "%s%s=%s", out->len == 0 ? "" : ",", key, value);
    }
    if (ab_buf_status(out) == AB_ERR_TOOBIG)
        return ab_fail(err, AB_ERR_CONFIG, "agent.labels: more than %d bytes in all",
                       AB_LABELS_TEXT_MAX);
    return ab_buf_status(out) == AB_ERR_OK ? AB_ERR_OK
                                           : ab_fail(err, AB_ERR_NOMEM, "out of memory");
}

ab_err ab_agent_labels_check(const ab_config *config, ab_error *err)
{
    ab_buf text = ab_buf_up_to(AB_LABELS_TEXT_MAX);
    ab_err e = ab_agent_labels_write(config, &text, err);
    ab_buf_fini(&text);
    return e;
}
