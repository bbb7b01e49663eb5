{{- /* Something, where plughost asks the API server as its pod's account: the configuration has apiServer, without credentials of its own. */}}
{{- define "plughost.account" -}}
{{- $config := include "plughost.config" . | fromYaml }}
{{- if hasKey $config "apiServer" }}
{{- if eq (dig "kubeconfig" "auto" ($config.apiServer | default dict)) "auto" }}yes{{ end }}
{{- end }}
{{- end }}

{{- /* The dialects of `assume` in the configuration. */}}
{{- define "plughost.dialects" -}}
{{- $config := include "plughost.config" . | fromYaml }}
{{- range concat ($config.resources | default $config.devices | default list) ($config.include | default list) }}
{{- if kindIs "map" . }}{{ if kindIs "map" .assume }}{{ .assume.dialect }} {{ end }}{{ end }}
{{- end }}
{{- end }}

{{- /* What the configuration needs, as docs/security.md has it, and nothing else. */}}
{{- define "plughost.rules" -}}
{{- $config := include "plughost.config" . | fromYaml }}
{{- $asks := false }}
{{- $counts := false }}
{{- $dialects := include "plughost.dialects" . }}
{{- range concat ($config.resources | default $config.devices | default list) ($config.include | default list) }}
{{- if kindIs "map" . }}
{{- if regexMatch "(^|[^\\w.])(label|node):" (toYaml (.when | default dict)) }}{{ $asks = true }}{{ end }}
{{- if .nodeResources }}{{ $counts = true }}{{ end }}
{{- end }}
{{- end }}
{{- if or $counts (contains "gpushare" $dialects) (and $asks (not $config.nodeLabels)) }}
- {apiGroups: [""], resources: [nodes], verbs: [list, watch]}
{{- end }}
{{- if $counts }}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}
{{- end }}
{{- if $config.events }}
- {apiGroups: [""], resources: [events], verbs: [create]}
- {apiGroups: [""], resources: [pods], verbs: [list]}
{{- end }}
{{- if $dialects }}
- {apiGroups: [""], resources: [pods], verbs: [list, watch]}
- {apiGroups: [""], resources: [pods/status], verbs: [patch]}
{{- end }}
{{- end }}
