// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// clockTolerance is how far file times may lie in the future: filesystems and clocks round.
const clockTolerance = 2 * time.Minute

// Diagnose says what does not fit together on a disk, what is in use first.
func Diagnose(d *Disk, now time.Time) []Finding {
	out := d.checkClock(now)
	directory, current := d.Running()
	out = append(out, d.checkManifest()...)
	if directory != nil {
		out = append(out, d.checkDirectory(directory)...)
	}
	if current != nil {
		out = append(out, current.describe())
		out = append(out, current.Check(d.Manifest.Uses, now)...)
	}
	out = append(out, d.describeOthers(directory, current, now)...)
	for _, leftover := range d.Leftovers {
		out = append(out, Finding{
			Severity: Info, Reason: ReasonLeftover, Object: leftover, Message: "an interrupted installation has left this; nothing uses it",
			NextStep: "none: the next installation replaces it",
		})
	}
	for _, aside := range d.SetAside {
		out = append(out, Finding{
			Severity: Info, Reason: ReasonSetAside, Object: aside, Message: "a recovery has put this out of the way; nothing uses it",
			NextStep: "remove it when the cluster is healthy: it holds private keys",
		})
	}
	return out
}

// checkClock compares the clock with what cannot be from the future.
func (d *Disk) checkClock(now time.Time) []Finding {
	var out []Finding
	if newest, what := d.NewestBeginning(); now.Before(newest) {
		out = append(out, Finding{
			Severity: Error, Reason: ReasonClock, Object: what,
			Message:  fmt.Sprintf("the clock says %s, and this certificate begins at %s", stamp(now), stamp(newest)),
			NextStep: "set the clock of this node before anything else: `timedatectl`, `hwclock`",
		})
	}
	if d.NewestFile.Time.After(now.Add(clockTolerance)) {
		out = append(out, Finding{
			Severity: Warning, Reason: ReasonClock, Object: d.NewestFile.Path,
			Message:  fmt.Sprintf("the clock says %s, and this file was written at %s", stamp(now), stamp(d.NewestFile.Time)),
			NextStep: "check the clock of this node: it has gone backwards since",
		})
	}
	return out
}

// NewestBeginning is the latest moment at which a certificate on the disk becomes valid, and where it is: a clock that says
// less is wrong.
func (d *Disk) NewestBeginning() (time.Time, string) {
	var newest time.Time
	var where string
	for _, g := range d.Generations() {
		for i := range g.Pairs {
			if c := g.Pairs[i].Certificate; c != nil && c.NotBefore.After(newest) {
				newest, where = c.NotBefore, filepath.Join(g.Path, g.Pairs[i].Cert)
			}
		}
		for i := range g.Bundles {
			for _, ca := range g.Bundles[i].Anchors {
				if ca.NotBefore.After(newest) {
					newest, where = ca.NotBefore, filepath.Join(g.Path, g.Bundles[i].Path)
				}
			}
		}
	}
	return newest, where
}

const nextRecover = "run `certrotation recover --dry-run`"

func (d *Disk) checkManifest() []Finding {
	m := &d.Manifest
	f := Finding{Severity: Error, Object: m.Path, NextStep: nextRecover + ": it names the generation to bring back"}
	switch {
	case !m.Present:
		f.Reason, f.Message = ReasonManifestMissing, "there is no manifest, so kubelet runs no "+d.Name
	case m.Problem != "":
		f.Reason, f.Message = ReasonManifestUnreadable, "kubelet cannot use the manifest: "+m.Problem
	case len(m.Mounts) == 0:
		f.Reason = ReasonManifestMounts
		f.Message = fmt.Sprintf("the manifest mounts no %s-pod-REVISION of %s", d.Name, d.ResourceDirectory)
	case len(m.Mounts) > 1:
		f.Reason, f.Message = ReasonManifestMounts, fmt.Sprintf("the manifest mounts several revisions: %v", m.Mounts)
	case d.Directory(m.Mounts[0]) == nil:
		f.Reason = ReasonDirectoryMissing
		f.Message = fmt.Sprintf("the manifest mounts the directory of revision %d, which does not exist", m.Mounts[0])
	default:
		return tooOpen(m.Path, m.TooOpen)
	}
	return append([]Finding{f}, tooOpen(m.Path, m.TooOpen)...)
}

