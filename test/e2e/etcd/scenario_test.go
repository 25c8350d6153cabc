// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// scenario measures the system while a test acts on it.
type scenario struct {
	s       *system
	begun   time.Time
	targets []target
	prober  *prober
	writer  *writer
	starts  map[string]int
	// logged is the size of the controller's log at the beginning.
	logged int64
}

// expectation is what a scenario allows.
type expectation struct {
	// restarts per member, at most.
	restarts int
	// killed are the members, or "API server", that the test itself disturbs.
	killed []string
}

// longestPause is the longest time without an acknowledged write on an idle machine. An election follows the
// restart of a leader, and the writer must find another member.
const longestPause = 20 * time.Second

// begin starts the prober and the writer.
func (s *system) begin(t *testing.T) *scenario {
	t.Helper()
	targets, err := s.targets()
	if err != nil {
		t.Fatal(err)
	}
	return s.beginWith(t, targets)
}

func (s *system) beginWith(t *testing.T, targets []target) *scenario {
	t.Helper()
	writer, err := startWriter(t.Context(), s.Endpoints(), s.objects.volumes.dialer("etcd-client", "etcd-ca-bundle"), "/certrotation-e2e/"+strings.ReplaceAll(t.Name(), "/", "-")+"/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(writer.stop)
	log, err := os.Stat(s.Controller.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	return &scenario{
		s: s, begun: time.Now(), targets: targets, prober: startProber(t.Context(), targets), writer: writer,
		starts: s.objects.starts(), logged: log.Size(),
	}
}

// finish waits until the system is settled, stops everything, and checks what must hold on the slowest machine. No
// handshake fails for a correct client, no write is lost, and no member refuses a certificate.
func (c *scenario) finish(t *testing.T) map[string]*outcome {
	t.Helper()
	if err := c.s.settled(t.Context()); err != nil {
		t.Errorf("the system does not settle: %v", err)
	}
	outcomes := c.prober.finish()
	c.writer.check(t.Context(), t)
	checkHandshakes(t, outcomes)
	c.checkLogs(t)
	t.Logf("took %s", time.Since(c.begun).Round(time.Second))
	return outcomes
}

// end calls finish, and also checks absences, restarts and the pause between writes.
func (c *scenario) end(t *testing.T, want expectation) {
	t.Helper()
	outcomes := c.finish(t)
	if c.writer.longest > longestPause {
		t.Errorf("no write was acknowledged for %s from %s on", c.writer.longest, c.writer.paused.Format(time.TimeOnly))
	}
	checkAway(t, outcomes, c.targets, want.killed)
	restarts := map[string]int{}
	for node, starts := range c.s.objects.starts() {
		if before, known := c.starts[node]; known {
			restarts[node] = starts - before
		}
	}
	for node, n := range restarts {
		if n > want.restarts && !slices.Contains(want.killed, node) {
			t.Errorf("%s restarted %d times, want at most %d", node, n, want.restarts)
		}
	}
	t.Logf("restarts: %v", restarts)
	if t.Failed() {
		c.logDecisions(t)
	}
}

func (c *scenario) logDecisions(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(c.s.Controller.LogFile())
	if err != nil || int64(len(text)) < c.logged {
		t.Logf("the log of the controller, which had %d bytes, has %d: %v", c.logged, len(text), err)
		return
	}
	for line := range strings.Lines(string(text[c.logged:])) {
		if strings.Contains(line, `"Done"`) && strings.Contains(line, " rollout=") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// refusedCertificate matches what etcd logs when one of its own handshakes fails because of a certificate.
var refusedCertificate = regexp.MustCompile(`bad certificate|unknown certificate|certificate required|unknown authority|expired certificate|has expired or is not yet valid|failed to verify certificate`)

func (c *scenario) checkLogs(t *testing.T) {
	t.Helper()
	refused := 0
	for _, node := range c.s.Nodes() {
		files, err := filepath.Glob(node.Path("/var/log/pods/*_etcd-" + node.Name() + "_*/etcd/*.log"))
		if err != nil || len(files) == 0 {
			t.Errorf("find the logs of etcd on %s: %v, %v", node.Name(), files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // kubelet removes the logs of deleted pods.
			}
			for line := range strings.Lines(string(text)) {
				stamp, message, _ := strings.Cut(line, " ")
				at, err := time.Parse(time.RFC3339Nano, stamp)
				if err == nil && at.After(c.begun) && refusedCertificate.MatchString(message) {
					if refused++; refused <= 3 {
						t.Errorf("%s logged: %s", node.Name(), strings.TrimSpace(line))
					}
				}
			}
		}
	}
	t.Logf("certificates that etcd refused or was refused: %d", refused)
}

// stages follows the stage of a signer until ctx ends, and prints how long each lasted.
func (s *system) stages(ctx context.Context, t *testing.T, signer string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		last, since := "", time.Now()
		var report []string
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				t.Logf("stages of %s: %s", signer, strings.Join(report, ", "))
				return
			case <-tick.C:
			}
			row, err := s.row(ctx, signer)
			if err != nil || string(row.Status.Stage) == last {
				continue
			}
			if last != "" {
				report = append(report, fmt.Sprintf("%s %.1f s", last, time.Since(since).Seconds()))
			}
			last, since = string(row.Status.Stage), time.Now()
		}
	}()
	return func() { cancel(); <-done }
}
