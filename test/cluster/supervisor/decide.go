// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

// situation is everything that the next step depends on.
type situation struct {
	held bool
	// leafPending: the Secret has another leaf than the disk.
	leafPending bool
	servers     []serverSituation
}

type serverSituation struct {
	name string
	// stale servers have other trust than the bundle, or their restart was requested.
	stale bool
	ready bool
	// overdue servers have not been ready for longer than Config.ReadyPatience.
	overdue bool
}

// action is the next step: at most one field is set, none if there is nothing to do.
type action struct {
	restart  string
	swapLeaf bool
	// waits is what a pending step waits for.
	waits string
}

// decide chooses the next step by the rules of the package comment.
func decide(s situation) action {
	candidate, waits := nextRestart(s)
	switch {
	case candidate != "":
		return action{restart: candidate}
	case s.leafPending && leafMayMove(s):
		return action{swapLeaf: true}
	case waits == "" && s.leafPending:
		waits = "the leaf waits for restarted API servers to be ready"
	}
	return action{waits: waits}
}

// nextRestart chooses the server to restart. At most one server starts at a time, even if none is ready. A moment
// without an answer of etcd must not stop all servers.
func nextRestart(s situation) (candidate, waits string) {
	var stale []serverSituation
	ready, starting, stuck := 0, "", ""
	for _, server := range s.servers {
		switch {
		case server.stale:
			stale = append(stale, server)
		case !server.ready && server.overdue:
			stuck = server.name
		case !server.ready:
			starting = server.name
		}
		if server.ready {
			ready++
		}
	}
	switch {
	case len(stale) == 0:
		return "", ""
	case s.held:
		return "", "restarts are held"
	case starting != "":
		return "", starting + " is not ready yet"
	}
	for _, server := range stale {
		if !server.ready {
			return server.name, ""
		}
	}
	switch {
	case stuck != "":
		return "", stuck + " does not get ready, and nothing that serves is stopped before it does"
	case ready < 2 && len(s.servers) > 1:
		return "", "no other API server is ready"
	}
	return stale[0].name, ""
}

// leafMayMove requires that the trust is loaded first. Servers that do not get ready, or may not restart, do not
// block the leaf.
func leafMayMove(s situation) bool {
	if s.held {
		return true
	}
	settled := true
	for _, server := range s.servers {
		if server.overdue {
			return true
		}
		settled = settled && !server.stale && server.ready
	}
	return settled
}
