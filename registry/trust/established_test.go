// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"
	"time"
)

// TestMissingLeafIsNoProof: the only leaf was deleted, so no leaf shows who loaded the CA that was just promoted.
// A member restored from a backup may not have loaded it. So the previous CA signs until the member is observed
// again.
func TestMissingLeafIsNoProof(t *testing.T) {
	f := newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, peers: true})
	f.request("test")
	distributed(f)
	before := f.d.Bundle.Anchors[:1]
	deleteLeaf("server-0")(&f.d)
	f.loadAll()
	f.until(Promote)
	f.pass(time.Minute)
	server := f.process("server-0")
	server.trust, server.member.RestartedAt = slices.Clone(before), f.now
	f.settle()
	if ca := f.leaf("server-0").Authorities[0]; !ca.Equal(before[0]) {
		t.Errorf("the leaf was signed by %s, which its verifier has not loaded", ca.Subject)
	}
	if err := f.check(); err != nil {
		t.Error(err)
	}
	f.pass(time.Minute)
	f.load(server)
	f.observe(server)
	f.settle()
	if ca := f.leaf("server-0").Authorities[0]; !ca.Equal(f.d.Signer.Active) {
		t.Errorf("the leaf is still signed by %s after everybody has loaded %s", ca.Subject, f.d.Signer.Active.Subject)
	}
}

// TestOtherLeavesAreNoProof: other leaves of the promoted CA prove nothing about the verifiers of a deleted leaf.
func TestOtherLeavesAreNoProof(t *testing.T) {
	f := newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement}})
	f.request("test")
	distributed(f)
	before := f.d.Bundle.Anchors[:1]
	f.loadAll()
	f.until(Promote)
	f.pass(time.Minute)
	server := f.process("server-0")
	server.trust, server.member.RestartedAt = slices.Clone(before), f.now
	f.settle()
	deleteLeaf("client-0")(&f.d)
	f.settle()
	if ca := f.leaf("client-0").Authorities[0]; !ca.Equal(before[0]) {
		t.Errorf("the leaf was signed by %s, which its verifier has not loaded", ca.Subject)
	}
	if !f.leaf("server-0").Authorities[0].Equal(f.d.Signer.Active) {
		t.Error("the leaf of the server waits, though everybody who verifies it has loaded the new CA")
	}
}

// TestJudgeKeepsTheKeyForMissingLeaves: deleting a leaf and then the signer would cause a deadlock. The holder
// could not start before it trusts the new CA, and could not prove its trust before it starts.
func TestJudgeKeepsTheKeyForMissingLeaves(t *testing.T) {
	f := newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement}})
	if found := f.edit(deleteLeaf("server-0")); len(found) > 0 {
		t.Fatalf("the leaf cannot be deleted: %+v", found)
	}
	found := f.edit(deleteSigner)
	if len(found) != 1 || found[0].Invariant != TrustBeforeUse || !slices.Equal(found[0].Affected, []string{"Secret/server-0"}) {
		t.Errorf("want TrustBeforeUse for Secret/server-0, got %+v", found)
	}
	f.settle()
	if found := f.edit(deleteSigner); len(found) > 0 {
		t.Errorf("the signer cannot be deleted once the leaf is there: %+v", found)
	}
}
