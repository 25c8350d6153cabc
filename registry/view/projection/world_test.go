// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// start is the time of every test's world: a whole second, as the API shows times.
func start() time.Time { return time.Date(2030, time.January, 2, 3, 4, 5, 0, time.UTC) }

// world is a trust domain with one signer, one leaf and one client, all valid.
type world struct {
	ca     *pki.Pair
	domain *trust.Domain
	// assessment as the model would make it.
	assessment *trust.Assessment
	rollout    *inventory.Rollout
	now        time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	now := start()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: 100 * time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(pki.Profile{
		CommonName: "server", DNSNames: []string{"server"}, Key: pki.ECDSAP256, Validity: 50 * time.Hour,
		Usages: []pki.Usage{pki.ServerAuth},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	leaf := pair.Certificate
	root := ca.Certificate
	return &world{
		ca:  ca,
		now: now.Add(time.Minute),
		domain: &trust.Domain{
			Namespace: "ns", Name: "demo",
			Signer: trust.Signer{Object: object("signer"), Active: root},
			Bundle: trust.Bundle{Object: object("bundle"), Anchors: []*pki.Certificate{root}},
			Leaves: []trust.Leaf{{
				Object: object("server"), Certificate: leaf,
				Policy: trust.Policy{Profile: pki.Profile{Usages: []pki.Usage{pki.ServerAuth}}},
			}},
			Parties: []trust.Party{
				{Name: "client", Members: []trust.Member{{Name: "client"}}},
				{Name: "server", Members: []trust.Member{{Name: "server-0", Holds: []string{"server"}}}},
			},
		},
		assessment: &trust.Assessment{
			Stage: trust.Stable, Newest: root, SignerDue: now.Add(80 * time.Hour),
			Leaves: []trust.LeafAssessment{{
				Name: "server", SignedBy: root, SignedBySlot: trust.SlotActive, Due: now.Add(40 * time.Hour),
				Trusted: 1, Verifiers: 1, Usable: true,
			}},
			Anchors: []trust.AnchorAssessment{{Certificate: root, Slot: trust.SlotActive, Leaves: 1, Trusted: 1, Members: 2,
				NeededBy: []string{"Secret/server"}}},
			Members: []trust.MemberAssessment{
				{Party: "client", Member: "client", Kind: trust.Acknowledgement, Verifies: true, Known: true, Trusted: true, Delivered: true},
				{Party: "server", Member: "server-0", Kind: trust.TLSProbe, Verifies: true, Known: true, Delivered: true, Message: "not probed yet"},
			},
		},
	}
}

func object(name string) trust.Object {
	return trust.Object{Name: name, Present: true, UID: "uid-" + name, ResourceVersion: "7", Created: start()}
}

// render renders the world on top of the objects that are already served.
func (w *world) render(previous *Objects) *Objects {
	known := &inventory.Namespace{Name: "ns", Domains: []*trust.Domain{w.domain}}
	if w.rollout != nil {
		known.Rollouts = append(known.Rollouts, w.rollout)
	}
	return Render(Input{
		Namespace:   known,
		Assessments: []*trust.Assessment{w.assessment},
		Configured:  start().Add(-time.Hour),
		Previous:    previous,
		Now:         w.now,
	})
}

// missing makes a source that does not exist yet.
func missing(source *trust.Object) { *source = trust.Object{Name: source.Name} }

func find(conditions []metav1.Condition, kind string) metav1.Condition {
	for _, condition := range conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return metav1.Condition{}
}
