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
  - port: metrics
    path: /metrics
    {{- range $key := list "interval" "scrapeTimeout" "relabelings" "metricRelabelings" }}
    {{- with index $.monitor $key }}
    {{ $key }}:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- end }}
{{- end }}
