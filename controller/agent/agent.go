// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"certrotation.dev/controller/reload"
	"certrotation.dev/registry/pki"
)

const (
	// step is the interval between checks of the files, listenStep between checks of the listening socket. The latter
	// is longer because the kernel walks all sockets of the node for it.
	step       = time.Second
	listenStep = 5 * time.Second
	// firstLook and lastLook bound the pause between looks at a program that lags behind the files.
	firstLook = 2 * time.Second
	lastLook  = 30 * time.Second
	// firstRetry and lastRetry bound the pause after a failed reload.
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// Reloader makes the program load its files again. Reload returns when the program has confirmed that, or was merely
// told.
type Reloader interface {
	Reload(ctx context.Context) error
}

// Config of an Agent.
type Config struct {
	// Certificate and Anchors are the mounted files. One of them may be "".
	Certificate, Anchors string
	// Reload is nil for a program that reloads by itself.
	Reload        Reloader
	ReloadTimeout time.Duration
	// Prove is where the agent looks at the program. Without it the agent reports the files after a reload.
	Prove  *Prove
	Server reload.Server
	Member reload.Member
}

// Agent works for one program.
type Agent struct {
	config   Config
	follower *reload.Follower
	reporter *reload.Reporter
	metrics  *metrics
	// Owned by the goroutine of Run. retryAt, lookAt and listenAt are when the next reload, look at the program and
	// look at its socket are due. changedAt is the last change that looks follow, failures counts failed reloads, and
	// listens names the last listening sockets.
	retryAt, lookAt, changedAt, listenAt time.Time
	failures                             int
	listens                              string

	mu       sync.Mutex
	problems map[part]*reload.Problem
	// mounted is the content of the files, nil before the first read. reloaded is the content that the program last
	// loaded, by a reload or by its proof.
	mounted, reloaded *content
	// known and leaves are all anchors and leaves that were ever mounted.
	known  []*pki.Certificate
	leaves map[pki.Fingerprint]bool
	// proof is what the program last showed, nil if it has shown nothing since it started.
	proof *reload.Loaded
	// startedAt is when the current process was first observed.
	startedAt time.Time
}

// New makes an Agent.
func New(config Config, registry Registry) *Agent {
	a := &Agent{
		config: config, follower: reload.NewFollower(config.Certificate, config.Anchors), metrics: newMetrics(registry),
		problems: map[part]*reload.Problem{}, leaves: map[pki.Fingerprint]bool{}, startedAt: time.Now(),
	}
	a.reporter = reload.NewReporter(config.Server, config.Member, a.look)
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

// read loads the mounted files. If that fails it keeps the former content.
func (a *Agent) read(ctx context.Context) {
	found, err := readContent(a.config.Certificate, a.config.Anchors)
	if err != nil {
		a.put(ctx, partFiles, &reload.Problem{
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

// owed reports whether the program must be told to reload.
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
		a.put(ctx, partReload, &reload.Problem{Reason: ReasonReloadFailed, Err: err, Next: "the program keeps what it has; it is tried again"})
		return
	}
	klog.FromContext(ctx).Info("Reloaded", "leaf", told.leafName(), "anchors", len(told.anchors))
	a.put(ctx, partReload, nil)
	a.mu.Lock()
	a.reloaded = told
	a.mu.Unlock()
	a.reporter.Wake()
}

// settled reports whether the program is known to have loaded the mounted content.
func (a *Agent) settled() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.config.Prove == nil {
		return a.reloaded != nil && a.mounted == a.reloaded
	}
	return a.mounted != nil && a.proof != nil && a.mounted.shown(a.proof)
}

// look returns what the program has loaded. It is the Look of the Reporter.
func (a *Agent) look(ctx context.Context) (reload.Loaded, error) {
	if a.config.Prove != nil {
		return a.prove(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reloaded == nil {
		return reload.Loaded{}, &reload.Problem{
			Reason: ReasonNotReloaded, Err: errNotReloaded, Next: "nothing is reported before a reload has succeeded",
		}
	}
	return reload.Loaded{Trusts: fingerprints(a.reloaded.anchors), Presents: a.reloaded.presents(), StartedAt: a.startedAt}, nil
}
