// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
)

// TestCSR: the request is printed as it is, and nothing that is none.
func TestCSR(t *testing.T) {
	request, _, err := pki.NewRequest(pki.Profile{CommonName: "demo_service-signer@1", Key: pki.ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}
	text := string(request.PEM())
	tests := map[string]struct {
		args    []string
		answer  string
		err     error
		want    string
		refused string
	}{
		"as PEM":             {answer: text, want: text},
		"as JSON":            {args: []string{"-o", "jsonpath={.request}"}, answer: text, want: text},
		"no request":         {answer: "\x1b[2Jno", refused: "the request of demo/service-signer: parse request"},
		"nothing is awaited": {err: apierrors.NewConflict(v1alpha1.Resource("certificaterotations"), "service-signer", errors.New("it has requested no CA")), refused: "it has requested no CA"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			s.answer("csr", &v1alpha1.SigningRequest{Request: tt.answer}, tt.err)
			code := s.run(t.Context(), append([]string{"csr", "service-signer"}, tt.args...)...)
			if tt.refused != "" {
				if code != 1 || !strings.Contains(s.errOut.String(), tt.refused) || s.out.Len() > 0 {
					t.Errorf("exit code %d, %q, error %q", code, s.out.String(), s.errOut.String())
				}
				return
			}
			if code != 0 || s.out.String() != tt.want {
				t.Errorf("exit code %d, %q, error %q", code, s.out.String(), s.errOut.String())
			}
		})
	}
}

// TestInstallCA: only certificates are sent, from a file or from stdin.
func TestInstallCA(t *testing.T) {
	root, err := pki.NewAuthority(pki.Profile{CommonName: "root", Key: pki.ECDSAP256, Validity: time.Hour, Subordinates: true}, testNow)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := root.IssueAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, testNow)
	if err != nil {
		t.Fatal(err)
	}
	sent := string(ca.CertPEM())
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, []byte("Certificate:\n    Data: text of openssl\n"+sent), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args    []string
		stdin   string
		dryRun  []string
		golden  string
		refused string
	}{
		"from a file": {args: []string{file}, golden: "install-ca.txt"},
		"from stdin":  {args: []string{"-"}, stdin: sent, golden: "install-ca.txt"},
		"dry run":     {args: []string{file, "--dry-run=server"}, dryRun: []string{"All"}, golden: "install-ca-dryrun.txt"},
		"no file":     {args: []string{file + "x"}, refused: "no such file"},
		"no PEM":      {args: []string{"-"}, stdin: "x", refused: "read -: "},
		"one name":    {refused: "takes the name of a signer and a file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			s.stdin = tt.stdin
			s.answer("install", plan(), nil)
			line := append([]string{"install-ca", "service-signer"}, tt.args...)
			if tt.refused != "" {
				if code := s.run(t.Context(), line...); code != 1 || !strings.Contains(s.errOut.String(), tt.refused) {
					t.Errorf("exit code %d, error %q", code, s.errOut.String())
				}
				return
			}
			golden(t, tt.golden, s.ok(t, line...))
			posted := s.posted(t, "install")
			if diff := cmp.Diff(&v1alpha1.AuthorityInstallation{Certificates: sent}, posted.Object); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.dryRun, posted.CreateOptions.DryRun); diff != "" {
				t.Errorf("dryRun (-want +got):\n%s", diff)
			}
		})
	}
	s := newShell(t)
	s.answer("install", nil, apierrors.NewForbidden(v1alpha1.Resource("certificaterotations"), "service-signer", errors.New("no")))
	if code := s.run(t.Context(), "install-ca", "service-signer", file); code != 1 || !strings.Contains(s.errOut.String(), "certificaterotations/install") {
		t.Errorf("exit code %d, error %q", code, s.errOut.String())
	}
}
