/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/agent.h"

static const ab_option rows[] = {
    {.name = "agent.name",
     .kind = AB_OPT_STRING,
     .help = "Name of this agent: a DNS label. Topics, group and namespace at the principal follow "
             "from it."},
    {.name = "agent.mode",
     .kind = AB_OPT_ENUM,
     .deflt = "managed",
     .choices = "managed|autonomous",
     .help = "Who owns the Applications and AppProjects here: the principal (managed), or this "
             "side (autonomous), which the principal mirrors."},
    {.name = "agent.data",
     .kind = AB_OPT_PATH,
     .help = "Folder for what the agent must remember over a restart: what it last got."},
    {.name = "agent.adoption",
     .kind = AB_OPT_ENUM,
     .deflt = "always",
     .choices = "always|never",
     .help = "Whether an Application that exists here unmanaged is taken over when the principal "
             "creates one "
             "of its name."},
    {.name = "agent.uid-mismatch",
     .kind = AB_OPT_ENUM,
     .deflt = "recreate",
     .choices = "recreate|upsert",
     .help =
         "What to do when the principal's Application was deleted and created again: recreate it "
         "in the workload cluster too, or update it in place."},
    {.name = "agent.on-recreate",
     .kind = AB_OPT_ENUM,
     .deflt = "ignore",
     .choices = "ignore|clear-status|resync",
     .help = "How an Application that somebody deleted here is brought back: with the status that "
             "it had, as far as the store tells it (ignore; the directory store does not), so "
             "that auto-sync does not sync the same revision again; without one, so that it does "
             "(clear-status); or without one, and a sync is asked for (resync)."},
    {.name = "health.disconnected-is-unhealthy",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "Answer /healthz with 503 while the agent is not connected to the principal (gRPC) or "
             "to Kafka, as argocd-agent does. A liveness probe then restarts the agent during an "
             "outage of the other side, which does not help: /readyz says the same by default."},
    {.name = "mapping",
     .kind = AB_OPT_ENUM,
     .deflt = "namespace",
     .choices = "namespace|destination",
     .help = "Where Applications stand: all in store.namespace, or in the namespace they have at "
             "the principal, which must have the same mapping."},
    {.name = "namespaces",
     .kind = AB_OPT_LIST,
     .help = "With mapping: destination, the namespaces besides store.namespace where Applications "
             "may be put: globs, or regular expressions between slashes."},
    {.name = "secrets.protection",
     .kind = AB_OPT_ENUM,
     .deflt = "sealed",
     .choices = "sealed|none",
     .help = "Whether a repository's credentials must come sealed to this agent's certificate, or "
             "may come as they are."},
    {.name = "secrets.certificate",
     .kind = AB_OPT_FILE,
     .help = "Certificate (PEM) that the principal seals credentials to; unset: kafka.tls.cert, or "
             "grpc.tls.cert, of the transport in use. Read again when it changes."},
    {.name = "secrets.key",
     .kind = AB_OPT_FILE,
     .help = "Private key (PEM) of secrets.certificate; unset: that beside it."},
    {.name = "store.namespace",
     .kind = AB_OPT_STRING,
     .deflt = "argocd",
     .help = "Namespace of Argo CD here: where projects, repositories and GPG keys live, and "
             "Applications unless they are mapped elsewhere."},
    {.name = "sync.max-deletions",
     .kind = AB_OPT_INT,
     .deflt = "20",
     .min = 0,
     .max = 1000000000,
     .help = "Mass-deletion guard of an autonomous agent: more deletions than this, and more than "
             "sync.max-deletions-percent of what it has published, within sync.deletions-window, "
             "are held back until argobusctl resync --confirm at the principal."},
};
static const ab_options own = {rows, sizeof(rows) / sizeof(rows[0])};

size_t ab_agent_options(ab_options out[AB_SERVICE_OPTIONS_MAX])
{
    return ab_service_options(&own, out);
}
