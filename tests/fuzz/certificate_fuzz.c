/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as the certificate that an agent's hello brings: it is refused with a reason, or its
 * names are written so that no value looks like another name. The input is PEM, or after a byte 'D'
 * the DER of a certificate, so that base64 does not stand between the fuzzer and the parser.
 */
#include "base/core/base64.h"
#include "base/crypto/pem.h"
#include "base/crypto/seal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PEM(text) "-----BEGIN CERTIFICATE-----\n" text "-----END CERTIFICATE-----\n"

/* Of a key that is gone: nothing is signed by it. */
static const char ca_pem[] =
    PEM("MIIBNzCB3aADAgECAg0LE7F5/S9AgvBG8vcXMAoGCCqGSM49BAMCMB4xDTALBgNV\n"
        "BAMMBHdlc3QxDTALBgNVBAoMBG1hZGUwIBcNMjYxMTIxMTAzNzQ1WhgPMjA3NjEx\n"
        "MDgxMTM3NDVaMB4xDTALBgNVBAMMBHdlc3QxDTALBgNVBAoMBG1hZGUwWTATBgcq\n"
        "hkjOPQIBBggqhkjOPQMBBwNCAATXjjmSa4b0TUeeScXm3Axp+t5RBGCMsLlW4eYv\n"
        "zuSth1Si+j/5YjCYTc2ySHF3HrsAdvErMdRJbdGGlwP2y+tmMAoGCCqGSM49BAMC\n"
        "A0kAMEYCIQCPY3mukDYGHlVka6ed9P3GgfT4ZUptvUPd4BjdAd00XwIhAO3IG+y7\n"
        "x+6RTRWcJV8PNP+R0hz3jtdBsw5nuc43ebpk\n");

static size_t count_of(ab_str text, char wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == wanted;
    return count;
}

static bool look_at_uri(void *arg, ab_str uri)
{
    size_t *bytes = arg;
    for (size_t i = 0; i < uri.len; i++)
        *bytes += uri.ptr[i] != '\0';
    return false;
}

static void look_at(const X509 *cert)
{
    ab_buf subject;
    size_t bytes = 0;
    ab_buf_init(&subject, 1 << 20);
    if (ab_certificate_subject(cert, &subject) == AB_ERR_OK) {
        ab_str text = ab_buf_str(&subject);
        size_t names = (size_t)X509_NAME_entry_count(X509_get_subject_name(cert));
        assert(count_of(text, '=') == names);
        assert(count_of(text, ',') + count_of(text, '+') == (names == 0 ? 0 : names - 1));
    }
    ab_buf_fini(&subject);
    (void)ab_certificate_each_uri(cert, look_at_uri, &bytes);
    (void)ab_certificate_expires_s(cert);
}

static void check_pem(ab_str pem)
{
    static ab_identity_rule *rule;
    ab_seal_recipient *recipient = NULL;
    ab_error err = {0};
    STACK_OF(X509) *certs = NULL;
    if (rule == NULL) {
        ab_err made = ab_identity_rule_new(AB_STR("uri:^spiffe://.*/([a-z]+)$"), &rule, &err);
        assert(made == AB_ERR_OK);
    }
    if (ab_pem_certs(pem, &certs) == AB_ERR_OK)
        look_at(sk_X509_value(certs, 0));
    sk_X509_pop_free(certs, X509_free);
    if (ab_seal_recipient_new(pem, AB_STR_NONE, NULL, "west", &recipient, &err) == AB_ERR_OK)
        assert(strlen(ab_seal_recipient_id(recipient)) == 64);
    else
        assert(err.text[0] != '\0');
    ab_seal_recipient_free(recipient);
    recipient = NULL;
    ab_err e = ab_seal_recipient_new(pem, AB_STR(ca_pem), rule, "west", &recipient, &err);
    assert(e != AB_ERR_OK && recipient == NULL);
}

/* OpenSSL reads no long lines. */
static void put_pem(ab_str der, ab_buf *out)
{
    ab_buf_puts(out, "-----BEGIN CERTIFICATE-----\n");
    while (der.len > 0) {
        size_t len = der.len < 48 ? der.len : 48;
        ab_base64_encode((ab_str){der.ptr, len}, out);
        ab_buf_putc(out, '\n');
        der = (ab_str){der.ptr + len, der.len - len};
    }
    ab_buf_puts(out, "-----END CERTIFICATE-----\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str text = {(const char *)data, size};
    if (size == 0 || data[0] != 'D') {
        check_pem(text);
        return 0;
    }
    ab_buf pem;
    ab_buf_init(&pem, 1 << 24);
    put_pem((ab_str){text.ptr + 1, text.len - 1}, &pem);
    if (ab_buf_status(&pem) == AB_ERR_OK)
        check_pem(ab_buf_str(&pem));
    ab_buf_fini(&pem);
    return 0;
}
