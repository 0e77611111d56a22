/* SPDX-License-Identifier: Apache-2.0 */
#include "services/ctl/complete.h"

#include "services/ctl/output.h"

#include <ctype.h>
#include <string.h>

#define NAMES_MAX ((size_t)1024 * 1024)

/* What is known of the words before the last. */
struct line {
    ab_ctl_commands commands;
    const ab_ctl_command *command; /* NULL: not named yet */
    const char *first;             /* word of its name, when that has two; NULL: none was read */
    const ab_ctl_flag *open;       /* its value comes next; NULL: none is open */
    const char *socket;
    const char *kubeconfig;
    size_t operands;
};

/* --- reading --- */

static const ab_ctl_flag *flag_of(const struct line *l, const char *word)
{
    ab_str name = ab_ctl_flag_name(word);
    const ab_ctl_flag *f =
        ab_ctl_find_flag(ab_ctl_global_flags, ab_ctl_global_flag_count(l->command), name);
    for (size_t i = 0; i < l->commands.count && f == NULL; i++)
        f = ab_ctl_find_flag(l->commands.rows[i]->flags, l->commands.rows[i]->flag_count, name);
    return f;
}

/* Does the name of this command begin with these words? @return the rest; NULL: it does not */
static const char *rest_of(const ab_ctl_command *c, const char *first)
{
    size_t len = first == NULL ? 0 : strlen(first);
    if (first == NULL)
        return c->name;
    if (strncmp(c->name, first, len) != 0 || (c->name[len] != ' ' && c->name[len] != '\0'))
        return NULL;
    return c->name[len] == ' ' ? c->name + len + 1 : c->name + len;
}

static void read_name(struct line *l, const char *word)
{
    for (size_t i = 0; i < l->commands.count; i++) {
        const char *rest = rest_of(l->commands.rows[i], l->first);
        if (rest != NULL && strcmp(rest, word) == 0)
            l->command = l->commands.rows[i];
    }
    if (l->first == NULL)
        l->first = word;
}

/* What other values depend on. */
static void keep_value(struct line *l, const char *flag, const char *value)
{
    if (strcmp(flag, "socket") == 0)
        l->socket = value;
    else if (strcmp(flag, "kubeconfig") == 0)
        l->kubeconfig = value;
}

/* "--name=value" as a flag of this line. @return the value; NULL: it is none, or of no known flag
 */
static const char *split_flag(const struct line *l, const char *word, const ab_ctl_flag **flag)
{
    size_t len = strcspn(word, "=");
    if (word[len] == '\0')
        return NULL;
    *flag = flag_of(l, word);
    return *flag == NULL || (*flag)->value == NULL ? NULL : word + len + 1;
}

static void read_flag(struct line *l, const char *word)
{
    const ab_ctl_flag *flag = NULL;
    const char *value = split_flag(l, word, &flag);
    if (value != NULL) {
        keep_value(l, flag->name, value);
        return;
    }
    flag = flag_of(l, word);
    l->open = flag != NULL && flag->value != NULL ? flag : NULL;
}

static void read_word(struct line *l, const char *word)
{
    if (l->open != NULL) {
        keep_value(l, l->open->name, word);
        l->open = NULL;
    } else if (word[0] == '-') {
        read_flag(l, word);
    } else if (l->command == NULL) {
        read_name(l, word);
    } else {
        l->operands++;
    }
}

/* --- answers --- */

static void put(const char *prefix, ab_str word, const char *help, ab_buf *out)
{
    if (ab_str_starts(word, prefix))
        ab_buf_printf(out, "%.*s\t%s\n", AB_STR_ARG(word), help);
}

/* Is it the first command whose name goes on with this word? */
static bool is_first(const struct line *l, size_t row, ab_str word)
{
    for (size_t i = 0; i < row; i++) {
        const char *rest = rest_of(l->commands.rows[i], l->first);
        if (rest != NULL && ab_str_eq(word, (ab_str){rest, strcspn(rest, " ")}))
            return false;
    }
    return true;
}

