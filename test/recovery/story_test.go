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

	"certrotation.dev/cmd/certrotation/app/node"
	"certrotation.dev/controller/recovery"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/disktest"
)

// TestExpiredWhileOff recovers a cluster of three members that was off until all of its certificates had expired,
// the CA included. Each node recovers alone.
func TestExpiredWhileOff(t *testing.T) {
	key, err := pki.GenerateKey(pki.ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	const signer = "openshift-etcd_etcd-signer@1"
	end := time.Now().Add(-time.Hour)
	ca := disktest.AuthorityOf(t, key, signer, end)
	client := disktest.Leaf(t, ca, "etcd-client", end)
	members := newMembers(t, 3)
	form(t, members, disktest.AuthorityOf(t, key, signer, time.Now().Add(time.Hour)), map[string]*pki.Pair{"etcd-signer": ca, "etcd-client": client})

	// The certificates on the disks are of the same CA, and have expired.
	for _, m := range members {
		m.Install(7, 7, m.Files(ca, end))
	}
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
	// The output of one node works for all members: none of it is specific to the node.
	output := filepath.Join(members[2].Resources, "recovered")
	for _, m := range members {
		reader := m.client(t, read(t, output, "etcd-ca-bundle.crt"), read(t, output, "etcd-client.crt"), read(t, output, "etcd-client.key"))
		until(t, "read and write through "+m.Name, func(ctx context.Context) error {
			if err := linearizable(ctx, reader, "/registry/data", "kept"); err != nil {
				return err
			}
			_, err := reader.Put(ctx, "/registry/after", m.Name)
			return err
		})
	}
	members[1].healthy(t)
}

// form forms a cluster with valid certificates, stores data and Secrets in it, and stops it.
func form(t *testing.T, members []*member, valid *pki.Pair, secrets map[string]*pki.Pair) {
	t.Helper()
	for _, m := range members {
		m.Install(7, 7, m.Files(valid, valid.Certificate.NotAfter))
		m.start(t)
	}
	client := disktest.Leaf(t, valid, "etcd-client", valid.Certificate.NotAfter)
	writer := members[0].client(t, valid.Certificate.PEM(), client.CertPEM(), keyOf(t, client))
	stored := map[string]string{"/registry/data": "kept"}
	for name, pair := range secrets {
		stored[disktest.Key(name)] = string(disktest.Encode(t, disktest.Secret(t, name, pair)))
	}
	for key, value := range stored {
		until(t, "store "+key, func(ctx context.Context) error {
			_, err := writer.Put(ctx, key, value)
			return err
		})
	}
	for _, m := range members {
		m.stop(t)
	}
}

// expiredFormNoQuorum starts the members with expired certificates. No handshake between members succeeds, no
// member serves clients, doctor reports that, and recover refuses to run beside a running etcd.
func expiredFormNoQuorum(t *testing.T, members []*member, ca, client *pki.Pair) {
	t.Helper()
	served := map[string]int{}
	for _, m := range members {
		m.start(t)
		served[m.Name] = m.served(t)
	}
	until(t, "listen", func(ctx context.Context) error {
		sightings, err := recovery.Probe(ctx, generation(t, members[1], 7), files(members[1]), []nodepod.Member{{Name: "node-0", Address: strings.TrimPrefix(members[0].PeerURL, "https://")}}, patience)
		if err == nil && !sightings[0].Met {
			err = errors.New(sightings[0].Failure)
		}
		return err
	})
	members[0].refuses(t, ca, client)
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
		if m.served(t) != served[m.Name] {
			t.Errorf("%s serves clients although its certificates have expired", m.Name)
		}
		m.stop(t)
	}
}

func (m *member) options() recovery.Options {
	return recovery.Options{
		Layout:      nodepod.Layout{Name: "etcd", ManifestDirectory: m.Manifests, ResourceDirectory: m.Resources},
		PeerTimeout: patience, EtcdPrefix: "/registry", Namespace: disktest.Namespace, ClientSecrets: []string{"etcd-client"},
		OutputDirectory: filepath.Join(m.Resources, "recovered"), Clock: clock.RealClock{},
	}
}

// recover makes a plan, which must not change the disk, and executes it. Every file must still exist somewhere.
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

// repeats checks that a second recovery has nothing to do.
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

// healthy checks that doctor finds no error, and that both peers agree.
func (m *member) healthy(t *testing.T) {
	t.Helper()
	report := m.doctor(t)
	if strings.Contains(report, `"severity": "error"`) || strings.Count(report, "PeerAgrees") != 2 {
		t.Errorf("doctor on %s after the recovery:\n%s\n%s", m.Name, report, m.log())
	}
}

func (m *member) doctor(t *testing.T) string {
	t.Helper()
	command := node.NewDoctorCommandFor(clock.RealClock{}, func(int) {})
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&out)
	command.SetArgs([]string{"--manifest-dir=" + m.Manifests, "--resource-dir=" + m.Resources, "--output=json", "--peer-timeout=" + patience.String()})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out.Bytes(), []byte("PRIVATE KEY")) {
		t.Error("the report holds a key")
	}
	return out.String()
}

func files(m *member) nodepod.ListenerFiles {
	cert, key := disktest.PairFiles("etcd-peer-" + m.Name)
	return nodepod.ListenerFiles{Cert: cert, Key: key, Trust: disktest.ServerBundle}
}

func generation(t *testing.T, m *member, number int) *nodepod.Generation {
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
