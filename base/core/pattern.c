/* SPDX-License-Identifier: Apache-2.0
 *
 * Whoever writes a pattern must not be able to make matching slow or memory run out: the length,
 * the combinations of braces and the repetitions of an expression are bounded when it is added.
 */
#include "base/core/pattern.h"

#include "base/core/utf8.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_MAX  1024
#define TEXT_MAX    4096
#define CHOICES_MAX 1000 /* of all braces, multiplied */
#define REPEATS_MAX 4096 /* of all {n,m} and +, multiplied: the machine grows with them */

typedef struct {
    char *glob; /* NULL: it is an expression */
    regex_t regex;
} pattern;

struct ab_patterns {
    pattern *items;
    size_t count;
};

ab_patterns *ab_patterns_new(void)
{
    return calloc(1, sizeof(ab_patterns));
}

void ab_patterns_free(ab_patterns *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->count; i++) {
        if (p->items[i].glob == NULL)
            regfree(&p->items[i].regex);
        free(p->items[i].glob);
    }
    free(p->items);
    free(p);
}

/* Bytes of the character at the start of `s`, which is not empty; a broken one is taken as a byte.
 */
static size_t char_length(ab_str s)
{
    size_t len = ab_utf8_length(s);
    return len == 0 ? 1 : len;
}

static uint32_t char_at(ab_str s)
{
    /* Past all code points, so that a broken byte equals only itself. */
    return ab_utf8_length(s) == 0 ? 0x200000u + (unsigned char)s.ptr[0] : ab_utf8_decode(s);
}

/* Bytes of the class at the start of `glob`, with its brackets; 0 when it does not end. A ] right
 * after the opening stands for itself. */
static size_t class_length(ab_str glob)
{
    size_t at = 1;
    if (at < glob.len && (glob.ptr[at] == '!' || glob.ptr[at] == '^'))
        at++;
    const char *end = at + 1 < glob.len ? memchr(glob.ptr + at + 1, ']', glob.len - at - 1) : NULL;
    return end == NULL ? 0 : (size_t)(end - glob.ptr) + 1;
}

/* Bytes of one step of a glob: a class, an escaped character, or a character. 0: not well-formed.
 */
static size_t step_length(ab_str glob)
{
    if (glob.ptr[0] == '[')
        return class_length(glob);
    if (glob.ptr[0] != '\\')
        return char_length(glob);
    return glob.len == 1 ? 0 : 1 + char_length(ab_str_skip(glob, 1));
}

static bool class_has(ab_str class, uint32_t c)
{
    ab_str in = {class.ptr + 1, class.len - 2};
    bool negated = in.ptr[0] == '!' || in.ptr[0] == '^';
    bool found = false;
    if (negated)
        in = ab_str_skip(in, 1);
    while (in.len > 0) {
        uint32_t first = char_at(in);
        uint32_t last = first;
        in = ab_str_skip(in, char_length(in));
        if (in.len > 1 && in.ptr[0] == '-') {
            in = ab_str_skip(in, 1);
            last = char_at(in);
            in = ab_str_skip(in, char_length(in));
        }
        found = found || (first <= c && c <= last);
    }
    return found != negated;
}

/* Whether the step takes the character at the start of `text`, which is not empty. */
static bool step_takes(ab_str step, ab_str text)
{
    if (step.ptr[0] == '?')
        return true;
    if (step.ptr[0] == '[')
        return class_has(step, char_at(text));
    if (step.ptr[0] == '\\')
        step = ab_str_skip(step, 1);
    return char_at(step) == char_at(text);
}

/* A well-formed glob without braces. */
static bool match_plain(ab_str glob, ab_str text)
{
    ab_str after_star = AB_STR_NONE;
    ab_str star_text = AB_STR_NONE; /* not yet taken by the last star */
    for (;;) {
        if (glob.len > 0 && glob.ptr[0] == '*') {
            glob = ab_str_skip(glob, 1);
            after_star = glob;
            star_text = text;
            continue;
        }
        if (glob.len == 0 && text.len == 0)
            return true;
        size_t step = glob.len == 0 ? 0 : step_length(glob);
        if (step > 0 && text.len > 0 && step_takes((ab_str){glob.ptr, step}, text)) {
            glob = ab_str_skip(glob, step);
            text = ab_str_skip(text, char_length(text));
            continue;
        }
        if (after_star.ptr == NULL || star_text.len == 0)
            return false;
        star_text = ab_str_skip(star_text, char_length(star_text));
        glob = after_star;
        text = star_text;
    }
}

