/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/seal.h"

#include "base/core/base64.h"
#include "tests/unit/base/crypto/made_cert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PAYLOAD "{\"data\":{\"password\":\"aHVudGVyMg==\"}}"

static const ab_seal_binding west = {
    {"west", 4}, {"Secret/argocd/repo", 18}, {"7.000000000012", 14}, {"c0ffee", 6}};

/* One receiver and what is sealed to it. */
typedef struct {
    made_cert made;
    ab_seal_recipient *recipient;
    ab_seal_opener *opener;
    ab_buf sealed;
} pair;

static pair begin(const char *type)
{
    pair p = {.made = make_cert(&(made_cert_spec){.type = type, .name = "west"})};
    ab_error err = {0};
    if (ab_seal_recipient_new(ab_str_of(p.made.cert), AB_STR_NONE, NULL, "west", &p.recipient,
                              &err) != AB_ERR_OK ||
        ab_seal_opener_new(ab_str_of(p.made.cert), ab_str_of(p.made.key), &p.opener, &err) !=
            AB_ERR_OK)
        fail_msg("%s: %s", type, err.text);
    ab_buf_init(&p.sealed, 1 << 26);
    return p;
}

static void end(pair *p)
{
    ab_seal_recipient_free(p->recipient);
    ab_seal_opener_free(p->opener);
    ab_buf_fini(&p->sealed);
    made_cert_free(&p->made);
}

