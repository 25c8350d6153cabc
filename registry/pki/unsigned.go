// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import "sync"

// unsigned are certificates of the right name that have not signed one. The zero value is ready.
type unsigned struct {
	mu   sync.Mutex
	seen map[Fingerprint]struct{}
}

func (u *unsigned) has(ca Fingerprint) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.seen[ca]
	return ok
}

// add remembers one, and forgets all others when there are too many: what was forgotten is checked again.
func (u *unsigned) add(ca Fingerprint) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen == nil || len(u.seen) >= maxUnsigned {
		u.seen = map[Fingerprint]struct{}{}
	}
	u.seen[ca] = struct{}{}
}
