/* SPDX-License-Identifier: Apache-2.0
 *
 * Two passes: the first finds the command by the words that stand alone, since the flags that are
 * known depend on it and may come before it; the second gives each flag its value.
 */
#include "services/ctl/args.h"

#include <stdlib.h>
#include <string.h>

enum { SOCKET, SERVER, TOKEN_FILE, CA, HELP, VERSION, OUTPUT, COUNT };

const ab_ctl_flag ab_ctl_global_flags[] = {
    [SOCKET] = {"socket", "PATH", "control.socket of the principal ($ARGOBUS_CONTROL_SOCKET)"},
    [SERVER] = {"server", "URL", "ask the fleet page of the principal there ($ARGOBUS_SERVER)"},
    [TOKEN_FILE] = {"token-file", "FILE",
                    "file with a token of fleet.tokens, for --server ($ARGOBUS_TOKEN_FILE)"},
    [CA] = {"server-ca", "FILE", "CAs of the certificate of --server ($ARGOBUS_SERVER_CA)"},
    [HELP] = {"help", NULL, "show how a command is used; also -h"},
    [VERSION] = {"version", NULL, "show the version of argobusctl"},
    [OUTPUT] = {"output", "FORM", "of what a command shows: table, json or yaml; also -o"},
};

size_t ab_ctl_global_flag_count(const ab_ctl_command *command)
{
    return command == NULL || command->shows ? COUNT : OUTPUT;
}

typedef struct {
    ab_ctl_commands commands;
    int argc;
    char **argv;
    int at; /* the argument that is read */
    ab_ctl *out;
    ab_ctl_wanted *wanted;
    ab_error *err;
} reader;

static bool is_flag(const char *arg)
{
    return arg[0] == '-' && arg[1] != '\0';
}

ab_str ab_ctl_flag_name(const char *arg)
{
    if (strcmp(arg, "-o") == 0)
        return AB_STR("output");
    if (strcmp(arg, "-c") == 0)
        return AB_STR("config");
    if (strcmp(arg, "-h") == 0)
        return AB_STR("help");
    return arg[1] == '-' ? (ab_str){arg + 2, strcspn(arg + 2, "=")} : AB_STR("");
}

static bool takes_next(const ab_ctl_flag *flag, const char *arg)
{
    return flag != NULL && flag->value != NULL && strchr(arg, '=') == NULL;
}

/* Any command's: which one it is, is not known yet. */
static bool skips_next(const reader *r, const char *arg)
{
    ab_str name = ab_ctl_flag_name(arg);
    bool takes = takes_next(ab_ctl_find_flag(ab_ctl_global_flags, COUNT, name), arg);
    for (size_t i = 0; i < r->commands.count && !takes; i++) {
        const ab_ctl_command *c = r->commands.rows[i];
        takes = takes_next(ab_ctl_find_flag(c->flags, c->flag_count, name), arg);
    }
    return takes;
}

/* How many of the words are the name of this command; 0: they are not. */
static size_t words_of(const ab_ctl_command *c, const char *const *words, size_t count)
{
    const char *rest = c->name;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(words[i]);
        if (strncmp(rest, words[i], len) != 0 || (rest[len] != ' ' && rest[len] != '\0'))
            return 0;
        if (rest[len] == '\0')
            return i + 1;
        rest += len + 1;
    }
    return 0;
}

static size_t read_words(const reader *r, const char **words)
{
    size_t count = 0;
    for (int i = 1; i < r->argc && count < 2 && strcmp(r->argv[i], "--") != 0; i++) {
        if (!is_flag(r->argv[i]))
            words[count++] = r->argv[i];
        else
            i += skips_next(r, r->argv[i]);
    }
    return count;
}

/* @return how many words name the command */
static size_t find_command(reader *r)
{
    const char *words[2];
    size_t count = read_words(r, words);
    for (size_t i = 0; i < r->commands.count; i++) {
        size_t taken = words_of(r->commands.rows[i], words, count);
        if (taken > 0) {
            r->out->command = r->commands.rows[i];
            return taken;
        }
    }
    return 0;
}

static ab_err set_form(reader *r, const char *value)
{
    static const char *const names[] = {"table", "json", "yaml"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(value, names[i]) == 0) {
            r->out->form = (ab_ctl_form)i;
            return AB_ERR_OK;
        }
    return ab_fail(r->err, AB_ERR_INVALID, "--output: \"%s\" is not table, json or yaml", value);
}

static ab_err set_global(reader *r, size_t row, const char *value)
{
    switch (row) {
    case SOCKET:
        r->out->socket = value;
        r->out->server = NULL;
        return AB_ERR_OK;
    case SERVER:
        r->out->server = value;
        return AB_ERR_OK;
    case TOKEN_FILE:
        r->out->token_file = value;
        return AB_ERR_OK;
    case CA:
        r->out->ca = value;
        return AB_ERR_OK;
    case OUTPUT:
        return set_form(r, value);
    case HELP:
        *r->wanted = AB_CTL_HELP;
        return AB_ERR_OK;
    default:
        *r->wanted = AB_CTL_VERSION;
        return AB_ERR_OK;
    }
}

/* A variable of the shell that is empty must not make the next flag, which may be --dry-run, the
 * value of this one. */
