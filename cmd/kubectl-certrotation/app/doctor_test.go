// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

// doctorShell returns a shell for a cluster. allowed says what the caller may do.
func doctorShell(t *testing.T, c *installed, allowed func(*authorizationv1.ResourceAttributes) bool) *shell {
	t.Helper()
	s := newShell(t, c.objects()...)
	s.api.Answer("selfsubjectaccessreviews", func(r *apifake.Request) (runtime.Object, error) {
		review := r.Object.(*authorizationv1.SelfSubjectAccessReview)
		review.Status.Allowed = allowed(review.Spec.ResourceAttributes)
		return review, nil
	})
	return s
}

func everything(*authorizationv1.ResourceAttributes) bool { return true }

func nothing(*authorizationv1.ResourceAttributes) bool { return false }

// reading allows what a viewer of a namespace may do.
func reading(a *authorizationv1.ResourceAttributes) bool {
	return a.Verb != "create" && a.Resource != "rotationrecords"
}

// forbid makes a server refuse reads of resources.
func forbid(s *shell, is func(resource string) bool) {
	s.api.ReadFault = func(r *apifake.Request) apifake.Fault {
		if is(r.Resource.Resource) {
			return apifake.Forbidden
		}
		return apifake.NoFault
	}
}

// notServed makes a server answer as if an API were not registered, or registered and down.
func notServed(s *shell, fault apifake.Fault) {
	s.api.ReadFault = func(r *apifake.Request) apifake.Fault {
		if r.Resource.Group == v1alpha1.GroupName {
			return fault
		}
		return apifake.NoFault
	}
}

func unavailable(c *installed) {
	c.service.Status.Conditions[0] = apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, Message: `endpoints for service/certrotation in "certrotation-system" have no addresses`,
	}
}

func TestDoctor(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cluster func(*installed)
		server  func(*shell)
		allowed func(*authorizationv1.ResourceAttributes) bool
		args    []string
		code    int
		golden  string
	}{
		{name: "healthy", golden: "doctor.txt"},
		{name: "healthy, on a terminal", server: func(s *shell) { s.width = 120 }, golden: "doctor-terminal.txt"},
		{name: "all namespaces, as JSON", args: []string{"-A", "-o", "json"}, golden: "doctor.json"},
		{name: "a rotation waits", cluster: func(c *installed) {
			c.domain = append(c.domain[1:], signer(distributing, func(o *v1alpha1.CertificateRotation) { o.Status.Blockers[0].Since = at(-25 * time.Minute) }))
		}, golden: "doctor-waits.txt"},
		{name: "what has failed", cluster: failing, code: 1, golden: "doctor-failed.txt"},
		{name: "what has failed, as JSON", cluster: failing, args: []string{"-o", "json"}, code: 1, golden: "doctor-failed.json"},
		{name: "warnings", cluster: warned, golden: "doctor-warnings.txt"},
		{name: "expired", cluster: expired, code: 1, golden: "doctor-expired.txt"},
		{name: "more than a screen", cluster: func(c *installed) {
			for i := range maxShown + 2 {
				c.domain = append(c.domain, leaf(fmt.Sprintf("leaf-%02d", i), oldCA, func(o *v1alpha1.CertificateRotation) {
					o.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, false, "is missing")}
				}))
			}
		}, code: 1, golden: "doctor-many.txt"},
		{name: "clocks", cluster: func(c *installed) {
			c.domain = append(c.domain[1:], signer(func(o *v1alpha1.CertificateRotation) {
				degraded := condition(v1alpha1.ConditionDegraded, true, "the clock is 20m ahead: nothing is issued or retired")
				degraded.Reason = string(trust.ReasonClockSkewed)
				o.Status.Conditions = append(o.Status.Conditions, degraded)
			}))
			c.lease.Spec.RenewTime = &metav1.MicroTime{Time: testNow.Add(-time.Hour)}
		}, server: func(s *shell) { s.ahead = 2 * time.Hour }, code: 1, golden: "doctor-clocks.txt"},
		{name: "a viewer of a namespace", server: func(s *shell) {
			forbid(s, func(resource string) bool {
				switch resource {
				case "certificaterotations", "bundlestatuses", "rotationconfigurations":
					return false
				}
				return true
			})
		}, allowed: reading, golden: "doctor-viewer.txt"},
		{name: "programs of half an upgrade", cluster: func(c *installed) {
			c.deployments[0].Spec.Template.Spec.Containers[0].Image = "certrotation:v0.2.0"
			c.deployments[0].Status.AvailableReplicas = 1
			c.configuration.Status = configv1alpha1.RotationConfigurationStatus{}
			// An older server does not say since when.
			old := signer(distributing)
			old.Status.StageSince, old.Status.StageDeadline, old.Status.RotatesAt = nil, nil, nil
			c.domain[0] = old
		}, golden: "doctor-upgrade.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := healthyCluster(t)
			if tt.cluster != nil {
				tt.cluster(c)
			}
			if tt.allowed == nil {
				tt.allowed = everything
			}
			s := doctorShell(t, c, tt.allowed)
			if tt.server != nil {
				tt.server(s)
			}
			if code := s.run(t.Context(), append([]string{"doctor"}, tt.args...)...); code != tt.code {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, s.errOut.String())
			}
			golden(t, tt.golden, s.out.String())
			onlyLooks(t, s)
		})
	}
}

