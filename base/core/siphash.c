/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/siphash.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

typedef struct {
    uint64_t v0, v1, v2, v3;
} sip;

static ab_siphash_key own;
static pthread_once_t own_made = PTHREAD_ONCE_INIT;

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void turn(sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static void take_word(sip *s, uint64_t word)
{
    s->v3 ^= word;
    turn(s);
    turn(s);
    s->v0 ^= word;
}

/* Little endian, at most eight bytes. */
static uint64_t word_of(const char *bytes, size_t len)
{
    uint64_t word = 0;
    memcpy(&word, bytes, len);
    return le64toh(word);
}

uint64_t ab_siphash(const ab_siphash_key *key, ab_str bytes)
{
    sip s = {
        key->words[0] ^ UINT64_C(0x736f6d6570736575), key->words[1] ^ UINT64_C(0x646f72616e646f6d),
        key->words[0] ^ UINT64_C(0x6c7967656e657261), key->words[1] ^ UINT64_C(0x7465646279746573)};
    const char *at = bytes.len == 0 ? "" : bytes.ptr;
    size_t left = bytes.len;
    for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t))
        take_word(&s, word_of(at, sizeof(uint64_t)));
    take_word(&s, word_of(at, left) | (uint64_t)bytes.len << 56);
    s.v2 ^= 0xff;
    for (int i = 0; i < 4; i++)
        turn(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* Before the machine has randomness, the time is the best there is. */
static void make_own(void)
{
    struct timespec now = {0};
    if (getrandom(&own, sizeof(own), GRND_NONBLOCK) == (ssize_t)sizeof(own))
        return;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    own = (ab_siphash_key){{(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec}};
}

const ab_siphash_key *ab_siphash_own_key(void)
{
    (void)pthread_once(&own_made, make_own);
    return &own;
}
