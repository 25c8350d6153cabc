// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Candidate is a generation that would work by itself.
type Candidate struct {
	*Generation
	// Directory that contains it.
	Directory *Directory
	// Manifest that runs it.
	Manifest *Manifest
}

// Files returns the files of the peer listener, see PeerFiles.
func (c *Candidate) Files() ListenerFiles { return PeerFiles(c.Generation, c.Manifest) }

// PeerFiles returns the files of the peer listener: those in the manifest, or else those found by name in the
// generation.
func PeerFiles(g *Generation, m *Manifest) ListenerFiles {
	if m.Peer.Cert != "" && m.Peer.Trust != "" {
		return m.Peer
	}
	for i := range g.Pairs {
		p := &g.Pairs[i]
		if !strings.Contains(p.Name, "-peer-") || p.Certificate == nil {
			continue
		}
		for j := range g.Bundles {
			if slices.ContainsFunc(g.Bundles[j].Anchors, p.Certificate.SignedBy) {
				return ListenerFiles{Cert: p.Cert, Key: p.Key, Trust: g.Bundles[j].Path}
			}
		}
	}
	return ListenerFiles{}
}

// Candidates returns the generations that would work by themselves, newest first.
func Candidates(d *Disk, now time.Time) []Candidate {
	return candidates(d, func(g *Generation, uses []string) bool { return works(g, uses, now) })
}

// Intact returns the generations whose content is right, valid now or not, newest first.
func Intact(d *Disk) []Candidate { return candidates(d, IsIntact) }

func candidates(d *Disk, good func(*Generation, []string) bool) []Candidate {
	running, _ := d.Running()
	var out []Candidate
	for _, g := range d.Generations() {
		directory := d.Directory(g.Revision)
		uses, problem := usesOf(d, directory, directory == running)
		if problem != "" || !good(g, uses) {
			continue
		}
		c := Candidate{Generation: g, Directory: directory, Manifest: &directory.Manifest}
		if directory == running {
			c.Manifest = &d.Manifest
		}
		out = append(out, c)
	}
	return out
}

// Trial is a candidate with the verdicts of the peers.
type Trial struct {
	Candidate
	Verdicts []Verdict
}

func (t *Trial) agreeing() (agreeing, reached int) {
	for _, v := range t.Verdicts {
		if v.Agrees() {
			agreeing++
		}
		if v.Reached {
			reached++
		}
	}
	return agreeing, reached
}

// Choose picks the generation to bring back: the newest one that a quorum accepts. wanted (REVISION/NUMBER or NUMBER,
// "" for none) restricts the choice. Only if no peer answers at all, so that none can refuse, the name suffices.
// trials are sorted newest first. The error says what is missing and what to do next.
func Choose(trials []Trial, wanted string) (*Trial, error) {
	if len(trials) == 0 {
		return nil, fmt.Errorf("no generation on this disk would work now: if all have expired, run `certrotation recover --reissue`")
	}
	anyReached := false
	var named bool
	for i := range trials {
		t := &trials[i]
		agreeing, reached := t.agreeing()
		anyReached = anyReached || reached > 0
		if wanted != "" && !t.named(wanted) {
			continue
		}
		named = true
		if agreeing >= peersNeeded(len(t.Verdicts)) {
			return t, nil
		}
	}
	switch {
	case wanted != "" && !named:
		return nil, fmt.Errorf("there is no generation %s on this disk that would work now; there are %s", wanted, listed(trials))
	case wanted != "" && !anyReached:
		for i := range trials {
			if trials[i].named(wanted) {
				return &trials[i], nil
			}
		}
	case !anyReached && trials[0].RecoveredFrom() != "":
		// A recovery of this node was interrupted before its end: nothing else worked when it made this generation.
		return &trials[0], nil
	case !anyReached:
		return nil, fmt.Errorf("no peer answers, so none says which generation it accepts: name one of %s with --revision, "+
			"as `certrotation doctor` on the other nodes suggests", listed(trials))
	}
	return nil, fmt.Errorf("no generation is accepted by enough peers: %s", explained(trials, wanted))
}

func (t *Trial) named(wanted string) bool {
	return wanted == t.ID() || wanted == strconv.Itoa(t.Number)
}

func listed(trials []Trial) string {
	ids := make([]string, 0, len(trials))
	for i := range trials {
		ids = append(ids, trials[i].ID())
	}
	return strings.Join(ids, ", ")
}

func explained(trials []Trial, wanted string) string {
	var parts []string
	for i := range trials {
		t := &trials[i]
		if wanted != "" && !t.named(wanted) {
			continue
		}
		agreeing, _ := t.agreeing()
		parts = append(parts, fmt.Sprintf("%s by %d of %d", t.ID(), agreeing, peersNeeded(len(t.Verdicts)))+t.objections())
	}
	return strings.Join(parts, "; ")
}

func (t *Trial) objections() string {
	var out strings.Builder
	for _, v := range t.Verdicts {
		if v.Message != "" {
			fmt.Fprintf(&out, " (%s: %s)", v.Peer.Name, v.Message)
		}
	}
	return out.String()
}
