// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"net/http"
	"sync/atomic"

	"k8s.io/apiserver/pkg/server/healthz"
)

// milestone is a state that is reached once and never left.
type milestone struct{ reached atomic.Bool }

func (m *milestone) reach() { m.reached.Store(true) }

// check returns a health check that fails with a text until a condition holds.
func check(name, failure string, holds func() bool) healthz.HealthChecker {
	return healthz.NamedCheck(name, func(*http.Request) error {
		if holds() {
			return nil
		}
		return errors.New(failure)
	})
}

// readyChecks are the readiness checks of both listeners.
func (s *Server) readyChecks() []healthz.HealthChecker {
	return []healthz.HealthChecker{
		check("inventory-synced", "the inventory has not seen the whole cluster yet", s.inventory.HasSynced),
		healthz.NamedCheck("serving-certificate", func(*http.Request) error { return s.certificate.ready() }),
	}
}

func (g *apiGroup) readyChecks() []healthz.HealthChecker {
	return []healthz.HealthChecker{
		check("epoch-acquired", "this replica has no epoch yet: it could not write its Lease", g.epoch.reached.Load),
		check("view-synced", "the view is not complete yet", func() bool {
			return g.certificates.Synced() && g.bundles.Synced()
		}),
	}
}
