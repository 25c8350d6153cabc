// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"fmt"
	"path/filepath"

	"certrotation.dev/registry/diagnosis"
	"certrotation.dev/registry/nodedisk"
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
			"point %s at %s", directory.Pointer.Path, nodedisk.GenerationName(t.Number))
	}
	if running != directory {
		p.step(func() error { return r.installManifest(directory) },
			"put %s in the place of %s", filepath.Join(directory.Path, r.ManifestName()), r.Manifest())
		p.next("Start kubelet (systemctl start kubelet): it starts the static pod with revision %d.", directory.Revision)
	}
	p.next("Run `certrotation doctor` when etcd is up: it probes the peers.")
	return p, nil
}
