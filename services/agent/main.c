/* SPDX-License-Identifier: Apache-2.0 */
#include "services/agent/agent.h"

int main(int argc, char **argv)
{
    ab_options tables[AB_SERVICE_OPTIONS_MAX];
    ab_daemon_program program = {
        .name = "argobus-agent",
        .tables = tables,
        .table_count = ab_agent_options(tables),
        .check = ab_agent_check,
        .check_files = ab_agent_check_files,
        .start = ab_agent_start,
        .stop = ab_agent_stop,
        .free = ab_agent_release,
        .healthy = ab_agent_is_healthy,
        .ready = ab_agent_is_ready,
    };
    return ab_daemon_main(&program, argc, argv);
}
