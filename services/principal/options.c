/* SPDX-License-Identifier: Apache-2.0 */
#include "services/control.h"
#include "services/principal/live/kubernetes.h"
#include "services/principal/live/redis.h"
#include "services/principal/page/page.h"
#include "services/principal/principal.h"
#include "services/principal/registration/registration.h"

#include <assert.h>

static const ab_option rows[] = {
    {.name = "agents",
     .kind = AB_OPT_OBJECTS,
     .choices = "name|mode|certificate|secrets",
     .paths = "certificate",
     .reloadable = true,
     .help = "Agents to serve, in addition to those of agent-secrets. name: a DNS label. mode: "
             "managed or autonomous; unset: annotation argobus.io/mode of its cluster Secret, "
             "otherwise managed. certificate: a PEM file to seal Secrets to, instead of the "
             "certificate that the agent sends; read again when it changes. secrets: sealed "
             "(default) or clear: Secrets for this agent travel unsealed, as an argocd-agent "
             "requires."},
    {.name = "agent-secrets",
     .kind = AB_OPT_BOOL,
     .deflt = "true",
     .help = "Whether to serve the agents that Argo CD's cluster Secrets in store.namespace "
             "name by label argocd-agent.argoproj-labs.io/agent-name."},
    {.name = "grpc.auth.blocklist",
     .kind = AB_OPT_STRING,
     .deflt = "argocd-agent-tls-blocklist",
     .help = "With store.kind: kubernetes, a ConfigMap in store.namespace whose keys are SHA-256 "
             "fingerprints of revoked certificates, as argocd-agent's: they count beside those of "
             "grpc.auth.revoked, secrets.revoked and live.revoked, whatever the transport. It is "
             "watched: a change takes effect at once, also for connected agents and clients. "
             "Without such a ConfigMap none is revoked by it. none: it is not "
             "looked for."},
    {.name = "mapping",
     .kind = AB_OPT_ENUM,
     .deflt = "namespace",
     .choices = "namespace|destination",
     .help = "How an Application is assigned to an agent: by its namespace, or by the name of "
             "its spec.destination. Agents need the same setting."},
    {.name = "namespaces",
     .kind = AB_OPT_LIST,
     .help = "With mapping: destination, the namespaces whose Applications are served, in "
             "addition to store.namespace: globs, or regular expressions between slashes."},
    {.name = "principal.data",
     .kind = AB_OPT_PATH,
     .help = "Folder for the principal's state: what autonomous agents last published (read "
             "again from their logs if it is lost), and the list of served agents, so that "
             "topics of an agent that is removed while no principal runs are deleted at the "
             "next start. Without it no autonomous agent is served."},
    {.name = "secrets.protection",
     .kind = AB_OPT_ENUM,
     .deflt = "sealed",
     .choices = "sealed|none",
     .help = "Whether repository credentials travel sealed to the receiving agent's certificate "
             "(sealed), or in clear text, readable for anyone who can read the topics (none)."},
    {.name = "secrets.ca",
     .kind = AB_OPT_FILE,
     .help = "Certificate authorities (PEM) that must have issued the certificates that agents "
             "send; unset: kafka.tls.ca or grpc.tls.ca of the transport in use. Read again when "
             "the file changes."},
    {.name = "secrets.identity",
     .kind = AB_OPT_STRING,
     .help = "How to read the agent's name from the certificate that it sends, in the form of "
             "grpc.auth.mtls.identity; unset: the value of that option."},
    {.name = "secrets.revoked",
     .kind = AB_OPT_FILE,
     .help = "SHA-256 fingerprints of certificates that Secrets must not be sealed to, in the "
             "form of grpc.auth.revoked; unset: that list. Read again when it changes."},
    {.name = "store.namespace",
     .kind = AB_OPT_STRING,
     .deflt = "argocd",
     .help = "Namespace of Argo CD in the control plane: of its AppProjects, repository "
             "Secrets, cluster Secrets and GPG keys, and of the principal's identity."},
    {.name = "sync.resync",
     .kind = AB_OPT_DURATION,
     .deflt = "1h",
     .min = 0,
     .max = 86400000,
     .help = "Interval of resyncs, in which both sides compare their objects; other events "
             "cause resyncs too. 0: no periodic resync."},
    {.name = "sync.resyncs",
     .kind = AB_OPT_INT,
     .deflt = "8",
     .min = 1,
     .max = 10000,
     .help = "Maximum number of resyncs at once; the other agents wait."},
    {.name = "sync.max-mirrors",
     .kind = AB_OPT_INT,
     .deflt = "10000",
     .min = 0,
     .max = 1000000000,
     .help = "Maximum number of Applications and AppProjects of one autonomous agent that are "
             "mirrored; what it publishes beyond is refused until there are fewer. 0: no "
             "maximum."},
    {.name = "sync.max-deletions",
     .kind = AB_OPT_INT,
     .deflt = "20",
     .min = 0,
     .max = 1000000000,
     .help = "Mass-deletion guard: deletions for one agent are held back until argobusctl "
             "resync --agent NAME --confirm TOKEN if they are more than this, and more than "
             "sync.max-deletions-percent of its objects, within sync.deletions-window."},
    {.name = "control.socket",
     .kind = AB_OPT_STRING,
     .deflt = AB_CONTROL_AUTO,
     .help = "Path of the Unix socket for argobusctl; only the principal's own user and root "
             "have access. auto: control.sock in the first usable folder of $RUNTIME_DIRECTORY "
             "(set by systemd), /run/argobus-principal, $XDG_RUNTIME_DIR/argobus-principal and "
             "/tmp/argobus-principal-UID; argobusctl looks there too. none: no socket."},
};
static const ab_options own = {rows, sizeof(rows) / sizeof(rows[0])};

size_t ab_principal_options(ab_options out[AB_SERVICE_OPTIONS_MAX])
{
    size_t count = ab_service_options(&own, out);
    out[count++] = ab_principal_live_kubernetes_options;
    out[count++] = ab_principal_live_redis_options;
    out[count++] = ab_registration_options;
    out[count++] = ab_page_options;
    assert(count <= AB_SERVICE_OPTIONS_MAX);
    return count;
}
