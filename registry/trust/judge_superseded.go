// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"

	"certrotation.dev/registry/contenthash"
)

// judgeSuperseded refuses a bundle that does not say any more, or says wrongly, which contents it has replaced. One of them
// could come back, so that a pod which names it would seem to have loaded what it has not; and a pod that names another one
// would wait at its start gate.
func (j *judge) judgeSuperseded(old, b *Bundle) {
	if !succeeds(b.Superseded, old.ContentHash, old.Superseded) {
		j.refuse(ContentDecides, configMap(b.Name), nil, lostSuccession("bundle"), keepSuccession)
	}
}

// judgeLeafSuperseded refuses the Secret of a leaf for the same reason. With another certificate it names those of that one.
func (j *judge) judgeLeafSuperseded(old, l *Leaf) {
	if same(old.Certificate, l.Certificate) && !succeeds(l.Superseded, old.ContentHash, old.Superseded) {
		j.refuse(ContentDecides, secret(l.Name), nil, lostSuccession("Secret"), keepSuccession)
	}
}

// succeeds says whether the contents that an object says it has replaced are those of before, or those and the one before them.
func succeeds(says []string, hash string, superseded []string) bool {
	was := contenthash.Content{Hash: hash, Superseded: superseded}
	return hash == "" || slices.Equal(says, superseded) || slices.Equal(says, was.Succession())
}

const keepSuccession = "leave the key " + contenthash.SupersededKey + " as it is: the controller writes it"

func lostSuccession(of string) string {
	return "the key " + contenthash.SupersededKey + " would not name the contents that the " + of +
		" has replaced: pods whose template names one of them could not start"
}
