// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// manifests writes the definitions, and each overlay.
func (of *release) manifests(context.Context) error {
	crds, err := render(filepath.Join("manifests", "crds"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(of.dir, "crds.yaml"), crds, 0o644); err != nil {
		return err
	}
	overlays := filepath.Join("manifests", "overlays")
	entries, err := os.ReadDir(overlays)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		text, err := render(filepath.Join(overlays, entry.Name()))
		if err != nil {
			return err
		}
		if text, err = of.pin(text); err != nil {
			return fmt.Errorf("overlay %s: %w", entry.Name(), err)
		}
		if err := os.WriteFile(filepath.Join(of.dir, entry.Name()+".yaml"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render is what kustomize makes of a directory.
func render(dir string) ([]byte, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	return resources.AsYaml()
}

// chart packs the chart with version and digest of the release.
func (of *release) chart(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "certrotation-chart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	chart := filepath.Join(dir, server)
	if err := copyTree(filepath.Join("manifests", "chart"), chart); err != nil {
		return err
	}
	values := filepath.Join(chart, "values.yaml")
	text, err := os.ReadFile(values)
	if err != nil {
		return err
	}
	if text, err = of.pin(text); err != nil {
		return fmt.Errorf("values of the chart: %w", err)
	}
	if err := os.WriteFile(values, text, 0o644); err != nil {
		return err
	}
	// With this in its environment helm gives all files the same date.
	epoch := "SOURCE_DATE_EPOCH=" + strconv.FormatInt(of.Date.Unix(), 10)
	return command(ctx, []string{epoch}, filepath.Join(of.tools, "helm"), "package", chart, "--version="+strings.TrimPrefix(of.Version, "v"),
		"--app-version="+of.Version, "--destination="+of.dir)
}

// copyTree copies what is in a directory, and what its links lead to.
func copyTree(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		source, target := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		info, err := os.Stat(source)
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = copyTree(source, target)
		} else {
			err = copyFile(source, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
