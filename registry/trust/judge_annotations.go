// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"certrotation.dev/registry/pki"
)

// protected are the annotations that must not be deleted while a rotation is in flight.
var protected = []string{
	AnnotationNotBefore, AnnotationNotAfter, AnnotationIssuer, AnnotationHostnames,
	AnnotationPublished, AnnotationIssuedAt, AnnotationPromotedAt, AnnotationRolloutRevision, AnnotationConfiguration,
}

// lowering reports whether the new value of an annotation claims less than the content, or than the old value.
type lowering func(key, before, after string) bool

// judgeAnnotations refuses edits in flight that delete or lower what the controller recorded (ContentDecides). In the
// stage Stable, users may use annotations as a request channel.
func (j *judge) judgeAnnotations(object string, before, after *Object, lower lowering) {
	if !j.inFlight() || maps.Equal(before.Annotations, after.Annotations) {
		return
	}
	wait := fmt.Sprintf("wait for the stage Stable (now %s), then ask again", j.stage)
	for _, key := range protected {
		old, had := before.Annotations[key]
		value, has := after.Annotations[key]
		switch {
		case !had || (has && value == old):
		case key == AnnotationPublished && !has && j.before.publishedAhead():
			// A clock that was ahead recorded it, and the problem says to remove it.
		case !has:
			j.refuse(ContentDecides, object, nil,
				fmt.Sprintf("the annotation %s would be deleted while a rotation is in flight", key), wait)
		case key == AnnotationConfiguration:
			j.refuse(ContentDecides, object, nil,
				fmt.Sprintf("the object would be taken from the configuration %q while a rotation is in flight", shorten(old)), wait)
		case lower(key, old, value):
			j.refuse(ContentDecides, object, nil,
				fmt.Sprintf("the annotation %s would be lowered from %q to %q while a rotation is in flight", key, shorten(old), shorten(value)), wait)
		}
	}
}

// certificateOf compares annotations with the certificate that they describe.
func certificateOf(c *pki.Certificate) lowering {
	return func(key, before, after string) bool {
		if c != nil {
			switch key {
			case AnnotationNotBefore:
				return after != c.NotBefore.UTC().Format(time.RFC3339)
			case AnnotationNotAfter:
				return after != c.NotAfter.UTC().Format(time.RFC3339)
			case AnnotationIssuer:
				return after != c.IssuerCommonName
			}
		}
		return earlier(key, before, after)
	}
}

// anew compares like lower, but ignores the time of new content: the clock of its writer may be behind that of the
// previous writer.
func anew(madeAt string, lower lowering) lowering {
	return func(key, before, after string) bool { return key != madeAt && lower(key, before, after) }
}

// bundleTimes compares the recorded publication times of a bundle's anchors.
func bundleTimes(key, before, after string) bool {
	if key != AnnotationPublished {
		return earlier(key, before, after)
	}
	was, is := parsePublished(before), parsePublished(after)
	return slices.ContainsFunc(slices.Collect(maps.Keys(is)), func(f pki.Fingerprint) bool {
		t, ok := was[f]
		return ok && is[f].Before(t)
	})
}

// earlier compares times and numbers; text that is neither is never lower.
func earlier(_, before, after string) bool {
	if was, err := time.Parse(time.RFC3339, before); err == nil {
		is, err := time.Parse(time.RFC3339, after)
		return err != nil || is.Before(was)
	}
	if was, err := strconv.ParseInt(before, 10, 64); err == nil {
		is, err := strconv.ParseInt(after, 10, 64)
		return err != nil || is < was
	}
	return false
}

// shorten keeps messages readable.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
