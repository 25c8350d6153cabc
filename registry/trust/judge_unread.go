// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"

	"certrotation.dev/registry/pki"
)

// Blocks that cannot be read (pki.UnreadBlock) may be anchors for other verifiers. So no rule counts them as an anchor,
// each write keeps them, and a person may remove them only if every leaf has a known signer.

// judgeUnread refuses to add a block that cannot be read, and to remove one that may be the anchor of a leaf.
func (j *judge) judgeUnread(object string, before, after []pki.UnreadBlock) {
	if added := lackingBlocks(after, before); len(added) > 0 {
		j.refuse(NeverEmpty, object, nil, fmt.Sprintf("it would hold a certificate that cannot be read (%v)", &added[0]),
			"leave the block out, or issue that CA anew without its fault")
	}
	removed := lackingBlocks(before, after)
	if users := j.leavesOfUnknown(); len(removed) > 0 && len(users) > 0 {
		j.refuse(AnchorInUse, object, users,
			fmt.Sprintf("the certificate that cannot be read (%v) may be the anchor of leaves whose signer is not known", &removed[0]),
			"reissue these leaves first: delete their Secrets")
	}
}

// lackingBlocks returns the blocks that others do not have.
func lackingBlocks(blocks, others []pki.UnreadBlock) []pki.UnreadBlock {
	return slices.DeleteFunc(slices.Clone(blocks), func(b pki.UnreadBlock) bool {
		return slices.ContainsFunc(others, func(other pki.UnreadBlock) bool { return other.Fingerprint == b.Fingerprint })
	})
}

// leavesOfUnknown are the live leaves that no known CA has signed.
func (j *judge) leavesOfUnknown() []string {
	var out []string
	for i := range j.before.d.Leaves {
		if l := &j.before.d.Leaves[i]; j.before.live(l) && j.before.signers[l.Name] == nil {
			out = append(out, secret(l.Name))
		}
	}
	return out
}
