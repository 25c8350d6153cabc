// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
)

// Options of a recovery.
type Options struct {
	nodepod.Layout
	// Peers of this member. If nil, they are read from the manifest or etcd's data.
	Peers []nodepod.Member
	// PeerTimeout bounds one probe.
	PeerTimeout time.Duration
	// Revision is the generation to bring back, as REVISION/NUMBER or NUMBER. If empty, it is the newest that a
	// quorum accepts.
	Revision string
	// Reissue reissues everything that has expired, even if an older generation would work.
	Reissue bool
	// DataDirectory of etcd. If empty, it is read from the manifest.
	DataDirectory string
	// SecretFiles are files or directories with the signers' Secrets. They replace etcd's data.
	SecretFiles []string
	// EtcdPrefix is the --etcd-prefix of kube-apiserver. Namespace holds the Secrets.
	EtcdPrefix, Namespace string
	// ClientSecrets name leaves of etcd clients to reissue into OutputDirectory.
	ClientSecrets []string
	// OutputDirectory receives what the rest of the cluster needs after a reissue.
	OutputDirectory string
	Clock           clock.PassiveClock
	// root is the file system of the node. Tests inject a failing one.
	root durable.FileSystem
}

// Plan is what a recovery would do. Planning does not change the disk.
type Plan struct {
	// Steps describe the plan to an operator, NextSteps what the operator must do afterwards.
	Steps, NextSteps []string
	// do are the steps of Execute. It is empty if there is nothing to do.
	do []func() error
	// lock excludes installers and pruners during Execute.
	lock func() (release func() error, err error)
}

// NothingToDo reports whether Execute would change nothing.
func (p *Plan) NothingToDo() bool { return len(p.do) == 0 }

