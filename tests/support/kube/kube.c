/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/kube/kube.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

const char *ab_kube_config(void)
{
    const char *path = getenv("AB_KUBECONFIG");
    return path != NULL && access(path, R_OK) == 0 ? path : NULL;
}

void ab_kube_kubectl(const char *fmt, ...)
{
    char arguments[512];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(arguments, sizeof(arguments), fmt, args);
    va_end(args);
    assert_in_range(len, 1, sizeof(arguments) - 1);
    const char *script = getenv("KUBE_DEV");
    if (script == NULL)
        fail_msg("%s", "KUBE_DEV is not set: run this by ctest, or start a server with kube-dev");
    char command[1200];
    (void)snprintf(command, sizeof(command), "'%s' kubectl test %s >&2", script, arguments);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}