static void seal(pair *p, ab_str payload)
{
    ab_error err = {0};
    if (ab_seal(p->recipient, &west, payload, &p->sealed, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
}

static void assert_opens(const ab_seal_opener *o, ab_str sealed, ab_str payload)
{
    ab_buf opened;
    ab_error err = {0};
    ab_buf_init(&opened, 1 << 24);
    if (ab_seal_open(o, &west, sealed, &opened, &err) != AB_ERR_OK)
        fail_msg("%s", err.text);
    assert_true(ab_str_eq(ab_buf_str(&opened), payload));
    ab_buf_fini(&opened);
}

static void assert_refused(const ab_seal_opener *o, const ab_seal_binding *binding, ab_str sealed,
                           ab_err code, const char *words)
{
    ab_buf opened;
    ab_error err = {0};
    ab_buf_init(&opened, 1 << 24);
    assert_int_equal(ab_seal_open(o, binding, sealed, &opened, &err), code);
    if (strstr(err.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    assert_null(strstr(err.text, "hunter"));
    assert_int_equal(opened.len, 0);
    ab_buf_fini(&opened);
}

/* ----- round trips ----- */

static void what_was_sealed_opens_for_every_kind_of_key(void **state)
{
    (void)state;
    static const char *const types[] = {"RSA-2048", "RSA-3072", "EC-P-256", "EC-P-384", "EC-P-521"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        pair p = begin(types[i]);
        seal(&p, AB_STR(PAYLOAD));
        assert_opens(p.opener, ab_buf_str(&p.sealed), AB_STR(PAYLOAD));
        end(&p);
    }
}

static void the_payload_cannot_be_seen(void **state)
{
    (void)state;
    pair p = begin("EC-P-256");
    ab_buf message;
    ab_buf_init(&message, 1 << 20);
    seal(&p, AB_STR(PAYLOAD));
    assert_true(ab_base64_decode(ab_buf_str(&p.sealed), &message));
    assert_null(memmem(message.ptr, message.len, "password", 8));
    assert_null(memmem(message.ptr, message.len, "argocd", 6));
    ab_buf_fini(&message);
    end(&p);
}

static void sealing_twice_gives_two_texts(void **state)
{
    (void)state;
    pair p = begin("EC-P-256");
    seal(&p, AB_STR(PAYLOAD));
    size_t first = p.sealed.len;
    seal(&p, AB_STR(PAYLOAD));
    assert_false(first * 2 == p.sealed.len &&
                 memcmp(p.sealed.ptr, p.sealed.ptr + first, first) == 0);
    assert_opens(p.opener, (ab_str){p.sealed.ptr, first}, AB_STR(PAYLOAD));
    end(&p);
}

static void an_empty_and_a_large_payload_open(void **state)
{
    (void)state;
    pair p = begin("RSA-2048");
    seal(&p, AB_STR(""));
    assert_opens(p.opener, ab_buf_str(&p.sealed), AB_STR(""));
    ab_buf large;
    ab_buf_init(&large, 1 << 24);
    while (large.len < 3u << 20)
        ab_buf_puts(&large, "{\"line\": \"and\\n\", \"caf\xc3\xa9\": 1}\n");
    ab_buf_clear(&p.sealed);
    seal(&p, ab_buf_str(&large));
    assert_opens(p.opener, ab_buf_str(&p.sealed), ab_buf_str(&large));
    ab_buf_fini(&large);
    end(&p);
}

static void a_certificate_renewed_for_the_same_key_opens_what_was_sealed_before(void **state)
{
    (void)state;
    static const char *const types[] = {"RSA-2048", "EC-P-256"};
    for (size_t i = 0; i < 2; i++) {
        pair p = begin(types[i]);
        made_cert renewed = renew_cert(&p.made, &(made_cert_spec){.name = "west"});
        ab_seal_opener *opener = NULL;
        assert_int_equal(
            ab_seal_opener_new(ab_str_of(renewed.cert), ab_str_of(renewed.key), &opener, NULL),
            AB_ERR_OK);
        seal(&p, AB_STR(PAYLOAD));
        assert_opens(opener, ab_buf_str(&p.sealed), AB_STR(PAYLOAD));
        ab_seal_opener_free(opener);
        made_cert_free(&renewed);
        end(&p);
    }
}

/* ----- what does not open ----- */

static void another_key_does_not_open_it(void **state)
{
    (void)state;
    static const char *const types[] = {"RSA-2048", "EC-P-256"};
    for (size_t i = 0; i < 4; i++) {
        pair p = begin(types[i % 2]);
        pair other = begin(types[i / 2]);
        seal(&p, AB_STR(PAYLOAD));
        assert_refused(other.opener, &west, ab_buf_str(&p.sealed), AB_ERR_DENIED,
                       "for another certificate");
        end(&other);
        end(&p);
    }
}

static void another_place_does_not_open_it(void **state)
{
    (void)state;
    pair p = begin("EC-P-256");
    seal(&p, AB_STR(PAYLOAD));
    ab_seal_binding b = west;
    b.agent = AB_STR("east");
    assert_refused(p.opener, &b, ab_buf_str(&p.sealed), AB_ERR_DENIED, "another agent than east");
    b = west;
    b.key = AB_STR("Secret/argocd/other");
    assert_refused(p.opener, &b, ab_buf_str(&p.sealed), AB_ERR_DENIED,
                   "another key than Secret/argocd/other");
    b = west;
    b.version = AB_STR("7.000000000011");
    assert_refused(p.opener, &b, ab_buf_str(&p.sealed), AB_ERR_DENIED, "another version than 7.");
    b.version = AB_STR("");
    assert_refused(p.opener, &b, ab_buf_str(&p.sealed), AB_ERR_DENIED, "another version than");
    end(&p);
}

static void other_labels_beside_it_do_not_open_it(void **state)
{
    (void)state;
    pair p = begin("EC-P-256");
    ab_seal_binding b = west;
    seal(&p, AB_STR(PAYLOAD));
    b.context = AB_STR("c0ffef");
    assert_refused(p.opener, &b, ab_buf_str(&p.sealed), AB_ERR_DENIED, "beside the sealed payload");
    b.context = AB_STR_NONE;
    assert_refused(p.opener, &b, ab_buf_str(&p.sealed), AB_ERR_DENIED, "beside the sealed payload");
    end(&p);
}

/* As it was sealed before there was a context, and as it may still lie in a log. */
static void what_was_sealed_without_a_context_opens(void **state)
{
    (void)state;
    pair p = begin("EC-P-256");
    ab_seal_binding b = west;
    b.context = AB_STR_NONE;
    assert_int_equal(ab_seal(p.recipient, &b, AB_STR(PAYLOAD), &p.sealed, NULL), AB_ERR_OK);
    assert_opens(p.opener, ab_buf_str(&p.sealed), AB_STR(PAYLOAD));
    end(&p);
}

static void assert_damage_is_harmless(const char *type)
{
    pair p = begin(type);
    seal(&p, AB_STR(PAYLOAD));
    ab_buf message;
    ab_buf text;
    size_t tried = 0;
    size_t refused = 0;
    ab_buf_init(&message, 1 << 20);
    ab_buf_init(&text, 1 << 20);
    assert_true(ab_base64_decode(ab_buf_str(&p.sealed), &message));
    for (size_t i = 0; i < message.len; i += i < message.len - 64 ? 37 : 1) {
        ab_buf opened;
        ab_error err = {0};
        ab_buf_init(&opened, 1 << 20);
        message.ptr[i] = (char)(message.ptr[i] ^ (1 << i % 8));
        ab_buf_clear(&text);
        ab_base64_encode(ab_buf_str(&message), &text);
        ab_err e = ab_seal_open(p.opener, &west, ab_buf_str(&text), &opened, &err);
        refused += e != AB_ERR_OK;
        tried++;
        /* What is written outside (the receiver's name) only helps to find it. */
        if (e == AB_ERR_OK && i < message.len - 64)
            assert_true(ab_str_eq(ab_buf_str(&opened), AB_STR(PAYLOAD)));
        else if (e != AB_ERR_DENIED && e != AB_ERR_PARSE)
            fail_msg("%s: byte %zu of %zu flipped: %d %s", type, i, message.len, (int)e, err.text);
        message.ptr[i] = (char)(message.ptr[i] ^ (1 << i % 8));
        ab_buf_fini(&opened);
    }
    assert_true(refused > tried * 3 / 4);
    ab_buf_fini(&text);
    ab_buf_fini(&message);
    end(&p);
}

static void a_flipped_bit_never_gives_another_payload(void **state)
{
    (void)state;
    assert_damage_is_harmless("RSA-2048");
    assert_damage_is_harmless("EC-P-256");
}

static void what_is_no_sealed_payload_is_refused(void **state)
{
    (void)state;
    pair p = begin("EC-P-256");
    seal(&p, AB_STR(PAYLOAD));
    ab_str whole = ab_buf_str(&p.sealed);
    for (size_t len = 0; len < whole.len; len += 4)
        assert_refused(p.opener, &west, (ab_str){whole.ptr, len}, AB_ERR_PARSE, "the ");
    assert_refused(p.opener, &west, (ab_str){whole.ptr, whole.len - 1}, AB_ERR_PARSE, "not base64");
    assert_refused(p.opener, &west, AB_STR("~~~~"), AB_ERR_PARSE, "not base64");
    assert_refused(p.opener, &west, AB_STR_NONE, AB_ERR_PARSE, "not base64");
    assert_refused(p.opener, &west, AB_STR("aGVsbG8gd29ybGQh"), AB_ERR_PARSE, "not a CMS message");
    end(&p);
}

static void bytes_after_the_message_are_refused(void **state)
{
    (void)state;
    pair p = begin("EC-P-256");
    seal(&p, AB_STR(PAYLOAD));
    ab_buf message;
    ab_buf_init(&message, 1 << 20);
    assert_true(ab_base64_decode(ab_buf_str(&p.sealed), &message));
    ab_buf_putc(&message, 'x');
    ab_buf_clear(&p.sealed);
    ab_base64_encode(ab_buf_str(&message), &p.sealed);
    assert_refused(p.opener, &west, ab_buf_str(&p.sealed), AB_ERR_PARSE, "not a CMS message");
    ab_buf_fini(&message);
    end(&p);
}

/* Two bytes of a DER length, big end first. */
static void shorten(ab_buf *der, size_t at, unsigned int by)
{
    assert_true((unsigned char)der->ptr[at] == 0x82);
    unsigned int length = (unsigned int)(unsigned char)der->ptr[at + 1] << 8;
    length = (length | (unsigned char)der->ptr[at + 2]) - by;
    der->ptr[at + 1] = (char)(length >> 8);
    der->ptr[at + 2] = (char)(length & 0xff);
}

/* Who can cut the tag to one byte changes the payload after some 256 attempts. */
static void a_shortened_tag_is_refused(void **state)
{
    (void)state;
    pair p = begin("RSA-2048");
    seal(&p, AB_STR(PAYLOAD));
    ab_buf der;
    ab_buf_init(&der, 1 << 20);
    assert_true(ab_base64_decode(ab_buf_str(&p.sealed), &der));
    assert_memory_equal(der.ptr + der.len - 18, "\x04\x10", 2);
    for (char left = 15; left > 0; left--) {
        der.ptr[der.len - 1 - (size_t)(left + 1)] = left; /* the tag's own length */
        der.len--;
        shorten(&der, 1, 1);
        shorten(&der, 18, 1);
        shorten(&der, 22, 1);
        ab_buf_clear(&p.sealed);
        ab_base64_encode(ab_buf_str(&der), &p.sealed);
        assert_refused(p.opener, &west, ab_buf_str(&p.sealed), AB_ERR_PARSE, "is truncated");
    }
    ab_buf_fini(&der);
    end(&p);
}

static void a_payload_that_is_no_text_cannot_be_sealed(void **state)
{
    (void)state;
    pair p = begin("EC-P-256");
    ab_error err = {0};
    assert_int_equal(ab_seal(p.recipient, &west, AB_STR("\xff"), &p.sealed, &err), AB_ERR_INVALID);
    ab_buf small;
    ab_buf_init(&small, 64);
    assert_int_equal(ab_seal(p.recipient, &west, AB_STR(PAYLOAD), &small, &err), AB_ERR_TOOBIG);
    ab_buf_fini(&small);
    end(&p);
}

/* ----- recipients and openers ----- */

#define BY_SUBJECT "subject:CN=([^,]+)"
#define BY_URI     "uri:^spiffe://example[.]org/agent/([^/]+)$"

/* The rule by which the agent's name is read. */
static const char *rule_text = BY_SUBJECT;

static void assert_recipient(const made_cert *m, const made_cert *ca, ab_err code,
                             const char *words)
{
    ab_seal_recipient *r = NULL;
    ab_identity_rule *rule = NULL;
    ab_error err = {0};
    ab_str trusted = ca == NULL ? AB_STR_NONE : ab_str_of(ca->cert);
    assert_int_equal(ab_identity_rule_new(ab_str_of(rule_text), &rule, &err), AB_ERR_OK);
    ab_err e = ab_seal_recipient_new(ab_str_of(m->cert), trusted, rule, "west", &r, &err);
    if (e != code || strstr(err.text, words) == NULL)
        fail_msg("code %d, \"%s\" does not say \"%s\"", (int)e, err.text, words);
    ab_seal_recipient_free(r);
    ab_identity_rule_free(rule);
}

/* Made, looked at, dropped. */
static void assert_made(made_cert_spec spec, const made_cert *ca, ab_err code, const char *words)
{
    spec.type = spec.type == NULL ? "EC-P-256" : spec.type;
    made_cert m = make_cert(&spec);
    assert_recipient(&m, ca, code, words);
    made_cert_free(&m);
}

static made_cert make_ca(const char *name)
{
    return make_cert(&(made_cert_spec){.type = "EC-P-256", .name = name, .ca = true});
}

static void assert_names(const char *rule, const made_cert_spec *specs, size_t count, ab_err code)
{
    made_cert ca = make_ca("ca");
    rule_text = rule;
    for (size_t i = 0; i < count; i++) {
        made_cert_spec spec = specs[i];
        spec.issuer = &ca;
        assert_made(spec, &ca, code, code == AB_ERR_OK ? "" : "not for agent west");
    }
    rule_text = BY_SUBJECT;
    made_cert_free(&ca);
}

static void a_recipient_has_the_agents_name_by_the_rule_of_logins(void **state)
{
    (void)state;
    static const made_cert_spec by_subject[] = {
        {.name = "west"},
        {.name = "west", .san = "DNS:other"},
    };
    static const made_cert_spec not_by_subject[] = {
        {.name = "east"},
        {.name = "wes"},
        {.name = "westx"},
        {.name = "WEST"},
        {.name = "other", .san = "DNS:west"},
        {.san = "URI:spiffe://example.org/agent/west"},
        {.name = NULL},
    };
    static const made_cert_spec by_uri[] = {
        {.name = "east", .san = "URI:spiffe://example.org/agent/west"},
        {.san = "URI:https://x/y,URI:spiffe://example.org/agent/west"},
    };
    static const made_cert_spec not_by_uri[] = {
        {.name = "west"},
        {.san = "DNS:west"},
        {.san = "URI:spiffe://example.org/west"},
        {.san = "URI:spiffe://other.org/agent/west"},
        {.san = "URI:https://x/spiffe://example.org/agent/west"},
        {.san = "URI:spiffe://example.org/agent/west/"},
        {.san = "URI:spiffe://example.org/agent/x/west"},
        {.san = "URI:spiffe://example.org/agent/east,URI:spiffe://example.org/agent/west"},
    };
    assert_names(BY_SUBJECT, by_subject, 2, AB_ERR_OK);
    assert_names(BY_SUBJECT, not_by_subject, 7, AB_ERR_DENIED);
    assert_names(BY_URI, by_uri, 2, AB_ERR_OK);
    assert_names(BY_URI, not_by_uri, 8, AB_ERR_DENIED);
}

static void a_recipients_key_may_be_sealed_to(void **state)
{
    (void)state;
    static const struct {
        const char *type, *usage;
        ab_err code;
        const char *words;
    } rows[] = {
        {"RSA-2048", "digitalSignature,keyEncipherment", AB_ERR_OK, ""},
        {"RSA-2048", "dataEncipherment", AB_ERR_OK, ""},
        {"EC-P-256", "keyAgreement", AB_ERR_OK, ""},
        {"RSA-2048", "digitalSignature", AB_ERR_DENIED, "issue it with keyEncipherment"},
        {"RSA-2048", "keyAgreement", AB_ERR_DENIED, "issue it with keyEncipherment"},
        {"EC-P-256", "digitalSignature", AB_ERR_DENIED, "issue it with keyAgreement"},
        {"EC-P-256", "keyEncipherment", AB_ERR_DENIED, "issue it with keyAgreement"},
    };
    made_cert ca = make_ca("ca");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        made_cert_spec spec = {
            .type = rows[i].type, .name = "west", .usage = rows[i].usage, .issuer = &ca};
        assert_made(spec, &ca, rows[i].code, rows[i].words);
        assert_made(spec, NULL, rows[i].code, rows[i].words);
    }
    made_cert_free(&ca);
}

/* One that a server shows, or that signs programs, is issued to many who are no agents. */
static void a_recipients_certificate_is_a_clients(void **state)
{
    (void)state;
    made_cert ca = make_ca("ca");
    made_cert_spec spec = {.name = "west", .issuer = &ca};
    static const char *const good[] = {"clientAuth", "serverAuth,clientAuth",
                                       "anyExtendedKeyUsage"};
    static const char *const bad[] = {"serverAuth", "emailProtection", "codeSigning", "1.2.3.4"};
    for (size_t i = 0; i < 3; i++) {
        spec.extended_usage = good[i];
        assert_made(spec, &ca, AB_ERR_OK, "");
    }
    for (size_t i = 0; i < 4; i++) {
        spec.extended_usage = bad[i];
        assert_made(spec, &ca, AB_ERR_DENIED, "lacks clientAuth");
        assert_made(spec, NULL, AB_ERR_OK, ""); /* the operator's word */
    }
    made_cert_free(&ca);
}

static void a_recipient_is_trusted(void **state)
{
    (void)state;
    made_cert ca = make_ca("ca");
    made_cert same_name = make_ca("ca");
    made_cert_spec spec = {.name = "west", .issuer = &ca};
    assert_made(spec, &ca, AB_ERR_OK, "");
    assert_made(spec, &same_name, AB_ERR_DENIED, "not trusted: ");
    spec.issuer = NULL;
    assert_made(spec, &ca, AB_ERR_DENIED, "not trusted: ");
    made_cert leaf = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "l", .issuer = &ca});
    spec.issuer = &leaf;
    assert_made(spec, &ca, AB_ERR_DENIED, "not trusted: ");
    made_cert broken = {.cert = strdup("-----BEGIN CERTIFICATE-----\nx\n")};
    spec.issuer = &ca;
    assert_made(spec, &broken, AB_ERR_INVALID, "trusted CAs are not a PEM");
    made_cert_free(&broken);
    made_cert_free(&leaf);
    made_cert_free(&same_name);
    made_cert_free(&ca);
}

static void intermediates_come_with_the_certificate(void **state)
{
    (void)state;
    made_cert ca = make_ca("ca");
    made_cert between =
        make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "b", .ca = true, .issuer = &ca});
    made_cert leaf =
        make_cert(&(made_cert_spec){.type = "RSA-2048", .name = "west", .issuer = &between});
    assert_recipient(&leaf, &ca, AB_ERR_DENIED, "not trusted: ");
    made_cert chain = {0};
    assert_true(asprintf(&chain.cert, "%s%s", leaf.cert, between.cert) > 0);
    assert_recipient(&chain, &ca, AB_ERR_OK, "");
    made_cert_free(&chain);
    made_cert_free(&leaf);
    made_cert_free(&between);
    made_cert_free(&ca);
}

