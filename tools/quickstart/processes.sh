# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What ./quickstart prepares, starts and stops again.
# shellcheck disable=SC2154 # the variables of ./quickstart

broken() { printf 'quickstart: %s\n' "$*" >&2; return 1; }
listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# running NAME: the process id of our principal or agent, if it lives.
running() {
    local pid
    pid=$(cat "$work/$1.pid" 2>/dev/null) && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF "$work/$1.yaml" &&
        echo "$pid"
}

gone() { ! kill -0 "$1" 2>/dev/null; }

stop_program() {
    local pid
    pid=$(running "$1") || return 0
    kill "$pid" 2>/dev/null # it may just have ended, of the same Ctrl-C
    until_true 20 gone "$pid" || { kill -KILL "$pid"; broken "$1 did not end in 20 s and was killed"; }
}

stop_agent() { stop_program agent; }

stop_everything() {
    trap '' INT TERM
    stop_program agent
    stop_program agent-w2
    stop_program principal
    [ ! -d "$work/kafka" ] || "$kafka" stop >/dev/null
}

prepare() {
    local p free
    mkdir -p "$work" || return 1
    exec 8>"$work/lock"
    flock -n 8 || broken "another ./quickstart runs in this checkout; end it with Ctrl-C" || return 1
    free=$(df -Pm "$work" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge 1024 ] || broken "no space: $work has $free MiB left and 1024 MiB are needed" || return 1
    trap stop_everything EXIT
    trap 'exit 130' INT TERM
    stop_everything # what an earlier run left behind when it was killed
    trap 'exit 130' INT TERM
    for ((p = port; p < port + 8; p++)); do
        ! listening "$p" ||
            broken "port $p of 127.0.0.1 is in use; set QUICKSTART_PORT to the first of eight free ones" || return 1
    done
    rm -rf "$work"/{hub,w1,w2,agent,agent-w2,kept,kafka,certificates} "$work"/*.log "$work"/*.yaml
    mkdir -p "$hub" "$spoke" "$own" "$work"/{agent,agent-w2,kept}
    write_config
}

# carrier NAME KAFKA-SETTINGS: the part of a configuration that says how events travel.
carrier() {
    if [ "$transport" = kafka ]; then
        printf 'transport: kafka\nkafka: {brokers: ["127.0.0.1:%s"], insecure: true, prefix: argobus%s}\n' "$port" "$2"
    else
        printf 'transport: grpc\ngrpc: {listen: "127.0.0.1:%s", address: "localhost:%s", tls: %s}\n' "$port" "$port" \
            "{ca: certificates/ca.crt, cert: certificates/$1.crt, key: certificates/$1.key}"
    fi
}

write_config() {
    cat >"$work/principal.yaml" <<END
$(carrier principal ', topics: create, replication-factor: 1, min-insync-replicas: 1')
agents:
  - {name: w1, mode: managed}
  - {name: w2, mode: autonomous}
principal: {data: kept}
store: {kind: directory, namespace: argocd, directory: {path: hub}}
http: {address: "$hub_http"}
fleet: {listen: "$hub_page"}
log: {level: info, format: text}
END
    cat >"$work/agent.yaml" <<END
$(carrier w1 '')
agent: {name: w1, mode: managed, data: agent}
store: {kind: directory, namespace: argocd, directory: {path: w1}}
http: {address: "$spoke_http"}
log: {level: info, format: text}
END
    sed -e 's/name: w1, mode: managed, data: agent/name: w2, mode: autonomous, data: agent-w2/' -e 's/path: w1/path: w2/' \
        -e 's|certificates/w1|certificates/w2|g' -e "s/$spoke_http/$own_http/" "$work/agent.yaml" >"$work/agent-w2.yaml"
}

build_programs() {
    say "the first build takes about a minute"
    { cmake --preset release --log-level=WARNING &&
        cmake --build --preset release --target argobus-principal argobus-agent; } >"$work/build.log" 2>&1 ||
        { tail -n 20 "$work/build.log" && broken "the build failed; all of it is in $work/build.log"; }
}

# certificate NAME EXTENSIONS: a key, and a certificate of our authority for CN=NAME.
certificate() {
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" &&
        openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -days 30 -out "$1.crt" -extfile <(printf '%b' "$2")
}

make_certificates() {
    mkdir -p "$work/certificates" || return 1
    (cd "$work/certificates" &&
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 30 -subj /CN=quickstart \
            -addext keyUsage=critical,keyCertSign,cRLSign -keyout ca.key -out ca.crt &&
        certificate principal 'subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\n' &&
        certificate w1 'extendedKeyUsage=clientAuth\n' &&
        certificate w2 'extendedKeyUsage=clientAuth\n') >"$work/certificates.log" 2>&1 ||
        { cat "$work/certificates.log" >&2 && return 1; }
    say "build/quickstart/certificates: the name in its certificate makes an agent w1 or w2"
}

start_kafka() {
    say "the first start downloads 44 MiB of jars from Maven Central; a start takes about 10 s"
    "$kafka" start >"$work/kafka.log" 2>&1 8>&- || { cat "$work/kafka.log" >&2; return 1; }
    say "$(cat "$work/kafka.log")"
}

# start_program NAME HTTP-ADDRESS: returns when it says that it is ready. Of "agent-w2" the program is "agent".
start_program() {
    local pid
    env -u ARGOBUS_CACHE "$bin/argobus-${1%-w2}" -c "$work/$1.yaml" </dev/null >>"$work/$1.log" 2>&1 8>&- &
    pid=$!
    echo "$pid" >"$work/$1.pid"
    until_true 60 ready_or_dead "$pid" "$2" && ! gone "$pid" && return 0
    tail -n 15 "$work/$1.log" >&2
    broken "argobus-$1 is not ready; above is how $work/$1.log ends"
}

ready_or_dead() { gone "$1" || curl -fs -o /dev/null "http://$2/readyz"; }
start_principal() { start_program principal "$hub_http"; }
start_agent() { start_program agent "$spoke_http"; }
start_own_agent() { start_program agent-w2 "$own_http"; }
