/* SPDX-License-Identifier: Apache-2.0
 *
 * What the cases of kube.h share: two API servers, the daemons between them, and our own eyes and
 * hands at both. Applications live in namespace w0 at the hub and argocd at the spoke; those of the
 * bare client in namespace bare at both.
 */
#pragma once

#include "tests/bench/base/api_watch.h"
#include "tests/bench/base/site.h"

#define AB_BENCH_HUB_SPACE   "w0"
#define AB_BENCH_SPOKE_SPACE "argocd"
#define AB_BENCH_BARE_SPACE  "bare"

#define AB_BENCH_PRINCIPAL (-1)
#define AB_BENCH_AT_ONCE   16   /* writers */
#define AB_BENCH_BYTES     3072 /* of an Application */
#define AB_BENCH_WAIT_MS   180000

typedef struct {
    const ab_bench_options *o;
    uv_loop_t loop;
    ab_bench_api hub;
    ab_bench_api spoke;
    ab_bench_site site;
    size_t count; /* of Applications */
    bool opened;
} ab_bench_lab;

/**
 * Connect, empty the namespaces, make the site.
 *
 * @param kubeconfig  the principal's, borrowed; NULL: the hub's
 * @return false; said on stderr
 */
bool ab_bench_lab_open(ab_bench_lab *lab, const ab_bench_options *o, size_t count,
                       const char *kubeconfig);
/** Stop the daemons, empty the namespaces; also after a failed open. @param ok  else logs stay */
void ab_bench_lab_close(ab_bench_lab *lab, bool ok);

/** Start principal and agent; returns when a change goes through and nothing moves any more. */
bool ab_bench_lab_start(ab_bench_lab *lab);
bool ab_bench_lab_stop(ab_bench_lab *lab);
/** Create all Applications (revision 1) at the hub; returns when they are at the spoke. */
bool ab_bench_lab_bring(ab_bench_lab *lab, size_t bytes);
/** Create the bare client's own at both. */
bool ab_bench_lab_bring_bare(ab_bench_lab *lab, size_t bytes);

/* What happened meanwhile. */
typedef struct {
    int64_t at_ns;
    ab_bench_api_count hub;
    ab_bench_api_count spoke;
    double principal_s; /* CPU */
    double agent_s;
} ab_bench_mark;

/** Where the counters stand now. */
bool ab_bench_lab_mark(ab_bench_lab *lab, ab_bench_mark *out);
/** What they have grown by since `mark`. */
bool ab_bench_lab_since(ab_bench_lab *lab, const ab_bench_mark *mark, ab_bench_mark *out);

/** A row with a value and its limit (NAN: none). */
void ab_bench_lab_report(const ab_bench_lab *lab, const char *name, const char *unit, double value,
                         double limit);
/** Rows <name>.hub and .spoke: CPU of the API servers. */
void ab_bench_lab_report_servers(const ab_bench_lab *lab, const char *name,
                                 const ab_bench_mark *grown);
/** Those, and <name>.principal and .agent: CPU, and the most memory that they ever had. */
void ab_bench_lab_report_cost(const ab_bench_lab *lab, const char *name,
                              const ab_bench_mark *grown);
