/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/principal.h"

#include "store/store.h"
#include "transport/transport.h"

static const ab_option rows[] = {
    {.name = "agents",
     .kind = AB_OPT_OBJECTS,
     .choices = "name|mode",
     .help = "The agents to serve: name (a DNS label) and mode (managed)."},
    {.name = "store.namespace",
     .kind = AB_OPT_STRING,
     .deflt = "argocd",
     .help =
         "Namespace of Argo CD here: where the principal keeps its identity. The Applications of "
         "agent A live in namespace A."},
    {.name = "sync.set-aside",
     .kind = AB_OPT_DURATION,
     .deflt = "2m",
     .min = 1000,
     .max = 86400000,
     .help = "After failing for so long an object no longer holds back the offset; it is retried."},
    {.name = "sync.max-deletions",
     .kind = AB_OPT_INT,
     .deflt = "20",
     .min = 0,
     .max = 1000000000,
     .help = "Mass-deletion guard: at start, more deletions than this for one agent, and more than "
             "half "
             "of its Applications, are held back."},
};
static const ab_options own = {rows, sizeof(rows) / sizeof(rows[0])};

size_t ab_principal_options(ab_options out[AB_PRINCIPAL_OPTIONS_MAX])
{
    size_t n = 0;
    out[n++] = own;
    out[n++] = ab_daemon_options;
    out[n++] = ab_store_options;
    out[n++] = ab_transport_options;
    for (size_t i = 0; ab_transport_table[i] != NULL; i++)
        out[n++] = *ab_transport_table[i]->options;
    return n;
}
