// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"certrotation.dev/registry/nodedisk"
	"certrotation.dev/test/cluster/nodes"
)

// expiry signs certificates anew that end an hour ago at the latest. Names, keys and identifiers stay.
type expiry struct {
	signers []tls.Certificate
	// by is how much earlier everything begins and ends.
	by time.Duration
	// signed are the certificates in PEM by those that they replace.
	signed map[string][]byte
}

const (
	// expiredSince is when the last certificate ended.
	expiredSince     = time.Hour
	certificateBlock = "CERTIFICATE"
)

func newExpiry(stored []storedObject) (*expiry, error) {
	e := &expiry{signed: map[string][]byte{}}
	for _, o := range stored {
		secret, ok := o.object.(*corev1.Secret)
		if !ok || secret.Type != corev1.SecretTypeTLS {
			continue
		}
		pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", o.key, err)
		}
		if pair.Leaf.IsCA {
			e.signers = append(e.signers, pair)
			e.by = max(e.by, time.Until(pair.Leaf.NotAfter)+expiredSince).Truncate(time.Second)
		}
	}
	if len(e.signers) == 0 {
		return nil, errors.New("no Secret has a CA")
	}
	return e, nil
}

// sign signs a certificate anew. One that none of the signers has signed, as those of the cluster itself, stays.
func (e *expiry) sign(der []byte) ([]byte, error) {
	if known := e.signed[string(der)]; known != nil {
		return known, nil
	}
	old, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	for i := range e.signers {
		signer := &e.signers[i]
		if old.CheckSignatureFrom(signer.Leaf) != nil {
			continue
		}
		template := *old
		template.SignatureAlgorithm = x509.UnknownSignatureAlgorithm
		template.NotBefore, template.NotAfter = old.NotBefore.Add(-e.by), old.NotAfter.Add(-e.by)
		made, err := x509.CreateCertificate(rand.Reader, &template, signer.Leaf, old.PublicKey, signer.PrivateKey.(crypto.Signer))
		if err != nil {
			return nil, fmt.Errorf("sign %s anew: %w", old.Subject, err)
		}
		e.signed[string(der)] = pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: made})
		return e.signed[string(der)], nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der}), nil
}

// rewrite returns a text with all of its certificates signed anew. What is no certificate stays.
func (e *expiry) rewrite(text []byte) ([]byte, error) {
	var out []byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		encoded := pem.EncodeToMemory(block)
		if block.Type == certificateBlock {
			var err error
			if encoded, err = e.sign(block.Bytes); err != nil {
				return nil, err
			}
		}
		out = append(out, encoded...)
	}
	if out == nil {
		return text, nil
	}
	return out, nil
}

// storedObject is what kube-apiserver has stored in etcd.
type storedObject struct {
	key    string
	object runtime.Object
}

func readStored(ctx context.Context, client *clientv3.Client) ([]storedObject, error) {
	var out []storedObject
	for _, resource := range []string{"secrets", "configmaps"} {
		got, err := client.Get(ctx, "/registry/"+resource+"/"+namespace+"/", clientv3.WithPrefix())
		if err != nil {
			return nil, fmt.Errorf("read the %s: %w", resource, err)
		}
		for _, kv := range got.Kvs {
			object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(kv.Value, nil, nil)
			if err != nil {
				return nil, fmt.Errorf("decode %s: %w", kv.Key, err)
			}
			object.GetObjectKind().SetGroupVersionKind(*kind)
			out = append(out, storedObject{string(kv.Key), object})
		}
	}
	return out, nil
}

