// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"

	"certrotation.dev/registry/contenthash"
)

// judgeSuperseded refuses a bundle that omits, or misstates, the contents that it has replaced. An omitted content
// could come back: a pod that names it would seem to have loaded what it has not. A pod that names another content
// would wait at its start gate.
func (j *judge) judgeSuperseded(old, b *Bundle) {
	if !succeeds(b.Superseded, old.ContentHash, old.Superseded) {
		j.refuse(ContentDecides, configMap(b.Name), nil, lostSuccession("bundle"), keepSuccession)
	}
}

// judgeLeafSuperseded does the same for the Secret of a leaf. With another certificate the Secret names that
// certificate's former contents.
func (j *judge) judgeLeafSuperseded(old, l *Leaf) {
	if same(old.Certificate, l.Certificate) && !succeeds(l.Superseded, old.ContentHash, old.Superseded) {
		j.refuse(ContentDecides, secret(l.Name), nil, lostSuccession("Secret"), keepSuccession)
	}
}

// succeeds reports whether the declared superseded contents are those of before, optionally with the previous content
// added.
func succeeds(says []string, hash string, superseded []string) bool {
	was := contenthash.Content{Hash: hash, Superseded: superseded}
	return hash == "" || slices.Equal(says, superseded) || slices.Equal(says, was.Succession())
}

const keepSuccession = "leave the key " + contenthash.SupersededKey + " as it is: the controller writes it"

func lostSuccession(of string) string {
	return "the key " + contenthash.SupersededKey + " would not name the contents that the " + of +
		" has replaced: pods whose template names one of them could not start"
}