/* Bytes up to the end of the alternative at the start of `s`, or of the glob. */
static size_t alternative_length(ab_str s)
{
    size_t at = 0;
    while (at < s.len && s.ptr[at] != ',' && s.ptr[at] != '}') {
        size_t step = step_length(ab_str_skip(s, at));
        if (step == 0)
            return s.len;
        at += step;
    }
    return at;
}

/* The braces at the start of `glob`: how many alternatives, and the length with the braces, 0 when
 * they do not end or hold others. */
static size_t brace_length(ab_str glob, size_t *alternatives)
{
    size_t at = 1;
    *alternatives = 0;
    for (;;) {
        size_t len = alternative_length(ab_str_skip(glob, at));
        if (at + len >= glob.len)
            return 0;
        ab_str inside = {glob.ptr + at, len};
        for (size_t i = 0; i < inside.len; i += step_length(ab_str_skip(inside, i)))
            if (inside.ptr[i] == '{')
                return 0;
        ++*alternatives;
        at += len + 1;
        if (glob.ptr[at - 1] == '}')
            return at;
    }
}

/* Combinations of all alternatives; 0 when the glob is not well-formed. */
static size_t glob_choices(ab_str glob, const char **why)
{
    size_t choices = 1;
    while (glob.len > 0) {
        size_t alternatives = 1;
        bool brace = glob.ptr[0] == '{';
        size_t len = brace ? brace_length(glob, &alternatives) : step_length(glob);
        *why = brace                ? "braces are not closed, or nested"
               : glob.ptr[0] == '[' ? "a [ without ]"
                                    : "a backslash at the end";
        if (len == 0)
            return 0;
        choices *= alternatives;
        *why = "too many combinations of braces";
        if (choices > CHOICES_MAX)
            return 0;
        glob = ab_str_skip(glob, len);
    }
    return choices;
}

static ab_str alternative(ab_str brace, size_t number)
{
    ab_str at = ab_str_skip(brace, 1);
    for (; number > 0; number--)
        at = ab_str_skip(at, alternative_length(at) + 1);
    return (ab_str){at.ptr, alternative_length(at)};
}

/* Write the glob with the `choice`th combination in place of its braces. Never longer than it. */
static ab_str expand(ab_str glob, size_t choice, char out[LENGTH_MAX])
{
    size_t used = 0;
    while (glob.len > 0) {
        size_t alternatives = 1;
        bool brace = glob.ptr[0] == '{';
        size_t len = brace ? brace_length(glob, &alternatives) : step_length(glob);
        ab_str part = {glob.ptr, len};
        if (brace)
            part = alternative(part, choice % alternatives);
        choice /= alternatives;
        memcpy(out + used, part.ptr, part.len);
        used += part.len;
        glob = ab_str_skip(glob, len);
    }
    return (ab_str){out, used};
}

bool ab_glob_is_valid(ab_str glob)
{
    const char *why = NULL;
    return glob.len <= LENGTH_MAX && glob_choices(glob, &why) > 0;
}

bool ab_glob_match(ab_str glob, ab_str text)
{
    char plain[LENGTH_MAX];
    const char *why = NULL;
    if (glob.len > LENGTH_MAX)
        return false;
    size_t choices = glob_choices(glob, &why);
    for (size_t i = 0; i < choices; i++)
        if (match_plain(expand(glob, i, plain), text))
            return true;
    return false;
}

