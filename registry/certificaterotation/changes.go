// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certificaterotation

import "sync"

// changes wakes requests that wait for a change of a namespace. It keeps state only for namespaces with waiting
// requests.
type changes struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

func newChanges() *changes {
	return &changes{waiting: map[string]chan struct{}{}}
}

func (c *changes) next(namespace string) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, ok := c.waiting[namespace]
	if !ok {
		changed = make(chan struct{})
		c.waiting[namespace] = changed
	}
	return changed
}

// announce wakes the requests that wait for the namespace. It never blocks.
func (c *changes) announce(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed, ok := c.waiting[namespace]; ok {
		close(changed)
		delete(c.waiting, namespace)
	}
}
