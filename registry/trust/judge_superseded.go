// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"

	"certrotation.dev/registry/contenthash"
)

// judgeLeafSuperseded refuses the Secret of a leaf for the same reason. With another certificate it names those of that one.
func (j *judge) judgeLeafSuperseded(old, l *Leaf) {
	was := contenthash.Content{Hash: old.ContentHash, Superseded: old.Superseded}
	if was.Hash == "" || !same(old.Certificate, l.Certificate) || slices.Equal(l.Superseded, was.Superseded) || slices.Equal(l.Superseded, was.Succession()) {
		return
	}
	j.refuse(ContentDecides, secret(l.Name), nil,
		"the key "+contenthash.SupersededKey+" would not name the contents that the Secret has replaced: pods whose template names one of them could not start",
		"leave the key "+contenthash.SupersededKey+" as it is: the controller writes it")
}

// judgeSuperseded refuses a bundle that does not say any more, or says wrongly, which contents it has replaced. One of them
// could come back, so that a pod which names it would seem to have loaded what it has not; and a pod that names another one
// would wait at its start gate.
func (j *judge) judgeSuperseded(old, b *Bundle) {
	was := contenthash.Content{Hash: old.ContentHash, Superseded: old.Superseded}
	if was.Hash == "" || slices.Equal(b.Superseded, was.Superseded) || slices.Equal(b.Superseded, was.Succession()) {
		return
	}
	j.refuse(ContentDecides, configMap(b.Name), nil,
		"the key "+contenthash.SupersededKey+" would not name the contents that the bundle has replaced: pods whose template names one of them could not start",
		"leave the key "+contenthash.SupersededKey+" as it is: the controller writes it")
}
