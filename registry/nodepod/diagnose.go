// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// clockTolerance is how far file times may be in the future: filesystems and clocks round.
const clockTolerance = 2 * time.Minute

// Diagnose returns what is inconsistent on a disk, with findings about the parts in use first.
func Diagnose(d *Disk, now time.Time) []Finding {
	out := checkClock(d, now)
	directory, current := d.Running()
	out = append(out, checkManifest(d)...)
	if directory != nil {
		out = append(out, checkDirectory(directory)...)
	}
	if current != nil {
		out = append(out, describe(current))
		out = append(out, Check(current, d.Manifest.Uses, now)...)
	}
	out = append(out, describeOthers(d, directory, current, now)...)
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

// checkClock compares the clock with certificates and files that cannot be from the future.
func checkClock(d *Disk, now time.Time) []Finding {
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

const nextRecover = "run `certrotation recover --dry-run`"

func checkManifest(d *Disk) []Finding {
	m := &d.Manifest
	f := Finding{Severity: Error, Object: m.Path, NextStep: nextRecover + ": it names the generation to bring back"}
	switch {
	case !m.Present:
		f.Reason, f.Message = ManifestMissing, "there is no manifest, so kubelet runs no "+d.Name
	case !m.Usable():
		f.Reason, f.Message = ManifestUnreadable, "kubelet cannot use the manifest: "+m.Problem()
	case len(m.Mounts) == 0:
		f.Reason = ReasonManifestMounts
		f.Message = fmt.Sprintf("the manifest mounts no %s-pod-REVISION of %s", d.Name, d.ResourceDirectory)
	case len(m.Mounts) > 1:
		f.Reason, f.Message = ReasonManifestMounts, fmt.Sprintf("the manifest mounts several revisions: %v", m.Mounts)
	case d.Directory(m.Mounts[0]) == nil:
		f.Reason = DirectoryMissing
		f.Message = fmt.Sprintf("the manifest mounts the directory of revision %d, which does not exist", m.Mounts[0])
	default:
		return checkModes(m.Defects)
	}
	return append([]Finding{f}, checkModes(m.Defects)...)
}

// checkModes warns of modes only: an operator may run a manifest that the installer did not write.
func checkModes(defects Defects) []Finding {
	var out []Finding
	for _, d := range defects {
		if d.Reason == FileMode {
			out = append(out, Finding{Severity: Warning, Reason: d.Reason, Object: d.Path, Message: d.Message, NextStep: "chmod u=rwX,go= " + d.Path})
		}
	}
	return out
}

func checkDirectory(directory *Directory) []Finding {
	out := checkModes(directory.Defects)
	for _, d := range directory.Pointer.Defects {
		out = append(out, Finding{
			Severity: Error, Reason: d.Reason, Object: d.Path, Message: d.Message,
			NextStep: nextRecover + ": it names the generation to point at",
		})
	}
	return out
}

// describe reports the generation in use, so that an operator can compare nodes.
func describe(g *Generation) Finding {
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

// describeOthers reports for each generation that is not in use whether it would work.
func describeOthers(d *Disk, running *Directory, current *Generation, now time.Time) []Finding {
	var out []Finding
	for _, g := range d.Generations() {
		if g == current {
			continue
		}
		directory := d.Directory(g.Revision)
		uses, problem := usesOf(d, directory, directory == running)
		f := Finding{Severity: Info, Reason: ReasonGenerationWorks, Object: g.Path, Message: fmt.Sprintf("not in use; it would work (--revision=%s)", g.ID())}
		if problem != "" || !works(g, uses, now) {
			f.Reason, f.Message = ReasonGenerationBroken, "not in use; it would not work: "+firstOf(problem, g, uses, now)
		}
		out = append(out, f)
	}
	return out
}

// usesOf returns the files that the manifest of a directory requires, or why that manifest is unusable.
func usesOf(d *Disk, directory *Directory, running bool) (uses []string, problem string) {
	m := &directory.Manifest
	if running {
		m = &d.Manifest
	}
	switch {
	case !m.Present:
		return nil, "the manifest of its revision is missing"
	case !m.Usable():
		return nil, "the manifest of its revision cannot be used: " + m.Problem()
	case !slices.Equal(m.Mounts, []int{directory.Revision}):
		return m.Uses, fmt.Sprintf("the manifest in its directory mounts %v", m.Mounts)
	}
	return m.Uses, ""
}

func firstOf(problem string, g *Generation, uses []string, now time.Time) string {
	if problem != "" {
		return problem
	}
	for _, f := range Check(g, uses, now) {
		if f.Severity == Error {
			return strings.TrimPrefix(f.Object, g.Path+"/") + ": " + f.Message
		}
	}
	return "it holds no pair of certificate and key"
}
