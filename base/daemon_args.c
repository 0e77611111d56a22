/* SPDX-License-Identifier: Apache-2.0 */
#include "base/daemon_args_priv.h"

#include <stdlib.h>
#include <string.h>

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

static bool find_mode(const char *arg, ab_run_mode *out)
{
    static const struct {
        const char *arg;
        ab_run_mode mode;
    } modes[] = {
        {"--check-config", AB_RUN_CHECK_CONFIG},
        {"--print-config", AB_RUN_PRINT_CONFIG},
        {"--print-options", AB_RUN_PRINT_OPTIONS},
        {"--version", AB_RUN_PRINT_VERSION},
        {"--help", AB_RUN_PRINT_HELP},
        {"-h", AB_RUN_PRINT_HELP},
    };
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(arg, modes[i].arg) == 0) {
            *out = modes[i].mode;
            return true;
        }
    }
    return false;
}

/* Value of `--name=value` or `--name value`; moves `i` past what was taken. NULL when `name` is not
 * there, or when nothing follows it. */
static const char *take_value(int argc, char **argv, int *i, const char *name)
{
    size_t len = strlen(name);
    const char *arg = argv[*i];
    if (strncmp(arg, name, len) != 0)
        return NULL;
    if (arg[len] == '=')
        return arg + len + 1;
    if (arg[len] != '\0' || *i + 1 >= argc)
        return NULL;
    return argv[++*i];
}

static const char *take_file(int argc, char **argv, int *i)
{
    const char *file = take_value(argc, argv, i, "--config");
    return file != NULL ? file : take_value(argc, argv, i, "-c");
}

ab_err ab_daemon_args_parse(int argc, char **argv, ab_daemon_args *out, ab_error *err)
{
    ab_daemon_args a = {.mode = AB_RUN_DAEMON};
    a.set = calloc((size_t)argc + 1, sizeof(*a.set));
    if (a.set == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory");
    for (int i = 1; i < argc; i++) {
        const char *value = NULL;
        if (find_mode(argv[i], &a.mode))
            continue;
        if ((value = take_file(argc, argv, &i)) != NULL) {
            a.file = value;
        } else if ((value = take_value(argc, argv, &i, "--set")) != NULL) {
            a.set[a.set_count++] = value;
        } else {
            free(a.set);
            return ab_fail(err, AB_ERR_CONFIG,
                           "%s: unknown argument, or nothing follows it: see --help", argv[i]);
        }
    }
    *out = a;
    return AB_ERR_OK;
}

void ab_daemon_args_fini(ab_daemon_args *a)
{
    free(a->set);
    *a = (ab_daemon_args){0};
}
