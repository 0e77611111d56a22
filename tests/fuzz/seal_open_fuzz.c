/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text is opened or refused with a reason, and what does not open gives nothing. The input is
 * either the sealed text, or after a byte 'D' the CMS message itself, so that base64 does not stand
 * between the fuzzer and the parser. The key below is for this test only.
 */
#include "base/core/base64.h"
#include "base/crypto/seal.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char cert_pem[] = "-----BEGIN CERTIFICATE-----\n"
                               "MIIBNzCB3aADAgECAg0LE7F5/S9AgvBG8vcXMAoGCCqGSM49BAMCMB4xDTALBgNV\n"
                               "BAMMBHdlc3QxDTALBgNVBAoMBG1hZGUwIBcNMjYxMTIxMTAzNzQ1WhgPMjA3NjEx\n"
                               "MDgxMTM3NDVaMB4xDTALBgNVBAMMBHdlc3QxDTALBgNVBAoMBG1hZGUwWTATBgcq\n"
                               "hkjOPQIBBggqhkjOPQMBBwNCAATXjjmSa4b0TUeeScXm3Axp+t5RBGCMsLlW4eYv\n"
                               "zuSth1Si+j/5YjCYTc2ySHF3HrsAdvErMdRJbdGGlwP2y+tmMAoGCCqGSM49BAMC\n"
                               "A0kAMEYCIQCPY3mukDYGHlVka6ed9P3GgfT4ZUptvUPd4BjdAd00XwIhAO3IG+y7\n"
                               "x+6RTRWcJV8PNP+R0hz3jtdBsw5nuc43ebpk\n"
                               "-----END CERTIFICATE-----\n";
static const char key_pem[] = "-----BEGIN PRIVATE KEY-----\n"
                              "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgj+dBUbkvGcoNhTYQ\n"
                              "9/fr7dmneFK5RcwtrOJ0v2j6esehRANCAATXjjmSa4b0TUeeScXm3Axp+t5RBGCM\n"
                              "sLlW4eYvzuSth1Si+j/5YjCYTc2ySHF3HrsAdvErMdRJbdGGlwP2y+tm\n"
                              "-----END PRIVATE KEY-----\n";

static const ab_seal_binding binding = {
    {"west", 4}, {"Secret/argocd/repo", 18}, {"7.000000000012", 14}, {"c0ffee", 6}};

static void open_text(ab_str sealed)
{
    static ab_seal_opener *opener;
    ab_error err = {0};
    if (opener == NULL) {
        ab_err made = ab_seal_opener_new(AB_STR(cert_pem), AB_STR(key_pem), &opener, &err);
        assert(made == AB_ERR_OK);
    }
    ab_buf payload;
    ab_buf_init(&payload, 1 << 20);
    ab_err e = ab_seal_open(opener, &binding, sealed, &payload, &err);
    assert(e == AB_ERR_OK || (err.text[0] != '\0' && payload.len == 0));
    ab_buf_fini(&payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ab_str text = {(const char *)data, size};
    if (size == 0 || data[0] != 'D') {
        open_text(text);
        return 0;
    }
    ab_buf sealed;
    ab_buf_init(&sealed, 1 << 24);
    ab_base64_encode((ab_str){text.ptr + 1, text.len - 1}, &sealed);
    if (ab_buf_status(&sealed) == AB_ERR_OK)
        open_text(ab_buf_str(&sealed));
    ab_buf_fini(&sealed);
    return 0;
}