// failing breaks each part of an installation.
func failing(c *installed) {
	c.guard.Webhooks = c.guard.Webhooks[:1]
	url := "https://127.0.0.1:8443"
	c.guard.Webhooks[0].ClientConfig.Service, c.guard.Webhooks[0].ClientConfig.URL = nil, &url
	c.definitions = c.definitions[:2]
	c.definitions[1].Spec.Versions[0].Name = "v1alpha0"
	c.definitions[0].Status.Conditions[0].Status, c.definitions[0].Status.Conditions[0].Message = "False", "names conflict"
	c.deployments[0].Spec.Replicas = new(int32(0))
	c.deployments[1].Status.AvailableReplicas = 0
	c.lease.Spec.RenewTime = &metav1.MicroTime{Time: testNow.Add(-time.Hour)}
	c.own.Status.Certificate = certificate(newCA, "CN=own@2", "")
	c.configuration.Status.Conditions[0] = condition(configv1alpha1.ConditionAccepted, false, "spec.trustDomains[0]: Invalid\x1b[2J value")
	overdue := signer(distributing, func(o *v1alpha1.CertificateRotation) { o.Status.StageDeadline = at(-5 * time.Minute) })
	c.domain = []runtime.Object{overdue, leaf("service-server", oldCA, func(o *v1alpha1.CertificateRotation) {
		o.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, false, "Secret/service-server does not exist")}
	})}
}

// warned departs from the manifests in ways that work.
func warned(c *installed) {
	*c.guard.Webhooks[0].FailurePolicy = "Ignore"
	c.service.Spec.InsecureSkipTLSVerify, c.service.Spec.CABundle = true, nil
	c.deployments, c.lease = nil, nil
	c.configuration.Status.Conditions[1] = condition(configv1alpha1.ConditionReady, false, "Secret/service-server does not consent")
	c.configuration.Status.Conditions[1].Reason = string(trust.ReasonNotAdopted)
}

// expired has certificates and anchors that have ended, or end soon.
func expired(c *installed) {
	b := bundle()
	b.Status.Anchors[1].Slot, b.Status.Anchors[1].Leaves = "retired", 1
	b.Status.Anchors[1].NotAfter = metav1.NewTime(testNow.Add(-48 * time.Hour))
	b.Status.Anchors[2].NotAfter = metav1.NewTime(testNow.Add(-time.Hour))
	ends := func(in time.Duration) func(*v1alpha1.CertificateRotation) {
		return func(o *v1alpha1.CertificateRotation) { o.Status.Certificate.NotAfter = metav1.NewTime(testNow.Add(in)) }
	}
	c.domain = []runtime.Object{b, signer(), leaf("service-client-a", oldCA, ends(-3*time.Hour)), leaf("service-server", oldCA, ends(time.Hour))}
}

