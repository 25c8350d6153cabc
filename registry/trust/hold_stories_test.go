// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"
)

// TestHoldStories: a rotation that can end does end.
func TestHoldStories(t *testing.T) {
	rotates := func(f *fleet) error {
		f.request("test")
		if err := f.followedBy(); err != nil {
			return err
		}
		return f.ends()
	}
	tellAll(t, []story{
		{name: "a server that asks for no certificate", former: func(d *Domain) {
			for i := range d.Parties {
				d.Parties[i].VerifiesNothing = false
			}
		}, tell: func(f *fleet) error {
			server := f.process("server-0").party
			others := f.party("client-1")
			others.Verifies = append(others.Verifies, server.Verifies...)
			server.Verifies, server.VerifiesNothing = nil, true
			f.process("server-0").silent = true
			return rotates(f)
		}},
		{name: "a probed member with two leaves", former: func(d *Domain) {
			for i := range d.Parties {
				for k := range d.Parties[i].Members {
					m := &d.Parties[i].Members[k]
					m.Probes = m.Probes[:min(1, len(m.Probes))]
				}
			}
		}, tell: func(f *fleet) error {
			m := f.process("server-0").member
			m.Holds = append(m.Holds, "client-1")
			m.Probes = append(m.Probes, Probe{Address: "server-0:8443", Presents: "client-1"})
			f.load(f.process("server-0"))
			f.observe(f.process("server-0"))
			return rotates(f)
		}},
		{name: "the signer is deleted, then a node joins", former: withoutInstances, tell: func(f *fleet) error {
			deleteSigner(&f.d)
			f.orphaned = true
			if err := f.settled(); err != nil {
				return err
			}
			f.join("server-1", "uid-1")
			if err := f.followedBy("server-1"); err != nil {
				return err
			}
			return f.comesUp("server-1")
		}},
		{name: "a node joins, then the signer is deleted", former: withoutInstances, tell: func(f *fleet) error {
			f.join("server-1", "uid-1")
			f.until(RecordRoster)
			deleteSigner(&f.d)
			f.orphaned = true
			if err := f.followedBy("server-1"); err != nil {
				return err
			}
			return f.comesUp("server-1")
		}},
	})
}

// withoutInstances makes the model know members only by their names.
func withoutInstances(d *Domain) {
	for i := range d.Parties {
		d.Parties[i].Members[0].Instance = ""
	}
}
