// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"

	"certrotation.dev/registry/pki"
)

// TestCheckerFindsBrokenControllers performs actions that Assess did not propose. The checker must detect them,
// and Judge must refuse the write.
func TestCheckerFindsBrokenControllers(t *testing.T) {
	tests := []struct {
		name string
		// prepare stops where the write would be too early.
		prepare func(f *fleet)
		mutant  func(f *fleet) *Action
		// after is what happens to the processes then.
		after func(f *fleet)
	}{
		{
			name: "re-sign the server before the client trusts", prepare: distributed,
			mutant: func(f *fleet) *Action { return f.issueAction("server-0", f.d.Signer.Next) },
			after:  func(f *fleet) { f.load(f.process("server-0")) },
		},
		{
			name: "re-sign a client before the server trusts", prepare: distributed,
			mutant: func(f *fleet) *Action { return f.issueAction("client-0", f.d.Signer.Next) },
			after:  func(f *fleet) { f.load(f.process("client-0")) },
		},
		{
			name: "promote without evidence", prepare: distributed,
			mutant: func(f *fleet) *Action {
				return &Action{Kind: Promote, Object: "signer", Authority: f.d.Signer.Next.Fingerprint}
			},
			after: func(f *fleet) {
				f.perform(f.issueAction("server-0", f.d.Signer.Active))
				f.load(f.process("server-0"))
			},
		},
		{
			name: "retire while leaves chain to the anchor", prepare: promoted,
			mutant: func(f *fleet) *Action { return f.anchorsAction(f.d.Signer.Active) },
			after:  func(f *fleet) { f.loadAll() },
		},
		{
			name: "retire while a leaf is still presented", prepare: reissued,
			mutant: func(f *fleet) *Action { return f.anchorsAction(f.d.Signer.Active) },
			after:  func(f *fleet) { f.load(f.process("client-0")) },
		},
		{
			name: "drop previous early", prepare: promoted,
			mutant: func(*fleet) *Action { return &Action{Kind: DestroyPrevious, Object: "signer"} },
		},
		{
			name: "publish only the new anchor", prepare: generated,
			mutant: func(f *fleet) *Action { return f.anchorsAction(f.d.Signer.Next) },
			after:  func(f *fleet) { f.load(f.process("server-0")) },
		},
		{
			name: "empty the bundle", prepare: generated,
			mutant: func(f *fleet) *Action { return f.anchorsAction() },
		},
		{
			name: "drop a CA that has signed", prepare: func(f *fleet) {
				distributed(f)
				f.load(f.process("server-0"))
				f.observe(f.process("server-0"))
				f.settle()
				f.perform(&Action{Kind: DropNext, Object: "signer"})
			},
			mutant: func(*fleet) *Action { return &Action{Kind: DestroyPrevious, Object: "signer"} },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement}})
			f.request("test")
			tt.prepare(f)
			if err := f.check(); err != nil {
				t.Fatalf("broken before the mutant: %v", err)
			}
			if found := f.act(tt.mutant(f)); len(found) == 0 {
				t.Error("Judge lets the write through")
			}
			if tt.after != nil {
				tt.after(f)
			}
			if err := f.check(); err == nil {
				t.Error("the checker did not notice")
			} else {
				t.Log(err)
			}
		})
	}
}

func (f *fleet) issueAction(leaf string, ca *pki.Certificate) *Action {
	return &Action{Kind: IssueLeaf, Object: leaf, Authority: ca.Fingerprint, Profile: f.leaf(leaf).Policy.Profile}
}

func (f *fleet) anchorsAction(anchors ...*pki.Certificate) *Action {
	return &Action{Kind: PublishAnchors, Object: f.d.Bundle.Name, Anchors: anchors}
}

// until performs actions one by one, up to the first of that kind.
func (f *fleet) until(kind ActionKind) {
	for range 20 {
		actions := f.assess().Actions
		if len(actions) == 0 {
			break
		}
		f.act(&actions[0])
		if actions[0].Kind == kind {
			return
		}
	}
	f.t.Fatalf("no %s in %v", kind, f.done)
}

func generated(f *fleet) { f.until(GenerateNext) }

func distributed(f *fleet) { f.until(PublishAnchors) }

func promoted(f *fleet) {
	distributed(f)
	f.loadAll()
	f.until(Promote)
}

func reissued(f *fleet) {
	promoted(f)
	f.settle()
}
