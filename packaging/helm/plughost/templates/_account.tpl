{{- /* Something, where plughost asks the API server as its pod's account: the configuration has apiServer, without credentials of its own. */}}
{{- define "plughost.account" -}}
{{- $config := include "plughost.config" . | fromYaml }}
{{- if hasKey $config "apiServer" }}
{{- if eq (dig "kubeconfig" "auto" ($config.apiServer | default dict)) "auto" }}yes{{ end }}
{{- end }}
{{- end }}

{{- /* What the configuration needs, as docs/security.md has it, and nothing else. */}}
{{- define "plughost.rules" -}}
{{- $config := include "plughost.config" . | fromYaml }}
{{- $counts := false }}
{{- range ($config.resources | default $config.devices | default list) }}
{{- if kindIs "map" . }}
{{- if .nodeResources }}{{ $counts = true }}{{ end }}
{{- end }}
{{- end }}
{{- if $counts }}
- {apiGroups: [""], resources: [nodes], verbs: [list, watch]}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}
{{- end }}
{{- end }}
