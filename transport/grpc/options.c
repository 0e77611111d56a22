/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/grpc/grpc.h"

#define SECOND 1000
#define HOUR   (3600LL * SECOND)
#define KIB    1024LL
#define MIB    (1024 * KIB)

static const ab_option rows[] = {
    {.name = "grpc.address",
     .kind = AB_OPT_STRING,
     .help = "Agent: address of the principal, host:port; the default port is 443."},
    {.name = "grpc.listen",
     .kind = AB_OPT_STRING,
     .deflt = ":8443",
     .help = "Principal: address to listen on for agents, host:port; without a host, all "
             "addresses."},
    {.name = "grpc.insecure",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "Disable TLS, for a service mesh or a test: anyone who can reach the port can read "
             "and write everything."},
    {.name = "grpc.websocket",
     .kind = AB_OPT_BOOL,
     .deflt = "false",
     .help = "For agents behind proxies that do not forward HTTP/2. Agent: use WebSockets over "
             "HTTP/1.1. Principal: serve such agents too. Messages over WebSockets have 64MiB "
             "at most."},
    {.name = "grpc.tls.ca",
     .kind = AB_OPT_FILE,
     .help = "Certificate authorities (PEM) that must have issued the other side's certificate. "
             "Unset on an agent: the system's. Unset on the principal: agents are not asked for "
             "a certificate."},
    {.name = "grpc.tls.cert",
     .kind = AB_OPT_FILE,
     .help = "This program's certificate with its chain (PEM); read again when it changes."},
    {.name = "grpc.tls.key",
     .kind = AB_OPT_FILE,
     .help = "The private key of grpc.tls.cert (PEM)."},
    {.name = "grpc.tls.min-version",
     .kind = AB_OPT_ENUM,
     .deflt = "1.3",
     .choices = "1.2|1.3",
     .help = "Minimum version of TLS."},
    {.name = "grpc.tls.ciphers",
     .kind = AB_OPT_STRING,
     .help = "Allowed ciphers, with OpenSSL's names, separated by colons: either those of TLS "
             "1.3 (TLS_...) or, with grpc.tls.min-version 1.2, those of TLS 1.2; the ciphers of "
             "the other version do not change. Unset: OpenSSL's defaults."},
    {.name = "grpc.tls.server-name",
     .kind = AB_OPT_STRING,
     .help = "Agent: the name that the principal's certificate must have; unset: the host of "
             "grpc.address."},
    {.name = "grpc.keepalive",
     .kind = AB_OPT_DURATION,
     .deflt = "60s",
     .min = 0,
     .max = HOUR,
     .help = "After this much silence the other side is pinged, which also keeps load balancers "
             "from closing the connection; and each side sends a heartbeat on the stream twice in "
             "this time, which proxies pass on; 0s: never."},
    {.name = "grpc.keepalive-timeout",
     .kind = AB_OPT_DURATION,
     .deflt = "20s",
     .min = 100,
     .max = HOUR,
     .help = "How long the other side may take to answer a ping, or be late with a heartbeat; "
             "after that it counts as disconnected. The principal also closes a connection that "
             "has not logged in this "
             "long after the 10s of a handshake."},
    {.name = "grpc.message-max",
     .kind = AB_OPT_SIZE,
     .deflt = "200MiB",
     .min = 64 * KIB,
     .max = 200 * MIB,
     .help = "Maximum size of a message, received or sent; an event has 64MiB at most."},
    {.name = "grpc.queue",
     .kind = AB_OPT_SIZE,
     .deflt = "8MiB",
     .min = 256 * KIB,
     .max = 1024 * MIB,
     .help = "Maximum size per agent of unacknowledged events: sent ones, and ones that wait to "
             "be sent (at most 128KiB); beyond it, newer versions of an object replace older "
             "ones before they enter this queue. Also the maximum per agent of received events "
             "that are not in effect; beyond it, reading from this agent pauses."},
    {.name = "grpc.compression",
     .kind = AB_OPT_ENUM,
     .deflt = "none",
     .choices = "none|gzip",
     .help = "Compression of sent messages; received messages may always use gzip."},
    {.name = "grpc.peer-version",
     .kind = AB_OPT_STRING,
     .help = "The version to show to an argocd-agent, which only accepts its own version; "
             "unset: the version of argobus. argobus peers always see the version of argobus."},
};

const ab_options ab_grpc_options = {rows, sizeof(rows) / sizeof(rows[0])};