func tooOpen(path, mode string) []Finding {
	if mode == "" {
		return nil
	}
	return []Finding{{
		Severity: Warning, Reason: ReasonFileMode, Object: path, Message: "others than its owner may read it: its mode is " + mode,
		NextStep: "chmod go= " + path,
	}}
}

func (d *Disk) checkDirectory(directory *Directory) []Finding {
	out := tooOpen(directory.Path, directory.TooOpen)
	pointer := filepath.Join(directory.Path, "current")
	f := Finding{Severity: Error, Object: pointer, NextStep: nextRecover + ": it names the generation to point at"}
	switch {
	case !directory.Pointer.Present:
		f.Reason, f.Message = ReasonPointerMissing, "there is no pointer to a generation"
	case directory.Pointer.Problem != "":
		f.Reason, f.Message = ReasonPointerBroken, fmt.Sprintf("it points at %q: %s", directory.Pointer.Target, directory.Pointer.Problem)
	default:
		return out
	}
	return append(out, f)
}

// describe names what is in use, so that nodes can be compared.
func (g *Generation) describe() Finding {
	var ends time.Time
	for i := range g.Pairs {
		if c := g.Pairs[i].Certificate; c != nil && (ends.IsZero() || c.NotAfter.Before(ends)) {
			ends = c.NotAfter
		}
	}
	var anchors []string
	for i := range g.Bundles {
		for _, ca := range g.Bundles[i].Anchors {
			anchors = append(anchors, fmt.Sprintf("%s (%.8s)", ca.Subject, ca.Fingerprint))
		}
	}
	return Finding{
		Severity: Info, Reason: ReasonGenerationInUse, Object: g.Path,
		Message: fmt.Sprintf("generation %s is in use; its first leaf ends at %s; it trusts %s", g.ID(), stamp(ends), strings.Join(anchors, ", ")),
	}
}

// describeOthers says of each generation that is not in use whether it would work.
func (d *Disk) describeOthers(running *Directory, current *Generation, now time.Time) []Finding {
	var out []Finding
	for _, g := range d.Generations() {
		if g == current {
			continue
		}
		directory := d.Directory(g.Revision)
		uses, problem := d.usesOf(directory, directory == running)
		f := Finding{Severity: Info, Reason: ReasonGenerationWorks, Object: g.Path, Message: fmt.Sprintf("not in use; it would work (--revision=%s)", g.ID())}
		if problem != "" || !g.Works(uses, now) {
			f.Reason, f.Message = ReasonGenerationBroken, "not in use; it would not work: "+firstOf(problem, g, uses, now)
		}
		out = append(out, f)
	}
	return out
}

// usesOf are the files that the manifest of a directory wants, or why that manifest cannot be used.
func (d *Disk) usesOf(directory *Directory, running bool) (uses []string, problem string) {
	m := &directory.Manifest
	if running {
		m = &d.Manifest
	}
	switch {
	case !m.Present:
		return nil, "the manifest of its revision is missing"
	case m.Problem != "":
		return nil, "the manifest of its revision cannot be used: " + m.Problem
	case !slices.Equal(m.Mounts, []int64{directory.Revision}):
		return m.Uses, fmt.Sprintf("the manifest in its directory mounts %v", m.Mounts)
	}
	return m.Uses, ""
}

func firstOf(problem string, g *Generation, uses []string, now time.Time) string {
	if problem != "" {
		return problem
	}
	for _, f := range g.Check(uses, now) {
		if f.Severity == Error {
			return strings.TrimPrefix(f.Object, g.Path+"/") + ": " + f.Message
		}
	}
	return "it holds no pair of certificate and key"
}
