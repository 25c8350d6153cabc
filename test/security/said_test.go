// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	listAll      = metav1.ListOptions{}
	updateDryRun = metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
)

// canaries are texts that identify a key: lines of its PEM, and the middle of its DER in hex and in base64, at each
// of the three alignments.
func canaries(keyPEM []byte) []string {
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		return nil
	}
	secret := block.Bytes[len(block.Bytes)/2:]
	out := []string{hex.EncodeToString(secret[:16])}
	for i := range 3 {
		text := base64.RawStdEncoding.EncodeToString(secret[i:])
		out = append(out, text[4:28])
	}
	for line := range strings.Lines(string(keyPEM)) {
		if line = strings.TrimSpace(line); len(line) >= 32 && !strings.HasPrefix(line, "-----") {
			out = append(out, line[:32])
		}
	}
	return out
}

// sinceStart returns what the running process has logged. Earlier processes had other borders.
func sinceStart(t *testing.T, file string) string {
	t.Helper()
	text := read(t, file)
	begin := strings.LastIndex(text, " starting /")
	if begin < 0 {
		t.Fatalf("%s does not say when its process started", file)
	}
	return text[begin:]
}

// said returns the output of certrotation, by where it was found.
func (w *world) said(t *testing.T, namespace string) map[string]string {
	t.Helper()
	out := w.logs(t)
	out["a denial"] = w.forge(t, namespace)
	client := w.admin.CoreV1().RESTClient()
	for what, path := range map[string]string{
		"an event":               "/apis/events.k8s.io/v1/events",
		"a certificaterotation":  "/apis/certrotation.dev/v1alpha1/certificaterotations",
		"a bundlestatus":         "/apis/certrotation.dev/v1alpha1/bundlestatuses",
		"a record":               "/apis/config.certrotation.dev/v1alpha1/rotationrecords",
		"a configuration status": "/apis/config.certrotation.dev/v1alpha1/rotationconfigurations",
	} {
		text, err := client.Get().AbsPath(path).DoRaw(t.Context())
		if err != nil {
			t.Fatalf("read %s: %v", path, err)
		}
		out[what] = string(text)
	}
	return out
}
