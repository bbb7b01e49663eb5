{{- /* generic-device-plugin's devices as entries of plughost's: what `plughost convert` makes of them. What a template cannot do is refused. */}}

{{- /* Braces are placeholders to plughost. */}}
{{- define "plughost.literal" -}}
{{ . | replace "{" "{{" | replace "}" "}}" }}
{{- end }}

{{- /* Of a dict with `text` and `where`: a number has lost its zeros and its base when it comes here. */}}
{{- define "plughost.text" -}}
{{- if not (kindIs "string" .text) }}
{{- fail (printf "%s: %v is a number here; put what lsusb prints into quotes, such as \"0403\"" .where .text) }}
{{- end }}
{{- .text }}
{{- end }}

{{- /* The regular expression of a pattern. */}}
{{- define "plughost.expression" -}}
^{{ regexQuoteMeta . | replace "\\*" "[^/]*" | replace "\\?" "[^/]" | replace "\\[" "[" | replace "\\]" "]" | replace "[\\^" "[^" }}$
{{- end }}

{{- /* "true" if two patterns may match the same. */}}
{{- define "plughost.overlap" -}}
{{- $one := index . 0 }}
{{- $other := index . 1 }}
{{- or (regexMatch (include "plughost.expression" $one) $other) (regexMatch (include "plughost.expression" $other) $one) }}
{{- end }}

{{- define "plughost.path" -}}
{{- $path := dict "path" (trim .path | clean | replace "[!" "[\\!") }}
{{- with trim (.mountPath | default "") }}
{{- $_ := set $path "mountPath" (include "plughost.literal" .) }}
{{- end }}
{{- if eq (.type | default "Device") "Mount" }}
{{- $_ := set $path "type" "Mount" }}
{{- if .readOnly }}{{ $_ := set $path "readOnly" true }}{{ end }}
{{- else }}
{{- $_ := set $path "permissions" (.permissions | default "mrw") }}
{{- end }}
{{- if gt (int .limit) 1 }}{{ $_ := set $path "limit" (int .limit) }}{{ end }}
{{- if .optional }}{{ $_ := set $path "optional" true }}{{ end }}
{{- toYaml $path }}
{{- end }}

{{- define "plughost.usb" -}}
{{- $usb := dict }}
{{- range $key, $value := .usb }}
{{- $where := printf "%s.%s" $.where $key }}
{{- $text := include "plughost.text" (dict "text" $value "where" $where) }}
{{- if and $text (ne $key "serial") }}
{{- $text = $text | lower | trimPrefix "0x" }}
{{- if not (regexMatch "^[0-9a-f]{4}$" $text) }}
{{- fail (printf "%s: %q is not a hardware id, which has four hexadecimal digits" $where $value) }}
{{- end }}
{{- end }}
{{- if $text }}{{ $_ := set $usb $key $text }}{{ end }}
{{- end }}
{{- if not (and $usb.vendor $usb.product) }}
{{- fail (printf "%s: it has no vendor, or no product, which generic-device-plugin takes for 0000 and offers nothing; say in config.resources what is meant" .where) }}
{{- end }}
{{- toYaml $usb }}
{{- end }}

{{- define "plughost.group" -}}
{{- $group := dict }}
{{- if gt (int .group.count) 1 }}{{ $_ := set $group "count" (int .group.count) }}{{ end }}
{{- $paths := list }}
{{- range .group.paths }}
{{- $paths = append $paths (include "plughost.path" . | fromYaml) }}
{{- end }}
{{- $usb := list }}
{{- range $index, $each := .group.usb }}
{{- $usb = append $usb (include "plughost.usb" (dict "usb" $each "where" (printf "%s.usb[%d]" $.where $index)) | fromYaml) }}
{{- end }}
{{- if and $paths $usb }}
{{- fail (printf "%s: it has paths and usb, which generic-device-plugin refuses; say in config.resources what is meant" .where) }}
{{- end }}
{{- with $paths }}{{ $_ := set $group "paths" . }}{{ end }}
{{- /* Theirs makes one device of whatever fits one of the items: they are what one piece of hardware may be. */}}
{{- if gt (len $usb) 1 }}{{ $usb = list (dict "anyOf" $usb) }}{{ end }}
{{- with $usb }}{{ $_ := set $group "usb" . }}{{ end }}
{{- if not (or $paths $usb) }}
{{- fail (printf "%s: it has neither paths nor usb" .where) }}
{{- end }}
{{- toYaml $group }}
{{- end }}

{{- /* The groups of a device, in the order that counts here: of a device that two groups match theirs gives what the last one says, and plughost what the first one
says. And ids are made of the first path, theirs of all. */}}
{{- define "plughost.groups" -}}
{{- $groups := list }}
{{- range $index, $group := .device.groups }}
{{- $groups = append $groups (include "plughost.group" (dict "group" $group "where" (printf "%s.groups[%d]" $.where $index)) | fromYaml) }}
{{- end }}
{{- $reverse := false }}
{{- range $i, $one := .device.groups }}
{{- range $j, $other := $.device.groups }}
{{- if and (lt $i $j) $one.paths $other.paths }}
{{- $first := (first $one.paths).path | trim | clean }}
{{- $second := (first $other.paths).path | trim | clean }}
{{- if eq (include "plughost.overlap" (list $first $second)) "true" }}
{{- if and (eq (len $one.paths) 1) (eq (len $other.paths) 1) }}
{{- $reverse = true }}
{{- else if ne (toJson (index $groups $i).paths) (toJson (index $groups $j).paths) }}
{{- fail (printf "%s: groups %d and %d begin with the same path, and plughost makes ids of the first one: put the path first that is each group's own" $.where $i $j) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml (ternary (reverse $groups) $groups $reverse) }}
{{- end }}

{{- define "plughost.entries" -}}
{{- $entries := list }}
{{- $names := list }}
{{- range $index, $device := .Values.devices }}
{{- $where := printf "devices[%d]" $index }}
{{- $name := trim .name }}
{{- if not (contains "/" $name) }}
{{- $domain := required (printf "domain: it goes before %q, and is not said; generic-device-plugin's default was squat.ai before 0.2.0, and is devic.es since" $name) $.Values.domain }}
{{- $name = printf "%s/%s" $domain $name }}
{{- end }}
{{- if has $name $names }}
{{- fail (printf "%s: %s is there twice; generic-device-plugin takes the last one" $where $name) }}
{{- end }}
{{- $names = append $names $name }}
{{- $groups := include "plughost.groups" (dict "device" $device "where" $where) | fromYamlArray }}
{{- $entries = append $entries (dict "name" (include "plughost.literal" $name) "groups" $groups) }}
{{- end }}
{{- toYaml $entries }}
{{- end }}
