/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/agent.h"
#include "services/agent/live.h"
#include "services/agent/live_kubernetes.h"
#include "services/agent/live_redis.h"

#include <assert.h>

static const ab_option rows[] = {
    {.name = "agent.name",
     .kind = AB_OPT_STRING,
     .help = "Name of this agent: a DNS label. It determines the agent's topics, group and "
             "namespace in the control plane."},
    {.name = "agent.mode",
     .kind = AB_OPT_ENUM,
     .deflt = "managed",
     .choices = "managed|autonomous",
     .help = "Who owns the Applications and AppProjects of this cluster: the principal "
             "(managed), or this agent (autonomous); the principal then mirrors them."},
    {.name = "agent.labels",
     .kind = AB_OPT_MAP,
     .help = "Labels that the cluster Secret gets when this agent registers itself, as far as the "
             "principal's registration.labels allow them."},
    {.name = "agent.data",
     .kind = AB_OPT_PATH,
     .help = "Folder for the state that the agent keeps across restarts: the last received "
             "state of each object."},
    {.name = "agent.adoption",
     .kind = AB_OPT_ENUM,
     .deflt = "always",
     .choices = "always|never",
     .help = "Whether the agent adopts an existing unmanaged Application when the principal "
             "creates one of the same name."},
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
     .help = "How to restore an Application that someone deleted in this cluster. ignore: with "
             "its previous status, so that auto-sync does not sync the same revision again (the "
             "directory store does not report that status). clear-status: without a status, so "
             "that auto-sync does. resync: without a status, and with a sync request."},
    {.name = "health.disconnected-is-unhealthy",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "Answer /healthz with 503 while the agent is not connected to the principal (gRPC) "
             "or to Kafka, as argocd-agent does. A liveness probe then restarts the agent "
             "during an outage of the other side, which does not help; /readyz always answers "
             "503 then."},
    {.name = "mapping",
     .kind = AB_OPT_ENUM,
     .deflt = "namespace",
     .choices = "namespace|destination",
     .help = "Namespaces of Applications: all in store.namespace (namespace), or the same as in "
             "the control plane (destination). The principal must have the same mapping."},
    {.name = "namespaces",
     .kind = AB_OPT_LIST,
     .help = "With mapping: destination, the namespaces that may receive Applications, in "
             "addition to store.namespace: globs, or regular expressions between slashes."},
    {.name = "secrets.protection",
     .kind = AB_OPT_ENUM,
     .deflt = "sealed",
     .choices = "sealed|none",
     .help = "Whether repository credentials must arrive sealed to this agent's certificate "
             "(sealed), or may arrive in clear text (none)."},
    {.name = "secrets.certificate",
     .kind = AB_OPT_FILE,
     .help = "Certificate (PEM) that the principal seals credentials to; unset: kafka.tls.cert, or "
             "grpc.tls.cert, of the transport in use. Read again when it changes."},
    {.name = "secrets.key",
     .kind = AB_OPT_FILE,
     .help = "Private key (PEM) of secrets.certificate; set both or neither. Unset: "
             "kafka.tls.key or grpc.tls.key of the transport in use."},
    {.name = "store.namespace",
     .kind = AB_OPT_STRING,
     .deflt = "argocd",
     .help = "Namespace of Argo CD in this cluster: of projects, repositories and GPG keys, and "
             "of Applications unless they are mapped elsewhere."},
    {.name = "sync.max-deletions",
     .kind = AB_OPT_INT,
     .deflt = "20",
     .min = 0,
     .max = 1000000000,
     .help = "Mass-deletion guard of an autonomous agent: deletions are held back until "
             "argobusctl resync --agent NAME --confirm TOKEN at the principal if they are more "
             "than this, and more than sync.max-deletions-percent of the published objects, within "
             "sync.deletions-window."},
};
static const ab_options own = {rows, sizeof(rows) / sizeof(rows[0])};

size_t ab_agent_options(ab_options out[AB_SERVICE_OPTIONS_MAX])
{
    size_t count = ab_service_options(&own, out);
    out[count++] = ab_agent_live_options;
    out[count++] = ab_agent_live_kubernetes_options;
    out[count++] = ab_agent_live_redis_options;
    assert(count <= AB_SERVICE_OPTIONS_MAX);
    return count;
}
