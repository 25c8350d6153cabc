// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// oldest Kubernetes that certrotation is installed on: docs/install.md.
const oldest = "v1.34"

func main() {
	program := flag.String("kube-score", "bin/tools/kube-score", "kube-score")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := check(ctx, *program, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(ctx context.Context, program string, out io.Writer) error {
	waivers, err := readWaivers(filepath.Join("hack", "score", "waivers.yaml"))
	if err != nil {
		return err
	}
	dirs, err := kustomizations()
	if err != nil {
		return err
	}
	var findings []finding
	objects := 0
	for _, dir := range dirs {
		text, err := render(dir)
		if err != nil {
			return err
		}
		report, err := score(ctx, program, text)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		found, judged, err := read(filepath.ToSlash(dir), report)
		if err != nil {
			return err
		}
		findings, objects = append(findings, found...), objects+judged
	}
	if err := waivers.judge(findings); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d objects of %d overlays and samples: %d findings, all waived with a reason\n", objects, len(dirs), len(findings))
	return err
}

// kustomizations are the overlays, and all directories of the samples that are applied.
func kustomizations() ([]string, error) {
	dirs, err := filepath.Glob(filepath.Join("manifests", "overlays", "*"))
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(filepath.Join("manifests", "samples"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "kustomization.yaml" {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	return dirs, err
}

// render is what kustomize makes of a directory.
func render(dir string) ([]byte, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	return resources.AsYaml()
}

// score is what kube-score reports of objects. It exits with an error when it has found something, and then reports it.
func score(ctx context.Context, program string, objects []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, "score", "--kubernetes-version="+oldest, "--output-format=json",
		"--disable-ignore-checks-annotations", "--enable-optional-test=container-seccomp-profile,container-ports-check", "-")
	cmd.Stdin = bytes.NewReader(objects)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || out.Len() == 0) {
		return nil, fmt.Errorf("kube-score: %w: %s", err, errs.String())
	}
	return out.Bytes(), nil
}
