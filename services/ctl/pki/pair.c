/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/pki/pair.h"

#include "base/core/file.h"
#include "base/crypto/pem.h"
#include "services/ctl/pki/change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CERT_MODE 0644
#define KEY_MODE  0600

/* ----- paths ----- */

static ab_err fail_long(const char *path, ab_error *err)
{
    return ab_fail(err, AB_ERR_INVALID, "%.200s...: the path is too long", path);
}

ab_err ab_pki_paths_in(const char *folder, const char *name, ab_pki_paths *out, ab_error *err)
{
    bool here = strcmp(folder, ".") == 0;
    const char *slash = here ? "" : "/";
    if (here)
        folder = "";
    int cert = snprintf(out->cert, sizeof(out->cert), "%s%s%s.crt", folder, slash, name);
    int key = snprintf(out->key, sizeof(out->key), "%s%s%s.key", folder, slash, name);
    bool fits = cert < AB_PKI_PATH_MAX && key < AB_PKI_PATH_MAX;
    return fits ? AB_ERR_OK : fail_long(folder, err);
}

ab_err ab_pki_paths_of(const char *cert, ab_pki_paths *out, ab_error *err)
{
    size_t len = strlen(cert);
    if (len < 5 || strcmp(cert + len - 4, ".crt") != 0)
        return ab_fail(err, AB_ERR_INVALID,
                       "%s: the name does not end with .crt, so the name of its key is not known",
                       cert);
    if (len >= AB_PKI_PATH_MAX)
        return fail_long(cert, err);
    snprintf(out->cert, sizeof(out->cert), "%s", cert);
    snprintf(out->key, sizeof(out->key), "%.*s.key", (int)(len - 4), cert);
    return AB_ERR_OK;
}

/* ----- new files ----- */

ab_err ab_pki_file_create(const char *path, ab_str text, mode_t mode, ab_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && errno == EEXIST)
        return ab_fail(err, AB_ERR_EXISTS, "%s exists already", path);
    if (fd < 0)
        return ab_fail_errno(err, ab_err_from_errno(errno), errno, "cannot create %s", path);
    int failed = ab_file_write_fd(fd, text);
    close(fd);
    if (failed == 0)
        return AB_ERR_OK;
    unlink(path);
    return ab_fail_errno(err, ab_err_from_errno(failed), failed, "cannot write %s", path);
}

static ab_err create_both(const ab_pki_paths *paths, ab_str cert, ab_str key, ab_error *err)
{
    if (access(paths->cert, F_OK) == 0)
        return ab_fail(err, AB_ERR_EXISTS, "%s exists already", paths->cert);
    ab_err e = key.ptr == NULL ? AB_ERR_OK : ab_pki_file_create(paths->key, key, KEY_MODE, err);
    if (e == AB_ERR_EXISTS) /* it may be of use for something that is not known here */
        return ab_fail(err, AB_ERR_CONFLICT,
                       "%s exists without %s: an earlier call was interrupted, or the key is for "
                       "something else; remove it if nothing needs it, and try again",
                       paths->key, paths->cert);
    if (e != AB_ERR_OK)
        return e;
    e = ab_pki_file_create(paths->cert, cert, CERT_MODE, err);
    if (e != AB_ERR_OK && key.ptr != NULL)
        unlink(paths->key);
    return e;
}

ab_err ab_pki_pair_create(const ab_pki_paths *paths, ab_str cert, ab_str key, ab_error *err)
{
    ab_pki_change change;
    ab_err e = ab_pki_change_begin(paths->cert, &change, err);
    if (e != AB_ERR_OK)
        return e;
    e = create_both(paths, cert, key, err);
    ab_pki_change_end(&change);
    return e;
}

/* ----- files that are replaced ----- */

/* Where a file is written before it takes its place. A link's target is replaced, not the link. */
typedef struct {
    char *path; /* owned */
    char next[AB_PKI_PATH_MAX];
} replaced;

static int write_like(const char *path, const struct stat *old, ab_str text)
{
    /* What has this name may be open elsewhere, be another's, or have a second name. */
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, KEY_MODE);
    if (fd < 0)
        return errno;
    int failed = 0;
    /* The owner first: changing it may clear bits of the mode. */
    if ((old->st_uid != geteuid() || old->st_gid != getegid()) &&
        fchown(fd, old->st_uid, old->st_gid) != 0)
        failed = errno;
    else if (fchmod(fd, old->st_mode & 0777) != 0)
        failed = errno;
    else
        failed = ab_file_write_fd(fd, text);
    close(fd);
    return failed;
}

