// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import "time"

// Bounds of how often large objects are updated. Each version of an object lists its members, goes to every watch,
// and stays in the history for minutes. If thousands of members report one after another, the versions would fill the
// memory.
const (
	// pausePerMember is the time between two versions, for each member that the objects of a namespace list.
	pausePerMember = 200 * time.Microsecond
	// unpacedMembers is how many members the objects of a namespace may list without a pause.
	unpacedMembers = 1000
)

// pace maps a namespace whose objects list many members to when they may be updated again. The goroutine of Run owns
// it.
type pace map[string]time.Time

// shown records that the objects of a namespace were updated.
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

// wait returns how long a namespace must wait, zero or less if it need not.
func (p pace) wait(namespace string, now time.Time) time.Duration {
	until, paced := p[namespace]
	if !paced {
		return 0
	}
	return until.Sub(now)
}
