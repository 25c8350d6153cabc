// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"fmt"
	"slices"
	"time"
)

const (
	// system is the namespace of certrotation itself.
	system = "certrotation-system"
	// scrapeInterval of the Prometheus.
	scrapeInterval = 30 * time.Second
	// missed scrapes of ten thousand: a target that is slow, a connection that breaks.
	missed = 25
	// leaseDuration, and retryPeriod, of the leader election.
	leaseDuration, retryPeriod = 15 * time.Second, 2 * time.Second
)

// interval of the year.
type interval struct{ from, to time.Duration }

func (i interval) contains(at time.Duration) bool { return i.from <= at && at < i.to }

// blackouts are when Prometheus reaches no target.
var blackouts = []interval{
	{when(87, 3), when(87, 3) + 3*time.Minute},
	// In the middle of a rotation of etcd.
	{when(151, 10) + 12*time.Minute, when(151, 10) + 14*time.Minute},
	{when(300, 17), when(300, 17) + 4*time.Minute},
}

// life of a process, from its start to its end.
type life struct {
	interval

	instance string
	// released says that its end was asked for: it gave its lease back.
	released bool
}

// target is a place for a pod, which has one after the other, and in each of these processes.
type target struct {
	job string
	// number is its own.
	number uint32
	lives  []life
}

// disturbance ends a process. What follows begins after some time, in a pod of its own or in the same.
type disturbance struct {
	at, away time.Duration
	job      string
	replica  int
	pod      bool
	released bool
}

// disturbances of the year, of both programs.
func disturbances() []disturbance {
	var all []disturbance
	for month := range 12 {
		// A release in each month: all pods are replaced, one at a time and a surge beside it, so that none is away for long.
		at := when(11+30*month, 8)
		for i, job := range []string{"serve", "serve", "controller", "controller"} {
			all = append(all, disturbance{at + time.Duration(i)*90*time.Second, 2 * time.Second, job, i % 2, true, true})
		}
		// kube-apiserver restarts, and is away for longer than a leader waits.
		at = when(19+30*month, 22)
		all = append(all, disturbance{at, 25 * time.Second, "controller", 0, false, false}, disturbance{at, 28 * time.Second, "controller", 1, false, false})
		// A node is drained.
		at = when(25+30*month, 5)
		all = append(all, disturbance{at, 40 * time.Second, "serve", month % 2, true, true}, disturbance{at, 45 * time.Second, "controller", month % 2, true, true})
	}
	etcd, service := when(151, 10), when(186, 0)
	return append(all,
		// Processes are killed, the leader in the middle of a rotation among them.
		disturbance{etcd + 7*time.Minute, 20 * time.Second, "controller", 0, false, false},
		disturbance{etcd + 7*time.Minute, 21 * time.Second, "controller", 1, false, false},
		disturbance{service + 10*time.Minute, 15 * time.Second, "serve", 0, false, false},
		disturbance{when(287, 10) + 30*time.Minute, 12 * time.Second, "serve", 1, false, false},
		// Both of a program are away for minutes: their nodes are replaced at one time.
		disturbance{when(205, 2), 3 * time.Minute, "controller", 0, true, false},
		disturbance{when(205, 2), 4 * time.Minute, "controller", 1, true, false},
		disturbance{when(266, 2), 4 * time.Minute, "serve", 0, true, false},
		disturbance{when(266, 2), 3 * time.Minute, "serve", 1, true, false},
	)
}

// targets are the replicas of both programs.
func targets() []*target {
	all := disturbances()
	slices.SortFunc(all, func(a, b disturbance) int { return int((a.at - b.at) / time.Second) })
	var out []*target
	for network, job := range []string{"serve", "controller"} {
		for replica := range 2 {
			t := &target{job: job, number: uint32(len(out)+1) << 28}
			pod := 10 + replica
			instance := func() string { return fmt.Sprintf("10.128.%d.%d:8443", network, pod) }
			from := -100 * day
			for _, d := range all {
				if d.job != job || d.replica != replica {
					continue
				}
				t.lives = append(t.lives, life{interval{from, d.at}, instance(), d.released})
				if from = d.at + d.away; d.pod {
					pod += 2
				}
			}
			t.lives = append(t.lives, life{interval{from, Length + day}, instance(), false})
			out = append(out, t)
		}
	}
	return out
}

// alive is the process that runs at a moment.
func (t *target) alive(at time.Duration) (life, bool) {
	i, _ := slices.BinarySearchFunc(t.lives, at, func(l life, at time.Duration) int {
		if l.to <= at {
			return -1
		}
		return 1
	})
	if i < len(t.lives) && t.lives[i].contains(at) {
		return t.lives[i], true
	}
	return life{}, false
}

// instances are the addresses that the target had, each with the time in which it did.
func (t *target) instances() map[string]interval {
	all := map[string]interval{}
	for _, l := range t.lives {
		if before, known := all[l.instance]; known {
			all[l.instance] = interval{before.from, l.to}
		} else {
			all[l.instance] = l.interval
		}
	}
	return all
}

// offset is when in a scrape interval the target is scraped.
func (t *target) offset() time.Duration { return time.Duration(mixed(t.number)%29) * time.Second }

// scraped reports whether the scrape at a moment succeeds.
func (t *target) scraped(at time.Duration) bool {
	for _, b := range blackouts {
		if b.contains(at) {
			return false
		}
	}
	return mixed(t.number+uint32(at/time.Second))%10000 >= missed
}

// mixed has numbers that differ little far from each other.
func mixed(x uint32) uint32 {
	for range 2 {
		x ^= x >> 16
		x *= 0x7feb352d
	}
	return x ^ x>>15
}