// rewriteStored rewrites the objects of the API. A revision stays, as its hash is that of its content.
func (e *expiry) rewriteStored(ctx context.Context, client *clientv3.Client, stored []storedObject) error {
	for _, o := range stored {
		var err error
		rewrite := func(value []byte) []byte {
			text, failed := e.rewrite(value)
			err = errors.Join(err, failed)
			return text
		}
		var immutable *bool
		switch object := o.object.(type) {
		case *corev1.Secret:
			immutable = object.Immutable
			for key := range object.Data {
				object.Data[key] = rewrite(object.Data[key])
			}
		case *corev1.ConfigMap:
			immutable = object.Immutable
			for key := range object.Data {
				object.Data[key] = string(rewrite([]byte(object.Data[key])))
			}
		}
		if immutable != nil && *immutable {
			continue
		}
		var encoded bytes.Buffer
		if err = errors.Join(err, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o.object, &encoded)); err == nil {
			_, err = client.Put(ctx, o.key, encoded.String())
		}
		if err != nil {
			return fmt.Errorf("rewrite %s: %w", o.key, err)
		}
	}
	return nil
}

// flush has every member write what was put to its database, where a recovery looks for it.
func flush(ctx context.Context, client *clientv3.Client) error {
	got, err := client.Get(ctx, keyOfData)
	if err != nil {
		return err
	}
	for _, endpoint := range client.Endpoints() {
		status, err := client.Status(ctx, endpoint)
		if err != nil {
			return fmt.Errorf("ask %s: %w", endpoint, err)
		}
		if status.Header.Revision < got.Header.Revision {
			return fmt.Errorf("%s is at revision %d of %d", endpoint, status.Header.Revision, got.Header.Revision)
		}
		if _, err := client.Defragment(ctx, endpoint); err != nil {
			return fmt.Errorf("defragment %s: %w", endpoint, err)
		}
	}
	return nil
}

// rewriteDisk rewrites the files of every generation on a disk, and the records of their hashes.
func (e *expiry) rewriteDisk(node *nodes.Node) error {
	return filepath.WalkDir(node.Path(resources), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != nodedisk.RecordName {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		record, err := nodedisk.ParseRecord(text)
		if err != nil {
			return err
		}
		for file := range record.Files {
			content, err := e.rewriteFile(filepath.Join(filepath.Dir(path), filepath.FromSlash(file)))
			if err != nil {
				return err
			}
			record.Files[file] = nodedisk.Hash(content)
		}
		if text, err = record.Encode(); err != nil {
			return err
		}
		return overwrite(path, text)
	})
}

func (e *expiry) rewriteFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if text, err = e.rewrite(text); err != nil {
		return nil, fmt.Errorf("rewrite %s: %w", path, err)
	}
	return text, overwrite(path, text)
}

// overwrite changes the content of a file, and not its mode.
func overwrite(path string, text []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, info.Mode().Perm())
}

// expire ends everything at once, as a loss of power does, and lets it be off until every certificate of etcd has expired: what is on
// the disks, and what the API server has stored, is signed anew with dates of the past.
func (s *system) expire(t *testing.T) {
	t.Helper()
	client, err := s.Etcd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := s.killProcesses(); err != nil {
		t.Fatal(err)
	}
	stored, err := readStored(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newExpiry(stored)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.rewriteStored(t.Context(), client, stored); err != nil {
		t.Fatal(err)
	}
	until(t, "every member has written that to its disk", func(ctx context.Context) error { return flush(ctx, client) })
	for _, node := range s.Nodes() {
		if err := node.PowerOff(); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range s.Nodes() {
		if err := e.rewriteDisk(node); err != nil {
			t.Fatal(err)
		}
		last, err := lastEnd(node)
		if err != nil {
			t.Fatal(err)
		}
		if time.Until(last) > -expiredSince/2 {
			t.Fatalf("a certificate on %s ends at %s", node.Name(), last)
		}
	}
	rendered, err := filepath.Glob(filepath.Join(s.dir, "rendered", "tls", "*.crt"))
	if err != nil || len(rendered) == 0 {
		t.Fatalf("the certificates that the API servers start with: %v, %v", rendered, err)
	}
	for _, file := range rendered {
		if _, err := e.rewriteFile(file); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("every machine is off, and %d certificates have expired", len(e.signed))
}