// Execute runs the plan and stops at the first failed step. A new plan continues from there.
func (p *Plan) Execute() (err error) {
	release, err := p.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	for _, step := range p.do {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) step(do func() error, format string, args ...any) {
	p.Steps = append(p.Steps, fmt.Sprintf(format, args...))
	p.do = append(p.do, do)
}

func (p *Plan) putManifest(r *recovery, directory *nodepod.Directory) {
	p.step(func() error { return r.installManifest(directory) },
		"put %s in the place of %s", filepath.Join(directory.Path, r.ManifestName()), r.Manifest())
}

func (p *Plan) next(format string, args ...any) {
	p.NextSteps = append(p.NextSteps, fmt.Sprintf(format, args...))
}

// recovery is one attempt.
type recovery struct {
	Options
	disk *nodepod.Disk
	now  time.Time
}

// resolved resolves links in the directories that the operator names. Below these directories, no link is followed.
func (o Options) resolved() Options {
	for _, dir := range []*string{&o.ManifestDirectory, &o.ResourceDirectory} {
		if absolute, err := filepath.Abs(*dir); err == nil {
			*dir = absolute
		}
		if real, err := filepath.EvalSymlinks(*dir); err == nil {
			*dir = real
		}
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(filepath.Clean(o.OutputDirectory))); err == nil && o.OutputDirectory != "" {
		o.OutputDirectory = filepath.Join(dir, filepath.Base(o.OutputDirectory))
	}
	return o
}

// ReadDisk reads the disk of this node. Defects are part of the result; it fails only if the directories themselves
// are unreadable.
func ReadDisk(l nodepod.Layout) (*nodepod.Disk, error) {
	return l.ReadDisk(durable.Disk(l.ResourceDirectory), durable.Disk(l.ManifestDirectory))
}

// New reads the disk, probes the peers and plans the recovery of the member.
func New(ctx context.Context, o Options) (*Plan, error) {
	o = o.resolved()
	if o.root == nil {
		o.root = durable.Disk("/")
	}
	disk, err := ReadDisk(o.Layout)
	if err != nil {
		return nil, err
	}
	r := &recovery{Options: o, disk: disk, now: o.Clock.Now()}
	if newest, where := disk.NewestBeginning(); r.now.Before(newest) {
		return nil, fmt.Errorf("the clock says %s, which is before the beginning (%s) of %s: set the clock of this node first",
			r.now.UTC().Format(time.RFC3339), newest.UTC().Format(time.RFC3339), where)
	}
	candidates := nodepod.Candidates(disk, r.now)
	if o.Reissue {
		candidates = slices.DeleteFunc(candidates, func(c nodepod.Candidate) bool { return !r.inUse(&c) })
	}
	var p *Plan
	if len(candidates) == 0 {
		p, err = r.planReissue(ctx)
	} else {
		p, err = r.planRestore(ctx, candidates)
	}
	if err != nil {
		return nil, err
	}
	p.lock = func() (func() error, error) { return durable.Disk(o.ResourceDirectory).TryLock(o.LockName()) }
	return p, nil
}

// inUse reports whether kubelet already runs a candidate.
func (r *recovery) inUse(c *nodepod.Candidate) bool {
	_, current := r.disk.Running()
	return current == c.Generation
}

// planRestore brings back the newest candidate that a quorum accepts.
func (r *recovery) planRestore(ctx context.Context, candidates []nodepod.Candidate) (*Plan, error) {
	trials, err := r.try(ctx, candidates)
	if err != nil {
		return nil, err
	}
	chosen, err := nodepod.Choose(trials, r.Revision)
	if err != nil {
		return r.keepInUse(trials, err)
	}
	return r.planSwitch(ctx, chosen)
}

// keepInUse plans nothing if the generation in use works and no peer was reached that could refuse it. Otherwise it
// returns err.
func (r *recovery) keepInUse(trials []nodepod.Trial, err error) (*Plan, error) {
	for i := range trials {
		t := &trials[i]
		reached := slices.ContainsFunc(t.Verdicts, func(v nodepod.Verdict) bool { return v.Reached })
		if r.inUse(&t.Candidate) && !reached && r.Revision == "" {
			p := &Plan{}
			p.next("Generation %s is in use and works by itself. No peer answers: recover and start the other members.", t.ID())
			return p, nil
		}
	}
	return nil, err
}

// planSwitch makes a generation on disk the one in use. The pointer changes before the manifest, so that a manifest
// never refers to another generation than intended.
func (r *recovery) planSwitch(ctx context.Context, t *nodepod.Trial) (*Plan, error) {
	p := &Plan{}
	directory := t.Directory
	pointed := directory.Current() == t.Generation
	running, _ := r.disk.Running()
	if pointed && running == directory {
		p.next("Generation %s is in use already, and a quorum accepts it: there is nothing to do.", t.ID())
		return p, nil
	}
	if running != directory {
		if err := refuseRunning(ctx, usable(r.disk), r.dataDirectory()); err != nil {
			return nil, fmt.Errorf("bring back generation %s: %w", t.ID(), err)
		}
	}
	if !pointed {
		p.step(func() error { return r.pointAt(directory, t.Number) },
			"point %s at %s", directory.Pointer.Path, nodepod.GenerationName(t.Number))
	}
	if running != directory {
		p.putManifest(r, directory)
		p.next("Start kubelet (systemctl start kubelet): it starts the static pod with revision %d.", directory.Revision)
	}
	p.next("Run `certrotation doctor` when etcd is up: it probes the peers.")
	return p, nil
}

// try probes every peer with each candidate.
func (r *recovery) try(ctx context.Context, candidates []nodepod.Candidate) ([]nodepod.Trial, error) {
	peers, err := PeersOf(r.disk, r.Peers, r.DataDirectory)
	if err != nil {
		return nil, err
	}
	var out []nodepod.Trial
	for _, c := range candidates {
		t := nodepod.Trial{Candidate: c}
		if len(peers) > 0 {
			if t.Verdicts, err = Verdicts(ctx, c.Generation, c.Files(), peers, r.PeerTimeout, r.now); err != nil {
				return nil, err
			}
		}
		out = append(out, t)
	}
	return out, nil
}

func (r *recovery) dataDirectory() string {
	if r.DataDirectory != "" {
		return r.DataDirectory
	}
	return usable(r.disk).DataDirectory
}

func (r *recovery) asideDirectory() string {
	return filepath.Join(r.ResourceDirectory, r.SetAsideName(r.attempt()))
}

// attempt is the suffix of what this recovery sets aside.
func (r *recovery) attempt() string { return r.now.UTC().Format("20060102T150405Z") }
