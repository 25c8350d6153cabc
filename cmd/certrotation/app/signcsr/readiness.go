// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// checkEvery is how often the files are read to see whether a sound request would be signed.
const checkEvery = 10 * time.Second

// watch keeps readiness until ctx ends. Whoever asks for it, and anybody may, causes nothing to be read.
func (s *Server) watch(ctx context.Context) error {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.check(ctx)
		}
	}
}

func (s *Server) check(ctx context.Context) {
	err := s.files.check(s.clock.Now())
	if err != nil {
		klog.FromContext(ctx).Error(err, "Not ready")
	}
	s.ready.Store(err == nil)
}
