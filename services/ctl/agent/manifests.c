/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/agent/manifests.h"

#include "base/yaml/yaml.h"
#include "schema/attributes.h"

static bool is_kafka(const ab_onboarding *o)
{
    return strcmp(o->transport, "kafka") == 0;
}

/* "a,b" as ["a", "b"]. */
static void put_list(const char *list, ab_buf *out)
{
    ab_buf_putc(out, '[');
    for (ab_str rest = ab_str_of(list); rest.ptr != NULL;) {
        ab_yaml_put_quoted(out, ab_str_cut(&rest, ','));
        ab_buf_puts(out, rest.ptr == NULL ? "" : ", ");
    }
    ab_buf_putc(out, ']');
}

static void put_secret_name(const char *namespace_name, const char *agent, ab_buf *out)
{
    ab_buf_printf(out,
                  "apiVersion: v1\nkind: Secret\nmetadata:\n  name: \"cluster-%s\"\n"
                  "  namespace: \"%s\"\n",
                  agent, namespace_name);
}

void ab_onboarding_put_control_plane(const ab_onboarding *o, ab_buf *out)
{
    if (strcmp(o->mapping, "namespace") == 0)
        ab_buf_printf(out, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: \"%s\"\n---\n",
                      o->agent);
    put_secret_name(o->namespace_name, o->agent, out);
    ab_buf_printf(out,
                  "  labels:\n    " AB_LABEL_SECRET_TYPE ": cluster\n"
                  "    argocd-agent.argoproj-labs.io/agent-name: \"%s\"\n"
                  "  annotations:\n    " AB_ANN_SKIP_RECONCILE ": \"true\"\n"
                  "    " AB_ANN_MODE ": %s\n",
                  o->agent, o->mode);
    ab_buf_printf(out,
                  "stringData:\n  name: \"%s\"\n  server: \"https://%s/agents/%s\"\n"
                  "  config: \"{}\"\n",
                  o->agent, o->live_server, o->agent);
}

void ab_onboarding_put_deleted(const char *namespace_name, const char *agent, ab_buf *out)
{
    put_secret_name(namespace_name, agent, out);
}

static void put_peer(const ab_onboarding *o, ab_buf *out)
{
    if (!is_kafka(o)) {
        ab_buf_puts(out, "grpc:\n  address: ");
        ab_yaml_put_quoted(out, ab_str_of(o->address));
        ab_buf_putc(out, '\n');
        return;
    }
    ab_buf_puts(out, "kafka:\n  brokers: ");
    put_list(o->brokers, out);
    ab_buf_printf(out, "\n  prefix: \"%s\"\n", o->prefix);
}

static void put_common(const ab_onboarding *o, ab_buf *out)
{
    ab_buf_printf(out, "transport: %s\nmapping: %s\nagent:\n  name: \"%s\"\n  mode: %s\n",
                  o->transport, o->mapping, o->agent, o->mode);
}

void ab_onboarding_put_values(const ab_onboarding *o, ab_buf *out)
{
    ab_buf_puts(out, "role: agent\n");
    put_common(o, out);
    put_peer(o, out);
    ab_buf_puts(out, "tls:\n  secretName: argocd-agent-client-tls\n");
}

void ab_onboarding_put_config(const ab_onboarding *o, ab_buf *out)
{
    put_common(o, out);
    ab_buf_printf(out, "  data: data\nstore:\n  kind: kubernetes\n  namespace: \"%s\"\n",
                  o->namespace_name);
    put_peer(o, out);
    ab_buf_printf(out, "  tls:\n%s    ca: ca.crt\n    cert: \"%s.crt\"\n    key: \"%s.key\"\n",
                  is_kafka(o) ? "    enabled: true\n" : "", o->agent, o->agent);
}
