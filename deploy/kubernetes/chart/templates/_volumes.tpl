{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* Files of Secrets. Folders are mounted, never single files, so that renewed Secrets arrive. */}}

{{/* name, folder and items (key, path) of each Secret that is mounted alone. */}}
{{- define "argobus.secrets" -}}
{{- $v := .Values -}}
{{- $found := list -}}
{{- $oauth := and (eq $v.transport "kafka") (eq $v.kafka.sasl.mechanism "OAUTHBEARER") -}}
{{- if $oauth -}}
{{- $found = append $found (dict "volume" "kafka" "name" $v.kafka.sasl.oauth.secret.name "key" $v.kafka.sasl.oauth.secret.key "path" "password") -}}
{{- if $v.kafka.sasl.oauth.ca.secretName -}}
{{- $found = append $found (dict "volume" "kafka-oauth-ca" "name" $v.kafka.sasl.oauth.ca.secretName "key" $v.kafka.sasl.oauth.ca.key "path" "ca.crt") -}}
{{- end -}}
{{- else if and (eq $v.transport "kafka") (ne $v.kafka.sasl.mechanism "none") -}}
{{- $found = append $found (dict "volume" "kafka" "name" $v.kafka.sasl.passwordSecret.name "key" $v.kafka.sasl.passwordSecret.key "path" "password") -}}
{{- end -}}
{{- if $v.grpc.tokenKeySecret.name -}}
{{- $found = append $found (dict "volume" "token" "name" $v.grpc.tokenKeySecret.name "key" $v.grpc.tokenKeySecret.key "path" "token.key") -}}
{{- end -}}
{{- if $v.tls.agentsCA.secretName -}}
{{- $found = append $found (dict "volume" "agents-ca" "name" $v.tls.agentsCA.secretName "key" $v.tls.agentsCA.key "path" "ca.crt") -}}
{{- end -}}
{{- if $v.live.tokensSecret.name -}}
{{- $found = append $found (dict "volume" "live" "name" $v.live.tokensSecret.name "key" $v.live.tokensSecret.key "path" "tokens") -}}
{{- end -}}
{{- if and $v.live.redis.enabled $v.live.redis.passwordSecret.name -}}
{{- $found = append $found (dict "volume" "redis" "name" $v.live.redis.passwordSecret.name "key" $v.live.redis.passwordSecret.key "path" "password") -}}
{{- end -}}
{{- if $v.registration.enabled -}}
{{- $found = append $found (dict "volume" "registration" "name" $v.registration.tokenKeySecret.name "key" $v.registration.tokenKeySecret.key "path" "token.key") -}}
{{- end -}}
{{- if $v.fleet.tokensSecret.name -}}
{{- $found = append $found (dict "volume" "fleet" "name" $v.fleet.tokensSecret.name "key" $v.fleet.tokensSecret.key "path" "tokens") -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- define "argobus.volumes" -}}
{{- if or (include "argobus.certificate" .) (include "argobus.ca" .) }}
- name: tls
  projected:
    defaultMode: 0440
    sources:
      {{- if include "argobus.certificate" . }}
      - secret:
          name: {{ include "argobus.certificate" . | quote }}
          items:
            - {key: {{ .Values.tls.certKey | quote }}, path: tls.crt}
            - {key: {{ .Values.tls.keyKey | quote }}, path: tls.key}
      {{- end }}
      {{- if include "argobus.ca" . }}
      - secret:
          name: {{ include "argobus.ca" . | quote }}
          items:
            - {key: {{ .Values.tls.ca.key | quote }}, path: ca.crt}
      {{- end }}
{{- end }}
{{- range include "argobus.secrets" . | fromJsonArray }}
- name: {{ .volume }}
  secret:
    secretName: {{ .name | quote }}
    defaultMode: 0440
    items:
      - {key: {{ .key | quote }}, path: {{ .path }}}
{{- end }}
{{- end -}}

{{- define "argobus.mounts" -}}
{{- if or (include "argobus.certificate" .) (include "argobus.ca" .) }}
- {name: tls, mountPath: /etc/argobus/tls, readOnly: true}
{{- end }}
{{- range include "argobus.secrets" . | fromJsonArray }}
- {name: {{ .volume }}, mountPath: /etc/argobus/{{ .volume }}, readOnly: true}
{{- end }}
{{- end -}}