static void a_recipient_is_valid_now(void **state)
{
    (void)state;
    made_cert ca = make_ca("ca");
    made_cert_spec spec = {.name = "west", .issuer = &ca, .from_s = -7200, .until_s = -3600};
    assert_made(spec, &ca, AB_ERR_DENIED, "has expired");
    assert_made(spec, NULL, AB_ERR_DENIED, "has expired");
    spec.from_s = 3600;
    spec.until_s = 7200;
    assert_made(spec, &ca, AB_ERR_DENIED, "not valid yet");
    assert_made(spec, NULL, AB_ERR_DENIED, "not valid yet");
    made_cert_free(&ca);
}

static void a_certificate_of_the_operator_needs_neither_name_nor_ca(void **state)
{
    (void)state;
    assert_made((made_cert_spec){.name = "somebody"}, NULL, AB_ERR_OK, "");
}

static void a_key_that_cannot_receive_is_refused(void **state)
{
    (void)state;
    assert_made((made_cert_spec){.type = "ED25519", .name = "west"}, NULL, AB_ERR_INVALID,
                "key is ED25519, which cannot be used for encryption");
    assert_made((made_cert_spec){.type = "RSA-1024", .name = "west"}, NULL, AB_ERR_INVALID,
                "1024 bits; at least 2048");
    made_cert none = {.cert = strdup("west")};
    assert_recipient(&none, NULL, AB_ERR_INVALID, "not in PEM");
    made_cert_free(&none);
}

