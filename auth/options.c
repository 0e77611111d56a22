/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/auth.h"

#define MINUTE (60 * 1000)
#define HOUR   (60 * MINUTE)

static const ab_option rows[] = {
    {.name = "grpc.auth.accept",
     .kind = AB_OPT_LIST,
     .help = "Principal: how agents may log in: mtls (certificate), header (set by a service "
             "mesh), userpass (password; discouraged). Unset: mtls."},
    {.name = "grpc.auth.method",
     .kind = AB_OPT_ENUM,
     .deflt = "mtls",
     .choices = "mtls|header|userpass",
     .help = "Agent: how to log in."},
    {.name = "grpc.auth.mtls.identity",
     .kind = AB_OPT_STRING,
     .deflt = "subject:CN=([^,]+)",
     .help = "Principal: subject: or uri:, followed by a POSIX extended regular expression "
             "whose first group is the agent's name. It is matched against the subject of the "
             "agent's certificate, or against the URIs among its alternative names; the first "
             "URI that matches counts."},
    {.name = "grpc.auth.header.name",
     .kind = AB_OPT_STRING,
     .help = "Principal: the header in which the mesh names the peer, such as "
             "x-forwarded-client-cert."},
    {.name = "grpc.auth.header.identity",
     .kind = AB_OPT_STRING,
     .help = "Principal: POSIX extended regular expression whose first group is the agent's name "
             "in that header."},
    {.name = "grpc.auth.header.trust",
     .kind = AB_OPT_ENUM,
     .deflt = "loopback",
     .choices = "loopback|network",
     .help = "Principal: whose header is trusted. loopback: only that of a sidecar on this "
             "host. network: everyone's, which is safe only if nothing but the mesh can reach "
             "the port."},
    {.name = "grpc.auth.userpass.file",
     .kind = AB_OPT_FILE,
     .help = "Principal: lines user:bcrypt-hash, read again when the file changes. Agent: "
             "user:password in the first line."},
    {.name = "grpc.auth.revoked",
     .kind = AB_OPT_FILE,
     .help = "Principal: SHA-256 fingerprints of revoked certificates, one per line; a change "
             "takes effect within a second, also for connected agents. The clients of "
             "live.resource and fleet are refused by it, too, over Kafka as well."},
    {.name = "grpc.auth.token.key",
     .kind = AB_OPT_FILE,
     .help = "Principal: RSA key (PEM, 2048 bits or more) that signs the agents' tokens; "
             "read again when the file changes. Unset: a key is generated at start."},
    {.name = "grpc.auth.token.access",
     .kind = AB_OPT_DURATION,
     .deflt = "5m",
     .min = 10 * 1000,
     .max = 24 * HOUR,
     .help = "Principal: lifetime of an access token; open streams are checked again at the "
             "same interval."},
    {.name = "grpc.auth.token.refresh",
     .kind = AB_OPT_DURATION,
     .deflt = "24h",
     .min = MINUTE,
     .max = 720LL * HOUR,
     .help = "Principal: lifetime of a refresh token, and of a stream before the agent must log "
             "in again."},
};

const ab_options ab_auth_options = {rows, sizeof(rows) / sizeof(rows[0])};
