/* SPDX-License-Identifier: Apache-2.0 */
#include "services/daemon/core_dumps.h"

#include <sys/prctl.h>

/* A limit of 0 (RLIMIT_CORE) would not be enough: the kernel does not apply it where dumps go to a
 * program, as on most distributions. */
void ab_core_dumps_allow(bool allow)
{
    (void)prctl(PR_SET_DUMPABLE, allow ? 1UL : 0UL, 0UL, 0UL, 0UL); /* cannot fail with these */
}
