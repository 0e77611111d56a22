/* SPDX-License-Identifier: Apache-2.0
 *
 * Why somebody is refused: for the log, the metric and the tests. The peer is never told.
 */
#pragma once

/* name, value of the label `reason`, text */
/* clang-format off: one row per reason */
#define AB_AUTH_REASON_TABLE(X)                                                                    \
    X(NONE, "none", "nothing is wrong")                                                            \
    X(INTERNAL, "internal", "out of memory, or OpenSSL failed")                                    \
    X(THROTTLED, "throttled", "it failed too often lately")                                        \
    X(BUSY, "busy", "too many logins are waiting")                                                 \
    X(CLOSED, "closed", "stopping")                                                                \
    X(METHOD, "method", "the method is not one of grpc.auth.accept")                               \
    X(MODE, "mode", "the mode is neither managed nor autonomous")                                  \
    X(NAME, "name", "the agent's name is not a DNS label")                                         \
    X(NO_CERTIFICATE, "no-certificate", "it has shown no certificate")                             \
    X(CERTIFICATE, "certificate", "its certificate does not match grpc.auth.mtls.identity")        \
    X(CERTIFICATE_EXPIRED, "certificate-expired", "its certificate has expired")                   \
    X(REVOKED, "revoked", "its certificate is revoked")                                            \
    X(UNTRUSTED, "untrusted", "the header comes from another machine (grpc.auth.header.trust)")    \
    X(NO_HEADER, "no-header", "the header grpc.auth.header.name is missing")                       \
    X(HEADER_REPEATED, "header-repeated", "the header grpc.auth.header.name is given twice")       \
    X(HEADER, "header", "the header does not match grpc.auth.header.identity")                     \
    X(CREDENTIALS, "credentials", "clientid or clientsecret is missing, repeated or too long")     \
    X(USER, "user", "no such user in grpc.auth.userpass.file")                                     \
    X(PASSWORD, "password", "wrong password")                                                      \
    X(CREDENTIAL_CHANGED, "credential-changed", "its user was removed or has another password")    \
    X(NOT_SERVED, "not-served", "the agent is no longer served")                                   \
    X(OTHER_CERTIFICATE, "other-certificate", "the token was given to another certificate")        \
    X(OTHER_AGENT, "other-agent", "the token is of another agent than the peer")                   \
    X(NO_TOKEN, "no-token", "there is no token")                                                   \
    X(TOKEN_SIZE, "token-size", "the token is too long")                                           \
    X(TOKEN_FORM, "token-form", "the token is not a JWT: three parts of base64url, JSON in two")   \
    X(TOKEN_ALGORITHM, "token-algorithm", "the token is not signed with RS512")                    \
    X(TOKEN_SIGNATURE, "token-signature", "the token is not signed with our key")                  \
    X(TOKEN_ISSUER, "token-issuer", "the token has another issuer")                                \
    X(TOKEN_AUDIENCE, "token-audience", "the token is for another use")                            \
    X(TOKEN_EXPIRED, "token-expired", "the token has expired")                                     \
    X(TOKEN_EARLY, "token-early", "the token is not valid yet")                                    \
    X(TOKEN_CLAIMS, "token-claims", "the token lacks something that we put into ours")
/* clang-format on */

typedef enum {
#define AB_AUTH_REASON_ENUM(name, label, text) AB_AUTH_##name,
    AB_AUTH_REASON_TABLE(AB_AUTH_REASON_ENUM)
#undef AB_AUTH_REASON_ENUM
} ab_auth_reason;

/** Value of the label `reason`, static. */
const char *ab_auth_reason_label(ab_auth_reason r);
/** One sentence for the log, static. */
const char *ab_auth_reason_text(ab_auth_reason r);
