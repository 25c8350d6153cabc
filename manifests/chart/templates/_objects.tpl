{{- /* file is the text of a file, with the namespace of the values. */}}
{{- define "certrotation.file" -}}
{{- .Files.Get (printf "files/%s.yaml" .file) | replace "certrotation-system" .Values.namespace }}
{{- end }}

{{- /* objects are those of a file, as a list in JSON under the key items. */}}
{{- define "certrotation.objects" -}}
{{- $items := list }}
{{- range $text := regexSplit "(?m)^---$" (include "certrotation.file" .) -1 }}
{{- with fromYaml $text }}{{ $items = append $items . }}{{ end }}
{{- end }}
{{- dict "items" $items | toJson }}
{{- end }}

{{- /* deployment is that of a program with what the values say. */}}
{{- define "certrotation.deployment" -}}
{{- $values := .Values }}
{{- $d := include "certrotation.file" (dict "Values" $values "Files" .Files "file" (printf "deployment/%s" .program)) | fromYaml }}
{{- $pod := $d.spec.template.spec }}
{{- $container := index $pod.containers 0 }}
{{- $args := $container.args }}
{{- $_ := set $d.spec "replicas" (int $values.replicas) }}
{{- $_ := set $container "image" (printf "%s@%s" $values.image.repository $values.image.digest) }}
{{- if gt (int $values.replicas) 1 }}
{{- $spread := include "certrotation.file" (dict "Values" $values "Files" .Files "file" (printf "components/high-availability/spread-%s" .program)) | fromYaml }}
{{- $_ := set $pod "topologySpreadConstraints" $spread.spec.template.spec.topologySpreadConstraints }}
{{- end }}
{{- if $values.namespaces }}
{{- $args = append $args (printf "--namespaces=%s" (join "," (prepend (without $values.namespaces $values.namespace) $values.namespace))) }}
{{- end }}
{{- if eq .program "controller" }}
{{- if $values.caBundles }}{{ $args = append $args "--inject-ca-bundles" }}{{ end }}
{{- if $values.workloads }}{{ $args = append $args "--restart-workloads" }}{{ end }}
{{- end }}
{{- $_ := set $container "args" $args }}
{{- $_ := set $container "env" (concat $container.env $values.env) }}
{{- if $values.openshift }}
{{- $_ := unset $pod.securityContext "runAsUser" }}
{{- $_ := unset $pod.securityContext "runAsGroup" }}
{{- end }}
{{- with $values.nodeSelector }}{{ $_ := set $pod "nodeSelector" . }}{{ end }}
{{- with $values.tolerations }}{{ $_ := set $pod "tolerations" . }}{{ end }}
{{- toYaml $d }}
{{- end }}