static ab_err stage(replaced *r, const char *path, ab_str text, ab_error *err)
{
    struct stat old;
    r->path = realpath(path, NULL);
    if (r->path == NULL || stat(r->path, &old) != 0)
        return ab_fail_errno(err, ab_err_from_errno(errno), errno, "cannot read %s", path);
    if (snprintf(r->next, sizeof(r->next), "%s.new", r->path) >= AB_PKI_PATH_MAX)
        return fail_long(path, err);
    int failed = write_like(r->next, &old, text);
    if (failed == 0)
        return AB_ERR_OK;
    unlink(r->next);
    return ab_fail_errno(err, ab_err_from_errno(failed), failed, "cannot write %s", r->next);
}

static ab_err put_in_place(const replaced *r, ab_error *err)
{
    if (rename(r->next, r->path) == 0)
        return AB_ERR_OK;
    int failed = errno;
    unlink(r->next);
    return ab_fail_errno(err, ab_err_from_errno(failed), failed, "cannot replace %s", r->path);
}

ab_err ab_pki_file_replace(const char *path, ab_str text, ab_error *err)
{
    replaced file = {0};
    ab_err e = stage(&file, path, text, err);
    if (e == AB_ERR_OK)
        e = put_in_place(&file, err);
    free(file.path);
    return e;
}

/* A key whose certificate cannot be replaced is of no use, and the former one is gone by then. */
static ab_err put_pair_in_place(const replaced *key, const replaced *cert, ab_str former,
                                ab_error *err)
{
    ab_error why = {0};
    ab_err e = put_in_place(key, err);
    if (e != AB_ERR_OK) {
        unlink(cert->next);
        return e;
    }
    e = put_in_place(cert, err);
    if (e != AB_ERR_OK && ab_pki_file_replace(key->path, former, &why) != AB_ERR_OK)
        ab_error_prefix(err, "%s is new, and its certificate is not; try again", key->path);
    return e;
}

static ab_err replace_both(const ab_pki_paths *paths, ab_str cert, ab_str key, ab_error *err)
{
    replaced key_file = {0};
    replaced cert_file = {0};
    ab_buf former = ab_buf_secret_up_to(AB_PKI_TEXT_MAX);
    ab_err e = ab_file_read(paths->key, &former, NULL, err);
    if (e == AB_ERR_OK)
        e = stage(&key_file, paths->key, key, err);
    if (e == AB_ERR_OK) {
        e = stage(&cert_file, paths->cert, cert, err);
        if (e != AB_ERR_OK)
            unlink(key_file.next);
    }
    if (e == AB_ERR_OK)
        e = put_pair_in_place(&key_file, &cert_file, ab_buf_str(&former), err);
    ab_buf_wipe(&former);
    free(key_file.path);
    free(cert_file.path);
    return e;
}

ab_err ab_pki_pair_replace(const ab_pki_paths *paths, ab_str cert, ab_str key, ab_error *err)
{
    ab_pki_change change;
    ab_err e = ab_pki_change_begin(paths->cert, &change, err);
    if (e != AB_ERR_OK)
        return e;
    e = replace_both(paths, cert, key, err);
    ab_pki_change_end(&change);
    return e;
}

/* ----- reading ----- */

ab_err ab_pki_read_certs(const char *path, STACK_OF(X509) * *out, ab_error *err)
{
    ab_buf text = ab_buf_up_to(AB_PKI_TEXT_MAX);
    ab_err e = ab_file_read(path, &text, NULL, err);
    if (e == AB_ERR_OK) {
        e = ab_pem_certs(ab_buf_str(&text), out);
        if (e != AB_ERR_OK)
            (void)ab_fail(err, e, "%s: not a PEM file of certificates", path);
    }
    ab_buf_fini(&text);
    return e;
}

ab_err ab_pki_read_key(const char *path, EVP_PKEY **out, ab_error *err)
{
    ab_buf text = ab_buf_secret_up_to(AB_PKI_TEXT_MAX);
    ab_err e = ab_file_read(path, &text, NULL, err);
    if (e == AB_ERR_OK) {
        e = ab_pem_key(ab_buf_str(&text), out);
        if (e != AB_ERR_OK)
            (void)ab_fail(err, e, "%s: not a PEM file of a private key without passphrase", path);
    }
    ab_buf_wipe(&text);
    return e;
}
