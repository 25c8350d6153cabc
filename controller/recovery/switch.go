// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/diagnosis"
)

// planSwitch makes a generation that is on the disk the one in use: first the pointer, then the manifest, so that a manifest
// never leads to something else than it was meant to.
func (r *recovery) planSwitch(ctx context.Context, t *diagnosis.Trial) (*Plan, error) {
	p := &Plan{}
	directory := t.Directory
	pointed := directory.Current() == t.Generation
	running, _ := r.disk.Running()
	if pointed && running == directory {
		p.next("Generation %s is in use already, and a quorum accepts it: there is nothing to do.", t.ID())
		return p, nil
	}
	if running != directory {
		if err := refuseRunning(ctx, usable(r.disk), r.dataDirectory()); err != nil {
			return nil, fmt.Errorf("bring back generation %s: %w", t.ID(), err)
		}
	}
	if !pointed {
		p.step(func() error { return r.pointAt(directory, t.Number) },
			"point %s at %s", filepath.Join(directory.Path, generation.PointerName), generation.Name(int(t.Number)))
	}
	if running != directory {
		p.step(func() error { return r.installManifest(directory) },
			"put %s in the place of %s", filepath.Join(directory.Path, r.manifestName()), r.manifest())
		p.next("Start kubelet (systemctl start kubelet): it starts the static pod with revision %d.", directory.Revision)
	}
	p.next("Run `certrotation doctor` when etcd is up: it probes the peers.")
	return p, nil
}

func (r *recovery) pointAt(directory *diagnosis.Directory, number int64) error {
	link := filepath.Join(directory.Path, generation.PointerName)
	if err := r.setAside(link, filepath.Base(directory.Path)); err != nil {
		return err
	}
	if err := replaceLink(link, generation.Name(int(number))); err != nil {
		return fmt.Errorf("point %s at generation %d: %w", link, number, err)
	}
	return nil
}

// installManifest puts the copy of the manifest that a directory keeps where kubelet looks.
func (r *recovery) installManifest(directory *diagnosis.Directory) error {
	data, err := readBounded(filepath.Join(directory.Path, r.manifestName()), maxManifestBytes)
	if err != nil {
		return err
	}
	if err := r.setAside(r.manifest(), "manifests"); err != nil {
		return err
	}
	if err := replaceFile(r.manifest(), data); err != nil {
		return fmt.Errorf("install the manifest of revision %d: %w", directory.Revision, err)
	}
	return nil
}

// setAside keeps what is about to be replaced. What a rename can replace stays in its place meanwhile: there must be no
// moment without it. Anything else is moved.
func (r *recovery) setAside(file, under string) error {
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("set aside: %w", err)
	}
	aside := filepath.Join(r.asideDirectory(), under, filepath.Base(file))
	if err := makeWay(filepath.Dir(aside)); err != nil {
		return fmt.Errorf("set aside %s: %w", file, err)
	}
	switch mode := info.Mode().Type(); {
	case mode == fs.ModeSymlink:
		err = copyLink(file, aside)
	case mode.IsRegular():
		err = copyFile(file, aside)
	default:
		err = rename(file, aside)
	}
	if err != nil {
		return fmt.Errorf("set aside %s: %w", file, err)
	}
	return errors.Join(syncTree(r.asideDirectory()), syncDirectory(r.ResourceDirectory))
}

func copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return replaceLink(to, target)
}

func copyFile(from, to string) error {
	data, err := readBounded(from, maxManifestBytes)
	if err != nil {
		return err
	}
	if err := removeFile(to); err != nil {
		return err
	}
	return writeSynced(to, data)
}
