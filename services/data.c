/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data.h"

#include "base/core/file.h"
#include "store/kubernetes/access/access.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORD_MAX 64

static ab_err read_former(const char *path, char former[WORD_MAX], ab_error *err)
{
    ab_buf text = ab_buf_up_to(WORD_MAX - 1);
    ab_err e = ab_file_read(path, &text, NULL, err);
    snprintf(former, WORD_MAX, "%.*s", AB_STR_ARG(ab_buf_str(&text)));
    former[strcspn(former, "\r\n")] = '\0';
    ab_buf_fini(&text);
    return e == AB_ERR_NOTFOUND ? AB_ERR_OK : e;
}

static ab_err check_writable(const char *folder, const char *option, ab_error *err)
{
    struct stat st;
    if (stat(folder, &st) == 0 && !S_ISDIR(st.st_mode))
        return ab_fail(err, AB_ERR_CONFIG, "%s: %s is not a folder", option, folder);
    if (faccessat(AT_FDCWD, folder, R_OK | W_OK | X_OK, AT_EACCESS) != 0)
        return ab_fail_errno(err, AB_ERR_CONFIG, errno,
                             "%s: this user cannot read and write in folder %s", option, folder);
    return AB_ERR_OK;
}

/* As mkdir would find it. */
static ab_err check_parent(const char *folder, const char *option, ab_error *err)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s", folder);
    if (n < 0 || (size_t)n >= sizeof(path))
        return ab_fail(err, AB_ERR_CONFIG, "%s: the path is too long", option);
    if (faccessat(AT_FDCWD, dirname(path), W_OK | X_OK, AT_EACCESS) != 0)
        return ab_fail_errno(err, AB_ERR_CONFIG, errno,
                             "%s: %s does not exist, and a start cannot create it", option, folder);
    return AB_ERR_OK;
}

ab_err ab_data_check(const ab_config *config, const char *option, ab_error *err)
{
    const char *folder = ab_config_str(config, option);
    ab_err e = AB_ERR_OK;
    if (folder != NULL)
        e = access(folder, F_OK) != 0 && errno == ENOENT ? check_parent(folder, option, err)
                                                         : check_writable(folder, option, err);
    if (e == AB_ERR_OK && ab_config_is(config, "store.kind", "kubernetes"))
        return ab_kube_access_check(config, err);
    if (e != AB_ERR_OK)
        return e;
    folder = ab_config_str(config, "store.directory.path");
    return folder == NULL || folder[0] == '\0'
               ? ab_fail(err, AB_ERR_CONFIG, "store.directory.path is not set; name a folder")
               : check_writable(folder, "store.directory.path", err);
}

static ab_err make_folder(const char *folder, const char *option, ab_error *err)
{
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return ab_fail_errno(err, AB_ERR_CONFIG, errno, "%s: cannot create the folder %s", option,
                             folder);
    return AB_ERR_OK;
}

/* Learn what the folder was used with; `word`, which is noted then, if that is not known. */
static ab_err claim(const char *folder, const char *file, const char *word, const char *option,
                    char former[WORD_MAX], ab_error *err)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, file);
    if (n < 0 || (size_t)n >= sizeof(path))
        return ab_fail(err, AB_ERR_CONFIG, "%s: the path is too long", option);
    ab_err e = make_folder(folder, option, err);
    if (e == AB_ERR_OK)
        e = read_former(path, former, err);
    if (e != AB_ERR_OK || former[0] != '\0')
        return e;
    snprintf(former, WORD_MAX, "%s", word);
    return ab_file_replace(path, ab_str_of(word), err);
}

ab_err ab_data_claim(const char *folder, const char *mapping, const char *option, ab_error *err)
{
    char former[WORD_MAX];
    ab_err e = claim(folder, "mapping", mapping, option, former, err);
    if (e != AB_ERR_OK || strcmp(former, mapping) == 0)
        return e;
    return ab_fail(
        err, AB_ERR_CONFIG,
        "mapping is %s, but %s was used with %s: Applications would be orphaned or deleted. Undo "
        "the change, or follow \"To change the mapping\" in docs/operate/modes.md",
        mapping, option, former);
}

ab_err ab_data_claim_agent(const char *folder, const char *agent, ab_error *err)
{
    char former[WORD_MAX];
    ab_err e = claim(folder, "agent", agent, "agent.data", former, err);
    if (e != AB_ERR_OK || strcmp(former, agent) == 0)
        return e;
    return ab_fail(
        err, AB_ERR_CONFIG,
        "agent.name is %s, but agent.data was used by agent %s: the Applications of that agent "
        "would be created here, or deleted with their workloads. Undo the change; if this is "
        "another cluster, empty %s; to rename the agent, follow \"Rename an agent\" in "
        "docs/operate/agents.md",
        agent, former, folder);
}
