{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/*
Values that contradict each other, or lack what they need. Each message says what is wrong, where, and what to do. What one
value alone can get wrong (type, form, unknown key) is refused by values.schema.json before this.
*/}}

{{- define "argobus.check" -}}
{{- $v := .Values -}}
{{- if not $v.role }}{{ fail "role is not set: set role to principal (beside Argo CD's control plane) or agent (in a workload cluster)" }}{{ end -}}
{{- include (printf "argobus.check.%s" $v.role) . -}}
{{- include (printf "argobus.check.%s" $v.transport) . -}}
{{- include "argobus.check.tls" . -}}
{{- include "argobus.check.live" . -}}
{{- include "argobus.check.registration" . -}}
{{- include "argobus.check.fleet" . -}}
{{- include "argobus.check.config" . -}}
{{- if and $v.namespaces (eq $v.mapping "namespace") -}}
{{- fail "namespaces is set, but mapping is namespace, which does not use it: set mapping to destination (at both ends), or remove namespaces" -}}
{{- end -}}
{{- range $name := list "commonLabels" "podLabels" -}}
{{- range $key, $_ := index $v $name -}}
{{- if regexMatch "^(app[.]kubernetes[.]io/(name|instance|component|part-of|version|managed-by)|helm[.]sh/chart)$" $key -}}
{{- fail (printf "%s sets %q, which the chart sets itself: remove it" $name $key) -}}
{{- end -}}
{{- if and (eq $name "podLabels") (hasKey $v.commonLabels $key) }}{{ fail (printf "podLabels and commonLabels both set %q: remove one of the two" $key) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if and $v.persistence.existingClaim (not $v.persistence.enabled) -}}
{{- fail "persistence.existingClaim is set, but persistence.enabled is false: set it to true, or remove the claim" -}}
{{- end -}}
{{- end -}}

{{- define "argobus.check.agent" -}}
{{- $v := .Values -}}
{{- if not $v.agent.name }}{{ fail "agent.name is not set: set it to the name under which the principal serves this agent" }}{{ end -}}
{{- range $key := list "agents" "autonomousAgents" -}}
{{- if index $v $key }}{{ fail (printf "%s is set, but role is agent: it belongs to the principal's release; remove it here" $key) }}{{ end -}}
{{- end -}}
{{- if $v.strimzi.enabled }}{{ fail "strimzi.enabled is true, but role is agent: Strimzi's resources belong to the principal's release; set it there, with agents or strimzi.agents" }}{{ end -}}
{{- if gt (int $v.replicas) 1 }}{{ fail (printf "replicas is %d, but role is agent: two processes of one name disturb each other; set replicas to 1, or install one release for each agent.name" (int $v.replicas)) }}{{ end -}}
{{- if and (eq $v.agent.mode "autonomous") (eq $v.mapping "destination") -}}
{{- fail "agent.mode is autonomous, but mapping is destination, which is for managed agents: set mapping to namespace, or agent.mode to managed" -}}
{{- end -}}
{{- if and $v.createNamespaces (ne $v.mapping "destination") -}}
{{- fail "createNamespaces is set, but an agent with mapping: namespace writes to Argo CD's namespace only: remove createNamespaces, or set mapping to destination" -}}
{{- end -}}
{{- if $v.kafka.topics }}{{ fail "kafka.topics is set, but role is agent: the principal looks after topics; set it in the principal's release" }}{{ end -}}
{{- if $v.grpc.tokenKeySecret.name }}{{ fail "grpc.tokenKeySecret is set, but role is agent: only a principal signs tokens; remove it here" }}{{ end -}}
{{- if $v.tls.agentsCA.secretName }}{{ fail "tls.agentsCA is set, but role is agent: it belongs to the principal's release; remove it here" }}{{ end -}}
{{- if $v.tls.certManager.dnsNames }}{{ fail "tls.certManager.dnsNames is set, but role is agent: nobody dials an agent; remove it here" }}{{ end -}}
{{- end -}}

