// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// want makes the anchors of a bundle the trust that the API servers must load.
func (r *rollout) want(bundle []byte) error {
	if bundle == nil {
		return nil // The API was not seen yet.
	}
	id, _, err := parseTrust(bundle)
	if err != nil {
		return fmt.Errorf("use ConfigMap %s, key %s: %w", r.cfg.Bundle, r.cfg.BundleKey, err)
	}
	if r.trust != nil && r.trust.id == id {
		return nil
	}
	if allExpired(bundle, time.Now()) {
		return fmt.Errorf("use ConfigMap %s, key %s: every anchor of it has expired", r.cfg.Bundle, r.cfg.BundleKey)
	}
	t, err := r.store.putTrust(bundle)
	if err != nil {
		return fmt.Errorf("write new trust: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trust = t
	return nil
}

// pendingLeaf returns the pair of the Secret if it differs from the one on the disk. It is written and ready for
// swap.
func (r *rollout) pendingLeaf(certPEM, keyPEM []byte) (*leaf, error) {
	if certPEM == nil && keyPEM == nil {
		return nil, nil
	}
	l, err := parseLeaf(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("use Secret %s: %w", r.cfg.Leaf, err)
	}
	if l.id == r.leaf.id {
		return nil, nil
	}
	if !time.Now().Before(l.until) {
		return nil, fmt.Errorf("use Secret %s: its certificate has expired", r.cfg.Leaf)
	}
	written, err := r.store.putLeaf(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("write a new leaf: %w", err)
	}
	return written, nil
}

// situation collects the input of decide.
func (r *rollout) situation(leafPending bool) situation {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := situation{held: r.held, leafPending: leafPending}
	for _, server := range r.servers {
		now, state := time.Now(), server.state()
		ready := r.ready(server.Name)
		if since, known := r.unreadySince[server.Name]; ready {
			delete(r.unreadySince, server.Name)
		} else if !known || since.After(now) {
			r.unreadySince[server.Name] = now
		}
		starts, asked := r.asked[server.Name]
		out.servers = append(out.servers, serverSituation{
			name:    server.Name,
			stale:   asked && starts == state.starts || r.trust != nil && (state.trust == nil || state.trust.id != r.trust.id),
			ready:   ready,
			overdue: !ready && now.Sub(r.unreadySince[server.Name]) > r.cfg.ReadyPatience,
		})
	}
	return out
}

// restart restarts a server with the wanted trust, or with the same trust if only a restart was requested.
func (r *rollout) restart(ctx context.Context, name string) error {
	server := r.find(name)
	before := server.state()
	t := r.trust
	if t == nil {
		t = before.trust
	}
	if err := r.store.point(name+trustPointer, trustPrefix+t.id); err != nil {
		return fmt.Errorf("restart %s: %w", name, err)
	}
	if err := server.restart(ctx, t); err != nil {
		return fmt.Errorf("restart %s: %w", name, err)
	}
	after := server.state()
	if after.starts == before.starts || after.trust.id != t.id {
		return fmt.Errorf("restart %s: it did not start; see the supervisor's log", name)
	}
	// Its time to become ready begins now.
	delete(r.unreadySince, name)
	return r.prune()
}

// swap presents another leaf from the next handshake of every API server on.
func (r *rollout) swap(l *leaf) error {
	if err := r.store.point(leafPointer, leafPrefix+l.id); err != nil {
		return fmt.Errorf("present a new leaf: %w", err)
	}
	r.mu.Lock()
	r.leaf = l
	r.mu.Unlock()
	r.loaded()
	return r.prune()
}

func (r *rollout) prune() error {
	trusts, leaves := map[string]bool{}, map[string]bool{r.leaf.id: true}
	if r.trust != nil {
		trusts[r.trust.id] = true
	}
	for _, server := range r.servers {
		if t := server.state().trust; t != nil {
			trusts[t.id] = true
		}
	}
	if err := r.store.prune(trusts, leaves); err != nil {
		return fmt.Errorf("remove what is not used: %w", err)
	}
	return nil
}

func (r *rollout) find(name string) *apiServer {
	for _, server := range r.servers {
		if server.Name == name {
			return server
		}
	}
	return nil
}

// hold stops or resumes restarts.
func (r *rollout) hold(held bool) {
	r.mu.Lock()
	r.held = held
	r.mu.Unlock()
	r.poke()
}

var errUnknownServer = errors.New("no API server has this name")

// askRestart requests a restart of a server without a change. It waits for its turn.
func (r *rollout) askRestart(name string) error {
	server := r.find(name)
	if server == nil {
		return fmt.Errorf("restart %q: %w", name, errUnknownServer)
	}
	r.mu.Lock()
	r.asked[name] = server.state().starts
	r.mu.Unlock()
	r.poke()
	return nil
}

func (r *rollout) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// presented returns the leaf of the next handshake.
func (r *rollout) presented() *leaf {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leaf
}
