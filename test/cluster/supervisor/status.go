// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"time"

	"certrotation.dev/test/cluster/balancer"
)

// Status is the answer to GET /status.
type Status struct {
	// Held: new trust restarts nothing.
	Held bool `json:"held"`
	// Settled: every API server is ready and has loaded what the API objects say, and all of it is acknowledged.
	Settled bool `json:"settled"`
	// Waits is what a pending restart or leaf waits for.
	Waits string `json:"waits,omitempty"`
	// Problem is why the API objects cannot be used. AcknowledgeProblem is why the last acknowledgement was not
	// accepted.
	Problem            string `json:"problem,omitempty"`
	AcknowledgeProblem string `json:"acknowledgeProblem,omitempty"`
	// Wanted are the anchors of the bundle, empty before the API was seen.
	Wanted []string `json:"wanted,omitempty"`
	// Presents is the leaf presented at each new handshake.
	Presents     string          `json:"presents"`
	Servers      []ServerStatus  `json:"servers"`
	Acknowledged []Report        `json:"acknowledged,omitempty"`
	Connections  balancer.Counts `json:"connections"`
}

// ServerStatus is one API server.
type ServerStatus struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Pid     int    `json:"pid"`
	// Ready servers get new connections.
	Ready     bool      `json:"ready"`
	Failure   string    `json:"failure,omitempty"` // Of the newest check.
	StartedAt time.Time `json:"startedAt"`
	// Restarts counts all starts but the first. Crashes counts the ends without a request.
	Restarts int `json:"restarts"`
	Crashes  int `json:"crashes"`
	// Trusts are the anchors that the process has loaded. Their file was complete at TrustWrittenAt.
	Trusts         []string  `json:"trusts"`
	TrustWrittenAt time.Time `json:"trustWrittenAt"`
	Connections    int       `json:"connections"`
}

// Status returns the present state.
func (s *Supervisor) Status() Status {
	r := s.rollout
	r.mu.Lock()
	out := Status{Held: r.held, Waits: r.waits, Problem: r.problem, Presents: r.leaf.fingerprint, Connections: s.balancer.Counts()}
	wanted := r.trust
	r.mu.Unlock()
	out.Settled = wanted != nil && out.Waits == "" && out.Problem == ""
	if wanted != nil {
		out.Wanted = wanted.anchors
	}
	out.Acknowledged, out.AcknowledgeProblem = s.reporter.reports()
	for _, server := range s.servers {
		status := s.serverStatus(server)
		out.Servers = append(out.Servers, status)
		out.Settled = out.Settled && status.Ready && wanted != nil && server.state().trust.id == wanted.id
	}
	out.Settled = out.Settled && s.reporter.complete()
	return out
}

func (s *Supervisor) serverStatus(server *apiServer) ServerStatus {
	state, seen := server.state(), s.balancer.State(server.Name)
	out := ServerStatus{
		Name: server.Name, Address: server.Address, Pid: state.pid, Ready: seen.Ready, StartedAt: state.startedAt,
		Restarts: max(0, state.starts-1), Connections: seen.Connections,
	}
	server.mu.Lock()
	out.Crashes = server.crashes
	server.mu.Unlock()
	if state.trust != nil {
		out.Trusts, out.TrustWrittenAt = state.trust.anchors, state.trust.writtenAt
	}
	if seen.Failure != nil {
		out.Failure = seen.Failure.Error()
	}
	return out
}

// complete reports whether the API has accepted what every server has loaded now.
func (r *reporter) complete() bool {
	for _, target := range r.cfg.Acknowledge {
		for _, server := range r.servers {
			report, proven := r.observe(server)
			r.mu.Lock()
			accepted, known := r.accepted[reportKey{target: target, member: server.Name}]
			r.mu.Unlock()
			if !proven || !known || !accepted.same(report) {
				return false
			}
		}
	}
	return true
}
