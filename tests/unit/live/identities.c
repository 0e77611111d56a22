/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/live/identities.h"

#include "tests/unit/base/crypto/made_cert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void make_identity(const identities *i, const char *name, const char *cn,
                          const made_cert *ca)
{
    char file[64];
    made_cert m = make_cert(&(made_cert_spec){
        .type = "EC-P-256", .name = cn, .extended_usage = "clientAuth", .issuer = ca});
    snprintf(file, sizeof(file), "%s.crt", name);
    write_pem(i->folder, file, m.cert);
    snprintf(file, sizeof(file), "%s.key", name);
    write_pem(i->folder, file, m.key);
    made_cert_free(&m);
}

static void open_context(identities *i, int end)
{
    char path[3][128];
    ab_error err = {0};
    snprintf(path[0], sizeof(path[0]), "%s/ca.crt", i->folder);
    snprintf(path[1], sizeof(path[1]), "%s/%d.crt", i->folder, end);
    snprintf(path[2], sizeof(path[2]), "%s/%d.key", i->folder, end);
    const ab_tls tls = {
        .ca = path[0], .cert = path[1], .key = path[2], .client_cert = AB_TLS_CLIENT_CERT_REQUIRE};
    assert_int_equal(ab_tls_context_init(&i->tls[end], &tls, end == 1, "", &err), AB_ERR_OK);
}

void identities_open(identities *i, const char *agent, bool trusted)
{
    made_cert ca = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "ca", .ca = true});
    made_cert other = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "ca", .ca = true});
    snprintf(i->folder, sizeof(i->folder), "/tmp/ab-live-XXXXXX");
    assert_non_null(mkdtemp(i->folder));
    write_pem(i->folder, "ca.crt", ca.cert);
    make_identity(i, "0", "principal", &ca);
    make_identity(i, "1", agent, trusted ? &ca : &other);
    open_context(i, 0);
    open_context(i, 1);
    made_cert_free(&ca);
    made_cert_free(&other);
}

void identities_close(identities *i)
{
    char path[128];
    static const char *const names[] = {"ca.crt", "0.crt", "0.key", "1.crt", "1.key"};
    ab_tls_context_fini(&i->tls[0]);
    ab_tls_context_fini(&i->tls[1]);
    if (i->folder[0] == '\0')
        return;
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        snprintf(path, sizeof(path), "%s/%s", i->folder, names[n]);
        (void)unlink(path);
    }
    (void)rmdir(i->folder);
}