/* The highest number of the repetition at `s`, which begins with {; 0 when it is no such thing. */
static uint64_t repeats_at(ab_str s)
{
    uint64_t most = 0;
    for (size_t at = 1; at < s.len && s.ptr[at] != '}';) {
        size_t end = at;
        uint64_t n = 0;
        while (end < s.len && isdigit((unsigned char)s.ptr[end]))
            end++;
        if (end > at && ab_str_to_u64((ab_str){s.ptr + at, end - at}, &n) != AB_ERR_OK)
            return UINT64_MAX;
        most = n > most ? n : most;
        at = end + 1;
        if (end < s.len && s.ptr[end] == '}')
            break;
    }
    return most;
}

/* Bytes of the bracket expression at the start of `re`; 0 when it does not end. */
static size_t bracket_length(ab_str re)
{
    size_t at = 1;
    if (at < re.len && re.ptr[at] == '^')
        at++;
    if (at < re.len && re.ptr[at] == ']')
        at++;
    while (at < re.len && re.ptr[at] != ']') {
        ab_str rest = ab_str_skip(re, at);
        const char *end = ab_str_starts(rest, "[:") ? memmem(rest.ptr, rest.len, ":]", 2) : NULL;
        at += end == NULL ? 1 : (size_t)(end - rest.ptr) + 2;
    }
    return at < re.len ? at + 1 : 0;
}

/* x??, x+*: lazy or possessive in other dialects; glibc takes exponential time to compile many. */
static bool repeats_a_repetition(ab_str re)
{
    bool repeated = false;
    for (size_t at = 0; at < re.len;) {
        size_t len = re.ptr[at] == '\\'  ? 2
                     : re.ptr[at] == '[' ? bracket_length(ab_str_skip(re, at))
                                         : 1;
        bool repeats = len == 1 && memchr("*+?{", re.ptr[at], 4) != NULL;
        if (repeats && repeated)
            return true;
        const char *end =
            repeats && re.ptr[at] == '{' ? memchr(re.ptr + at, '}', re.len - at) : NULL;
        repeated = repeats;
        at += len == 0 ? re.len : end == NULL ? len : (size_t)(end - (re.ptr + at)) + 1;
    }
    return false;
}

/* What makes an expression one of another dialect, or too large; NULL: nothing. */
static const char *regex_fault(ab_str re)
{
    uint64_t repeats = 1;
    if (re.len == 0)
        return "an empty expression";
    for (size_t i = 0; i < re.len; i++) {
        char next = i + 1 < re.len ? re.ptr[i + 1] : '\0';
        if (re.ptr[i] == '\0')
            return "a NUL byte";
        if (re.ptr[i] == '\\' && (isalnum((unsigned char)next) || next == '<' || next == '>' ||
                                  next == '`' || next == '\''))
            return "unsupported backslash class: write [0-9] for \\d, [[:alnum:]_] for \\w, "
                   "[[:space:]] for \\s";
        if (re.ptr[i] == '(' && next == '?')
            return "(? is not supported";
        uint64_t n = re.ptr[i] == '{' ? repeats_at(ab_str_skip(re, i)) : 0;
        if (re.ptr[i] == '+')
            n = 2; /* x+ is made into xx* */
        if (n > REPEATS_MAX || (n > 0 && (repeats *= n) > REPEATS_MAX))
            return "too many repetitions";
        if (re.ptr[i] == '\\')
            i++;
    }
    return repeats_a_repetition(re)
               ? "a repetition of a repetition (lazy matching is not supported)"
               : NULL;
}

