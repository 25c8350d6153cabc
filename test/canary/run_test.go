// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/apifake"
)

func secretOf(name string, keys map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: name}, Data: keys}
}

func TestRun(t *testing.T) {
	// The keys of Secrets: one from before the run, a new one, both versions of a replaced one, and a deleted one.
	// The last key is in no Secret.
	keys := map[string][]byte{}
	for _, name := range []string{"before", "made", "former", "present", "deleted", "of nobody"} {
		keys[name] = keyOf(t, pki.ECDSAP256)
	}
	for name, tc := range map[string]struct {
		log, page, event []byte
		want             []string // Parts of the error; empty means no error.
	}{
		"nothing":                               {log: []byte("Signed name=sound"), page: []byte("up 1"), event: []byte("Reissued")},
		"a key that is in no Secret":            {log: keys["of nobody"]},
		"a key that was there before, in a log": {log: keys["before"], want: []string{"serve.log has key tls.key of secret tenant/before", "scalar, as base64"}},
		"a key that was made, in a log":         {log: keys["made"], want: []string{"serve.log has key next-tls.key of secret tenant/made"}},
		"a key that was replaced, in a log":     {log: keys["former"], want: []string{"serve.log has key tls.key of secret tenant/replaced"}},
		"a key that replaced another, in a log": {log: keys["present"], want: []string{"serve.log has key tls.key of secret tenant/replaced"}},
		"a key that is gone, in a log":          {log: keys["deleted"], want: []string{"serve.log has key tls.key of secret tenant/deleted"}},
		"a key in a page":                       {page: keys["made"], want: []string{"metrics has key next-tls.key of secret tenant/made"}},
		"a key in an event, in base64": {
			event: []byte(base64.StdEncoding.EncodeToString(keys["made"])), want: []string{"events has key next-tls.key of secret tenant/made", "in base64"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := apifake.New(t, clock.RealClock{}, secretOf("before", map[string][]byte{"tls.key": keys["before"], "ca.crt": []byte("none")}))
				client := api.Client
				said := ""
				r, err := Watch(t.Context(), client,
					Page{Name: "metrics", Read: func(context.Context) (string, error) { return said, nil }},
					Page{Name: "a page that does not answer", Read: func(context.Context) (string, error) { return "", errors.New("no") }},
				)
				if err != nil {
					t.Fatal(err)
				}
				secrets := client.CoreV1().Secrets("tenant")
				for _, secret := range []*corev1.Secret{
					secretOf("made", map[string][]byte{"next-tls.key": keys["made"]}),
					secretOf("replaced", map[string][]byte{"tls.key": keys["former"]}),
					secretOf("deleted", map[string][]byte{"tls.key": keys["deleted"]}),
					secretOf("spoilt", map[string][]byte{"tls.key": []byte("-----BEGIN PRIVATE KEY-----\nYQ==\n-----END PRIVATE KEY-----\n")}),
				} {
					if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				if err := api.Put(secretOf("replaced", map[string][]byte{"tls.key": keys["present"]})); err != nil {
					t.Fatal(err)
				}
				if err := secrets.Delete(t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "e"}, Note: string(tc.event)}
				if _, err := client.EventsV1().Events("tenant").Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				said = string(tc.page)
				r.ReadPages(t.Context())
				said = "the process is gone"
				r.ReadPages(t.Context())
				r.Stop()

				logs := t.TempDir()
				if err := os.WriteFile(filepath.Join(logs, "serve.log"), tc.log, 0o600); err != nil {
					t.Fatal(err)
				}
				err = r.Search(logs)
				if (err == nil) != (len(tc.want) == 0) {
					t.Fatalf("the search says %v", err)
				}
				for _, part := range tc.want {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("no %q in %v", part, err)
					}
				}
				if err != nil && strings.Contains(err.Error(), "BEGIN") {
					t.Error("the error quotes the key")
				}
			})
		})
	}
}

func TestRunWithoutKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Watch(t.Context(), apifake.New(t, clock.RealClock{}).Client)
		if err != nil {
			t.Fatal(err)
		}
		r.Stop()
		if err := r.Search(t.TempDir()); err == nil {
			t.Error("a search for no key is satisfied")
		}
	})
}
