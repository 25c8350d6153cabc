// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

func TestJudge(t *testing.T) {
	later := now().Add(life / 2)
	a, b := authority(t, "a", later), authority(t, "b", later)
	ours := generation(7, leaf(t, a, "x", later), a.Certificate)
	files := ListenerFiles{Cert: peerCert, Key: peerKey, Trust: bundlePath}
	client, err := a.Issue(pki.Profile{CommonName: "c", IPAddresses: []string{"10.0.0.1"}, Usages: []pki.Usage{pki.ClientAuth}, Key: pki.ECDSAP256, Validity: time.Hour}, now())
	if err != nil {
		t.Fatal(err)
	}
	presents := func(p *pki.Pair) []*pki.Certificate { return []*pki.Certificate{p.Certificate} }
	for name, tc := range map[string]struct {
		address string
		s       Sighting
		files   ListenerFiles
		agrees  bool
		says    string
	}{
		"both accept":      {s: Sighting{Answered: true, Met: true, Presents: presents(leaf(t, a, "y", later))}, agrees: true},
		"down":             {s: Sighting{Failure: "it cannot be reached"}, says: "cannot be reached"},
		"refuses us":       {s: Sighting{Met: true, Subjects: []string{a.Certificate.SubjectHash}, Presents: presents(leaf(t, a, "y", later)), Failure: "alert"}, says: "it refuses our leaf: alert"},
		"has other trust":  {s: Sighting{Met: true, Subjects: []string{b.Certificate.SubjectHash}, Presents: presents(leaf(t, a, "y", later)), Failure: "alert"}, says: "has not loaded the authority of our leaf"},
		"another CA":       {s: Sighting{Answered: true, Met: true, Presents: presents(leaf(t, b, "y", later))}, says: "chains to no anchor of the bundle: the leaf is of CN=b"},
		"expired":          {s: Sighting{Answered: true, Met: true, Presents: presents(leaf(t, a, "y", now().Add(-time.Hour)))}, says: "expired or not valid yet"},
		"another host":     {address: "10.0.0.9:2380", s: Sighting{Answered: true, Met: true, Presents: presents(leaf(t, a, "y", later))}, says: "not for the name 10.0.0.9"},
		"not for servers":  {s: Sighting{Answered: true, Met: true, Presents: presents(client)}, says: "not for servers"},
		"presents nothing": {s: Sighting{Answered: true, Met: true}, says: "no certificate"},
		"neither accepts":  {s: Sighting{Met: true, Presents: presents(leaf(t, b, "y", later)), Failure: "alert"}, says: "alert; it presents"},
		"no trust of ours": {s: Sighting{Answered: true, Met: true}, files: ListenerFiles{Cert: peerCert, Trust: "other"}, says: "no trust to verify"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.s.Peer = Member{Name: "p", Address: "10.0.0.1:2380"}
			if tc.address != "" {
				tc.s.Peer.Address = tc.address
			}
			if tc.files == (ListenerFiles{}) {
				tc.files = files
			}
			v := Judge(ours, tc.files, &tc.s, now())
			if v.Agrees() != tc.agrees || !strings.Contains(v.Message, tc.says) || (v.Message == "") != tc.agrees {
				t.Errorf("verdict %+v, want agrees %t and %q", v, tc.agrees, tc.says)
			}
		})
	}
}

func TestDescribePeers(t *testing.T) {
	agrees := Verdict{Reached: true, AcceptsUs: true, Accepted: true}
	for name, tc := range map[string]struct {
		verdicts []Verdict
		worst    Severity
	}{
		"a single member":    {worst: ""},
		"both of two":        {verdicts: []Verdict{agrees, agrees}, worst: Info},
		"one down of two":    {verdicts: []Verdict{agrees, {}}, worst: Warning},
		"both down":          {verdicts: []Verdict{{}, {}}, worst: Error},
		"one refuses":        {verdicts: []Verdict{agrees, {Reached: true, Accepted: true}}, worst: Error},
		"one is not trusted": {verdicts: []Verdict{agrees, {Reached: true, AcceptsUs: true}}, worst: Error},
		"two down of four":   {verdicts: []Verdict{agrees, agrees, {}, {}}, worst: Warning},
		"three down of four": {verdicts: []Verdict{agrees, {}, {}, {}}, worst: Error},
	} {
		if got := Worst(DescribePeers(tc.verdicts)); got != tc.worst {
			t.Errorf("%s: %q, want %q", name, got, tc.worst)
		}
	}
}
