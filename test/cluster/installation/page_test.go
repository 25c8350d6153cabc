// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlocksOfAPage(t *testing.T) {
	text := strings.ReplaceAll(`Words.

FENCE
$ kubectl get pods
NAME   READY
web    1/1
$ helm install web \\
    --set a=b
$ kubectl get secrets
FENCE

FENCEyaml
# some.yaml
kind: Secret
FENCE

FENCEyaml
kind: ConfigMap
FENCE
`, "FENCE", "```")
	var files []string
	var commands []string
	for _, b := range fenced(strings.ReplaceAll(text, `\\`, `\`)) {
		files, commands = append(files, b.file()), append(commands, b.commands()...)
	}
	if diff := cmp.Diff([]string{"", "some.yaml", ""}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	want := []string{"kubectl get pods", "helm install web \\\n    --set a=b", "kubectl get secrets"}
	if diff := cmp.Diff(want, commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}
