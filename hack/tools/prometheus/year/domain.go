// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import "time"

// domain is a trust domain over the year.
type domain struct {
	namespace, name string
	signer          string
	signerValidity  time.Duration
	// course of its rotations, in turn.
	course [][]step

	rotations []rotation
	// certificates are the signer and then the leaves.
	certificates []certificate
}

// domains of the installation.
func domains() []*domain {
	own := &domain{
		namespace: system, name: "certrotation", signer: "certrotation-signer", signerValidity: 5 * 365 * day,
		// kube-apiserver has a minute to load the caBundle; leaves in memory drain for five.
		course: [][]step{{
			{"Distributing", 3 * time.Second, 0}, {"Distributing", time.Minute, 1}, {"Reissuing", 5 * time.Second, 0},
			{"Draining", 5 * time.Minute, 1}, {"Retiring", 2 * time.Second, 0},
		}},
	}
	own.addSigner(200*day, when(61, 9), when(244, 14))

	etcd := &domain{namespace: "openshift-etcd", name: "etcd", signer: "etcd-signer", signerValidity: 5 * 365 * day, course: etcdCourse}
	etcd.addSigner(400*day, when(33, 10), when(151, 10), when(287, 10))
	metrics := &domain{namespace: "openshift-etcd", name: "etcd-metrics", signer: "etcd-metric-signer", signerValidity: 5 * 365 * day, course: etcdCourse[:1]}
	metrics.addSigner(400*day, when(34, 10), when(152, 10))
	years := policy{validity: 3 * 365 * day}
	for _, node := range masters {
		etcd.addLeaf("etcd-peer-"+node, years, 400*day)
		etcd.addLeaf("etcd-serving-"+node, years, 400*day)
		metrics.addLeaf("etcd-serving-metrics-"+node, years, 400*day)
	}
	etcd.addLeaf("etcd-client", years, 400*day)

	service := &domain{namespace: "mtls-demo", name: "service", signer: "service-signer", signerValidity: 90 * day, course: serviceCourse}
	service.addSigner(30 * day)
	service.addLeaf("service-server", policy{30 * day, 0.02}, 12*day)
	service.addLeaf("service-client-a", policy{30 * day, 0.05}, 5*day)
	service.addLeaf("service-client-b", policy{30 * day, 0.08}, 19*day)

	shop := &domain{namespace: "shop", name: "checkout", signer: "checkout-signer", signerValidity: 180 * day, course: shopCourse}
	shop.addSigner(124 * day)
	shop.addLeaf("checkout-server", policy{90 * day, 0.04}, 40*day)
	shop.addLeaf("checkout-worker", policy{90 * day, 0.09}, 50*day)
	return []*domain{own, etcd, metrics, service, shop}
}

// restart is how long a master takes for a revision that restarts its static pod, and then for being seen well again.
const restart = 4*time.Minute + 30*time.Second

var (
	// etcdCourse restarts the masters one after the other, twice: with the new anchor, and without the old one. The second
	// time a member has to wait for a slow disk. Something is waited for all the time, and always something else.
	etcdCourse = [][]step{
		{
			{"Distributing", 20 * time.Second, 0}, {"Distributing", restart, 3}, {"Distributing", restart, 2}, {"Distributing", restart, 1},
			{"Reissuing", 2 * time.Minute, 4}, {"Reissuing", time.Minute, 0}, {"Draining", 6 * time.Minute, 3}, {"Draining", 4 * time.Minute, 1},
			{"Retiring", 3 * restart, 0},
		},
		{
			{"Distributing", 20 * time.Second, 0}, {"Distributing", restart, 3}, {"Distributing", restart, 2}, {"Distributing", restart, 1},
			{"Reissuing", 9 * time.Minute, 4}, {"Reissuing", time.Minute, 1}, {"Draining", 14 * time.Minute, 3}, {"Draining", 11 * time.Minute, 1},
			{"Retiring", 3 * restart, 0},
		},
	}
	// serviceCourse: clients acknowledge within seconds, but for one that takes most of half an hour, and one that is told by hand.
	serviceCourse = [][]step{
		{
			{"Distributing", 2 * time.Second, 0}, {"Distributing", 70 * time.Second, 2}, {"Distributing", 15 * time.Second, 1},
			{"Reissuing", time.Minute, 1}, {"Draining", 80 * time.Second, 2}, {"Draining", 30 * time.Second, 1}, {"Retiring", 3 * time.Second, 0},
		},
		{
			{"Distributing", 2 * time.Second, 0}, {"Distributing", 75 * time.Second, 2}, {"Distributing", 26 * time.Minute, 1},
			{"Reissuing", time.Minute, 1}, {"Draining", 22 * time.Minute, 1}, {"Retiring", 3 * time.Second, 0},
		},
		{
			{"Distributing", 2 * time.Second, 0}, {"Distributing", 20 * time.Minute, 2}, {"Distributing", 25 * time.Minute, 1}, {"Distributing", 10 * time.Minute, 1},
			{"Reissuing", 90 * time.Second, 1}, {"Draining", 90 * time.Second, 2}, {"Retiring", 3 * time.Second, 0},
		},
	}
	// shopCourse restarts a workload that does not reload, one pod at a time.
	shopCourse = [][]step{{
		{"Distributing", 2 * time.Second, 0}, {"Distributing", 6 * time.Minute, 3}, {"Distributing", 6 * time.Minute, 2},
		{"Reissuing", 2 * time.Minute, 1}, {"Draining", 7 * time.Minute, 2}, {"Retiring", 3 * time.Second, 0},
	}}
)
