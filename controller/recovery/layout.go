// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import "path/filepath"

// setAsideInfix is in the names of directories with what was replaced. Everything else on the disk is as
// controller/rollout/generation has it.
const setAsideInfix = "-pod-set-aside-"

// Layout says where the files of a static pod are.
type Layout struct {
	// Name of the rollout, such as etcd.
	Name string
	// ManifestDirectory is where kubelet finds static pods, ResourceDirectory holds NAME-pod-REVISION.
	ManifestDirectory, ResourceDirectory string
}

// Resolved has the directories themselves where the operator has named links to them. Below them no link is followed.
func (l Layout) Resolved() Layout {
	for _, dir := range []*string{&l.ManifestDirectory, &l.ResourceDirectory} {
		if real, err := filepath.EvalSymlinks(*dir); err == nil {
			*dir = real
		}
	}
	return l
}

func (l Layout) manifestName() string { return l.Name + "-pod.yaml" }

func (l Layout) manifest() string { return filepath.Join(l.ManifestDirectory, l.manifestName()) }