// TestDoctorWithoutAnAnswer: a cluster that cannot be asked is one sentence with the next step, and exit code 2.
func TestDoctorWithoutAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cluster func(*installed)
		server  func(*shell)
		says    string
	}{
		{
			name: "without certrotation", cluster: (*installed).removed, server: func(s *shell) { notServed(s, apifake.NotServed) },
			says: "certrotation is not installed in this cluster: there is no APIService v1alpha1.certrotation.dev\n" +
				"Install it (docs/install.md), or choose another cluster (--context)",
		},
		{
			name: "only definitions", cluster: func(c *installed) { c.service, c.guard = nil, nil }, server: func(s *shell) { notServed(s, apifake.NotServed) },
			says: "certrotation is half installed: its definitions are here, and the APIService v1alpha1.certrotation.dev is not\n" + howToInstall,
		},
		{
			name: "nothing serves", cluster: unavailable, server: func(s *shell) { notServed(s, apifake.Unavailable) },
			says: "certrotation is half installed or down: the APIService v1alpha1.certrotation.dev is not available: " +
				`endpoints for service/certrotation in "certrotation-system" have no addresses` +
				"\nkubectl get pods -n certrotation-system -o wide; kubectl get apiservice v1alpha1.certrotation.dev -o yaml",
		},
		{
			name: "another version", cluster: func(c *installed) { c.service.Name, c.service.Spec.Version = "v1beta1.certrotation.dev", "v1beta1" },
			server: func(s *shell) { notServed(s, apifake.NotServed) },
			says: "the cluster serves certrotation.dev/v1beta1, and this plugin reads certrotation.dev/v1alpha1\n" +
				"Use the plugin of the release that is installed: kubectl get deployments -n certrotation-system -o wide",
		},
		{
			name: "without rights", server: func(s *shell) { forbid(s, func(string) bool { return true }) },
			says: "you may read nothing of certrotation in namespace demo\nAsk for the ClusterRole certrotation-viewer there",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := healthyCluster(t)
			if tt.cluster != nil {
				tt.cluster(c)
			}
			s := doctorShell(t, c, nothing)
			tt.server(s)
			if code := s.run(t.Context(), "doctor"); code != 2 || s.out.Len() > 0 {
				t.Errorf("exit code %d, output %q", code, s.out.String())
			}
			if want := "error: " + tt.says + "\n"; s.errOut.String() != want {
				t.Errorf("says %q, want %q", s.errOut.String(), want)
			}
			onlyLooks(t, s)
		})
	}
}

// TestNoCluster: without an API server, doctor, status and history say so with exit code 2.
func TestNoCluster(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, command := range [][]string{{"doctor"}, {"status"}, {"history", "service-signer"}} {
		for name, tt := range map[string]struct {
			args []string
			says string
		}{
			"no such context": {[]string{"--context=none"}, `context "none" does not exist`},
			"unreachable":     {[]string{"--server", closed.URL}, "Is the API server running"},
		} {
			t.Run(command[0]+" "+name, func(t *testing.T) {
				s := remote(t)
				if code := s.run(t.Context(), append(command, tt.args...)...); code != 2 || !strings.Contains(s.errOut.String(), tt.says) {
					t.Errorf("exit code %d: %q", code, s.errOut.String())
				}
			})
		}
	}
}

// TestServerTime reads the date of an answer, even of a refusal.
func TestServerTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", testNow.Format(http.TimeFormat))
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	s := remote(t)
	s.run(t.Context(), "doctor", "--server", server.URL)
	if !strings.HasPrefix(s.errOut.String(), "error: you may read nothing of certrotation in namespace demo") {
		t.Errorf("says %q", s.errOut.String())
	}
}
