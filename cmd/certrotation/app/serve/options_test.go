// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strings"
	"testing"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

func TestOptionsValidate(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string // part of the error, "" for none
	}{
		"defaults":              {},
		"split":                 {args: []string{"--serve-api=false", "--webhook-client-ca-file=/ca"}},
		"reviews without a way": {args: []string{"--serve-api=false"}, want: "--serve-api=false needs --webhook-client-ca-file"},
		"names of nobody":       {args: []string{"--webhook-client-names=a"}, want: "--webhook-client-names needs"},
		"debug socket":          {args: []string{"--debug-socket-path=/s"}, want: "--debug-socket-path"},
		"no face":               {args: []string{"--serve-api=false", "--serve-webhook=false"}, want: "cannot both be false"},
		"no secure port":        {args: []string{"--secure-port=0"}, want: "--secure-port cannot be 0"},
		"same port":             {args: []string{"--webhook-port=8443", "--webhook-client-ca-file=/ca"}, want: "are both 8443"},
		"bad webhook port":      {args: []string{"--webhook-port=70000", "--webhook-client-ca-file=/ca"}, want: "--webhook-port 70000"},
		"ports do not meet":     {args: []string{"--webhook-port=8443", "--serve-webhook=false"}},
		"bad namespace":         {args: []string{"--system-namespace=A_b"}, want: "--system-namespace"},
		"bad identity":          {args: []string{"--identity=Not/A/Name"}, want: "--identity"},
		"bad grace":             {args: []string{"--shutdown-delay-duration=-1s"}, want: "shutdown-delay-duration"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			options := NewOptions()
			command := newCommand(options)
			if err := command.ParseFlags(tt.args); err != nil {
				t.Fatal(err)
			}
			if err := options.Complete(); err != nil {
				t.Fatal(err)
			}
			err := utilerrors.NewAggregate(options.Validate())
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("unexpected error: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestOneKubeconfig: outside of a cluster, --kubeconfig alone is enough.
func TestOneKubeconfig(t *testing.T) {
	options := NewOptions()
	command := newCommand(options)
	if err := command.ParseFlags([]string{"--kubeconfig=/a", "--authorization-kubeconfig=/b"}); err != nil {
		t.Fatal(err)
	}
	if err := options.Complete(); err != nil {
		t.Fatal(err)
	}
	authentication := options.Recommended.Authentication.RemoteKubeConfigFile
	authorization := options.Recommended.Authorization.RemoteKubeConfigFile
	if authentication != "/a" || authorization != "/b" {
		t.Errorf("kubeconfigs %q and %q, want /a and /b", authentication, authorization)
	}
}

func TestIdentityIsNotShared(t *testing.T) {
	t.Setenv(envPodName, "")
	first, err := defaultIdentity()
	if err != nil {
		t.Fatal(err)
	}
	second, err := defaultIdentity()
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Errorf("two replicas on one host are both %q", first)
	}
	t.Setenv(envPodName, "pod-0")
	if got, err := defaultIdentity(); err != nil || got != "pod-0" {
		t.Errorf("%q, %v; want the Pod's name", got, err)
	}
}

func TestServingNames(t *testing.T) {
	options := NewOptions()
	options.SystemNamespace = "sys"
	options.ServingNames = []string{"api.example", "10.0.0.1"}
	names, addresses := options.servingNames()
	if got, want := strings.Join(names, " "), "certrotation certrotation.sys certrotation.sys.svc localhost api.example"; got != want {
		t.Errorf("names %q, want %q", got, want)
	}
	if got := addresses[len(addresses)-1].String(); got != "10.0.0.1" {
		t.Errorf("last address %q", got)
	}
}

func TestCertificateFallsBack(t *testing.T) {
	options := NewOptions()
	certificate, err := options.certificate()
	if err != nil {
		t.Fatal(err)
	}
	if cert, key := certificate.CurrentCertKeyContent(); len(cert) == 0 || len(key) == 0 {
		t.Error("nothing to start with")
	}
	if certificate.ready() == nil {
		t.Error("ready with a certificate that nobody trusts")
	}
	options.Recommended.SecureServing.ServerCert.CertKey.CertFile = "/cert"
	if certificate, err = options.certificate(); err != nil || certificate.ready() != nil {
		t.Errorf("with files: %v, %v", err, certificate.ready())
	}
}
