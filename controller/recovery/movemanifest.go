// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"sigs.k8s.io/yaml"

	"certrotation.dev/apis/document"
	"certrotation.dev/registry/nodepod"
)

// moveManifest converts the manifest of an installed revision to another revision: it mounts the directory of that
// revision, and its labels and annotations say so. Everything else stays, including unknown fields.
func moveManifest(text []byte, name string, from, to int, restartHash string) ([]byte, error) {
	pod := map[string]any{}
	if err := document.Unmarshal(text, nodepod.MaxManifestBytes, &pod, false); err != nil {
		return nil, errors.New("the manifest is no YAML of an object")
	}
	directory := regexp.MustCompile(`(^|[^A-Za-z0-9._-])` + regexp.QuoteMeta(name+"-pod-"+strconv.Itoa(from)) + `($|[^A-Za-z0-9._-])`)
	moved, ok := replaced(pod, directory, fmt.Sprintf("${1}%s-pod-%d${2}", name, to)).(map[string]any)
	if !ok {
		return nil, errors.New("the manifest is no object")
	}
	metadata, ok := moved["metadata"].(map[string]any)
	if !ok {
		return nil, errors.New("the manifest has no metadata")
	}
	number := strconv.Itoa(to)
	set(metadata, "labels", map[string]string{nodepod.LabelRevision: number})
	set(metadata, "annotations", map[string]string{nodepod.AnnotationRevision: number, nodepod.AnnotationRestartHash: restartHash})
	return yaml.Marshal(moved)
}

// replaced replaces a pattern in all strings of a YAML value. It replaces twice, because two matches may share the
// character between them.
func replaced(value any, pattern *regexp.Regexp, by string) any {
	switch value := value.(type) {
	case string:
		return pattern.ReplaceAllString(pattern.ReplaceAllString(value, by), by)
	case []any:
		for i := range value {
			value[i] = replaced(value[i], pattern, by)
		}
	case map[string]any:
		for k := range value {
			value[k] = replaced(value[k], pattern, by)
		}
	}
	return value
}

func set(metadata map[string]any, field string, values map[string]string) {
	into, ok := metadata[field].(map[string]any)
	if !ok {
		into = map[string]any{}
		metadata[field] = into
	}
	for k, v := range values {
		into[k] = v
	}
}
