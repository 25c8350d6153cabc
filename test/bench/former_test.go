// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Excerpts of what --help prints.
const (
	helpBefore = "Usage:\n  certrotation serve [flags]\n\n      --secure-port int   The port.\n      --webhook-port int  The port of the webhook; see --secure-port.\n"
	helpNow    = "Usage:\n  certrotation controller [flags]\n\n      --allowed-cidrs strings  What may be dialled.\n      --metrics-bind-address string\n"
)

func TestHasFlag(t *testing.T) {
	for _, tc := range []struct {
		name, help, flag string
		want             bool
	}{
		{name: "a flag", help: helpBefore, flag: "webhook-port", want: true},
		{name: "another build's flag", help: helpNow, flag: "webhook-port"},
		{name: "the beginning of a flag", help: helpNow, flag: "allowed"},
		{name: "no help", flag: "webhook-port"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := hasFlag(tc.help, tc.flag); got != tc.want {
				t.Errorf("hasFlag(%q) = %t, want %t", tc.flag, got, tc.want)
			}
		})
	}
}

func TestFormerIsStartedWithItsOwnFlags(t *testing.T) {
	for _, tc := range []struct {
		name   string
		former former
		ports  formerPorts
		// want and wantNo are flags that either program must and must not have; patches counts the patches of the
		// manifests.
		want, wantNo []string
		patches      int
	}{
		{
			name: "before the borders", former: former{serveHelp: helpBefore}, ports: formerPorts{api: 1, webhook: 2, controller: 3},
			want:   []string{"--secure-port=1", "--webhook-port=2", "--metrics-bind-address=127.0.0.1:3", "--kube-api-qps=5000"},
			wantNo: []string{"--allowed-cidrs=127.0.0.0/8,::1/128"}, patches: 2,
		},
		{
			name: "with the borders", former: former{controllerHelp: helpNow}, ports: formerPorts{api: 1, controller: 3},
			want:   []string{"--secure-port=1", "--allowed-cidrs=127.0.0.0/8,::1/128", "--metrics-bind-address=127.0.0.1:3"},
			wantNo: []string{"--webhook-port=0"}, patches: 1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append(tc.former.serveArgs("serve.kubeconfig", tc.ports), tc.former.controllerArgs("controller.kubeconfig", tc.ports, unthrottled)...)
			for _, flag := range tc.want {
				if !slices.Contains(args, flag) {
					t.Errorf("no %s in %q", flag, args)
				}
			}
			for _, flag := range tc.wantNo {
				if slices.Contains(args, flag) {
					t.Errorf("%s in %q", flag, args)
				}
			}
			files := tc.former.overlay("../base", tc.ports)
			var kustomization struct {
				Resources []string
				Patches   []struct{ Patch string }
			}
			if err := yaml.Unmarshal([]byte(files["kustomization.yaml"]), &kustomization); err != nil {
				t.Fatal(err)
			}
			if len(kustomization.Patches) != tc.patches || kustomization.Resources[0] != "../base" {
				t.Errorf("want %d patches of ../base:\n%s", tc.patches, files["kustomization.yaml"])
			}
			for _, patch := range kustomization.Patches {
				var operations []map[string]any
				if err := yaml.Unmarshal([]byte(patch.Patch), &operations); err != nil || len(operations) == 0 {
					t.Errorf("the patch is none: %v\n%s", err, patch.Patch)
				}
			}
		})
	}
}

func TestOpenFormer(t *testing.T) {
	for _, tc := range []struct {
		name, revision, program, wantErr string
	}{
		{name: "nothing is there", wantErr: "REVISION"},
		{name: "no program", revision: "abc", wantErr: "certrotation"},
		{name: "a program that fails", revision: "abc", program: "echo broken; exit 1", wantErr: "broken"},
		{name: "a build", revision: "abc", program: `echo "help of $1 --$1-port"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"REVISION": tc.revision, "certrotation": tc.program} {
				if text == "" {
					continue
				}
				if name == "certrotation" {
					text = "#!/bin/sh\n" + text
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			got, err := openFormer(t.Context(), dir)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("the error is %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.revision != "abc" || !hasFlag(got.controllerHelp, "controller-port") || !hasFlag(got.serveHelp, "serve-port") {
				t.Errorf("opened as %+v", got)
			}
		})
	}
}
