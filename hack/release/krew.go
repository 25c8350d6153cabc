// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"sigs.k8s.io/yaml"
)

// krewManifest is what krew reads. Its own types need the API machinery of another Kubernetes; krew itself tries this one.
type krewManifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   named    `json:"metadata"`
	Spec       krewSpec `json:"spec"`
}

type named struct {
	Name string `json:"name"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Caveats          string         `json:"caveats"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector matching   `json:"selector"`
	URI      string     `json:"uri"`
	SHA256   string     `json:"sha256"`
	Files    []krewFile `json:"files"`
	Bin      string     `json:"bin"`
}

type matching struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type krewFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

const krewFileName = "krew.yaml"

// writeKrew writes the manifest of the plugin.
func (of *release) writeKrew(downloads []download) error {
	manifest := krewManifest{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: named{Name: server},
		Spec: krewSpec{
			Version: of.Version, Homepage: "https://certrotation.dev",
			ShortDescription: "Rotate certificate authorities safely",
			Description: "Shows where each rotation stands, whom it waits for and what still needs the old CA;\n" +
				"begins, plans, aborts and waives; adopts what was there before.\n",
			// krew links one program of a plugin into PATH. A copy works with each later version.
			Caveats: "To complete its commands with the Tab key, copy a script into a directory of PATH:\n" +
				"  cp \"${KREW_ROOT:-$HOME/.krew}/store/" + server + "/" + of.Version + "/" + completer + "\" /usr/local/bin/\n",
		},
	}
	for _, d := range downloads {
		files := []krewFile{{From: d.program, To: "."}}
		for _, extra := range extras(plugin, d.OS) {
			files = append(files, krewFile{From: extra.name, To: "."})
		}
		manifest.Spec.Platforms = append(manifest.Spec.Platforms, krewPlatform{
			Selector: matching{MatchLabels: map[string]string{"os": d.OS, "arch": d.Architecture}},
			URI:      of.url + "/" + d.name, SHA256: d.sum, Bin: d.program,
			Files: files,
		})
	}
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(of.dir, krewFileName), text, 0o644)
}

// tryKrew has krew install the plugin from the archive for this machine, if there is one: krew checks the manifest and the checksum.
func (of *release) tryKrew(ctx context.Context, downloads []download) error {
	for _, d := range downloads {
		if d.OS != runtime.GOOS || d.Architecture != runtime.GOARCH {
			continue
		}
		root, err := os.MkdirTemp("", "certrotation-krew-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(root)
		return command(ctx, []string{"KREW_ROOT=" + root}, filepath.Join(of.tools, "krew"), "install",
			"--manifest="+filepath.Join(of.dir, krewFileName), "--archive="+filepath.Join(of.dir, d.name))
	}
	return nil
}
