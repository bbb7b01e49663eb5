{{- /* What Dynamic Resource Allocation needs of a pod and of the cluster, where plughost advertises devices so. */}}

{{- /* The entries that are in values. */}}
{{- define "plughost.dra.names" -}}
{{- $config := include "plughost.config" . | fromYaml }}
{{- $names := list }}
{{- range $config.resources | default $config.devices | default list }}
{{- if kindIs "map" . }}
{{- if eq (toString .advertise) "dra" }}{{ $names = append $names (toString .name) }}{{ end }}
{{- end }}
{{- end }}
{{- toYaml $names }}
{{- end }}

{{- /* Something, where any is: the chart sees no entries of files that `include` names. */}}
{{- define "plughost.dra" -}}
{{- $enabled := toString .Values.dra.enabled }}
{{- if eq $enabled "true" }}yes{{ else if eq $enabled "auto" }}
{{- if include "plughost.dra.names" . | fromYamlArray }}yes{{ end }}
{{- end }}
{{- end }}

{{- /* As plughost itself finds it. */}}
{{- define "plughost.dra.driver" -}}
{{- $config := include "plughost.config" . | fromYaml }}
{{- $name := first (include "plughost.dra.names" . | fromYamlArray) | default "" }}
{{- $domain := ternary (splitList "/" $name | first) ($config.domain | default "") (contains "/" $name) }}
{{- $driver := dig "driver" "" ($config.dra | default dict) }}
{{- if $driver }}{{ $driver }}
{{- else if and $name $domain }}plughost.{{ $domain }}
{{- else }}
{{- fail "config.dra.driver: the policy that bounds the account to slices of its driver needs the driver's name, and there is no entry here to take it from; say dra: {driver: plughost.example.com} in config" }}
{{- end }}
{{- end }}

{{- /* Those that are mounted, by where they are in the container and on the node. What somebody mounts there himself stays his. */}}
{{- define "plughost.dra.directories" -}}
{{- $config := include "plughost.config" . | fromYaml }}
{{- $registry := dig "pluginsRegistry" "/var/lib/kubelet/plugins_registry" ($config.kubelet | default dict) | clean }}
{{- $cdi := dig "directory" "/var/run/cdi" ($config.cdi | default dict) | clean }}
{{- $others := list }}
{{- range .Values.hostPaths }}{{ $others = append $others (clean .path) }}{{ end }}
{{- range .Values.extraVolumeMounts }}{{ $others = append $others (clean .mountPath) }}{{ end }}
{{- $directories := list }}
{{- if include "plughost.dra" . }}
{{- if not (has $registry $others) }}
{{- $directories = append $directories (dict "name" "plugins-registry" "inside" $registry "outside" (printf "%s/plugins_registry" (clean .Values.kubeletDir))) }}
{{- end }}
{{- if not (has $cdi $others) }}
{{- $directories = append $directories (dict "name" "cdi" "inside" $cdi "outside" $cdi) }}
{{- end }}
{{- end }}
{{- toYaml $directories }}
{{- end }}
