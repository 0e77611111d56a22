#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced: a Go that is new enough for the modules of kube-dev and argocd-dev. Debian's is not, but it can fetch
# one: releases of Go are the module golang.org/toolchain, whose sum Go checks as for any module.

GO_RELEASE=1.26.8
GO_AT_LEAST=1.26.3

# find_go CACHE: puts it into PATH; one that had to be fetched stays in the folder CACHE.
find_go() {
    local own=$1/go-$GO_RELEASE old at dir arch
    old=$(command -v go) || { echo "no Go here: apt-get install golang-go" >&2 && return 1; }
    at=$(cd / && GOTOOLCHAIN=local go env GOVERSION)
    if printf '%s\n' "$GO_AT_LEAST" "${at#go}" | sort -CV; then return; fi
    if [ ! -x "$own/bin/go" ]; then
        arch=$(cd / && go env GOARCH)
        echo "Go here is ${at#go}, which is too old: bringing $GO_RELEASE (240 MiB) to $own" >&2
        dir=$(cd / && GOTOOLCHAIN=local "$old" mod download -json "golang.org/toolchain@v0.0.1-go$GO_RELEASE.linux-$arch" |
            sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
        [ -d "$dir" ] || { echo "Go could not bring Go $GO_RELEASE; its errors are above" >&2 && return 1; }
        unpack_go "$dir" "$own" || return 1
    fi
    unset GOROOT
    export PATH=$own/bin:$PATH GOTOOLCHAIN=local
}

# unpack_go MODULE FOLDER: a module knows neither programs nor modules within it; Go's own files have to be both again.
unpack_go() {
    local part=$2.part
    rm -rf "$part" && mkdir -p "${2%/*}" && cp -r "$1" "$part" && chmod -R u+w "$part" &&
        find "$part/bin" "$part/pkg/tool" -type f -exec chmod +x {} + &&
        find "$part/src" -name _go.mod -execdir mv {} go.mod \; &&
        mv "$part" "$2"
}
