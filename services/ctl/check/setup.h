/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration of a program, read as the program reads it: file and environment. The flags
 * --kubeconfig and --context, where a command has them, replace what it says of the cluster.
 */
#pragma once

#include "base/config/config.h"
#include "services/ctl/command.h"

typedef struct {
    bool is_agent;
    bool is_kafka;
    const char *agent; /* own name; NULL: a principal */
    const char *file;
    ab_config *config;
} ab_setup;

/**
 * @param program  "agent" or "principal"
 * @param out      owned by the caller: ab_setup_fini
 * @return INVALID: another program, or no file was named; CONFIG: as --check-config says it
 */
AB_MUST_USE ab_err ab_setup_read(const ab_ctl *ctl, const char *program, ab_setup *out,
                                 ab_error *err);
/**
 * Read a file for the sake of its brokers only: a principal's configuration, or one with options
 * kafka.* alone, which an administrator has.
 * @param out  owned by the caller: ab_setup_fini
 * @return CONFIG: it cannot be read, or an option is wrong
 */
AB_MUST_USE ab_err ab_setup_read_brokers(const char *file, ab_setup *out, ab_error *err);
/**
 * Read the file of flag --config for the sake of its brokers only, whoever's it is: an agent's if
 * it has an option agent.* or ARGOBUS_AGENT_NAME is set, else as ab_setup_read_brokers.
 * @param out  owned by the caller: ab_setup_fini
 * @return INVALID: no file was named, or the transport is another one; CONFIG: it cannot be read,
 *         or an option is wrong
 */
AB_MUST_USE ab_err ab_setup_read_kafka(const ab_ctl *ctl, ab_setup *out, ab_error *err);
void ab_setup_fini(ab_setup *s);
/** "kafka.tls.ca" or "grpc.tls.ca". @return NULL: it is not set; borrowed */
const char *ab_setup_tls(const ab_setup *s, const char *option);
/** Whether connections are without TLS. */
bool ab_setup_is_insecure(const ab_setup *s);
