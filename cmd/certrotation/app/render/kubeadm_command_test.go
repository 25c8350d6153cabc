// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"strings"
	"testing"
)

const manifests = "../../../../registry/kubeadm/testdata"

func TestKubeadmCommand(t *testing.T) {
	image := "--image=certrotation@sha256:" + strings.Repeat("0", 64)
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"the manifests of kubeadm": {args: []string{image, "--manifest-dir=" + manifests}},
		"no image":                 {args: []string{"--manifest-dir=" + manifests}, want: "spec.image"},
		"no manifests":             {args: []string{image, "--manifest-dir=" + t.TempDir()}, want: "etcd.yaml"},
		"no directory":             {args: []string{image, "--manifest-dir=/nowhere"}, want: "open --manifest-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			command := NewKubeadmCommand()
			command.SetArgs(tc.args)
			command.SetOut(&out)
			command.SetErr(&bytes.Buffer{})
			err := command.ExecuteContext(t.Context())
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || out.Len() > 0 {
					t.Errorf("%v, want %q; printed:\n%s", err, tc.want, &out)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"kind: StaticPodClass", "name: kubeadm-etcd", "kind: ConfigMap", "certrotation.dev/configuration: etcd", "kube-apiserver.yaml: |"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not printed:\n%s", want, &out)
				}
			}
		})
	}
}