static ab_err read_next(reader *r, const ab_ctl_flag *flag, const char **out)
{
    const char *next = r->at + 1 < r->argc ? r->argv[r->at + 1] : NULL;
    if (next == NULL)
        return ab_fail(r->err, AB_ERR_INVALID, "--%s needs a value: %s", flag->name, flag->value);
    if (is_flag(next))
        return ab_fail(r->err, AB_ERR_INVALID,
                       "--%s needs a value, and %s is a flag; if it is the value, write --%s=%s",
                       flag->name, next, flag->name, next);
    *out = next;
    r->at++;
    return AB_ERR_OK;
}

/* @param out  "" for a flag without value */
static ab_err read_value(reader *r, const ab_ctl_flag *flag, const char **out)
{
    const char *given = strchr(r->argv[r->at], '=');
    ab_err e = AB_ERR_OK;
    if (flag->value == NULL && given != NULL)
        return ab_fail(r->err, AB_ERR_INVALID, "--%s takes no value", flag->name);
    if (flag->value == NULL || given != NULL)
        *out = given == NULL ? "" : given + 1;
    else
        e = read_next(r, flag, out);
    if (e == AB_ERR_OK && flag->value != NULL && (*out)[0] == '\0')
        return ab_fail(r->err, AB_ERR_INVALID, "--%s: the value is empty", flag->name);
    return e;
}

static ab_err set_own(reader *r, const ab_ctl_flag *flag, const char *value)
{
    const char **kept = &r->out->values[flag - r->out->command->flags];
    if (flag->value != NULL && *kept != NULL)
        return ab_fail(r->err, AB_ERR_INVALID, "--%s is given twice: \"%s\" and \"%s\"", flag->name,
                       *kept, value);
    *kept = value;
    return AB_ERR_OK;
}

static ab_err read_flag(reader *r)
{
    const char *arg = r->argv[r->at];
    const char *value = "";
    const ab_ctl_command *c = r->out->command;
    ab_str name = ab_ctl_flag_name(arg);
    const ab_ctl_flag *own = c == NULL ? NULL : ab_ctl_find_flag(c->flags, c->flag_count, name);
    const ab_ctl_flag *global =
        own != NULL ? NULL
                    : ab_ctl_find_flag(ab_ctl_global_flags, ab_ctl_global_flag_count(c), name);
    if (global == NULL && own == NULL)
        return ab_fail(r->err, AB_ERR_INVALID, "unknown flag %s%s%s", arg, c == NULL ? "" : " of ",
                       c == NULL ? "" : c->name);
    ab_err e = read_value(r, global != NULL ? global : own, &value);
    if (e != AB_ERR_OK)
        return e;
    return global != NULL ? set_global(r, (size_t)(global - ab_ctl_global_flags), value)
                          : set_own(r, own, value);
}

static ab_err add_operand(reader *r, const char *operand)
{
    const ab_ctl_command *c = r->out->command;
    if (c == NULL)
        return AB_ERR_OK; /* reported as an unknown command, unless help is wanted */
    if (r->out->operand_count == c->operands_max)
        return ab_fail(r->err, AB_ERR_INVALID, "%s: unexpected operand \"%s\"", c->name, operand);
    r->out->operands[r->out->operand_count++] = operand;
    return AB_ERR_OK;
}

/* @param words  so many of the words that stand alone are the command's name */
static ab_err read_all(reader *r, size_t words)
{
    bool ended = false; /* by "--" */
    ab_err e = AB_ERR_OK;
    for (r->at = 1; r->at < r->argc && e == AB_ERR_OK; r->at++) {
        const char *arg = r->argv[r->at];
        if (!ended && strcmp(arg, "--") == 0)
            ended = true;
        else if (!ended && is_flag(arg))
            e = read_flag(r);
        else if (words > 0)
            words--;
        else
            e = add_operand(r, arg);
    }
    return e;
}

static ab_err check(const reader *r)
{
    const ab_ctl_command *c = r->out->command;
    const char *words[2] = {NULL};
    if (*r->wanted != AB_CTL_RUN || (c != NULL && r->out->operand_count >= c->operands_min))
        return AB_ERR_OK;
    if (c != NULL)
        return ab_fail(r->err, AB_ERR_INVALID, "%s: needs %s; see %s %s --help", c->name,
                       c->operands, ab_ctl_program(), c->name);
    if (read_words(r, words) == 0)
        return ab_fail(r->err, AB_ERR_INVALID, "no command given; see %s --help", ab_ctl_program());
    return ab_fail(r->err, AB_ERR_INVALID, "unknown command \"%s%s%s\"; see %s --help", words[0],
                   words[1] == NULL ? "" : " ", words[1] == NULL ? "" : words[1], ab_ctl_program());
}

/* @return NULL: it is not set, or empty, which is how a unit or a shell takes it back */
static const char *read_environment(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

void ab_ctl_begin(ab_ctl *out)
{
    *out = (ab_ctl){.socket = read_environment("ARGOBUS_CONTROL_SOCKET"),
                    .server = read_environment("ARGOBUS_SERVER"),
                    .token_file = read_environment("ARGOBUS_TOKEN_FILE"),
                    .ca = read_environment("ARGOBUS_SERVER_CA")};
}

ab_err ab_ctl_parse(ab_ctl_commands commands, int argc, char **argv, ab_ctl *out,
                    ab_ctl_wanted *wanted, ab_error *err)
{
    ab_ctl_begin(out);
    *wanted = AB_CTL_RUN;
    reader r = {commands, argc, argv, 0, out, wanted, err};
    size_t words = find_command(&r);
    ab_err e = read_all(&r, words);
    return e == AB_ERR_OK ? check(&r) : e;
}
