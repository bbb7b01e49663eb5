{{- define "plughost.listen" -}}
{{- with .Values.metrics -}}
{{ ternary (printf "[%s]" .address) .address (contains ":" .address) }}:{{ int .port }}
{{- end }}
{{- end }}

{{- define "plughost.config.once" -}}
{{- if and .root.Values.metrics.enabled (hasKey .config "listen") }}
{{- fail "config: it says listen, and metrics.enabled does, too; metrics.address and metrics.port are the place for it" }}
{{- end }}
{{- end }}

{{- /* The text of somebody's own, and after it what it does not say: its lines keep their numbers. */}}
{{- define "plughost.config.text" -}}
{{- $text := .Values.config }}
{{- if or .Values.devices .Values.presets }}
{{- fail "config: it is a text, to which devices and presets cannot be added; write it as a structure, or put these into it" }}
{{- end }}
{{- $read := fromYaml $text }}
{{- with $read.Error }}{{ fail (printf "config: its text cannot be read: %s" .) }}{{ end }}
{{- include "plughost.config.once" (dict "root" . "config" $read) }}
{{- $lines := list }}
{{- if not (hasKey $read "watch") }}{{ $lines = append $lines "watch: true" }}{{ end }}
{{- if .Values.metrics.enabled }}{{ $lines = append $lines (printf "listen: %q" (include "plughost.listen" .)) }}{{ end }}
{{- with $lines }}
{{- $text = printf "%s\n%s\n" (trimSuffix "\n" $text) (join "\n" .) }}
{{- $all := fromYaml $text }}
{{- if or $all.Error (ne (len $all) (add (len $read) (len $lines) | int)) }}
{{- fail (printf "config: nothing can be added at the end of its text; write it as a structure, or add %q" (join ", " $lines)) }}
{{- end }}
{{- end }}
{{- $text }}
{{- end }}

{{- define "plughost.config.structure" -}}
{{- $config := dict }}
{{- if kindIs "map" .Values.config }}{{ $config = deepCopy .Values.config }}{{ end }}
{{- include "plughost.config.once" (dict "root" . "config" $config) }}
{{- if and $config.resources $config.devices }}
{{- fail "config: resources and devices are two words for one list; have one of them" }}
{{- end }}
{{- $resources := concat ($config.resources | default $config.devices | default list) (include "plughost.entries" . | fromYamlArray) }}
{{- $config = set (omit $config "devices") "resources" ($resources | default list) }}
{{- $include := list }}
{{- range .Values.presets }}
{{- $include = append $include (printf "/usr/share/plughost/plugins.d/%s.yaml" .) }}
{{- end }}
{{- $_ := set $config "include" (concat $include ($config.include | default list) | default list) }}
{{- if .Values.metrics.enabled }}{{ $_ := set $config "listen" (include "plughost.listen" .) }}{{ end }}
{{- if not (hasKey $config "watch") }}{{ $_ := set $config "watch" true }}{{ end }}
{{- toYaml $config }}{{ "\n" }}
{{- end }}

{{- define "plughost.config" -}}
{{- if and (kindIs "string" .Values.config) (trim .Values.config) }}
{{- include "plughost.config.text" . }}
{{- else }}
{{- include "plughost.config.structure" . }}
{{- end }}
{{- end }}
