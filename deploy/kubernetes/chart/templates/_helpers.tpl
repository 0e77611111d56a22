{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "argobus.fullname" -}}
{{ .Values.fullnameOverride | default (printf "argobus-%s" .Values.role) }}
{{- end -}}

{{- define "argobus.account" -}}
{{ .Values.serviceAccount.name | default (include "argobus.fullname" .) }}
{{- end -}}

{{/* Argo CD's namespace, where the program's Role is. */}}
{{- define "argobus.argocd" -}}
{{ .Values.argocd.namespace | default .Release.Namespace }}
{{- end -}}

{{- define "argobus.selector" -}}
app.kubernetes.io/name: argobus-{{ .Values.role }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "argobus.labels" -}}
{{ include "argobus.selector" . }}
app.kubernetes.io/component: {{ .Values.role }}
app.kubernetes.io/part-of: argobus
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "argobus.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The Secret of this program's certificate, "" when it has none. */}}
{{- define "argobus.certificate" -}}
{{- if .Values.tls.certManager.enabled -}}
{{ .Values.tls.secretName | default (printf "%s-tls" (include "argobus.fullname" .)) }}
{{- else -}}
{{ .Values.tls.secretName }}
{{- end -}}
{{- end -}}

{{/* The Secret of the authorities that this program trusts, "" when it trusts those of the image. */}}
{{- define "argobus.ca" -}}
{{- if not .Values.tls.systemCA -}}
{{ .Values.tls.ca.secretName | default (include "argobus.certificate" .) }}
{{- end -}}
{{- end -}}

{{/* Seconds until Kubernetes kills the pod: 15 more than the orderly stop may take. */}}
{{- define "argobus.grace" -}}
{{- $timeout := dig "stop" "timeout" "30s" .Values.config | toString -}}
{{- $unit := regexFind "[a-z]+$" $timeout -}}
{{- $ms := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 -}}
{{ add 15 (div (mul (regexFind "^[0-9]+" $timeout | int) (get $ms $unit | default 0 | int)) 1000) }}
{{- end -}}

{{/* Whether the program keeps its state in a claim of a StatefulSet. */}}
{{- define "argobus.stateful" -}}
{{- if or (eq .Values.role "agent") .Values.persistence.enabled }}true{{ end -}}
{{- end -}}

{{- define "argobus.insecure" -}}
{{- if (index .Values .Values.transport).insecure }}true{{ end -}}
{{- end -}}

{{/* The binding's subject. */}}
{{- define "argobus.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "argobus.account" . | quote }}
    namespace: {{ .Release.Namespace | quote }}
{{- end -}}

{{/* The pod's. OpenShift gives each namespace a range of users and groups, and refuses pods that ask for others. */}}
{{- define "argobus.podSecurityContext" -}}
{{- $context := .Values.podSecurityContext -}}
{{- if .Capabilities.APIVersions.Has "security.openshift.io/v1" -}}
{{- $context = omit $context "runAsUser" "runAsGroup" "fsGroup" -}}
{{- end -}}
{{- toYaml $context -}}
{{- end -}}
