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

	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/diagnosis"
)

// Plan is what a recovery would do. It is made without a change to the disk.
type Plan struct {
	// Steps in words, for people. NextSteps are what is left for them afterwards.
	Steps, NextSteps []string
	// do are the steps for Execute, none if there is nothing to do.
	do []func() error
	// lock keeps installers and pruners out meanwhile.
	lock func() (release func() error, err error)
}

// NothingToDo says whether Execute would change nothing.
func (p *Plan) NothingToDo() bool { return len(p.do) == 0 }

// Execute does what the plan says. It stops at the first step that fails; planning again goes on from there.
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

func (p *Plan) next(format string, args ...any) {
	p.NextSteps = append(p.NextSteps, fmt.Sprintf(format, args...))
}

// recovery is one attempt.
type recovery struct {
	Options
	disk *diagnosis.Disk
	now  time.Time
}

// New looks at the disk and at the peers and plans what brings the member back.
func New(ctx context.Context, o Options) (*Plan, error) {
	disk, err := ReadDisk(o.Layout)
	if err != nil {
		return nil, err
	}
	r := &recovery{Options: o, disk: disk, now: o.Clock.Now()}
	if newest, where := disk.NewestBeginning(); r.now.Before(newest) {
		return nil, fmt.Errorf("the clock says %s, which is before the beginning (%s) of %s: set the clock of this node first",
			r.now.UTC().Format(time.RFC3339), newest.UTC().Format(time.RFC3339), where)
	}
	candidates := diagnosis.Candidates(disk, r.now)
	if o.Reissue {
		candidates = slices.DeleteFunc(candidates, func(c diagnosis.Candidate) bool { return !r.inUse(&c) })
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
	p.lock = func() (func() error, error) { return generation.TryLock(o.ResourceDirectory, o.Name) }
	return p, nil
}

// inUse says whether kubelet runs a candidate already.
func (r *recovery) inUse(c *diagnosis.Candidate) bool {
	_, current := r.disk.Running()
	return current == c.Generation
}

// planRestore brings back the newest candidate that a quorum accepts.
func (r *recovery) planRestore(ctx context.Context, candidates []diagnosis.Candidate) (*Plan, error) {
	trials, err := r.try(ctx, candidates)
	if err != nil {
		return nil, err
	}
	chosen, err := diagnosis.Choose(trials, r.Revision)
	if err != nil {
		return r.settled(trials, err)
	}
	return r.planSwitch(ctx, chosen)
}

// settled says that there is nothing to do where the generation in use works and no peer is there to refuse it.
func (r *recovery) settled(trials []diagnosis.Trial, err error) (*Plan, error) {
	for i := range trials {
		t := &trials[i]
		reached := slices.ContainsFunc(t.Verdicts, func(v diagnosis.Verdict) bool { return v.Reached })
		if r.inUse(&t.Candidate) && !reached && r.Revision == "" {
			p := &Plan{}
			p.next("Generation %s is in use and works by itself. No peer answers: recover and start the other members.", t.ID())
			return p, nil
		}
	}
	return nil, err
}

// try probes every peer with each candidate.
func (r *recovery) try(ctx context.Context, candidates []diagnosis.Candidate) ([]diagnosis.Trial, error) {
	peers, err := PeersOf(r.disk, r.Peers, r.DataDirectory)
	if err != nil {
		return nil, err
	}
	var out []diagnosis.Trial
	for _, c := range candidates {
		t := diagnosis.Trial{Candidate: c}
		if len(peers) > 0 {
			if t.Verdicts, err = Verdicts(ctx, c.Generation, c.Files(), peers, r.PeerTimeout, r.now); err != nil {
				return nil, err
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// Verdicts probes the peers and says what each makes of a generation, and it of them.
func Verdicts(ctx context.Context, g *diagnosis.Generation, files diagnosis.Files, peers []diagnosis.Member, timeout time.Duration, now time.Time) ([]diagnosis.Verdict, error) {
	sightings, err := Probe(ctx, g, files, peers, timeout)
	if err != nil {
		return nil, err
	}
	verdicts := make([]diagnosis.Verdict, 0, len(sightings))
	for i := range sightings {
		verdicts = append(verdicts, g.Judge(files, &sightings[i], now))
	}
	return verdicts, nil
}

// ErrPeersUnknown reports that nothing says who the peers are.
var ErrPeersUnknown = errors.New("it is not known who the peers of this member are: name them with --peers, or say --peers= for a single member")

// PeersOf are the peers of this member: those that are given, or those that the manifest names, or those that etcd's data
// knows if etcd does not run. An empty list is a cluster of one.
func PeersOf(d *diagnosis.Disk, given []diagnosis.Member, dataDirectory string) ([]diagnosis.Member, error) {
	if given != nil {
		return given, nil
	}
	m := usable(d)
	members := m.InitialCluster
	if dataDirectory == "" {
		dataDirectory = m.DataDirectory
	}
	if len(members) == 0 && dataDirectory != "" && hasEtcdData(dataDirectory) {
		data, err := openEtcdData(dataDirectory)
		if err != nil {
			return nil, fmt.Errorf("%w (etcd's data would say, but cannot be read: %w)", ErrPeersUnknown, err)
		}
		defer data.Close()
		if members, err = data.members(); err != nil {
			return nil, err
		}
	}
	if len(members) == 0 {
		return nil, ErrPeersUnknown
	}
	return slices.DeleteFunc(slices.Clone(members), func(peer diagnosis.Member) bool {
		return peer.Name == m.Self || slices.Contains(m.Listens, peer.Address)
	}), nil
}

// usable is the manifest in use, or the newest copy of one if there is none.
func usable(d *diagnosis.Disk) *diagnosis.Manifest {
	if d.Manifest.Present && d.Manifest.Problem == "" {
		return &d.Manifest
	}
	for i := range slices.Backward(d.Directories) {
		if m := &d.Directories[i].Manifest; m.Present && m.Problem == "" {
			return m
		}
	}
	return &diagnosis.Manifest{}
}

func (r *recovery) dataDirectory() string {
	if r.DataDirectory != "" {
		return r.DataDirectory
	}
	return usable(r.disk).DataDirectory
}

// asideDirectory is where this recovery puts what it replaces.
func (r *recovery) asideDirectory() string {
	return filepath.Join(r.ResourceDirectory, r.Name+setAsideInfix+r.now.UTC().Format("20060102T150405Z"))
}
