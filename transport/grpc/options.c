/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/grpc.h"

#define SECOND 1000
#define HOUR   (3600LL * SECOND)
#define KIB    1024LL
#define MIB    (1024 * KIB)

static const ab_option rows[] = {
    {.name = "grpc.address",
     .kind = AB_OPT_STRING,
     .help = "Agent: where the principal listens, host:port; without a port, 443."},
    {.name = "grpc.listen",
     .kind = AB_OPT_STRING,
     .deflt = ":8443",
     .help = "Principal: where to listen for agents, host:port; without a host, on all addresses."},
    {.name = "grpc.insecure",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "No TLS at all, for a service mesh or a test: who can reach the port reads and "
             "writes everything."},
    {.name = "grpc.websocket",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "For agents behind proxies that do not pass HTTP/2 on. Agent: call by WebSockets over "
             "HTTP/1.1. Principal: serve such agents too. Messages then have 64MiB at most."},
    {.name = "grpc.tls.ca",
     .kind = AB_OPT_FILE,
     .help = "Authorities that the other side's certificate must come from (PEM). Agent, unset: "
             "the system's. Principal, unset: agents are not asked for a certificate."},
    {.name = "grpc.tls.cert",
     .kind = AB_OPT_FILE,
     .help = "Our certificate with its chain (PEM); read again when it changes."},
    {.name = "grpc.tls.key",
     .kind = AB_OPT_FILE,
     .help = "The private key of grpc.tls.cert (PEM)."},
    {.name = "grpc.tls.min-version",
     .kind = AB_OPT_ENUM,
     .deflt = "1.3",
     .choices = "1.2|1.3",
     .help = "Oldest version of TLS to agree to."},
    {.name = "grpc.tls.ciphers",
     .kind = AB_OPT_STRING,
     .help = "Ciphers to agree to, as OpenSSL names them, with colons between: either of TLS 1.3 "
             "(TLS_...) or, with grpc.tls.min-version 1.2, of TLS 1.2; those of the other version "
             "stay as they are. Unset: OpenSSL's defaults."},
    {.name = "grpc.tls.server-name",
     .kind = AB_OPT_STRING,
     .help = "Agent: the name that the principal's certificate must have; unset: the host of "
             "grpc.address."},
    {.name = "grpc.keepalive",
     .kind = AB_OPT_DURATION,
     .deflt = "60s",
     .min = 0,
     .max = HOUR,
     .help = "After so much silence the other side is pinged, which also keeps load balancers "
             "from cutting the connection; 0s: never."},
    {.name = "grpc.keepalive-timeout",
     .kind = AB_OPT_DURATION,
     .deflt = "20s",
     .min = 100,
     .max = HOUR,
     .help =
         "How long the other side may take to answer a ping before it counts as gone. A principal "
         "also closes a connection that has not logged in this long after the 10s of a handshake."},
    {.name = "grpc.message-max",
     .kind = AB_OPT_SIZE,
     .deflt = "200MiB",
     .min = 64 * KIB,
     .max = 200 * MIB,
     .help = "Largest message to take or send; an event has 64MiB at most."},
    {.name = "grpc.queue",
     .kind = AB_OPT_SIZE,
     .deflt = "8MiB",
     .min = 256 * KIB,
     .max = 1024 * MIB,
     .help = "Events per agent that are sent, or wait to be (128KiB of these at most), and not "
             "acknowledged; past it, newer versions of an object replace older ones before they "
             "get here. Also events per agent that are received and not in effect; past it, "
             "reading from this agent stops."},
    {.name = "grpc.compression",
     .kind = AB_OPT_ENUM,
     .deflt = "none",
     .choices = "none|gzip",
     .help = "Compression of what is sent; gzip is taken from the other side in any case."},
    {.name = "grpc.peer-version",
     .kind = AB_OPT_STRING,
     .help = "The version that an argocd-agent at the other side is shown, which demands its own; "
             "unset: that of argobus, which other argobus peers see anyway."},
};

const ab_options ab_grpc_options = {rows, sizeof(rows) / sizeof(rows[0])};
