// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/utils/clock"

	doctorcmd "certrotation.dev/cmd/certrotation/app/doctor"
	"certrotation.dev/controller/recovery"
	"certrotation.dev/controller/recovery/disktest"
	"certrotation.dev/registry/nodedisk"
	"certrotation.dev/registry/pki"
)

// shortLife is how long the cluster has before everything expires: time enough to form and to store the Secrets.
const shortLife = 40 * time.Second

// TestExpiredWhileOff is a cluster of three members that was off until every certificate of it had expired, the CA
// included. Each node recovers alone.
func TestExpiredWhileOff(t *testing.T) {
	end := time.Now().Add(shortLife)
	ca := disktest.Authority(t, "openshift-etcd_etcd-signer@1", end)
	client := disktest.Leaf(t, ca, "etcd-client", end)
	members := newMembers(t, 3)
	for _, m := range members {
		m.Install(7, 7, m.Files(ca, end))
		m.start(t)
	}
	writer := members[0].client(t, ca.Certificate.PEM(), client.CertPEM(), keyOf(t, client))
	until(t, shortLife, "form the cluster", func(ctx context.Context) error {
		_, err := writer.Put(ctx, "/registry/data", "kept")
		return err
	})
	for name, pair := range map[string]*pki.Pair{"etcd-signer": ca, "etcd-client": client} {
		if _, err := writer.Put(t.Context(), disktest.Key(name), string(disktest.Encode(t, disktest.Secret(t, name, pair)))); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range members {
		m.stop(t)
	}

	<-time.After(time.Until(ca.Certificate.NotAfter.Add(2 * time.Second)))
	expiredFormNoQuorum(t, members, ca, client)
	for i, m := range members {
		m.recover(t)
		if i == 0 {
			m.repeats(t)
		}
	}
	for _, m := range members {
		m.start(t)
	}
	// The output of one node serves at all of them: nothing of it is the node's own.
	output := filepath.Join(members[2].Resources, "recovered")
	for _, m := range members {
		reader := m.client(t, read(t, output, "etcd-ca-bundle.crt"), read(t, output, "etcd-client.crt"), read(t, output, "etcd-client.key"))
		until(t, time.Minute, "read through "+m.Name, func(ctx context.Context) error {
			return linearizable(ctx, reader, "/registry/data", "kept")
		})
		if _, err := reader.Put(t.Context(), "/registry/after", m.Name); err != nil {
			t.Errorf("write through %s: %v", m.Name, err)
		}
	}
	members[1].healthy(t)
}

// expiredFormNoQuorum starts the members with what has expired: doctor says so, recover refuses to work under them, and
// nobody can read.
func expiredFormNoQuorum(t *testing.T, members []*member, ca, client *pki.Pair) {
	t.Helper()
	for _, m := range members {
		m.start(t)
	}
	reader := members[0].client(t, ca.Certificate.PEM(), client.CertPEM(), keyOf(t, client))
	until(t, time.Minute, "listen", func(ctx context.Context) error {
		sightings, err := recovery.Probe(ctx, generation(t, members[1], 7), files(members[1]), []nodedisk.Member{{Name: "node-0", Address: strings.TrimPrefix(members[0].PeerURL, "https://")}}, time.Second)
		if err == nil && !sightings[0].Met {
			err = errors.New(sightings[0].Failure)
		}
		return err
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := linearizable(ctx, reader, "/registry/data", "kept"); err == nil {
		t.Fatal("members whose certificates have expired serve a read; there is nothing to recover")
	}
	if _, err := recovery.New(t.Context(), members[0].options()); !errors.Is(err, recovery.ErrRunning) {
		t.Errorf("recover beside a running etcd: %v, want ErrRunning", err)
	}
	report := members[0].doctor(t)
	for _, want := range []string{"AuthorityExpired", "Expired", "PeerRefusesUs", "NoQuorum"} {
		if !strings.Contains(report, want) {
			t.Errorf("doctor does not report %s:\n%s", want, report)
		}
	}
	for _, m := range members {
		m.stop(t)
	}
}

func (m *member) options() recovery.Options {
	return recovery.Options{
		Layout:      nodedisk.Layout{Name: "etcd", ManifestDirectory: m.Manifests, ResourceDirectory: m.Resources},
		PeerTimeout: time.Second, EtcdPrefix: "/registry", Namespace: disktest.Namespace, ClientSecrets: []string{"etcd-client"},
		OutputDirectory: filepath.Join(m.Resources, "recovered"), Clock: clock.RealClock{},
	}
}

// recover plans first, which changes nothing, and does it then.
func (m *member) recover(t *testing.T) {
	t.Helper()
	before := m.snapshot(t)
	plan, err := recovery.New(t.Context(), m.options())
	if err != nil {
		t.Fatalf("recover %s: %v", m.Name, err)
	}
	if diff := cmp.Diff(before, m.snapshot(t)); diff != "" {
		t.Errorf("planning has changed the disk of %s (-before +after):\n%s", m.Name, diff)
	}
	t.Logf("%s:\n  %s", m.Name, strings.Join(plan.Steps, "\n  "))
	if err := plan.Execute(); err != nil {
		t.Fatalf("recover %s: %v", m.Name, err)
	}
	kept := 0
	for _, content := range m.snapshot(t) {
		for _, was := range before {
			if strings.HasPrefix(was, "-") && was == content {
				kept++
				break
			}
		}
	}
	if files := countFiles(before); kept < files {
		t.Errorf("%d files of %s are left of %d: something was destroyed", kept, m.Name, files)
	}
}

func countFiles(snapshot map[string]string) int {
	n := 0
	for _, content := range snapshot {
		if strings.HasPrefix(content, "-") {
			n++
		}
	}
	return n
}

// repeats recovers once more, which has nothing to do.
func (m *member) repeats(t *testing.T) {
	t.Helper()
	before := m.snapshot(t)
	plan, err := recovery.New(t.Context(), m.options())
	if err != nil || !plan.NothingToDo() {
		t.Fatalf("a second recovery: %v, %+v", err, plan)
	}
	if diff := cmp.Diff(before, m.snapshot(t)); diff != "" {
		t.Errorf("a second recovery has changed the disk (-before +after):\n%s", diff)
	}
}

// healthy asks doctor, which finds no error and all peers in agreement.
func (m *member) healthy(t *testing.T) {
	t.Helper()
	report := m.doctor(t)
	if strings.Contains(report, `"severity": "error"`) || strings.Count(report, "PeerAgrees") != 2 {
		t.Errorf("doctor on %s after the recovery:\n%s\n%s", m.Name, report, m.log())
	}
}

func (m *member) doctor(t *testing.T) string {
	t.Helper()
	command := doctorcmd.NewCommandFor(clock.RealClock{}, func(int) {})
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs([]string{"--manifest-dir=" + m.Manifests, "--resource-dir=" + m.Resources, "--output=json", "--peer-timeout=2s"})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out.Bytes(), []byte("PRIVATE KEY")) {
		t.Error("the report holds a key")
	}
	return out.String()
}

func files(m *member) nodedisk.ListenerFiles {
	cert, key := disktest.PairFiles("etcd-peer-" + m.Name)
	return nodedisk.ListenerFiles{Cert: cert, Key: key, Trust: disktest.ServerBundle}
}

func generation(t *testing.T, m *member, number int) *nodedisk.Generation {
	t.Helper()
	disk, err := recovery.ReadDisk(m.options().Layout)
	if err != nil {
		t.Fatal(err)
	}
	return disk.Directory(number).Generation(number)
}

func keyOf(t *testing.T, pair *pki.Pair) []byte {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
