// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// checkExpiry refuses what would take valid leaves from the node, or bring it nothing but expired ones. Such a revision is
// left over from before leaves were reissued, as after a recovery: a newer one follows. Where what is installed has expired
// as well nothing is lost, and nothing is refused, so that a rerun completes what was begun.
func (n *Node) checkExpiry(installed *Manifest, o *order) error {
	if o.Now.IsZero() {
		return nil
	}
	return expiryFault(leaves(o.files), n.installedLeaves(installed, o.files), o.Now)
}

// expiryFault compares the leaves of an order with those that are installed, both by the path of their file.
func expiryFault(ordered, installed map[string]*pki.Certificate, now time.Time) error {
	var faults []Finding
	expired, before := 0, 0
	for _, name := range slices.Sorted(maps.Keys(ordered)) {
		leaf := ordered[name]
		if !leaf.Expired(now) {
			continue
		}
		expired++
		switch old := installed[name]; {
		case old == nil:
		case old.Expired(now):
			before++
		default:
			faults = append(faults, finding(Expired, name, "it expired at %s, and the installed one is valid until %s", stamp(leaf.NotAfter), stamp(old.NotAfter)))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("%w: it would replace valid leaves by expired ones: %w; a later revision has to bring new ones, unless the clock of the node is wrong, which says %s",
			ErrContent, asError(faults), stamp(now))
	}
	if expired > 0 && expired == len(ordered) && before == 0 {
		return fmt.Errorf("%w: %w; a later revision has to bring new ones, unless the clock of the node is wrong, which says %s",
			ErrContent, errors.New("all of its leaves have expired"), stamp(now))
	}
	return nil
}

// leaves are the certificates of the pairs among the files of a generation.
func leaves(files map[string][]byte) map[string]*pki.Certificate {
	out := map[string]*pki.Certificate{}
	for name, data := range files {
		if !isPair(files, name) {
			continue
		}
		if chain, err := pki.ParseChain(data); err == nil && len(chain) > 0 {
			out[name] = chain[0]
		}
	}
	return out
}

func isPair(files map[string][]byte, name string) bool {
	_, key := files[strings.TrimSuffix(name, certEnding)+keyEnding]
	return key && path.Ext(name) == certEnding && strings.HasPrefix(name, secrets+"/")
}

// installedLeaves are those that the pointer beside the manifest of kubelet names, as far as they are among the files of an
// order. What cannot be read is of no use to the process either.
func (n *Node) installedLeaves(installed *Manifest, files map[string][]byte) map[string]*pki.Certificate {
	if installed == nil {
		return nil
	}
	dir := n.layout.directory(installed.Revision)
	current, findings := readPointer(n.resources, dir)
	if len(findings) > 0 {
		return nil
	}
	there := map[string][]byte{}
	for name := range files {
		if !isPair(files, name) {
			continue
		}
		for _, file := range []string{name, strings.TrimSuffix(name, certEnding) + keyEnding} {
			if data, err := n.resources.ReadFile(path.Join(dir, Name(current), file), pki.MaxPEMBytes); err == nil {
				there[file] = data
			}
		}
	}
	return leaves(there)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
