// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package disktest

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// Namespace of all Secrets.
const Namespace = "openshift-etcd"

// Configuration is the name of the RotationConfiguration to which the objects consent.
const Configuration = "etcd"

// Meta returns the metadata of an object that consents to the configuration.
func Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: Namespace, Name: name, Annotations: map[string]string{trust.AnnotationConfiguration: Configuration}}
}

// Secret returns the TLS Secret of a pair.
func Secret(t testing.TB, name string, pair *pki.Pair) *corev1.Secret {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: Meta(name),
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: pair.CertPEM(), corev1.TLSPrivateKeyKey: key},
	}
}

// Key returns the etcd key under which kube-apiserver stores a Secret.
func Key(name string) string { return "/registry/secrets/" + Namespace + "/" + name }

// Encode encodes an object as kube-apiserver stores it.
func Encode(t testing.TB, object runtime.Object) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := protobuf.NewSerializer(scheme, scheme).Encode(object, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Revision is one entry of etcd's store.
type Revision struct {
	Key   string
	Value []byte
	// Deleted marks a tombstone.
	Deleted bool
}

// WriteData creates a database with one bucket of keys, as etcd stores them, starting at revision 1.
func (n *Node) WriteData(revisions ...Revision) string {
	n.t.Helper()
	file := filepath.Join(n.Data, "member", "snap", "db")
	n.must(os.MkdirAll(filepath.Dir(file), 0o700))
	db, err := bolt.Open(file, 0o600, nil)
	n.must(err)
	n.must(db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists([]byte("key"))
		if err != nil {
			return err
		}
		for i, r := range revisions {
			key := binary.BigEndian.AppendUint64(nil, uint64(i+1))
			key = binary.BigEndian.AppendUint64(append(key, '_'), 0)
			if r.Deleted {
				key = append(key, 't')
			}
			value, err := proto.Marshal(&mvccpb.KeyValue{Key: []byte(r.Key), Value: r.Value, ModRevision: int64(i + 1)})
			if err != nil {
				return err
			}
			if err := bucket.Put(key, value); err != nil {
				return err
			}
		}
		return nil
	}))
	n.must(db.Close())
	return file
}
