// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

const followInterval = time.Second

// Files are the paths of files that kubelet mounts. Certificate and Key must be in one volume; Anchors may be in
// another. An empty path loads nothing.
type Files struct {
	Certificate, Key, Anchors string
}

// Source holds the loaded material. Create it with New or Load.
type Source struct {
	startedAt time.Time
	current   atomic.Pointer[material]

	mu      sync.Mutex
	problem error
	wake    []func()
}

// NewSource loads PEM.
func NewSource(in PEM) (*Source, error) {
	s := &Source{startedAt: time.Now()}
	if err := s.Take(in); err != nil {
		return nil, err
	}
	return s, nil
}

// Load loads mounted files. Follow keeps them up to date.
func Load(files Files) (*Source, error) {
	in, err := read(files)
	if err != nil {
		return nil, err
	}
	return NewSource(in)
}

func read(files Files) (PEM, error) {
	content, err := Read(files.Certificate, files.Key, files.Anchors)
	if err != nil {
		return PEM{}, fmt.Errorf("load mounted files: %w", err)
	}
	return PEM{Certificate: content[0], Key: content[1], Anchors: content[2]}, nil
}

// Follow reloads the files when they change, until the context ends. It retries after a failure.
func (s *Source) Follow(ctx context.Context, files Files) {
	follower := NewFollower(files.Certificate, files.Key, files.Anchors)
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		if follower.Changed() || s.Problem() != nil {
			s.reload(ctx, files)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Source) reload(ctx context.Context, files Files) {
	former, before := s.Problem(), s.current.Load()
	in, err := read(files)
	if err == nil {
		err = s.Take(in)
	} else {
		s.fail(err)
	}
	logger := klog.FromContext(ctx)
	switch now := s.current.Load(); {
	case err != nil && (former == nil || former.Error() != err.Error()):
		logger.Error(err, "The former certificate and trust anchors stay loaded", "certificate", files.Certificate, "anchors", files.Anchors)
	case err == nil && now != before:
		logger.Info("Loaded", "presents", now.presents, "trusts", len(now.trusts))
	}
}

// Take loads PEM for every later handshake. If it fails, it changes nothing.
func (s *Source) Take(in PEM) error {
	m, err := parse(in)
	if former := s.current.Load(); err == nil && former != nil {
		err = former.successor(m)
	}
	if err != nil {
		s.fail(err)
		return err
	}
	s.mu.Lock()
	s.problem = nil
	s.current.Store(m)
	wake := s.wake
	s.mu.Unlock()
	for _, f := range wake {
		f()
	}
	return nil
}

// successor returns an error if m lacks anchors or a certificate that the former material has. So a program that
// verifies peers never stops verifying them.
func (former *material) successor(m *material) error {
	switch {
	case former.anchors != nil && m.anchors == nil:
		return fmt.Errorf("there is no trust anchor any more: %d stay loaded", len(former.trusts))
	case former.pair != nil && m.pair == nil:
		return fmt.Errorf("there is no certificate any more: %s stays loaded", former.presents[0])
	}
	return nil
}

func (s *Source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = err
}

// Problem returns why the last load failed, nil if it succeeded. It is for the program's health check.
func (s *Source) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

// Acknowledge reports what is loaded, after each load and before the report's lease ends, until the context ends.
func (s *Source) Acknowledge(ctx context.Context, server Server, member Member) {
	reporter := NewReporter(server, member, func(context.Context) (Loaded, error) {
		m := s.current.Load()
		return Loaded{Trusts: m.trusts, Presents: m.presents, StartedAt: s.startedAt}, nil
	})
	s.mu.Lock()
	s.wake = append(s.wake, reporter.Wake)
	s.mu.Unlock()
	reporter.Run(ctx)
}