static void the_id_is_the_certificates(void **state)
{
    (void)state;
    pair p = begin("EC-P-256");
    pair other = begin("EC-P-256");
    ab_seal_recipient *again = NULL;
    assert_int_equal(
        ab_seal_recipient_new(ab_str_of(p.made.cert), AB_STR_NONE, NULL, "west", &again, NULL),
        AB_ERR_OK);
    assert_int_equal(strlen(ab_seal_recipient_id(again)), 64);
    assert_string_equal(ab_seal_recipient_id(again), ab_seal_recipient_id(p.recipient));
    assert_string_not_equal(ab_seal_recipient_id(again), ab_seal_recipient_id(other.recipient));
    ab_seal_recipient_free(again);
    end(&other);
    end(&p);
}

static void assert_no_opener(const char *cert, const char *key, const char *words)
{
    ab_seal_opener *o = NULL;
    ab_error err = {0};
    assert_int_equal(ab_seal_opener_new(ab_str_of(cert), ab_str_of(key), &o, &err), AB_ERR_CONFIG);
    if (strstr(err.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    assert_null(o);
}

static void an_opener_has_a_key_and_its_certificate(void **state)
{
    (void)state;
    made_cert a = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "west"});
    made_cert b = make_cert(&(made_cert_spec){.type = "EC-P-256", .name = "west"});
    made_cert c = make_cert(&(made_cert_spec){.type = "ED25519", .name = "west"});
    assert_no_opener(a.cert, b.key, "does not belong to the certificate");
    assert_no_opener("", a.key, "certificate is not in PEM");
    assert_no_opener(a.cert, "", "key is not in PEM");
    assert_no_opener(a.cert, a.cert, "key is not in PEM");
    assert_no_opener(c.cert, c.key, "cannot be used for encryption");
    made_cert_free(&a);
    made_cert_free(&b);
    made_cert_free(&c);
}

