// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

func TestBuildRemembers(t *testing.T) {
	t.Parallel()
	of := func(r *configv1alpha1.RotationRecord, err error) *configv1alpha1.RotationRecord {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return stored(r)
	}
	request := func(kind trust.RequestKind, secret string) *configv1alpha1.RotationRecord {
		return of(record.OfRequest(testNamespace, "web", &trust.Request{Kind: kind, Secret: secret, Reason: "why"}, "ada"))
	}
	waiver := func(member string) *trust.Waiver {
		return &trust.Waiver{Party: "clients", Member: member, Reason: "off", By: "ada", Expires: testTime}
	}
	refusal := func(object string) *trust.RefusedWrite {
		return &trust.RefusedWrite{Object: object, Verb: "update", Answer: "no", Since: testTime}
	}
	roster := &trust.Roster{ResourceVersion: "7", Leaves: []string{"web-client"}, Members: []trust.RosterMember{
		{Party: "former", Member: "a", Kind: trust.Acknowledgement}, {Party: "former", Member: "b", Kind: trust.Acknowledgement},
	}}
	n := inventory.Build(sources(t, configuration("config", webConfig), configuration("other", disjointConfig("other")),
		request(trust.RequestRotate, "web-signer"), request(trust.RequestRotate, "web-client"), request(trust.RequestAbort, "web-signer"),
		of(record.OfWaiver(testNamespace, "web", waiver("b"))), of(record.OfWaiver(testNamespace, "web", waiver("a"))),
		of(record.OfRefusal(testNamespace, "web", refusal("Secret/web-client"))),
		of(record.OfRefusal(testNamespace, "", refusal("ConfigMap/all-bundles"))),
		of(record.OfRefusal(testNamespace, "", refusal("ConfigMap/nobodys"))),
		of(record.OfRoster(testNamespace, "web", roster)), evidenceOf("web", "former", "a", report("pod-1")),
		evidenceOf("web", "nobody", "gone", report("pod-1"), report("pod-2")),
		of(record.OfWaiver(testNamespace, "third", waiver("a"))),
	))
	if got := allProblems(n); got != "" {
		t.Errorf("problems:\n%s", got)
	}
	roster.Members[0].Observations = []trust.Observation{report("pod-1")}
	asked := func(name string, kind trust.RequestKind, secret string) trust.Request {
		return trust.Request{ID: "uid-" + name, Record: name, Kind: kind, Secret: secret, Reason: "why"}
	}
	type remembered struct {
		Requests []trust.Request
		Roster   *trust.Roster
		Waivers  []trust.Waiver
		Refusals []trust.RefusedWrite
		Evidence []trust.EvidenceRecord
	}
	kept := func(party, member string) trust.EvidenceRecord {
		name := record.EvidenceName("web", party, member)
		return trust.EvidenceRecord{Record: name, UID: "uid-" + name, ResourceVersion: "7", Party: party, Member: member, Expires: report("pod-1").Expires}
	}
	want := map[string]remembered{
		"web": {
			Requests: []trust.Request{
				asked("abort.web-signer", trust.RequestAbort, "web-signer"),
				asked("rotate.web-client", trust.RequestRotate, "web-client"),
				asked("rotate.web-signer", trust.RequestRotate, "web-signer"),
			},
			Roster:   roster,
			Waivers:  []trust.Waiver{*waiver("a"), *waiver("b")},
			Refusals: []trust.RefusedWrite{*refusal("ConfigMap/all-bundles"), *refusal("Secret/web-client")},
			Evidence: []trust.EvidenceRecord{kept("former", "a"), kept("nobody", "gone")},
		},
		"other": {},
	}
	got := map[string]remembered{}
	for _, d := range n.Domains {
		got[d.Name] = remembered{d.Requests, d.Roster, d.Waivers, d.Refusals, d.Evidence}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is remembered (-want +got):\n%s", diff)
	}
	if domains := n.DomainsOf("other"); len(domains) != 1 || domains[0].Name != "other" || n.DomainsOf("nobodys") != nil {
		t.Errorf("DomainsOf() = %v", domains)
	}
}