{{- define "argobus.check.principal" -}}
{{- $v := .Values -}}
{{- if $v.agent.name }}{{ fail (printf "agent.name is %q, but role is principal: set role to agent, or name the agent in agents" $v.agent.name) }}{{ end -}}
{{- $names := dict -}}
{{- range $v.agents -}}
{{- if hasKey $names .name }}{{ fail (printf "agents names %q twice: remove one entry" .name) }}{{ end -}}
{{- $_ := set $names .name true -}}
{{- if and (eq .mode "autonomous") (not $v.autonomousAgents) -}}
{{- fail (printf "agents says that %q is autonomous, but autonomousAgents is false: set it to true, which grants the rights to create and delete mirrors" .name) -}}
{{- end -}}
{{- end -}}
{{- if and $v.createNamespaces (not $v.autonomousAgents) -}}
{{- fail "createNamespaces is set, but a principal creates namespaces for autonomous agents only: set autonomousAgents to true, or remove createNamespaces" -}}
{{- end -}}
{{- if gt (int $v.replicas) 1 }}{{ fail (printf "replicas is %d, but one principal serves all agents of a store, and two would end each other: set replicas to 1" (int $v.replicas)) }}{{ end -}}
{{- if $v.grpc.address }}{{ fail "grpc.address is set, but role is principal: it is where an agent dials; set it in the agents' releases" }}{{ end -}}
{{- if $v.strimzi.enabled -}}
{{- if ne $v.transport "kafka" }}{{ fail "strimzi.enabled is true, but transport is grpc: set transport to kafka, or strimzi.enabled to false" }}{{ end -}}
{{- if not $v.strimzi.cluster }}{{ fail "strimzi.cluster is not set, but strimzi.enabled is true: set it to the name of the Kafka resource" }}{{ end -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" $v.kafka.prefix) -}}
{{- fail (printf "kafka.prefix is %s, but strimzi.enabled is true, and a KafkaTopic has the name of its topic, which Kubernetes allows in small letters, digits, - and . only: set another prefix, or set strimzi.enabled to false and create the topics with deploy/kafka/provision" $v.kafka.prefix) -}}
{{- end -}}
{{- if or (hasKey $names "principal") (has "principal" $v.strimzi.agents) -}}
{{- fail (printf "%s names an agent principal, but strimzi.enabled is true, and the KafkaUser principal is the control plane's: name the agent otherwise" (ternary "agents" "strimzi.agents" (hasKey $names "principal"))) -}}
{{- end -}}
{{- if gt (int $v.strimzi.minInsyncReplicas) (int $v.strimzi.replicas) -}}
{{- fail (printf "strimzi.minInsyncReplicas is %d, more than strimzi.replicas (%d): nothing could be written; lower it" (int $v.strimzi.minInsyncReplicas) (int $v.strimzi.replicas)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "argobus.check.kafka" -}}
{{- $v := .Values -}}
{{- if not $v.kafka.brokers }}{{ fail "kafka.brokers is not set, but transport is kafka: set it to host:port of the brokers, or transport to grpc" }}{{ end -}}
{{- if $v.grpc.address }}{{ fail "grpc.address is set, but transport is kafka: set transport to grpc, or remove grpc.address" }}{{ end -}}
{{- if $v.grpc.tokenKeySecret.name }}{{ fail "grpc.tokenKeySecret is set, but transport is kafka: set transport to grpc, or remove it" }}{{ end -}}
{{- with $v.kafka.sasl -}}
{{- $oauth := eq .mechanism "OAUTHBEARER" -}}
{{- if and $oauth (or (not .oauth.endpoint) (not .oauth.clientId) (not .oauth.secret.name)) -}}
{{- fail "kafka.sasl.mechanism is OAUTHBEARER, but endpoint, clientId or secret.name of kafka.sasl.oauth is not set: set them" -}}
{{- end -}}
{{- if and $oauth (or .username .passwordSecret.name) -}}
{{- fail "kafka.sasl.mechanism is OAUTHBEARER, but kafka.sasl has a username or a passwordSecret: remove them" -}}
{{- end -}}
{{- if and (not $oauth) (or .oauth.endpoint .oauth.clientId .oauth.secret.name .oauth.scope .oauth.ca.secretName) -}}
{{- fail (printf "kafka.sasl.oauth is set, but kafka.sasl.mechanism is %s: set it to OAUTHBEARER, or remove kafka.sasl.oauth" .mechanism) -}}
{{- end -}}
{{- if and (not $oauth) (ne .mechanism "none") (or (not .username) (not .passwordSecret.name)) -}}
{{- fail (printf "kafka.sasl.mechanism is %s, but username or passwordSecret.name is not set: set both in kafka.sasl" .mechanism) -}}
{{- end -}}
{{- if and (eq .mechanism "none") (or .username .passwordSecret.name) -}}
{{- fail "kafka.sasl has a username or a passwordSecret, but its mechanism is none: set kafka.sasl.mechanism, or remove them" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "argobus.check.grpc" -}}
{{- $v := .Values -}}
{{- if $v.kafka.brokers }}{{ fail "kafka.brokers is set, but transport is grpc: set transport to kafka, or remove kafka.brokers" }}{{ end -}}
{{- if ne $v.kafka.sasl.mechanism "none" }}{{ fail "kafka.sasl.mechanism is set, but transport is grpc: set transport to kafka, or remove it" }}{{ end -}}
{{- if and (eq $v.role "agent") (not $v.grpc.address) -}}
{{- fail "grpc.address is not set, but transport is grpc: set it to host:port of the principal" -}}
{{- end -}}
{{- end -}}

{{- define "argobus.check.tls" -}}
{{- $v := .Values -}}
{{- $tls := $v.tls -}}
{{- $certificate := include "argobus.certificate" . -}}
{{- if and (include "argobus.insecure" .) (or $certificate $tls.ca.secretName $tls.systemCA) -}}
{{- fail (printf "%s.insecure is true, but tls names certificates or authorities: set %s.insecure to false, or remove them" $v.transport $v.transport) -}}
{{- end -}}
{{- if not (or (include "argobus.insecure" .) $certificate $tls.ca.secretName $tls.systemCA) -}}
{{- fail (printf "tls is not configured: set tls.secretName or tls.certManager.enabled (%s.insecure: true is for a service mesh or a test)" $v.transport) -}}
{{- end -}}
{{- if and $tls.systemCA $tls.ca.secretName -}}
{{- fail "tls.systemCA is true, but tls.ca.secretName is set: remove one of the two" -}}
{{- end -}}
{{- if and $tls.certManager.enabled (not $tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.issuerRef.name is not set, but tls.certManager.enabled is true: set it to an Issuer or ClusterIssuer (with kind)" -}}
{{- end -}}
{{- if and (not $tls.certManager.enabled) (or $tls.certManager.issuerRef.name $tls.certManager.dnsNames) -}}
{{- fail "tls.certManager has an issuer or dnsNames, but tls.certManager.enabled is false: set it to true, or remove them" -}}
{{- end -}}
{{- if and (eq $v.transport "grpc") (not (include "argobus.insecure" .)) (not $certificate) -}}
{{- fail "grpc needs a certificate: set tls.secretName or tls.certManager.enabled (tls.ca alone is enough for Kafka only)" -}}
{{- end -}}
{{- end -}}

{{- define "argobus.check.live" -}}
{{- $v := .Values -}}
{{- $live := $v.live -}}
{{- if not $live.enabled -}}
{{- range $key := list "write" "exec" "namespaces" -}}
{{- if index $live $key }}{{ fail (printf "live.%s is set, but live.enabled is false: set live.enabled to true, or remove live.%s" $key $key) }}{{ end -}}
{{- end -}}
{{- if or $live.tokensSecret.name $live.redis.enabled }}{{ fail "live.tokensSecret or live.redis is set, but live.enabled is false: set live.enabled to true, or remove them" }}{{ end -}}
{{- else if eq $v.role "principal" -}}
{{- range $key := list "write" "exec" "namespaces" -}}
{{- if index $live $key }}{{ fail (printf "live.%s is set, but role is principal: each agent decides what live access may do; set it in the agents' releases" $key) }}{{ end -}}
{{- end -}}
{{- if not (include "argobus.certificate" .) }}{{ fail "live.enabled is true, but the principal has no certificate for it: set tls.secretName or tls.certManager.enabled" }}{{ end -}}
{{- if not (or $live.tokensSecret.name $v.registration.enabled (include "argobus.ca" .)) }}{{ fail "live.enabled is true, but nobody could log in: set live.tokensSecret.name, or authorities of client certificates in tls.ca" }}{{ end -}}
{{- else if $live.tokensSecret.name -}}
{{- fail "live.tokensSecret is set, but role is agent: the principal takes tokens; set it in its release" -}}
{{- end -}}
{{- end -}}

{{- define "argobus.check.registration" -}}
{{- $v := .Values -}}
{{- $r := $v.registration -}}
{{- if and (not $r.enabled) (or $r.server $r.tokenKeySecret.name $r.names $r.modes) -}}
{{- fail "registration has a server, a tokenKeySecret, names or modes, but registration.enabled is false: set it to true, or remove them" -}}
{{- end -}}
{{- if $r.enabled -}}
{{- if eq $v.role "agent" }}{{ fail "registration.enabled is true, but role is agent: the principal registers agents; set it in its release" }}{{ end -}}
{{- if ne $v.transport "grpc" }}{{ fail "registration.enabled is true, but transport is kafka, over which an unknown agent cannot be heard: set registration.enabled to false, and use argobusctl agent create" }}{{ end -}}
{{- if not $v.live.enabled }}{{ fail "registration.enabled is true, but live.enabled is false, and the cluster Secrets point there: set live.enabled to true" }}{{ end -}}
{{- if not $r.tokenKeySecret.name }}{{ fail "registration.tokenKeySecret.name is not set, but registration.enabled is true: create a Secret with 32 random bytes or more and name it" }}{{ end -}}
{{- if and (or (eq $r.mode "autonomous") (has "autonomous" $r.modes)) (not $v.autonomousAgents) -}}
{{- fail "registration.mode or registration.modes names autonomous, but autonomousAgents is false: set it to true, which grants the rights to create and delete mirrors" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "argobus.check.fleet" -}}
{{- $fleet := .Values.fleet -}}
{{- if and $fleet.tokensSecret.name (not $fleet.enabled) -}}
{{- fail "fleet.tokensSecret is set, but fleet.enabled is false: set fleet.enabled to true, or remove it" -}}
{{- end -}}
{{- if and $fleet.enabled (eq .Values.role "agent") }}{{ fail "fleet.enabled is true, but role is agent: the principal serves the fleet page; set it in its release" }}{{ end -}}
{{- if and $fleet.tokensSecret.name (not (include "argobus.certificate" .)) -}}
{{- fail "fleet.tokensSecret is set, but the principal has no certificate, and tokens must not travel in clear: set tls.secretName or tls.certManager.enabled" -}}
{{- end -}}
{{- end -}}

{{- define "argobus.check.config" -}}
{{- $decided := dict "transport" "transport" "mapping" "mapping" "namespaces" "namespaces" "agents" "agents"
    "agent.name" "agent.name" "agent.mode" "agent.mode" "agent.data" "persistence" "principal.data" "persistence"
    "store.kind" "no other value: in a cluster the store is kubernetes" "store.namespace" "argocd.namespace"
    "store.kubernetes.create-namespaces" "createNamespaces" "http.address" "metrics.port" "kafka.brokers" "kafka.brokers"
    "kafka.insecure" "kafka.insecure" "kafka.prefix" "kafka.prefix" "kafka.topics" "kafka.topics" "kafka.sasl" "kafka.sasl"
    "kafka.tls" "tls" "grpc.address" "grpc.address" "grpc.listen" "grpc.port" "grpc.insecure" "grpc.insecure"
    "grpc.tls.ca" "tls" "grpc.tls.cert" "tls" "grpc.tls.key" "tls" "live.enabled" "live.enabled" "live.exec" "live.exec"
    "live.kubernetes.verbs" "live.write" "live.kubernetes.namespaces" "live.namespaces" "live.resource.listen" "live.port"
    "live.redis.listen" "live.redis" "live.redis.address" "live.redis.address"
    "registration.enabled" "registration" "registration.server" "registration" "registration.token-key" "registration"
    "registration.mode" "registration" "registration.modes" "registration"
    "fleet.listen" "fleet.enabled, with fleet.port" "fleet.tokens" "fleet.tokensSecret" -}}
{{- range $path, $instead := $decided -}}
{{- $at := $.Values.config -}}
{{- $found := true -}}
{{- range splitList "." $path -}}
{{- if and $found (kindIs "map" $at) (hasKey $at .) }}{{ $at = index $at . }}{{ else }}{{ $found = false }}{{ end -}}
{{- end -}}
{{- if $found }}{{ fail (printf "config.%s is set, but the chart sets this option and grants, mounts or opens what it needs: remove it from config and set %s" $path $instead) }}{{ end -}}
{{- end -}}
{{- include "argobus.check.secrets" (dict "at" (dig "kafka" "librdkafka" dict .Values.config) "path" "config.kafka.librdkafka") -}}
{{- end -}}

{{/* librdkafka's settings, whose names are paths too. */}}
{{- define "argobus.check.secrets" -}}
{{- range $key, $value := .at -}}
{{- $path := printf "%s.%s" $.path $key -}}
{{- if kindIs "map" $value -}}
{{- include "argobus.check.secrets" (dict "at" $value "path" $path) -}}
{{- else if regexMatch "password|secret|[.]pem$" $path -}}
{{- fail (printf "%s is a secret, and config becomes a ConfigMap: remove it from config, and set it by extraEnv from a Secret, or by the name of a mounted file" $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
