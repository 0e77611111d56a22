/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenSSL decrypts by whatever algorithms a CMS message names, and whoever writes to the log writes
 * those names. A padded key wrap makes OpenSSL before 3.0.22 write past its buffer
 * (CVE-2026-63072), a cipher without a tag makes it before 3.0.21 accept what nobody sealed
 * (CVE-2026-34182), and absent parameters end the process before 3.0.20 (CVE-2026-28389,
 * CVE-2026-28390). In every version OpenSSL compares as many bytes of the tag as there are: with a
 * tag of one byte, a changed message opens after some 256 attempts.
 */
#include "base/crypto/seal_priv.h"

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <string.h>

/* Of AES-GCM. */
#define NONCE_BYTES 12
#define TAG_BYTES   16

/* Identifier octets of DER (X.690, 8.1.2). */
enum {
    INTEGER = 0x02,
    OCTETS = 0x04,
    OID = 0x06,
    SEQUENCE = 0x30,
    SET = 0x31,
    CONTEXT_0 = 0xa0,
    CONTEXT_1 = 0xa1,
};

/* The next element, of definite length, whatever it is. */
static bool skip(ab_str *rest, ab_str *out)
{
    const unsigned char *at = (const unsigned char *)rest->ptr;
    const unsigned char *end = at + rest->len;
    long len = 0;
    int tag = 0;
    int class = 0;
    if ((ASN1_get_object(&at, &len, &tag, &class, (long)rest->len) & 0x81) != 0)
        return false;
    *out = (ab_str){(const char *)at, (size_t)len};
    *rest = (ab_str){(const char *)at + len, (size_t)(end - at - len)};
    return true;
}

static bool take(ab_str *rest, unsigned char identifier, ab_str *out)
{
    return rest->len > 0 && (unsigned char)rest->ptr[0] == identifier && skip(rest, out);
}

static bool take_oid(ab_str *rest, int nid)
{
    const ASN1_OBJECT *wanted = OBJ_nid2obj(nid);
    ab_str found;
    return take(rest, OID, &found) && found.len == OBJ_length(wanted) &&
           memcmp(found.ptr, OBJ_get0_data(wanted), found.len) == 0;
}

/* KeyTransRecipientInfo (RFC 5652, 6.2.1) by RSA-OAEP (RFC 4055) without a source of its own. */
static bool is_transport(ab_str to)
{
    ab_str algorithm;
    ab_str parameters;
    ab_str any;
    if (!take(&to, INTEGER, &any) || !skip(&to, &any) || !take(&to, SEQUENCE, &algorithm) ||
        !take_oid(&algorithm, NID_rsaesOaep) || !take(&algorithm, SEQUENCE, &parameters))
        return false;
    (void)take(&parameters, CONTEXT_0, &any);
    (void)take(&parameters, CONTEXT_1, &any);
    return parameters.len == 0;
}

/* KeyAgreeRecipientInfo (RFC 5652, 6.2.2) by any ECDH (RFC 5753) and the plain AES-256 key wrap. */
static bool is_agreement(ab_str to)
{
    ab_str algorithm;
    ab_str wrap;
    ab_str any;
    return take(&to, INTEGER, &any) && take(&to, CONTEXT_0, &any) &&
           take(&to, SEQUENCE, &algorithm) && take(&algorithm, OID, &any) &&
           take(&algorithm, SEQUENCE, &wrap) && take_oid(&wrap, NID_id_aes256_wrap);
}

static bool has_our_recipient(ab_str recipients)
{
    ab_str to;
    if (take(&recipients, SEQUENCE, &to))
        return is_transport(to) && recipients.len == 0;
    return take(&recipients, CONTEXT_1, &to) && is_agreement(to) && recipients.len == 0;
}

/* EncryptedContentInfo (RFC 5652, 6.1) with the GCMParameters of RFC 5084. */
static bool has_our_cipher(ab_str content)
{
    ab_str algorithm;
    ab_str parameters;
    ab_str nonce;
    ab_str tag_bytes;
    ab_str any;
    return take(&content, OID, &any) && take(&content, SEQUENCE, &algorithm) &&
           take_oid(&algorithm, NID_aes_256_gcm) && take(&algorithm, SEQUENCE, &parameters) &&
           take(&parameters, OCTETS, &nonce) && nonce.len == NONCE_BYTES &&
           take(&parameters, INTEGER, &tag_bytes) && tag_bytes.len == 1 &&
           tag_bytes.ptr[0] == TAG_BYTES;
}

static const char *fault(ab_str der)
{
    ab_str info;
    ab_str wrapped;
    ab_str data;
    ab_str recipients;
    ab_str content;
    ab_str tag;
    ab_str any;
    if (!take(&der, SEQUENCE, &info) || der.len > 0)
        return "the sealed payload is not a CMS message";
    if (!take_oid(&info, NID_id_smime_ct_authEnvelopedData) || !take(&info, CONTEXT_0, &wrapped) ||
        !take(&wrapped, SEQUENCE, &data))
        return "the sealed payload is not a CMS AuthEnvelopedData";
    if (!take(&data, INTEGER, &any) || !take(&data, SET, &recipients) ||
        !has_our_recipient(recipients))
        return "the sealed payload does not have one recipient by RSA-OAEP or by ECDH with AES-256 "
               "key wrap";
    if (!take(&data, SEQUENCE, &content) || !has_our_cipher(content))
        return "the sealed payload is not encrypted with AES-256-GCM";
    if (!take(&data, OCTETS, &tag) || tag.len != TAG_BYTES)
        return "the authentication tag of the sealed payload is truncated";
    return data.len > 0 ? "the sealed payload has attributes" : NULL;
}

const char *ab_seal_form_fault(ab_str der)
{
    const char *found = fault(der);
    ERR_clear_error();
    return found;
}