const partiesConfig = `
trustDomains:
- name: web
  signer: {secretName: web-signer}
  bundle: {configMapName: web-bundle}
  leaves:
  - {secretName: web-client, commonName: client, usages: [ClientAuth]}
  - {secretName: web-server, dnsNames: [web.svc], usages: [ServerAuth]}
  - {secretName: web-admin, dnsNames: [admin.svc], usages: [ServerAuth]}
  relyingParties:
  - name: servers
    members: [a, b]
    verifies: {usages: [ClientAuth]}
    presents: [web-server, web-admin]
    evidence:
      kind: tlsProbe
      tlsProbe:
        proof: Handshake
        serverName: web.svc
        clientLeaf: web-client
        interval: 3s
        timeout: 2s
        endpoints:
        - {member: a, address: "a:1", presents: web-server}
        - {member: b, address: "b:1", presents: web-server}
        - {member: a, address: "a:2", presents: web-admin, serverName: admin.svc}
        - {member: b, address: "b:2", presents: web-admin, serverName: admin.svc}
  - name: clients
    verifies: {usages: [ServerAuth]}
    presents: [web-client]
    evidence: {kind: renewed, renewed: {minimumDelay: 10m}}
  - name: watchers
    evidence: {kind: gracePeriod, gracePeriod: 5m}
  - name: people
    evidence: {kind: none, reason: they click it away}
  - name: reporters
    evidence: {kind: acknowledgement, lease: 2h}
  - name: pages
    verifies: {nothing: true}
    presents: [web-server]
    evidence: {kind: gracePeriod, gracePeriod: 1m}
`

func TestParties(t *testing.T) {
	t.Parallel()
	n := inventory.Build(sources(t, configuration("config", partiesConfig)))
	if got := allProblems(n); got != "" {
		t.Fatalf("problems:\n%s", got)
	}
	probe := func(address, presents, serverName string) trust.Probe {
		return trust.Probe{
			Address: address, Presents: presents, Handshake: true, ServerName: serverName, ClientLeaf: "web-client",
			Interval: 3 * time.Second, Timeout: 2 * time.Second,
		}
	}
	server := func(name string) trust.Member {
		return trust.Member{
			Name: name, Holds: []string{"web-server", "web-admin"},
			Probes: []trust.Probe{probe(name+":1", "web-server", "web.svc"), probe(name+":2", "web-admin", "admin.svc")},
		}
	}
	all := []string{"web-admin", "web-client", "web-server"}
	want := []trust.Party{
		{Name: "servers", Kind: trust.TLSProbe, Verifies: []string{"web-client"}, Members: []trust.Member{server("a"), server("b")}},
		{Name: "clients", Kind: trust.Renewed, Grace: 10 * time.Minute, Verifies: []string{"web-admin", "web-server"}, Members: []trust.Member{{Name: "clients", Holds: []string{"web-client"}}}},
		{Name: "watchers", Kind: trust.GracePeriod, Grace: 5 * time.Minute, Verifies: all, Members: []trust.Member{{Name: "watchers"}}},
		{Name: "people", Kind: trust.None, Reason: "they click it away", Verifies: all, Members: []trust.Member{{Name: "people"}}},
		{Name: "reporters", Kind: trust.Acknowledgement, Lease: 2 * time.Hour, Verifies: all, Members: []trust.Member{{Name: "reporters"}}},
		{Name: "pages", Kind: trust.GracePeriod, Grace: time.Minute, VerifiesNothing: true, Members: []trust.Member{{Name: "pages", Holds: []string{"web-server"}}}},
	}
	if diff := cmp.Diff(want, n.Domain("web").Parties, byFingerprint); diff != "" {
		t.Errorf("parties (-want +got):\n%s", diff)
	}
}
