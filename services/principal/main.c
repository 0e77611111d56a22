/* SPDX-License-Identifier: Apache-2.0 */
#include "services/principal/principal.h"

int main(int argc, char **argv)
{
    ab_options tables[AB_SERVICE_OPTIONS_MAX];
    ab_daemon_program program = {
        .name = "argobus-principal",
        .tables = tables,
        .table_count = ab_principal_options(tables),
        .check = ab_principal_check,
        .check_files = ab_principal_check_files,
        .start = ab_principal_start,
        .stop = ab_principal_stop,
        .reload = ab_principal_reload,
        .free = ab_principal_release,
        .ready = ab_principal_is_ready,
    };
    return ab_daemon_main(&program, argc, argv);
}
