{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/*
The program's configuration file. What the values decide comes first, `config` is merged over it; templates/_check.tpl
refuses a `config` that sets what other values decide.
*/}}

{{- define "argobus.config.tls" -}}
{{- $tls := dict -}}
{{- if include "argobus.ca" . -}}{{- $_ := set $tls "ca" "/etc/argobus/tls/ca.crt" -}}{{- end -}}
{{- if include "argobus.certificate" . -}}
{{- $_ := set $tls "cert" "/etc/argobus/tls/tls.crt" -}}
{{- $_ := set $tls "key" "/etc/argobus/tls/tls.key" -}}
{{- end -}}
{{- toYaml $tls -}}
{{- end -}}

{{- define "argobus.config.kafka" -}}
brokers: {{ toJson .Values.kafka.brokers }}
prefix: {{ .Values.kafka.prefix | quote }}
{{- with .Values.kafka.topics }}
topics: {{ . }}
{{- end }}
{{- if .Values.kafka.insecure }}
insecure: true
{{- else }}
tls:
  enabled: true
  {{- include "argobus.config.tls" . | replace "{}" "" | nindent 2 }}
{{- end }}
{{- with .Values.kafka.sasl }}
{{- if eq .mechanism "OAUTHBEARER" }}
sasl:
  mechanism: OAUTHBEARER
  oauth:
    endpoint: {{ .oauth.endpoint | quote }}
    client-id: {{ .oauth.clientId | quote }}
    client-secret-file: /etc/argobus/kafka/password
    {{- with .oauth.scope }}
    scope: {{ . | quote }}
    {{- end }}
    {{- if .oauth.ca.secretName }}
    ca: /etc/argobus/kafka-oauth-ca/ca.crt
    {{- end }}
{{- else if ne .mechanism "none" }}
sasl:
  mechanism: {{ .mechanism }}
  username: {{ .username | quote }}
  password-file: /etc/argobus/kafka/password
{{- end }}
{{- end }}
{{- end -}}

{{- define "argobus.config.grpc" -}}
{{- if eq .Values.role "agent" }}
address: {{ .Values.grpc.address | quote }}
{{- else }}
listen: ":{{ .Values.grpc.port }}"
{{- end }}
{{- if .Values.grpc.insecure }}
insecure: true
{{- else }}
tls:
  {{- include "argobus.config.tls" . | replace "{}" "" | nindent 2 }}
{{- end }}
{{- if .Values.grpc.tokenKeySecret.name }}
auth:
  token: {key: /etc/argobus/token/token.key}
{{- end }}
{{- end -}}

{{- define "argobus.config.live" -}}
{{- $live := .Values.live -}}
{{- if eq .Values.role "agent" }}
enabled: {{ $live.enabled }}
{{- if $live.enabled }}
exec: {{ $live.exec }}
kubernetes:
  verbs: {{ if $live.write }}[get, list, watch, create, update, patch, delete]{{ else }}[get, list, watch]{{ end }}
  {{- with $live.namespaces }}
  namespaces: {{ toJson . }}
  {{- end }}
{{- end }}
{{- else if $live.enabled }}
resource:
  listen: ":{{ $live.port }}"
  {{- if $live.tokensSecret.name }}
  tokens: /etc/argobus/live/tokens
  {{- else if not .Values.registration.enabled }}
  tls: {ca: /etc/argobus/tls/ca.crt}
  {{- end }}
{{- end }}
{{- if and $live.enabled $live.redis.enabled }}
redis:
  address: {{ $live.redis.address | quote }}
  {{- if eq .Values.role "principal" }}
  listen: ":{{ $live.redis.port }}"
  {{- end }}
  {{- with $live.redis.username }}
  username: {{ . | quote }}
  {{- end }}
  {{- if $live.redis.passwordSecret.name }}
  password-file: /etc/argobus/redis/password
  {{- end }}
{{- end }}
{{- end -}}

{{- define "argobus.config.registration" -}}
{{- $r := .Values.registration -}}
{{- $name := include "argobus.fullname" . -}}
enabled: true
server: {{ $r.server | default (printf "https://%s.%s.svc:%d" $name .Release.Namespace (int .Values.live.port)) | quote }}
token-key: /etc/argobus/registration/token.key
{{- with $r.names }}
names: {{ toJson . }}
{{- end }}
mode: {{ $r.mode }}
{{- with $r.modes }}
modes: {{ toJson . }}
{{- end }}
{{- with $r.labels }}
labels: {{ toJson . }}
{{- end }}
approval: {{ $r.approval }}
max: {{ int $r.max }}
{{- end -}}

{{- define "argobus.config.fleet" -}}
{{- $fleet := .Values.fleet -}}
{{- if $fleet.tokensSecret.name -}}
listen: "*:{{ $fleet.port }}"
tokens: /etc/argobus/fleet/tokens
tls: {cert: /etc/argobus/tls/tls.crt, key: /etc/argobus/tls/tls.key}
{{- else -}}
listen: ":{{ $fleet.port }}"
{{- end -}}
{{- end -}}

{{- define "argobus.config.values" -}}
transport: {{ .Values.transport }}
mapping: {{ .Values.mapping }}
{{- with .Values.namespaces }}
namespaces: {{ toJson . }}
{{- end }}
{{- if eq .Values.role "agent" }}
agent:
  name: {{ .Values.agent.name | quote }}
  mode: {{ .Values.agent.mode }}
  {{- with .Values.agent.labels }}
  labels: {{ toJson . }}
  {{- end }}
  data: /var/lib/argobus/data
{{- else }}
principal:
  data: /var/lib/argobus/data
{{- with .Values.agents }}
agents:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .Values.tls.agentsCA.secretName }}
secrets:
  ca: /etc/argobus/agents-ca/ca.crt
{{- end }}
{{- end }}
store:
  kind: kubernetes
  namespace: {{ include "argobus.argocd" . | quote }}
  {{- with .Values.createNamespaces }}
  kubernetes:
    create-namespaces: {{ toJson . }}
  {{- end }}
{{ .Values.transport }}:
  {{- include (printf "argobus.config.%s" .Values.transport) . | nindent 2 }}
{{- with include "argobus.config.live" . | trim }}
live:
  {{- . | nindent 2 }}
{{- end }}
{{- if .Values.registration.enabled }}
registration:
  {{- include "argobus.config.registration" . | nindent 2 }}
{{- end }}
{{- if .Values.fleet.enabled }}
fleet:
  {{- include "argobus.config.fleet" . | nindent 2 }}
{{- end }}
http:
  address: ":{{ .Values.metrics.port }}"
log:
  format: json
{{- end -}}

{{- define "argobus.config" -}}
{{- $own := include "argobus.config.values" . | fromYaml -}}
{{- if $own.Error }}{{ fail (printf "the chart's own configuration does not parse: %s; this is a bug of the chart" $own.Error) }}{{ end -}}
{{- mergeOverwrite $own (deepCopy .Values.config) | toYaml -}}
{{- end -}}
