// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import "time"

// Bounds of how often large objects are shown. Each version of an object lists its members, is sent to whoever watches it, and
// stays in the history for minutes: thousands of members that report one after another would fill the memory with thousands of
// versions of thousands of members.
const (
	// pausePerMember is the time between two versions, for each member that is listed in one of the objects.
	pausePerMember = 200 * time.Microsecond
	// unpacedMembers in the objects of a namespace are shown at once.
	unpacedMembers = 1000
)

// pace says when the objects of each namespace that lists many members may be shown again. It belongs to the goroutine of Run.
type pace map[string]time.Time

// shown notes that the objects of a namespace were brought up to date.
func (p pace) shown(namespace string, objects *Objects, now time.Time) {
	members := 0
	if objects != nil {
		for _, object := range objects.Certificates {
			members += len(object.Status.Members)
		}
	}
	if members <= unpacedMembers {
		delete(p, namespace)
		return
	}
	p[namespace] = now.Add(time.Duration(members) * pausePerMember)
}

// wait is how long a namespace has to wait for its turn, zero or less for not at all.
func (p pace) wait(namespace string, now time.Time) time.Duration {
	until, paced := p[namespace]
	if !paced {
		return 0
	}
	return until.Sub(now)
}