static void put_names(const struct line *l, const char *prefix, ab_buf *out)
{
    for (size_t i = 0; i < l->commands.count; i++) {
        const char *rest = rest_of(l->commands.rows[i], l->first);
        ab_str word = rest == NULL ? AB_STR("") : (ab_str){rest, strcspn(rest, " ")};
        bool whole = rest != NULL && rest[word.len] == '\0';
        if (word.len > 0 && is_first(l, i, word))
            put(prefix, word, whole ? l->commands.rows[i]->summary : "", out);
    }
}

static void put_flags(const ab_ctl_flag *rows, size_t count, const char *prefix, ab_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        ab_buf word = ab_buf_up_to(128);
        ab_buf_printf(&word, "--%s", rows[i].name);
        put(prefix, ab_buf_str(&word), rows[i].help, out);
        ab_buf_fini(&word);
    }
}

static void put_asked(void (*ask)(const char *where, ab_buf *out), const char *where,
                      const char *prefix, const char *help, ab_buf *out)
{
    ab_buf lines = ab_buf_up_to(NAMES_MAX);
    ask(where, &lines);
    for (ab_str rest = ab_buf_str(&lines); rest.len > 0;)
        put(prefix, ab_str_cut(&rest, '\n'), help, out);
    ab_buf_fini(&lines);
}

static void put_value(const struct line *l, const char *flag, const char *prefix,
                      const ab_ctl_names *names, ab_buf *out)
{
    static const char *const forms[] = {"table", "json", "yaml"};
    if (strcmp(flag, "agent") == 0)
        put_asked(names->agents, l->socket, prefix, "agent", out);
    else if (strcmp(flag, "context") == 0)
        put_asked(names->contexts, l->kubeconfig, prefix, "context", out);
    for (size_t i = 0; i < 3 && strcmp(flag, "output") == 0; i++)
        put(prefix, ab_str_of(forms[i]), "", out);
}

/* The shell replaces the whole word, "--name=value". @return false: the word is none */
static bool put_flag_value(const struct line *l, const char *word, const ab_ctl_names *names,
                           ab_buf *out)
{
    const ab_ctl_flag *flag = NULL;
    const char *value = split_flag(l, word, &flag);
    if (value == NULL)
        return false;
    ab_buf values = ab_buf_up_to(NAMES_MAX);
    put_value(l, flag->name, value, names, &values);
    for (const char *at = values.ptr; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, "\n") + 1;
        ab_buf_put(out, (ab_str){word, (size_t)(value - word)});
        ab_buf_put(out, (ab_str){at, len});
        at += len;
    }
    ab_buf_fini(&values);
    return true;
}

/* A flag, or the value behind its equals sign. */
static void put_flag(const struct line *l, const char *word, const ab_ctl_names *names, ab_buf *out)
{
    if (put_flag_value(l, word, names, out))
        return;
    if (l->command != NULL)
        put_flags(l->command->flags, l->command->flag_count, word, out);
    put_flags(ab_ctl_global_flags, ab_ctl_global_flag_count(l->command), word, out);
}

/* Of "agent NAME | principal [NAME]": the words in small letters, which begin an alternative. */
static void put_alternatives(const char *operands, const char *prefix, ab_buf *out)
{
    for (const char *at = operands; *at != '\0'; at += strcspn(at, "|")) {
        at += strspn(at, "| ");
        if (islower((unsigned char)*at))
            put(prefix, (ab_str){at, strcspn(at, "| ")}, "", out);
    }
}

static void put_operand(const struct line *l, const char *prefix, const ab_ctl_names *names,
                        ab_buf *out)
{
    const ab_ctl_command *c = l->command;
    static const char *const shells[] = {"bash", "zsh", "fish"};
    if (l->operands >= c->operands_max)
        return;
    if (strncmp(c->operands, "AGENT", 5) == 0 && l->operands == 0)
        put_asked(names->agents, l->socket, prefix, "agent", out);
    if (l->operands == 0)
        put_alternatives(c->operands, prefix, out);
    for (size_t i = 0; i < 3 && c == &ab_ctl_completion; i++)
        put(prefix, ab_str_of(shells[i]), "", out);
}

