# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The view that ./quickstart ends with: both sides and the lag, drawn again whenever something changes.
# shellcheck disable=SC2154 # the variables of ./quickstart

revision() { sed -n "s/^.*targetRevision: *//p" "$1" 2>/dev/null | head -n 1; }

applications() {
    local file name
    printf '%-22s %-18s %-18s %s\n' APPLICATION "CONTROL PLANE" "W1" "STATUS"
    for name in $(for file in "$hub"/*.yaml "$spoke"/*.yaml; do [ -f "$file" ] && basename "$file" .yaml; done | sort -u); do
        printf '%-22s %-18s %-18s %s\n' "$name" "$(revision "$hub/$name.yaml")" "$(revision "$spoke/$name.yaml")" \
            "$(status_of "$hub" "$name")"
    done
}

lags() {
    "$kafka" tool consumer-groups --describe --all-groups 2>/dev/null |
        awk '$1 ~ /^argobus/ { printf "%-22s %-28s LAG %s\n", $1, $2, $6 }'
}

live() {
    local shown='' current waiting=''
    [ "$transport" = grpc ] || waiting='(asking Kafka)'
    trap 'echo; echo "Stopping everything."; exit 0' INT TERM
    while true; do
        current="$(applications)
${waiting:+
LAG PER TOPIC (kafka-consumer-groups)
$waiting
}
Try, in another terminal:
  \$EDITOR build/quickstart/hub/w1/Application/guestbook.yaml      an edit here takes effect in w1
  \$EDITOR build/quickstart/w1/argocd/Application/guestbook.yaml   an edit of its spec is undone
  rm build/quickstart/hub/w1/Application/monitoring.yaml          it is deleted in w1 too
  open http://$hub_page/ in a browser                       all agents, and what is not in effect
  curl -s http://$hub_http/metrics | grep ^argobus          metrics of the principal
Logs are in build/quickstart/*.log. Ctrl-C stops everything."
        if [ "$current" != "$shown" ]; then
            printf '\n---- %s ----\n%s\n' "$(date +%T)" "$current"
            shown=$current
        fi
        [ "$transport" = grpc ] || waiting=$(lags)
        sleep 1
    done
}
