# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The steps that ./quickstart shows. Each is a function that returns 0 when what it claims was seen to happen.
# shellcheck disable=SC2154 # the variables of ./quickstart

passes=0
failures=0

note() { printf '%s\n' "$*"; }

# show LINE: what --check leaves out. `shown` has all lines, also with --check, to compare the README with.
shown=''
show() {
    shown+=$1$'\n'
    [ "$check" = yes ] || note "$1"
}
say() { show "    $*"; }

# now_ms: milliseconds, to measure with.
now_ms() { date +%s%3N; }

# until_true SECONDS COMMAND...: run it again and again until it succeeds.
until_true() {
    local end=$(($(now_ms) + $1 * 1000))
    shift
    until "$@"; do
        [ "$(now_ms)" -lt "$end" ] || return 1
        sleep 0.05
    done
}

# step TEXT FUNCTION...: run it, say how it ended.
step() {
    local text=$1 start verdict=PASS
    shift
    show ''
    show "> $text"
    start=$(now_ms)
    if "$@"; then passes=$((passes + 1)); else verdict=FAIL failures=$((failures + 1)); fi
    printf '%s  %s (%d.%d s)\n' "$verdict" "$text" $((($(now_ms) - start) / 1000)) $((($(now_ms) - start) % 1000 / 100))
    [ "$verdict" = PASS ]
}

# must: as step, but nothing after it makes sense without it.
must() {
    step "$@" || exit 1
}

application() { grep -q "targetRevision: *['\"]\?$3['\"]\?\$" "$1/$2.yaml" 2>/dev/null; }
status_of() { jq -r "[.status.sync.status, .status.health.status] | map(. // \"-\") | join(\" \")" "$1/.argobus/$2.json" 2>/dev/null; }
has_status() { [ "$(status_of "$1" "$2")" = "$3" ]; }

# set_revision FOLDER NAME REVISION: edit the Application as a person with an editor would.
set_revision() {
    sed -i "0,/targetRevision:/s|targetRevision:.*|targetRevision: $3|" "$1/$2.yaml"
}

both_connected() {
    [ "$(curl -s "http://$hub_page/api/agents" | jq '[.agents[] | select(.connected)] | length')" = 2 ]
}
fleet_page() { until_true 20 both_connected && curl -sf "http://$hub_page/" >/dev/null; }

propagation() {
    local file name start
    start=$(now_ms)
    cp examples/applications/*.yaml "$hub/"
    for file in examples/applications/*.yaml; do
        name=$(sed -n 's/^  name: //p' "$file" | head -n 1)
        until_true 20 test -f "$spoke/$name.yaml" || { say "$name did not appear in $spoke"; return 1; }
        say "$name: in w1 after $(($(now_ms) - start)) ms"
    done
}

# Argo CD's controller would write this status. None runs here, so this stands in for it.
controller_says() {
    local name=$1 sync=$2 health=$3 file=$spoke/$1.yaml
    { sed '/^status:/,$d' "$file" &&
        printf 'status:\n  sync: {status: %s}\n  health: {status: %s}\n' "$sync" "$health"; } >"$file.new" &&
        mv "$file.new" "$file"
}

status_comes_back() {
    local name start
    start=$(now_ms)
    for name in guestbook helm-guestbook; do
        controller_says "$name" Synced Healthy || return 1
        until_true 20 has_status "$hub" "$name" "Synced Healthy" || return 1
        say "$name: $(status_of "$hub" "$name") in the control plane after $(($(now_ms) - start)) ms"
    done
}

change_travels() {
    local start
    start=$(now_ms)
    set_revision "$hub" guestbook v1.1
    until_true 20 application "$spoke" guestbook v1.1 || return 1
    say "guestbook: targetRevision v1.1 in effect in w1 after $(($(now_ms) - start)) ms"
}

revert() {
    local start
    start=$(now_ms)
    set_revision "$spoke" guestbook hacked
    until_true 20 application "$spoke" guestbook v1.1 || return 1
    say "guestbook: targetRevision 'hacked' in w1 was set back to v1.1 after $(($(now_ms) - start)) ms"
}

# lag GROUP TOPIC: changes that are written but not yet in effect, as Kafka's own tool tells.
lag() {
    "$kafka" tool consumer-groups --describe --group "$1" 2>/dev/null | awk -v t="$2" '$2 == t { print $6 }'
}
lag_is() { [ "$(lag argobus.agent.w1 argobus.down.w1.state)" -eq "$1" ]; }

lag_while_away() {
    stop_agent || return 1
    say "the agent is stopped; three Applications change in the control plane"
    set_revision "$hub" guestbook v1.2
    set_revision "$hub" kustomize-guestbook v2.0
    set_revision "$hub" helm-guestbook 6.6.0
    until_true 30 lag_is 3 || return 1
    say "kafka-consumer-groups: group argobus.agent.w1, topic argobus.down.w1.state, LAG 3"
}

catch_up() {
    start_agent || return 1
    until_true 20 application "$spoke" guestbook v1.2 || return 1
    until_true 20 application "$spoke" kustomize-guestbook v2.0 || return 1
    until_true 30 lag_is 0 || return 1
    say "all three changes are in effect in w1, LAG 0"
}

return_of_the_agent() {
    local start
    stop_agent || return 1
    say "the agent is stopped; two Applications change in the control plane"
    set_revision "$hub" guestbook v1.2
    set_revision "$hub" kustomize-guestbook v2.0
    start=$(now_ms)
    start_agent || return 1
    until_true 20 application "$spoke" guestbook v1.2 || return 1
    until_true 20 application "$spoke" kustomize-guestbook v2.0 || return 1
    say "both changes are in effect in w1 $(($(now_ms) - start)) ms after its start"
}

delete_travels() {
    rm "$hub/kustomize-guestbook.yaml"
    until_true 20 test ! -e "$spoke/kustomize-guestbook.yaml" || return 1
    say "kustomize-guestbook: deleted in w1"
}

mirrored() {
    local start
    start=$(now_ms)
    sed 's/name: w1/name: in-cluster/' examples/applications/guestbook.yaml >"$own/guestbook.yaml"
    until_true 20 grep -q 'project: w2-default' "$mirror/guestbook.yaml" 2>/dev/null || return 1
    say "guestbook: in the control plane in namespace w2, project w2-default, after $(($(now_ms) - start)) ms"
}

mirror_reverts() {
    set_revision "$mirror" guestbook hacked
    until_true 20 application "$mirror" guestbook HEAD || return 1
    say "guestbook: targetRevision 'hacked' in the control plane was set back to HEAD, as in w2"
}

sync_is_asked_for() {
    printf 'operation: {sync: {revision: v1.0}}\n' >>"$mirror/guestbook.yaml"
    until_true 20 grep -q '^operation:' "$own/guestbook.yaml" || return 1
    say "guestbook: .operation, set in the control plane, is in w2 for Argo CD to execute"
}

without_times() { sed -E 's/[0-9]+ ms/N ms/'; }

# The sample is abridged: its lines are to be among those that were shown, in this order.
readme_sample() {
    local sample missing
    sample=$(sed -n '/^Sample output of/,/^```$/{/^[> ] /p}' README.md | grep -v '^ *\.\.\.$' | without_times)
    [ -n "$sample" ] || broken "README.md has no sample output" || return 1
    missing=$(diff --minimal <(echo "$sample") <(without_times <<<"$shown") | grep '^<')
    [ -z "$missing" ] || broken "README.md has lines that were not shown here, or in another order: $missing"
}
