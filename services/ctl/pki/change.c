/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/change.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void hold_signals(sigset_t *before)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
        sigaddset(&held, ending[i]);
    sigprocmask(SIG_BLOCK, &held, before);
}

/* The lock is the folder's, since a file that is replaced takes its locks away with it. */
static int open_folder(const char *path)
{
    char *real = realpath(path, NULL);
    if (real == NULL)
        real = strdup(path);
    int fd = real == NULL ? -1 : open(dirname(real), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int number = errno;
    free(real);
    errno = number;
    return fd;
}

ab_err ab_pki_change_begin(const char *path, ab_pki_change *out, ab_error *err)
{
    out->folder = open_folder(path);
    if (out->folder < 0)
        return ab_fail_errno(err, ab_err_from_errno(errno), errno, "cannot open the folder of %s",
                             path);
    int locked = 0;
    do
        locked = flock(out->folder, LOCK_EX);
    while (locked != 0 && errno == EINTR);
    hold_signals(&out->signals);
    return AB_ERR_OK;
}

void ab_pki_change_end(ab_pki_change *change)
{
    (void)close(change->folder);
    sigprocmask(SIG_SETMASK, &change->signals, NULL);
}
