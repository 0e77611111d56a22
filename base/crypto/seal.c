/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenSSL's CMS encrypts, but has no way to add authenticated attributes; so what a payload is
 * bound to lies inside the content. Unauthenticated EnvelopedData is not read.
 */
#include "base/crypto/seal.h"

#include "base/core/base64.h"
#include "base/crypto/seal_priv.h"
#include "base/json/span.h"

#include <openssl/cms.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

/* Of the content, before it is encrypted, and of the CMS message. */
#define CONTENT_MAX (48u * 1024 * 1024)

static ab_err fail(ab_error *err, ab_err code, const char *what)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    ab_err e = ab_fail(err, code, "%s%s%s", what, why == NULL ? "" : ": ", why == NULL ? "" : why);
    ERR_clear_error();
    return e;
}

/* ----- sealing ----- */

static void put_content(const ab_seal_binding *binding, ab_str payload, ab_buf *out)
{
    ab_spanw w = ab_spanw_object_to(out);
    ab_spanw_key_str(&w, "agent", binding->agent);
    ab_spanw_key_str(&w, "key", binding->key);
    ab_spanw_key_str(&w, "version", binding->version);
    ab_spanw_key_str(&w, "context", binding->context);
    ab_spanw_key_str(&w, "payload", payload);
    ab_spanw_object_end(&w);
}

/* SHA-256 in place of OpenSSL's choices from the time of PKCS#1 1.5 and SHA-1. */
static bool choose_algorithms(EVP_PKEY_CTX *ctx, EVP_PKEY *key)
{
    if (ctx == NULL)
        return false;
    if (EVP_PKEY_is_a(key, "RSA"))
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING) > 0 &&
               EVP_PKEY_CTX_set_rsa_oaep_md(ctx, EVP_sha256()) > 0;
    return EVP_PKEY_CTX_set_ecdh_kdf_md(ctx, EVP_sha256()) > 0;
}

static CMS_ContentInfo *encrypt(X509 *cert, BIO *content)
{
    CMS_ContentInfo *cms = CMS_AuthEnvelopedData_create_ex(EVP_aes_256_gcm(), NULL, NULL);
    CMS_RecipientInfo *to = cms == NULL ? NULL : CMS_add1_recipient_cert(cms, cert, CMS_KEY_PARAM);
    if (to != NULL &&
        choose_algorithms(CMS_RecipientInfo_get0_pkey_ctx(to), X509_get0_pubkey(cert)) &&
        CMS_set_detached(cms, 0) == 1 && CMS_final(cms, content, NULL, CMS_BINARY) == 1)
        return cms;
    CMS_ContentInfo_free(cms);
    return NULL;
}

static ab_err put_message(CMS_ContentInfo *cms, ab_buf *out, ab_error *err)
{
    unsigned char *der = NULL;
    int len = i2d_CMS_ContentInfo(cms, &der);
    if (len < 0)
        return fail(err, AB_ERR_FATAL, "cannot write the sealed message");
    ab_base64_encode((ab_str){(const char *)der, (size_t)len}, out);
    OPENSSL_free(der);
    ab_err e = ab_buf_status(out);
    return e == AB_ERR_OK ? e : ab_fail(err, e, "the sealed message: %s", ab_err_text(e));
}

static ab_err seal_content(X509 *cert, ab_str content, ab_buf *out, ab_error *err)
{
    BIO *bio = BIO_new_mem_buf(content.ptr, (int)content.len);
    CMS_ContentInfo *cms = bio == NULL ? NULL : encrypt(cert, bio);
    ab_err e = cms == NULL ? fail(err, AB_ERR_FATAL, "cannot seal") : put_message(cms, out, err);
    CMS_ContentInfo_free(cms);
    BIO_free(bio);
    return e;
}

ab_err ab_seal(const ab_seal_recipient *r, const ab_seal_binding *binding, ab_str payload,
               ab_buf *out, ab_error *err)
{
    ab_buf content = ab_buf_secret_up_to(CONTENT_MAX);
    put_content(binding, payload, &content);
    ab_err e = ab_buf_status(&content);
    if (e == AB_ERR_OK)
        e = seal_content(r->cert, ab_buf_str(&content), out, err);
    else
        (void)ab_fail(err, e, "a payload of %zu bytes to seal: %s", payload.len, ab_err_text(e));
    ab_buf_fini(&content);
    return e;
}

/* ----- opening ----- */

static bool is_for(CMS_RecipientInfo *to, X509 *cert)
{
    if (CMS_RecipientInfo_type(to) == CMS_RECIPINFO_TRANS)
        return CMS_RecipientInfo_ktri_cert_cmp(to, cert) == 0;
    if (CMS_RecipientInfo_type(to) != CMS_RECIPINFO_AGREE)
        return false;
    STACK_OF(CMS_RecipientEncryptedKey) *keys = CMS_RecipientInfo_kari_get0_reks(to);
    for (int i = 0; i < sk_CMS_RecipientEncryptedKey_num(keys); i++)
        if (CMS_RecipientEncryptedKey_cert_cmp(sk_CMS_RecipientEncryptedKey_value(keys, i), cert) ==
            0)
            return true;
    return false;
}

