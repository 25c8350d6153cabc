// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"errors"
	"fmt"
	"time"

	"certrotation.dev/registry/nodepod"
)

// checkExpiry refuses a revision that would replace valid leaves by expired ones, or install only expired ones. Such
// a revision is from before leaves were reissued, as after a recovery, and a newer one follows. If what is installed
// has expired as well, nothing is lost or refused, so that a rerun can complete an installation. installed is nil if
// there is none; its unreadable parts are of no use to the process either.
func (o *order) checkExpiry(installed *nodepod.Generation) error {
	if o.Now.IsZero() {
		return nil
	}
	var faults nodepod.Defects
	expired, before := 0, 0
	for _, leaf := range o.leaves {
		if !leaf.Certificate.Expired(o.Now) {
			continue
		}
		expired++
		var old *nodepod.Pair
		if installed != nil {
			old = installed.PairOf(leaf.Cert)
		}
		switch {
		case old == nil || old.Certificate == nil:
		case old.Certificate.Expired(o.Now):
			before++
		default:
			faults.Add(nodepod.Expired, leaf.Cert, "it expired at %s, and the installed one is valid until %s",
				stamp(leaf.Certificate.NotAfter), stamp(old.Certificate.NotAfter))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("%w: it would replace valid leaves by expired ones: %w; a later revision has to bring new ones, unless the clock of the node is wrong, which says %s",
			ErrContent, faults.Err(), stamp(o.Now))
	}
	if expired > 0 && expired == len(o.leaves) && before == 0 {
		return fmt.Errorf("%w: %w; a later revision has to bring new ones, unless the clock of the node is wrong, which says %s",
			ErrContent, errors.New("all of its leaves have expired"), stamp(o.Now))
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