void ab_ctl_complete(ab_ctl_commands commands, int count, char **words, const ab_ctl_names *names,
                     ab_buf *out)
{
    struct line l = {.commands = commands};
    const char *last = count > 0 ? words[count - 1] : "";
    for (int i = 0; i + 1 < count; i++)
        read_word(&l, words[i]);
    if (l.open != NULL)
        put_value(&l, l.open->name, last, names, out);
    else if (last[0] == '-')
        put_flag(&l, last, names, out);
    else if (l.command != NULL)
        put_operand(&l, last, names, out);
    else
        put_names(&l, last, out);
}

/* --- scripts --- */

static const struct {
    const char *shell;
    const char *script;
} scripts[] = {
    {"bash", "# bash completion for argobusctl\n"
             "_argobusctl()\n"
             "{\n"
             "    local IFS=$'\\n' word last= own=\n"
             "    local -a words=()\n"
             "    # bash splits words at : and =, which argobusctl does not\n"
             "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD}\"; do\n"
             "        if ((${#words[@]})) && [[ $word =~ ^[:=]+$ || $last =~ ^[:=]+$ ]]; then\n"
             "            words[-1]+=$word\n"
             "        else\n"
             "            words+=(\"$word\")\n"
             "        fi\n"
             "        last=$word\n"
             "    done\n"
             "    own=${COMP_WORDS[COMP_CWORD]}\n"
             "    [[ $own =~ ^[:=]+$ ]] && own=\n"
             "    COMPREPLY=($(argobusctl __complete \"${words[@]}\" 2>/dev/null | cut -f1))\n"
             "    COMPREPLY=(\"${COMPREPLY[@]#\"${words[-1]%\"$own\"}\"}\")\n"
             "}\n"
             "complete -o default -F _argobusctl argobusctl\n"},
    {"zsh",
     "#compdef argobusctl\n"
     "_argobusctl()\n"
     "{\n"
     "    local -a found\n"
     "    found=(${(f)\"$(argobusctl __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
     "    found=(${found%%$'\\t'*})\n"
     "    if (( $#found )); then compadd -a found; else _files; fi\n"
     "}\n"
     "if [ \"$funcstack[1]\" = _argobusctl ]; then _argobusctl; else compdef _argobusctl "
     "argobusctl; fi\n"},
    {"fish", "# fish completion for argobusctl\n"
             "function __argobusctl_find\n"
             "    set -l words (commandline -opc) (commandline -ct)\n"
             "    set -g __argobusctl_found (argobusctl __complete $words[2..-1] 2>/dev/null)\n"
             "    set -q __argobusctl_found[1]\n"
             "end\n"
             "# where nothing is found, fish itself completes files\n"
             "complete -c argobusctl -n __argobusctl_find -f -a '$__argobusctl_found'\n"},
};

bool ab_ctl_put_script(const char *shell, ab_buf *out)
{
    for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
        if (strcmp(shell, scripts[i].shell) == 0) {
            ab_buf_puts(out, scripts[i].script);
            return true;
        }
    return false;
}

static int run(const ab_ctl *ctl)
{
    const char *shell = ctl->operands[0];
    ab_buf out = ab_buf_up_to(64u * 1024);
    int code =
        ab_ctl_put_script(shell, &out)
            ? ab_ctl_print(&out)
            : ab_ctl_fail(AB_CTL_USAGE, "completion: \"%s\" is not bash, zsh or fish", shell);
    ab_buf_fini(&out);
    return code;
}

const ab_ctl_command ab_ctl_completion = {
    .name = "completion",
    .operands = "SHELL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Print the completion script of a shell: bash, zsh or fish",
    .examples = "  source <(argobusctl completion bash)\n"
                "  argobusctl completion fish > ~/.config/fish/completions/argobusctl.fish\n",
    .run = run,
};
