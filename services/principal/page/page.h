/* SPDX-License-Identifier: Apache-2.0
 *
 * The fleet page: one page for browsers that shows all agents and what is not in effect at them,
 * and the same as JSON for programs. Nothing can be changed by it. Loop thread.
 *
 * Who may look: on a loopback address without certificates, whoever is on this machine, by a name
 * of it (so that no page of the web can look through a name that it lets point here); otherwise who
 * shows a token of fleet.tokens that is for all agents, or a certificate that fleet.tls.ca issued.
 * Who shows a revoked one may not.
 */
#pragma once

#include "base/config/config.h"
#include "base/core/clock.h"
#include "base/crypto/revoked.h"
#include "base/observe/log.h"

#include <uv.h>

typedef struct ab_page ab_page;

extern const ab_options ab_page_options;

/* What is shown. Each function appends JSON, at once, and may be slow in proportion to what it
 * appends. */
typedef struct {
    /** An object about the principal. */
    void (*write_principal)(void *arg, ab_buf *out);
    /** An object about an agent; nothing when it is not served. */
    void (*write_agent)(void *arg, const char *agent, ab_buf *out);
    /** The same with its objects that are not in effect; nothing when it is not served. */
    void (*write_objects)(void *arg, const char *agent, ab_buf *out);
    /** An object about all. */
    void (*write_all)(void *arg, ab_buf *out);
    /** Call `visit` for each served agent. */
    void (*each)(void *arg, void (*visit)(void *visit_arg, ab_str agent), void *visit_arg);
    void *arg;
    ab_revoked_ask revoked; /* certificates of those who look */
} ab_page_source;

/** Whether the options fleet.* are good. @return CONFIG naming the option, NOMEM */
AB_MUST_USE ab_err ab_page_check(const ab_config *config, ab_error *err);
/**
 * Serve the page where fleet.listen says.
 *
 * @param source  copied
 * @param out     NULL: fleet.listen is not set
 * @return CONFIG, UNAVAILABLE (the address cannot be bound), NOMEM
 */
AB_MUST_USE ab_err ab_page_start(uv_loop_t *loop, const ab_config *config, const ab_clock *clock,
                                 ab_log *log, const ab_page_source *source, ab_page **out,
                                 ab_error *err);
/** An agent is served from now on, or not any more. NULL is allowed. */
void ab_page_note(ab_page *p, ab_str agent, bool served);
/** Cut all connections and free. NULL is allowed. The loop must be run afterwards. */
void ab_page_free(ab_page *p);