static bool is_for_us(CMS_ContentInfo *cms, X509 *cert)
{
    STACK_OF(CMS_RecipientInfo) *all = CMS_get0_RecipientInfos(cms);
    for (int i = 0; i < sk_CMS_RecipientInfo_num(all); i++)
        if (is_for(sk_CMS_RecipientInfo_value(all, i), cert))
            return true;
    return false;
}

static ab_err read_message(ab_str sealed, CMS_ContentInfo **out, ab_error *err)
{
    ab_buf der = ab_buf_up_to(CONTENT_MAX);
    bool good = ab_base64_decode(sealed, &der);
    ab_err e = ab_buf_status(&der);
    const unsigned char *at = (const unsigned char *)der.ptr;
    CMS_ContentInfo *cms = NULL;
    const char *fault = NULL;
    if (e != AB_ERR_OK)
        (void)ab_fail(err, e, "the sealed payload: %s", ab_err_text(e));
    else if (!good || der.len == 0)
        e = ab_fail(err, AB_ERR_PARSE, "the sealed payload is not base64");
    else if ((fault = ab_seal_form_fault(ab_buf_str(&der))) != NULL)
        e = ab_fail(err, AB_ERR_PARSE, "%s", fault);
    else if ((cms = d2i_CMS_ContentInfo(NULL, &at, (long)der.len)) == NULL)
        e = fail(err, AB_ERR_PARSE, "the sealed payload is not a CMS message");
    if (e == AB_ERR_OK)
        *out = cms;
    else
        CMS_ContentInfo_free(cms);
    ab_buf_fini(&der);
    return e;
}

static bool same(ab_spanv v, ab_str wanted)
{
    ab_buf text = ab_buf_up_to(CONTENT_MAX);
    bool equal = ab_span_copy(v, &text) == AB_ERR_OK && ab_str_eq(ab_buf_str(&text), wanted);
    ab_buf_fini(&text);
    return equal;
}

static ab_err check_binding(ab_spanv content, const ab_seal_binding *binding, ab_error *err)
{
    const struct {
        const char *name;
        ab_str wanted;
    } bound[] = {{"agent", binding->agent}, {"key", binding->key}, {"version", binding->version}};
    for (size_t i = 0; i < sizeof(bound) / sizeof(bound[0]); i++)
        if (!same(ab_span_get(content, bound[i].name), bound[i].wanted))
            return ab_fail(err, AB_ERR_DENIED, "the payload was sealed for another %s than %.*s",
                           bound[i].name, AB_STR_ARG(bound[i].wanted));
    ab_spanv context = ab_span_get(content, "context");
    if (ab_span_present(context) && !same(context, binding->context))
        return ab_fail(
            err, AB_ERR_DENIED,
            "the type, labels or annotations beside the sealed payload were changed on the way");
    return AB_ERR_OK;
}

static ab_err take_payload(ab_str content, const ab_seal_binding *binding, ab_buf *payload,
                           ab_error *err)
{
    ab_span *doc = NULL;
    ab_err e = ab_span_parse(content, &doc, NULL);
    if (e != AB_ERR_OK)
        return e == AB_ERR_NOMEM ? ab_fail(err, e, "out of memory for a sealed payload")
                                 : ab_fail(err, AB_ERR_PARSE, "the opened payload is not JSON");
    ab_spanv root = ab_span_root(doc);
    ab_spanv text = ab_span_get(root, "payload");
    e = check_binding(root, binding, err);
    if (e == AB_ERR_OK && ab_span_typeof(text) != AB_SPAN_STRING)
        e = ab_fail(err, AB_ERR_PARSE, "the opened document has no payload");
    else if (e == AB_ERR_OK && (e = ab_span_copy(text, payload)) != AB_ERR_OK)
        (void)ab_fail(err, e, "the opened payload: %s", ab_err_text(e));
    ab_span_wipe(doc);
    return e;
}

/* Without the certificate, so that one that was renewed for the same key opens it too. Everything
 * comes out before the tag is compared, so nothing is looked at unless all went well. */
static ab_err decrypt(const ab_seal_opener *o, CMS_ContentInfo *cms, BIO *out, ab_error *err)
{
    if (CMS_decrypt(cms, o->key, NULL, NULL, out, CMS_BINARY) == 1)
        return AB_ERR_OK;
    ERR_clear_error();
    return is_for_us(cms, o->cert)
               ? ab_fail(err, AB_ERR_DENIED, "the sealed payload was changed on the way")
               : ab_fail(err, AB_ERR_DENIED, "the payload was sealed for another certificate");
}

ab_err ab_seal_open(const ab_seal_opener *o, const ab_seal_binding *binding, ab_str sealed,
                    ab_buf *payload, ab_error *err)
{
    CMS_ContentInfo *cms = NULL;
    ab_err e = read_message(sealed, &cms, err);
    if (e != AB_ERR_OK)
        return e;
    BIO *plain = BIO_new(BIO_s_secmem());
    e = plain == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory opening a sealed payload")
                      : decrypt(o, cms, plain, err);
    if (e == AB_ERR_OK) {
        char *text = NULL;
        long len = BIO_get_mem_data(plain, &text);
        e = take_payload((ab_str){text == NULL ? "" : text, (size_t)len}, binding, payload, err);
    }
    BIO_free(plain);
    CMS_ContentInfo_free(cms);
    return e;
}
