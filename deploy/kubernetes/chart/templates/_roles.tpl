{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* Lists of roles: kind, name, rules, and for a ClusterRole `namespaces` where it is bound instead of everywhere. */}}

{{- define "argobus.roles.principal" -}}
{{- $name := include "argobus.fullname" . -}}
- kind: ClusterRole
  name: {{ $name | quote }}
  rules:
    - apiGroups: [argoproj.io]
      resources: [applications]
      verbs: [get, list, watch, patch]
    - apiGroups: [""]
      resources: [events] # in agents' namespaces: deletions that are held back
      verbs: [create]
- kind: Role
  name: {{ $name | quote }}
  rules:
    - apiGroups: [argoproj.io]
      resources: [appprojects]
      verbs: [get, list, watch, patch] # patched: the finalizers of one that is being deleted
    - apiGroups: [""]
      resources: [secrets] # repositories, their credentials, and clusters that name an agent
      verbs: [get, list, watch]
    - apiGroups: [""]
      resources: [configmaps] # the GPG keys, the blocklist; created: the principal's identity, and the store's watermark
      verbs: [get, list, watch, create]
    - apiGroups: [""]
      resources: [configmaps] # the store's watermark: one for every 500 agents
      resourceNames:
        - argobus-store-mark
        {{- range untilStep 1 20 1 }}
        - argobus-store-mark-{{ . }}
        {{- end }}
      verbs: [patch]
{{- if .Values.autonomousAgents }}
- kind: ClusterRole
  name: {{ $name }}-autonomous
  rules:
    - apiGroups: [argoproj.io]
      resources: [applications]
      verbs: [create, delete]
    {{- include "argobus.rule.namespaces" . | nindent 4 }}
- kind: Role
  name: {{ $name }}-autonomous
  rules:
    - apiGroups: [argoproj.io]
      resources: [appprojects]
      verbs: [create, delete]
{{- end }}
{{- if .Values.registration.enabled }}
- kind: Role
  name: {{ $name }}-registration
  rules:
    - apiGroups: [""]
      resources: [secrets] # a role cannot limit this to the names of agents that are not known yet
      verbs: [create, patch]
{{- end }}
{{- end -}}

{{- define "argobus.rule.namespaces" -}}
{{- if .Values.createNamespaces -}}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [create]
{{- end -}}
{{- end -}}

{{- define "argobus.roles.agent" -}}
{{- $name := include "argobus.fullname" . -}}
- kind: Role
  name: {{ $name | quote }}
  rules:
    - apiGroups: [argoproj.io]
      resources: [applications, appprojects]
      verbs: [get, list, watch, create, patch, delete]
    - apiGroups: [""]
      resources: [secrets, configmaps] # repositories, their credentials; the GPG keys
      verbs: [get, list, watch, create, patch, delete]
{{- if eq .Values.mapping "destination" }}
- kind: ClusterRole
  name: {{ $name }}-destination
  rules:
    - apiGroups: [argoproj.io]
      resources: [applications]
      verbs: [get, list, watch, create, patch, delete]
    {{- include "argobus.rule.namespaces" . | nindent 4 }}
{{- end }}
{{- with .Values.live }}
{{- if .enabled }}
- kind: ClusterRole
  name: {{ $name }}-live
  namespaces: {{ toJson .namespaces }}
  rules:
    - apiGroups: ["*"]
      resources: ["*"] # of all kinds, as Argo CD manages any; and logs
      verbs: [get, list, watch]
    {{- if .write }}
    - apiGroups: ["", apps, autoscaling, batch, networking.k8s.io, policy]
      resources:
        - configmaps
        - cronjobs
        - daemonsets
        - deployments
        - deployments/scale
        - horizontalpodautoscalers
        - ingresses
        - jobs
        - networkpolicies
        - persistentvolumeclaims
        - poddisruptionbudgets
        - pods
        - replicasets
        - replicasets/scale
        - secrets
        - serviceaccounts
        - services
        - statefulsets
        - statefulsets/scale
      verbs: [create, update, patch, delete]
    {{- end }}
    {{- if .exec }}
    - apiGroups: [""]
      resources: [pods/exec]
      verbs: [get, create]
    {{- end }}
{{- end }}
{{- end }}
{{- end -}}
