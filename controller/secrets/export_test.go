// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/canary"
)

func newRecipient(t *testing.T) *age.X25519Identity {
	t.Helper()
	out, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (w *world) export(to *age.X25519Identity) []byte {
	w.Helper()
	var out bytes.Buffer
	if err := Export(w.ctx, w.api.Client.CoreV1(), identity, []string{space}, &out, to.Recipient()); err != nil {
		w.Fatalf("%v", err)
	}
	return out.Bytes()
}

func (w *world) restore(file io.Reader, by age.Identity) (edition.Plan, error) {
	w.Helper()
	return Restore(w.ctx, w.api.Client.CoreV1(), identity, file, by)
}

// migrated has a CA in the middle of its second rotation, and a password that is not persisted.
func migrated(w *world, options ...Option) *Instance {
	w.Helper()
	i := w.instance(options...)
	w.generate(i, authority("ca"), Persist(), Rotate(KeepOld))
	w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca"))
	w.generate(i, password("user"))
	w.cleanup(i)
	return i
}

// TestExportAndRestore: a namespace moves to another cluster in the middle of a rotation. There, all Secrets are created
// in one second, and those of Gardener have no number. The controller goes on where it was: the same current and old
// authority, the same server.
func TestExportAndRestore(t *testing.T) {
	noRecord := []Option{WithGroupRotation(&edition.GroupRotation{}, "ca")}
	for _, tt := range []struct {
		name       string
		unnumbered bool
		options    []Option
	}{
		{name: "of this library"},
		{name: "of Gardener", unnumbered: true},
		{name: "without the record of its phase", options: noRecord},
		{name: "of Gardener, without the record of its phase", unnumbered: true, options: noRecord},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from := newWorld(t)
			migrated(from)
			for range 2 {
				from.pass(day)
				from.times["ca"] = from.clock.Now()
				migrated(from)
			}
			if tt.unnumbered {
				for _, secret := range from.stored() {
					delete(secret.Labels, edition.LabelGeneration)
					from.put(secret)
				}
			}
			before := migrated(from)
			key := newRecipient(t)
			file := from.export(key)
			keysHidden(t, file, from)

			to := newWorld(t)
			to.clock.SetTime(from.clock.Now())
			plan, err := to.restore(bytes.NewReader(file), key)
			if err != nil {
				t.Fatal(err)
			}
			want := persistedOf(from)
			if got := to.names(); !slices.Equal(got, want) || len(plan) != len(want) {
				t.Fatalf("restored %q by the plan\n%s\nwant %q", got, plan, want)
			}
			if again, err := to.restore(bytes.NewReader(file), key); err != nil || len(again) > 0 {
				t.Errorf("the second restore has done %v, %v", again, err)
			}
			to.times["ca"] = from.times["ca"]
			after := migrated(to, tt.options...)
			for _, class := range []GetOption{Current, Old, Bundle} {
				was, _ := before.Get("ca", class)
				is, found := after.Get("ca", class)
				if !found || is.Name != was.Name || edition.DataChecksum(is.Data) != edition.DataChecksum(was.Data) {
					t.Errorf("the CA is %s there and was %s here", is.GetName(), was.GetName())
				}
			}
			old, _ := after.Get("ca", Old)
			if server, _ := after.Get("server"); !to.signedBy(server, old) {
				t.Error("the server is not signed by the old CA, which all clients trust")
			}
		})
	}
}

