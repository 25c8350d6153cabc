{{- /* objects are those of a file, as a list in JSON under the key items. */}}
{{- define "certrotation.objects" -}}
{{- $items := list }}
{{- range $text := regexSplit "(?m)^---$" (.Files.Get .file) -1 }}
{{- with fromYaml $text }}{{ $items = append $items . }}{{ end }}
{{- end }}
{{- dict "items" $items | toJson }}
{{- end }}

{{- /* deployment is that of a program with what the values say. */}}
{{- define "certrotation.deployment" -}}
{{- $values := .Values }}
{{- $d := .Files.Get (printf "files/deployment/%s.yaml" .program) | fromYaml }}
{{- $pod := $d.spec.template.spec }}
{{- $container := index $pod.containers 0 }}
{{- $args := $container.args }}
{{- $_ := set $d.spec "replicas" (int $values.replicas) }}
{{- $_ := set $container "image" (printf "%s@%s" $values.image.repository $values.image.digest) }}
{{- if gt (int $values.replicas) 1 }}
{{- $spread := .Files.Get (printf "files/components/high-availability/spread-%s.yaml" .program) | fromYaml }}
{{- $_ := set $pod "topologySpreadConstraints" $spread.spec.template.spec.topologySpreadConstraints }}
{{- end }}
{{- if $values.namespaces }}
{{- $args = append $args (printf "--namespaces=%s" (join "," (prepend $values.namespaces "certrotation-system"))) }}
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
