{{- /* Of a dict with `root`, `monitor` (its values), `kind` and `endpoints` (what its list of endpoints is called). */}}
{{- define "plughost.monitor" -}}
{{- $metrics := .root.Values.metrics }}
{{- if not $metrics.enabled }}
{{- fail (printf "metrics.enabled: a %s needs metrics, which are off" .kind) }}
{{- end }}
{{- if or (hasPrefix "127." $metrics.address) (eq "::1" $metrics.address) }}
{{- fail (printf "metrics.address: Prometheus cannot reach %s on another node; a %s needs 0.0.0.0, or [::] by ::" $metrics.address .kind) }}
{{- end }}
apiVersion: monitoring.coreos.com/v1
kind: {{ .kind }}
metadata:
  name: {{ include "plughost.fullname" .root }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "plughost.labels" .root | nindent 4 }}
    {{- with .monitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "plughost.selector" .root | nindent 6 }}
  {{ .endpoints }}:
  - path: /metrics
    {{- if eq .kind "ServiceMonitor" }}
    port: metrics
    {{- end }}
    {{- range $key := list "interval" "scrapeTimeout" "metricRelabelings" }}
    {{- with index $.monitor $key }}
    {{ $key }}:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- end }}
    {{- $relabelings := eq .kind "PodMonitor" | ternary (include "plughost.podAddress" $metrics | fromYamlArray) list }}
    {{- with concat $relabelings .monitor.relabelings }}
    relabelings:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}

{{- /* The pods declare no port, because the scheduler finds no room on the host's network for a second pod with it, and a rolling update has two. */}}
{{- define "plughost.podAddress" -}}
- {sourceLabels: [__meta_kubernetes_pod_container_name], regex: plughost, action: keep}
- {sourceLabels: [__meta_kubernetes_pod_ip], regex: "([^:]+)", targetLabel: __address__, replacement: "$1:{{ int .port }}"}
- {sourceLabels: [__meta_kubernetes_pod_ip], regex: "(.+:.+)", targetLabel: __address__, replacement: "[$1]:{{ int .port }}"}
{{- end }}