static ab_err compile(ab_str re, int flags, regex_t *out, ab_error *err)
{
    char why[128] = "";
    const char *fault = regex_fault(re);
    if (fault != NULL)
        return ab_fail(err, AB_ERR_INVALID, "/%.*s/: %s", AB_STR_ARG(re), fault);
    char *text = ab_str_dup(re);
    if (text == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for a pattern");
    int rc = regcomp(out, text, REG_EXTENDED | flags);
    free(text);
    if (rc == 0)
        return AB_ERR_OK;
    regerror(rc, out, why, sizeof(why));
    return ab_fail(err, rc == REG_ESPACE ? AB_ERR_NOMEM : AB_ERR_INVALID, "/%.*s/: %s",
                   AB_STR_ARG(re), why);
}

static ab_err parse(ab_str text, pattern *out, ab_error *err)
{
    const char *why = NULL;
    if (text.len == 0 || text.len > LENGTH_MAX)
        return ab_fail(err, AB_ERR_INVALID, "a pattern has 1 to %d bytes, not %zu", LENGTH_MAX,
                       text.len);
    if (text.len > 1 && text.ptr[0] == '/' && text.ptr[text.len - 1] == '/')
        return compile((ab_str){text.ptr + 1, text.len - 2}, REG_NOSUB, &out->regex, err);
    if (memchr(text.ptr, '\0', text.len) != NULL)
        return ab_fail(err, AB_ERR_INVALID, "a pattern with a NUL byte");
    if (glob_choices(text, &why) == 0)
        return ab_fail(err, AB_ERR_INVALID, "%.*s: %s", AB_STR_ARG(text), why);
    out->glob = ab_str_dup(text);
    return out->glob == NULL ? ab_fail(err, AB_ERR_NOMEM, "out of memory for a pattern")
                             : AB_ERR_OK;
}

ab_err ab_patterns_add(ab_patterns *p, ab_str text, ab_error *err)
{
    pattern *items = realloc(p->items, (p->count + 1) * sizeof(*items));
    if (items == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for a pattern");
    p->items = items;
    items[p->count] = (pattern){0};
    ab_err e = parse(text, &items[p->count], err);
    if (e == AB_ERR_OK)
        p->count++;
    return e;
}

/* Where it matches: `groups[0]`, whose parts follow when it was compiled to tell them. */
static bool regex_matches(const regex_t *re, ab_str text, regmatch_t *groups, size_t count)
{
    /* regexec of a sanitizer looks for the end mark even where the length is given. */
    char copy[TEXT_MAX + 1];
    if (text.len > TEXT_MAX)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    groups[0] = (regmatch_t){.rm_so = 0, .rm_eo = (regoff_t)text.len};
    return regexec(re, copy, count, groups, REG_STARTEND) == 0;
}

bool ab_patterns_match(const ab_patterns *p, ab_str text)
{
    if (text.ptr == NULL)
        return false;
    for (size_t i = 0; i < p->count; i++) {
        const pattern *one = &p->items[i];
        regmatch_t whole;
        if (one->glob == NULL ? regex_matches(&one->regex, text, &whole, 1)
                              : ab_glob_match(ab_str_of(one->glob), text))
            return true;
    }
    return false;
}

/* ----- one expression ----- */

struct ab_expression {
    regex_t regex;
};

static ab_err check_group(ab_str text, const regex_t *re, ab_error *err)
{
    return re->re_nsub > 0
               ? AB_ERR_OK
               : ab_fail(err, AB_ERR_INVALID,
                         "/%.*s/: expected a group, in parentheses, around the part to use",
                         AB_STR_ARG(text));
}

ab_err ab_expression_new(ab_str text, ab_expression **out, ab_error *err)
{
    ab_expression *x = calloc(1, sizeof(*x));
    if (x == NULL)
        return ab_fail(err, AB_ERR_NOMEM, "out of memory for an expression");
    ab_err e = text.len > LENGTH_MAX ? ab_fail(err, AB_ERR_INVALID,
                                               "an expression of %zu bytes exceeds the limit of %d",
                                               text.len, LENGTH_MAX)
                                     : compile(text, 0, &x->regex, err);
    if (e != AB_ERR_OK) {
        free(x);
        return e;
    }
    e = check_group(text, &x->regex, err);
    if (e == AB_ERR_OK)
        *out = x;
    else
        ab_expression_free(x);
    return e;
}

void ab_expression_free(ab_expression *e)
{
    if (e == NULL)
        return;
    regfree(&e->regex);
    free(e);
}

ab_str ab_expression_first_group(const ab_expression *e, ab_str text)
{
    regmatch_t groups[2];
    if (text.ptr == NULL || !regex_matches(&e->regex, text, groups, 2) || groups[1].rm_so < 0)
        return AB_STR_NONE;
    return (ab_str){text.ptr + groups[1].rm_so, (size_t)(groups[1].rm_eo - groups[1].rm_so)};
}
