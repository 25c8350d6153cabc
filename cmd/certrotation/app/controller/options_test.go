// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		wrong  bool
	}{
		"defaults":                              {change: func(*Options) {}},
		"no health":                             {change: func(o *Options) { o.BindAddress = "" }},
		"address without port":                  {change: func(o *Options) { o.BindAddress = "localhost" }, wrong: true},
		"no workers":                            {change: func(o *Options) { o.Workers = 0 }, wrong: true},
		"no probes":                             {change: func(o *Options) { o.Probes = 0 }, wrong: true},
		"no handshakes":                         {change: func(o *Options) { o.Handshakes = 0 }, wrong: true},
		"fewer handshakes than the probes need": {change: func(o *Options) { o.Probes, o.Handshakes = 100, 299 }, wrong: true},
		"as many handshakes as the probes need": {change: func(o *Options) { o.Probes, o.Handshakes = 100, 300 }},
		"more handshakes than can be made":      {change: func(o *Options) { o.Handshakes = 100_001 }, wrong: true},
		"no requests":                           {change: func(o *Options) { o.QPS = 0 }, wrong: true},
		"named namespaces":                      {change: func(o *Options) { o.Namespaces = []string{"a", "b"} }},
		"a namespace that cannot be":            {change: func(o *Options) { o.Namespaces = []string{"a", "B C"} }, wrong: true},
		"no burst":                              {change: func(o *Options) { o.Burst = 0 }, wrong: true},
		"ranges": {change: func(o *Options) {
			o.AllowedCIDRs, o.DeniedCIDRs = []string{"127.0.0.0/8", "::1/128"}, []string{"10.0.0.0/8"}
		}},
		"no range":        {change: func(o *Options) { o.AllowedCIDRs = []string{"127.0.0.1"} }, wrong: true},
		"no denied range": {change: func(o *Options) { o.DeniedCIDRs = []string{"nodes"} }, wrong: true},
		"a lease that ends before it is renewed": {change: func(o *Options) {
			o.LeaderElection.LeaseDuration = metav1.Duration{Duration: time.Second}
		}, wrong: true},
		"a lease without a name": {change: func(o *Options) { o.LeaderElection.ResourceName = "" }, wrong: true},
		"no lease needed": {change: func(o *Options) {
			o.LeaderElection.LeaderElect, o.LeaderElection.ResourceName = false, ""
		}},
		"another lock": {change: func(o *Options) { o.LeaderElection.ResourceLock = "endpoints" }, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewOptions()
			test.change(o)
			if err := o.Validate(); (err != nil) != test.wrong {
				t.Errorf("got error %v, want one: %t", err, test.wrong)
			}
		})
	}
}

func TestFlagsFillTheOptions(t *testing.T) {
	command := NewCommand()
	if err := command.ParseFlags([]string{
		"--kubeconfig=x", "--leader-elect=false", "--kube-api-qps=7", "--metrics-bind-address=:1", "--namespaces=a,b", "--namespaces=c", "-v=2",
	}); err != nil {
		t.Fatal(err)
	}
}
