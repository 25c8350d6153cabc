// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"certrotation.dev/controller/acknowledge"
	"certrotation.dev/controller/mountedfiles"
	"certrotation.dev/registry/pki"
)

const (
	// step is how often files are looked at, listenStep how often the listening socket is: for that the kernel goes through all
	// sockets of the node.
	step       = time.Second
	listenStep = 5 * time.Second
	// firstLook and lastLook bound the pause between looks at a program that has not caught up.
	firstLook = 2 * time.Second
	lastLook  = 30 * time.Second
	// firstRetry and lastRetry bound the pause after a reload that has failed.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// Reloader has the program load its files again. It is done when the program has said so, or was told.
type Reloader interface {
	Reload(ctx context.Context) error
}

// Config of an Agent.
type Config struct {
	// Certificate and Anchors are the mounted files; one may be "".
	Certificate, Anchors string
	// Reload is nil for a program that reloads by itself.
	Reload        Reloader
	ReloadTimeout time.Duration
	// Prove is where the program is looked at. Without it the files are reported after a reload.
	Prove  *Prove
	Server acknowledge.Server
	Member acknowledge.Member
}

// Agent works for one program.
type Agent struct {
	config   Config
	follower *mountedfiles.Follower
	reporter *acknowledge.Reporter
	metrics  *metrics
	// Of the goroutine of Run: when a reload, a look at the program and one at its socket are due, what they follow, how often a
	// reload has failed, and who listened last.
	retryAt, lookAt, changedAt, listenAt time.Time
	failures                             int
	listens                              string

	mu       sync.Mutex
	problems map[part]*acknowledge.Problem
	// mounted is the content of the files, nil before the first; reloaded is the one that the program was told of.
	mounted, reloaded *content
	// known are all anchors and leaves that were mounted.
	known  []*pki.Certificate
	leaves map[pki.Fingerprint]bool
	// proof is what the program has shown last, nil if it has not, or was started again since.
	proof *acknowledge.Loaded
	// startedAt is when the process that is looked at was first seen.
	startedAt time.Time
}

// New makes an Agent.
func New(config Config, registry Registry) *Agent {
	a := &Agent{
		config: config, follower: mountedfiles.NewFollower(config.Certificate, config.Anchors), metrics: newMetrics(registry),
		problems: map[part]*acknowledge.Problem{}, leaves: map[pki.Fingerprint]bool{}, startedAt: time.Now(),
	}
	a.reporter = acknowledge.New(config.Server, config.Member, a.look)
	return a
}

// Run works until the context ends.
func (a *Agent) Run(ctx context.Context) {
	var reporting sync.WaitGroup
	reporting.Go(func() { a.reporter.Run(ctx) })
	defer reporting.Wait()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		a.step(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// step does what is due.
func (a *Agent) step(ctx context.Context, now time.Time) {
	if a.follower.Changed() || a.problem(partFiles) != nil {
		a.read(ctx)
	}
	if a.config.Prove != nil && !now.Before(a.listenAt) {
		a.listenAt = now.Add(listenStep)
		a.noticeRestart()
	}
	if a.owed() && !now.Before(a.retryAt) {
		a.reload(ctx, now)
	}
	if !a.settled() && !now.Before(a.lookAt) {
		a.lookAt = now.Add(min(max(now.Sub(a.changedAt)/4, firstLook), lastLook))
		a.reporter.Wake()
	}
	a.metrics.set(a.all(), a.reporter.State().Expires)
}

// read takes what is mounted, or keeps what was.
func (a *Agent) read(ctx context.Context) {
	found, err := readContent(a.config.Certificate, a.config.Anchors)
	if err != nil {
		a.put(ctx, partFiles, &acknowledge.Problem{
			Reason: ReasonFilesUnreadable, Err: err, Next: "compare --certificate and --anchors with the volumeMounts of this container",
		})
		return
	}
	a.put(ctx, partFiles, nil)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mounted != nil && a.mounted.equal(found) {
		return
	}
	a.mounted, a.retryAt, a.failures = found, time.Time{}, 0
	a.lookAt, a.changedAt = time.Time{}, time.Now()
	a.remember(found)
	klog.FromContext(ctx).Info("Mounted", "leaf", found.leafName(), "anchors", len(found.anchors))
}

// owed says whether the program has to be told of what is mounted.
func (a *Agent) owed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.config.Reload == nil, a.mounted == nil, a.mounted == a.reloaded:
		return false
	case a.config.Prove == nil:
		return true
	case a.proof == nil && a.reloaded == nil:
		return false // It has not begun to serve, and reads its files when it does.
	case a.proof != nil && a.mounted.shown(a.proof):
		a.reloaded = a.mounted
		return false
	}
	return true
}

func (a *Agent) reload(ctx context.Context, now time.Time) {
	a.mu.Lock()
	told := a.mounted
	a.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, a.config.ReloadTimeout)
	defer cancel()
	err := a.config.Reload.Reload(bounded)
	a.metrics.reloaded(err)
	if err != nil {
		a.retryAt = now.Add(min(firstRetry<<min(a.failures, 10), lastRetry))
		a.failures++
		a.put(ctx, partReload, &acknowledge.Problem{Reason: ReasonReloadFailed, Err: err, Next: "the program keeps what it has; it is tried again"})
		return
	}
	klog.FromContext(ctx).Info("Reloaded", "leaf", told.leafName(), "anchors", len(told.anchors))
	a.put(ctx, partReload, nil)
	a.mu.Lock()
	a.reloaded = told
	a.mu.Unlock()
	a.reporter.Wake()
}

// settled says whether the program is seen to have what is mounted.
func (a *Agent) settled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.config.Prove == nil {
		return a.reloaded != nil && a.mounted == a.reloaded
	}
	return a.mounted != nil && a.proof != nil && a.mounted.shown(a.proof)
}

// look says what the program has loaded, for the Reporter.
func (a *Agent) look(ctx context.Context) (acknowledge.Loaded, error) {
	if a.config.Prove != nil {
		return a.prove(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reloaded == nil {
		return acknowledge.Loaded{}, &acknowledge.Problem{
			Reason: ReasonNotReloaded, Err: errNotReloaded, Next: "nothing is reported before a reload has succeeded",
		}
	}
	return acknowledge.Loaded{Trusts: fingerprints(a.reloaded.anchors), Presents: a.reloaded.presents(), StartedAt: a.startedAt}, nil
}
