/* SPDX-License-Identifier: Apache-2.0 */
#include "net/websocket/key.h"

#include "base/core/base64.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>

#define GUID      "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* of RFC 6455 */
#define KEY_BYTES 16
#define SHA1_LEN  20

static void encode(ab_str bytes, char *out, size_t room)
{
    ab_buf text = ab_buf_up_to(room);
    ab_base64_encode(bytes, &text);
    snprintf(out, room, "%.*s", AB_STR_ARG(ab_buf_str(&text)));
    ab_buf_fini(&text);
}

bool ab_websocket_key_make(char key[AB_WEBSOCKET_KEY])
{
    unsigned char bytes[KEY_BYTES];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    encode((ab_str){(const char *)bytes, sizeof(bytes)}, key, AB_WEBSOCKET_KEY);
    return true;
}

bool ab_websocket_key_is_good(ab_str key)
{
    ab_buf bytes = ab_buf_up_to(AB_WEBSOCKET_KEY);
    bool good =
        key.len == AB_WEBSOCKET_KEY - 1 && ab_base64_decode(key, &bytes) && bytes.len == KEY_BYTES;
    ab_buf_fini(&bytes);
    return good;
}

bool ab_websocket_key_accept(ab_str key, char accept[AB_WEBSOCKET_ACCEPT])
{
    char text[AB_WEBSOCKET_KEY + sizeof(GUID)];
    unsigned char digest[SHA1_LEN];
    int len = snprintf(text, sizeof(text), "%.*s" GUID, AB_STR_ARG(key));
    if (EVP_Digest(text, (size_t)len, digest, NULL, EVP_sha1(), NULL) != 1)
        return false;
    encode((ab_str){(const char *)digest, sizeof(digest)}, accept, AB_WEBSOCKET_ACCEPT);
    return true;
}