// persistedOf returns the names of the Secrets with the label persist.
func persistedOf(w *world) []string {
	var out []string
	for name, secret := range w.stored() {
		if secret.Labels[edition.LabelPersist] == edition.True {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// keysHidden fails if an export has a key of the world as text.
func keysHidden(t *testing.T, file []byte, w *world) {
	t.Helper()
	for name, secret := range w.stored() {
		for _, data := range []string{kinds.DataKeyPrivateKey, kinds.DataKeyPrivateKeyCA} {
			if len(secret.Data[data]) == 0 {
				continue
			}
			traces, err := canary.Of(secret.Data[data])
			if err != nil {
				t.Fatal(err)
			}
			if found := canary.In(file, traces); len(found) > 0 {
				t.Errorf("the export has the key of %s: %v", name, found)
			}
		}
	}
}

// TestRestoreRefuses: nothing is written, and the error says what to do.
func TestRestoreRefuses(t *testing.T) {
	key := newRecipient(t)
	source := newWorld(t)
	migrated(source)
	file := source.export(key)
	var other bytes.Buffer
	encrypted, err := age.Encrypt(&other, key.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(encrypted, `{"kind": "ConfigMapList"}`); err != nil {
		t.Fatal(err)
	}
	if err := encrypted.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		file []byte
		by   age.Identity
		// has prepares the cluster.
		has  func(w *world)
		want error
	}{
		{name: "another key", file: file, by: newRecipient(t)},
		{name: "no export", file: []byte("text"), by: key},
		{name: "the half of it", file: file[:len(file)/2], by: key},
		{name: "another list", file: other.Bytes(), by: key, want: ErrNoExport},
		{name: "the controller has run here", file: file, by: key, has: func(w *world) { migrated(w) }, want: ErrOtherSecrets},
		{name: "a newer edition here", file: file, by: key, has: func(w *world) {
			if _, err := w.restore(bytes.NewReader(file), key); err != nil {
				w.Fatalf("%v", err)
			}
			w.times["ca"] = w.clock.Now().Add(time.Hour)
			w.generate(w.instance(), authority("ca"), Persist(), Rotate(KeepOld))
		}, want: ErrOtherSecrets},
		{name: "a Secret of another owner", file: file, by: key, has: func(w *world) {
			foreign := &corev1.Secret{}
			foreign.Namespace, foreign.Name = space, persistedOf(source)[0]
			w.put(foreign)
		}, want: ErrOtherSecrets},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if tt.has != nil {
				tt.has(w)
			}
			before := w.stored()
			_, err := w.restore(bytes.NewReader(tt.file), tt.by)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if strings.Contains(err.Error(), "PRIVATE") {
				t.Error("the error quotes a key")
			}
			if !maps.EqualFunc(before, w.stored(), func(a, b *corev1.Secret) bool { return a.ResourceVersion == b.ResourceVersion }) {
				t.Error("it has written")
			}
		})
	}
}

// TestExportRefuses: an export has what must survive, and somebody who can read it.
func TestExportRefuses(t *testing.T) {
	w := newWorld(t)
	w.generate(w.instance(), password("user"))
	export := func(to ...age.Recipient) (int, error) {
		var out bytes.Buffer
		err := Export(w.ctx, w.api.Client.CoreV1(), identity, []string{space}, &out, to...)
		return out.Len(), err
	}
	if size, err := export(newRecipient(t).Recipient()); !errors.Is(err, ErrNothingPersisted) || size > 0 {
		t.Errorf("nothing is persisted: got %d bytes, %v", size, err)
	}
	w.generate(w.instance(), authority("ca"), Persist())
	if size, err := export(); err == nil || size > 0 {
		t.Errorf("there is no recipient: got %d bytes, %v", size, err)
	}
}

// TestExportWhileTheControllerRuns: what changes while it is read is not exported.
func TestExportWhileTheControllerRuns(t *testing.T) {
	for _, tt := range []struct {
		name string
		// runs is what happens between the two lists of the Secrets.
		runs func(w *world, stored *corev1.Secret)
		want error
	}{
		{name: "nothing happens", runs: func(*world, *corev1.Secret) {}},
		{name: "a new Secret", runs: func(w *world, stored *corev1.Secret) {
			stored.Name, stored.UID = "another", ""
			w.put(stored)
		}, want: ErrChangedMeanwhile},
		{name: "a changed Secret", runs: func(w *world, stored *corev1.Secret) { w.put(stored) }, want: ErrChangedMeanwhile},
		{name: "a deleted Secret", runs: func(w *world, stored *corev1.Secret) {
			if err := w.api.Drop(stored); err != nil {
				w.Fatalf("%v", err)
			}
		}, want: ErrChangedMeanwhile},
		{name: "a Secret of another identity", runs: func(w *world, stored *corev1.Secret) {
			stored.Name, stored.UID = "another", ""
			stored.Labels[edition.LabelManagerIdentity] = "other"
			w.put(stored)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			stored := w.generate(w.instance(), authority("ca"), Persist())
			lists := 0
			w.api.ReadFault = func(*apifake.Request) apifake.Fault {
				if lists++; lists == 2 {
					tt.runs(w, stored)
				}
				return apifake.NoFault
			}
			var out bytes.Buffer
			err := Export(w.ctx, w.api.Client.CoreV1(), identity, []string{space}, &out, newRecipient(t).Recipient())
			if !errors.Is(err, tt.want) || (tt.want == nil) != (out.Len() > 0) {
				t.Errorf("got %d bytes, %v, want %v", out.Len(), err, tt.want)
			}
		})
	}
}