/* ----- the openssl program ----- */

typedef struct {
    char folder[32];
    char path[64];
} scratch;

static const char *in(scratch *s, const char *name)
{
    (void)snprintf(s->path, sizeof(s->path), "%s/%s", s->folder, name);
    return s->path;
}

static void write_file(scratch *s, const char *name, ab_str text)
{
    FILE *f = fopen(in(s, name), "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.ptr, 1, text.len, f), text.len);
    assert_int_equal(fclose(f), 0);
}

static void read_file(scratch *s, const char *name, ab_buf *out)
{
    char chunk[4096];
    size_t n = 0;
    FILE *f = fopen(in(s, name), "r");
    assert_non_null(f);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        ab_buf_put(out, (ab_str){chunk, n});
    assert_int_equal(fclose(f), 0);
}

static void run(const scratch *s, const char *command)
{
    char line[512];
    (void)snprintf(line, sizeof(line), "cd %s && %s", s->folder, command);
    if (system(line) != 0) /* NOLINT(cert-env33-c): a fixed line of this file */
        fail_msg("%s", line);
}

static void assert_program_opens(scratch *s, pair *p)
{
    ab_buf text;
    ab_buf message;
    ab_buf_init(&text, 1 << 20);
    ab_buf_init(&message, 1 << 20);
    seal(p, AB_STR(PAYLOAD));
    assert_true(ab_base64_decode(ab_buf_str(&p->sealed), &message));
    write_file(s, "sealed.der", ab_buf_str(&message));
    run(s, "openssl cms -decrypt -binary -inform DER -in sealed.der -recip cert.pem -inkey key.pem "
           "-out opened");
    read_file(s, "opened", &text);
    assert_non_null(memmem(text.ptr, text.len, "\"agent\":\"west\"", 14));
    assert_non_null(memmem(text.ptr, text.len, "aHVudGVyMg", 10));
    ab_buf_fini(&message);
    ab_buf_fini(&text);
}

static void assert_we_open(scratch *s, pair *p, const char *options)
{
    char command[256];
    ab_buf message;
    ab_buf_init(&message, 1 << 20);
    write_file(s, "content",
               AB_STR("{\"agent\":\"west\",\"key\":\"Secret/argocd/repo\",\"version\":"
                      "\"7.000000000012\",\"payload\":\"by hand\"}"));
    (void)snprintf(command, sizeof(command),
                   "openssl cms -encrypt -binary -aes-256-gcm -in content -outform DER -out theirs "
                   "-recip cert.pem %s",
                   options);
    run(s, command);
    read_file(s, "theirs", &message);
    ab_buf_clear(&p->sealed);
    ab_base64_encode(ab_buf_str(&message), &p->sealed);
    assert_opens(p->opener, ab_buf_str(&p->sealed), AB_STR("by hand"));
    /* Not authenticated: not read, though the key would open it. */
    (void)snprintf(command, sizeof(command),
                   "openssl cms -encrypt -binary -aes-256-cbc -in content -outform DER -out theirs "
                   "-recip cert.pem %s",
                   options);
    run(s, command);
    ab_buf_clear(&message);
    read_file(s, "theirs", &message);
    ab_buf_clear(&p->sealed);
    ab_base64_encode(ab_buf_str(&message), &p->sealed);
    assert_refused(p->opener, &west, ab_buf_str(&p->sealed), AB_ERR_PARSE,
                   "not a CMS AuthEnvelopedData");
    ab_buf_fini(&message);
}

static void the_openssl_program_opens_ours_and_we_open_its(void **state)
{
    (void)state;
    static const char *const types[] = {"RSA-2048", "EC-P-256"};
    static const char *const options[] = {"-keyopt rsa_padding_mode:oaep", ""};
    for (size_t i = 0; i < 2; i++) {
        pair p = begin(types[i]);
        scratch s = {.folder = "/tmp/argobus-seal-XXXXXX"};
        assert_non_null(mkdtemp(s.folder));
        write_file(&s, "cert.pem", ab_str_of(p.made.cert));
        write_file(&s, "key.pem", ab_str_of(p.made.key));
        assert_program_opens(&s, &p);
        assert_we_open(&s, &p, options[i]);
        static const char *const names[] = {"cert.pem", "key.pem", "sealed.der",
                                            "opened",   "content", "theirs"};
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            assert_int_equal(unlink(in(&s, names[k])), 0);
        assert_int_equal(rmdir(s.folder), 0);
        end(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_opens_for_every_kind_of_key),
        cmocka_unit_test(the_payload_cannot_be_seen),
        cmocka_unit_test(sealing_twice_gives_two_texts),
        cmocka_unit_test(an_empty_and_a_large_payload_open),
        cmocka_unit_test(a_certificate_renewed_for_the_same_key_opens_what_was_sealed_before),
        cmocka_unit_test(another_key_does_not_open_it),
        cmocka_unit_test(another_place_does_not_open_it),
        cmocka_unit_test(other_labels_beside_it_do_not_open_it),
        cmocka_unit_test(what_was_sealed_without_a_context_opens),
        cmocka_unit_test(a_flipped_bit_never_gives_another_payload),
        cmocka_unit_test(what_is_no_sealed_payload_is_refused),
        cmocka_unit_test(bytes_after_the_message_are_refused),
        cmocka_unit_test(a_shortened_tag_is_refused),
        cmocka_unit_test(a_payload_that_is_no_text_cannot_be_sealed),
        cmocka_unit_test(a_recipient_has_the_agents_name_by_the_rule_of_logins),
        cmocka_unit_test(a_recipients_key_may_be_sealed_to),
        cmocka_unit_test(a_recipients_certificate_is_a_clients),
        cmocka_unit_test(a_recipient_is_trusted),
        cmocka_unit_test(intermediates_come_with_the_certificate),
        cmocka_unit_test(a_recipient_is_valid_now),
        cmocka_unit_test(a_certificate_of_the_operator_needs_neither_name_nor_ca),
        cmocka_unit_test(a_key_that_cannot_receive_is_refused),
        cmocka_unit_test(the_id_is_the_certificates),
        cmocka_unit_test(an_opener_has_a_key_and_its_certificate),
        cmocka_unit_test(the_openssl_program_opens_ours_and_we_open_its),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
