/* SPDX-License-Identifier: Apache-2.0 */
#include "services/control.h"
#include "services/principal/principal.h"

static const ab_option rows[] = {
    {.name = "agents",
     .kind = AB_OPT_OBJECTS,
     .choices = "name|mode|certificate|secrets",
     .paths = "certificate",
     .reloadable = true,
     .help = "Agents to serve beside those of agent-secrets: name (a DNS label), mode (managed or "
             "autonomous; unset: what annotation argobus.io/mode of its cluster Secret says, else "
             "managed), certificate (a PEM file to seal "
             "Secrets to, instead of the certificate that the agent tells; read again when it "
             "changes) and secrets (sealed, which is the default, or clear: this agent's travel "
             "unsealed, as an argocd-agent needs it)."},
    {.name = "agent-secrets",
     .kind = AB_OPT_BOOL,
     .deflt = "true",
     .help = "Whether Argo CD's cluster Secrets in store.namespace with label "
             "argocd-agent.argoproj-labs.io/agent-name name agents to serve."},
    {.name = "mapping",
     .kind = AB_OPT_ENUM,
     .deflt = "namespace",
     .choices = "namespace|destination",
     .help = "What says whose an Application is: the namespace it lives in, or the name of its "
             "spec.destination. Agents must be set alike."},
    {.name = "namespaces",
     .kind = AB_OPT_LIST,
     .help =
         "With mapping: destination, the namespaces beside store.namespace whose Applications are "
         "served: globs, or regular expressions between slashes."},
    {.name = "principal.data",
     .kind = AB_OPT_PATH,
     .help = "Folder for what the principal remembers: what autonomous agents last published (what "
             "is lost of it is read again from their logs), and which agents it has served, so "
             "that the topics of one that is taken away while no principal runs are deleted at "
             "the next start. Without it no autonomous agent is served."},
    {.name = "secrets.protection",
     .kind = AB_OPT_ENUM,
     .deflt = "sealed",
     .choices = "sealed|none",
     .help =
         "Whether credentials of repositories travel sealed to the receiving agent's certificate, "
         "or in clear, for everybody to read who can read the topics."},
    {.name = "secrets.ca",
     .kind = AB_OPT_FILE,
     .help = "Authorities that the certificates which agents tell must come from (PEM); unset: "
             "kafka.tls.ca, or grpc.tls.ca, of the transport in use. Read again when they change."},
    {.name = "secrets.identity",
     .kind = AB_OPT_STRING,
     .help = "How the agent's name is read from the certificate that it tells, as "
             "grpc.auth.mtls.identity; unset: as that says."},
    {.name = "secrets.revoked",
     .kind = AB_OPT_FILE,
     .help = "SHA-256 fingerprints of certificates to which nothing is sealed, as "
             "grpc.auth.revoked; unset: that list. Read again when it changes."},
    {.name = "store.namespace",
     .kind = AB_OPT_STRING,
     .deflt = "argocd",
     .help = "Namespace of Argo CD here: of its AppProjects, repository Secrets, cluster Secrets "
             "and GPG "
             "keys, and of the principal's identity."},
    {.name = "sync.resync",
     .kind = AB_OPT_DURATION,
     .deflt = "1h",
     .min = 0,
     .max = 86400000,
     .help =
         "How often both ends compare what they hold, beside when there is cause to; 0: never."},
    {.name = "sync.resyncs",
     .kind = AB_OPT_INT,
     .deflt = "8",
     .min = 1,
     .max = 10000,
     .help = "How many agents are compared with at once; the others wait."},
    {.name = "sync.max-deletions",
     .kind = AB_OPT_INT,
     .deflt = "20",
     .min = 0,
     .max = 1000000000,
     .help =
         "Mass-deletion guard: more deletions than this for one agent, and more than "
         "sync.max-deletions-percent of what it has, within sync.deletions-window, are held back "
         "until argobusctl resync --confirm."},
    {.name = "control.socket",
     .kind = AB_OPT_STRING,
     .deflt = AB_CONTROL_AUTO,
     .help = "Path of the Unix socket on which argobusctl speaks to this principal; only its own "
             "user and root may. auto: control.sock in the first folder that can be used, of "
             "$RUNTIME_DIRECTORY (systemd sets it), /run/argobus-principal, "
             "$XDG_RUNTIME_DIR/argobus-principal and /tmp/argobus-principal-UID, where argobusctl "
             "looks too. none: there is none."},
};
static const ab_options own = {rows, sizeof(rows) / sizeof(rows[0])};

size_t ab_principal_options(ab_options out[AB_SERVICE_OPTIONS_MAX])
{
    return ab_service_options(&own, out);
}
