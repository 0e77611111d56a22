/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon/args_priv.h"

#include <getopt.h>
#include <stdlib.h>

void ab_daemon_args_help(const char *program, ab_buf *out)
{
    ab_buf_printf(
        out,
        "usage: %s [-c FILE] [--set KEY=VALUE]...\n"
        "\n"
        "  -c, --config FILE  configuration file (YAML)\n"
        "  --set KEY=VALUE    set one option, over the file and the environment; repeatable\n"
        "  --check-config     check the configuration and exit\n"
        "  --print-config     print the configuration in force, without secrets, and exit\n"
        "  --print-options    print all options as a Markdown table and exit\n"
        "  --version          print the version and exit\n"
        "  -h, --help         print this and exit\n"
        "\n"
        "Every option is also a variable: kafka.tls.ca is ARGOBUS_KAFKA_TLS_CA.\n"
        "SIGTERM stops in order, SIGHUP reads the configuration again.\n",
        program);
}

/* What getopt_long returns for each option that takes a value; the others are modes. */
enum { OPTION_CONFIG = 'c', OPTION_HELP = 'h', OPTION_SET = 256, OPTION_MODE };

static const struct option options[] = {
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"set", required_argument, NULL, OPTION_SET},
    {"check-config", no_argument, NULL, OPTION_MODE + AB_RUN_CHECK_CONFIG},
    {"print-config", no_argument, NULL, OPTION_MODE + AB_RUN_PRINT_CONFIG},
    {"print-options", no_argument, NULL, OPTION_MODE + AB_RUN_PRINT_OPTIONS},
    {"version", no_argument, NULL, OPTION_MODE + AB_RUN_PRINT_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

static bool take(ab_daemon_args *a, int option)
{
    if (option == '?' || option == ':')
        return false;
    if (option == OPTION_CONFIG)
        a->file = optarg;
    else if (option == OPTION_SET)
        a->set[a->set_count++] = optarg;
    else
        a->mode = option == OPTION_HELP ? AB_RUN_PRINT_HELP : (ab_run_mode)(option - OPTION_MODE);
    return true;
}

/** @return the argument that is wrong, or NULL */
static const char *take_all(int argc, char **argv, ab_daemon_args *a)
{
    optind = 0; /* glibc: begin again */
    opterr = 0;
    for (int at = 1, option; (option = getopt_long(argc, argv, "+:c:h", options, NULL)) != -1;
         at = optind)
        if (!take(a, option))
            return argv[at];
    return optind < argc ? argv[optind] : NULL;
}

ab_err ab_daemon_args_parse(int argc, char **argv, ab_daemon_args *out, ab_error *err)
{
    ab_daemon_args a = {.mode = AB_RUN_DAEMON};
    a.set = calloc((size_t)argc + 1, sizeof(*a.set));
    if (a.set == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    const char *wrong = take_all(argc, argv, &a);
    if (wrong != NULL) {
        free(a.set);
        return ab_fail(err, AB_ERR_CONFIG,
                       "%s: unknown argument, or nothing follows it: see --help", wrong);
    }
    *out = a;
    return AB_ERR_OK;
}

void ab_daemon_args_fini(ab_daemon_args *a)
{
    free(a->set);
    *a = (ab_daemon_args){0};
}
