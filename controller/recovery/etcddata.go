// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"certrotation.dev/registry/nodepod"
)

// ErrRunning reports that etcd has its data open.
var ErrRunning = errors.New("etcd is running")

// Timeouts for the lock of etcd's data, and for a connection to etcd's addresses.
const (
	lockWait    = 500 * time.Millisecond
	dialTimeout = 2 * time.Second
)

// etcdData is the data directory of a stopped etcd, opened read-only. etcd cannot open it before Close.
type etcdData struct {
	db   *bolt.DB
	file string
}

// openEtcdData opens the database of an etcd data directory and writes nothing. It misses transactions that were only
// in etcd's log when etcd was killed. That is acceptable: what this package reads is seldom written.
func openEtcdData(dir string) (*etcdData, error) {
	file := databaseIn(dir)
	if !hasEtcdData(dir) {
		return nil, fmt.Errorf("there is no etcd data in %s: give its directory with --data-dir, or the Secrets of the signers with --secret-file", dir)
	}
	data := &etcdData{file: file}
	err := guarded(file, func() (err error) {
		data.db, err = bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
		return err
	})
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("%s is locked: %w", file, ErrRunning)
	}
	if err != nil {
		return nil, fmt.Errorf("open etcd data %s: %w", file, err)
	}
	return data, nil
}

func databaseIn(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

func hasEtcdData(dir string) bool {
	_, err := os.Stat(databaseIn(dir))
	return !errors.Is(err, fs.ErrNotExist)
}

// Close lets etcd open its data again.
func (e *etcdData) Close() error { return e.db.Close() }

// newest returns the newest value of each key that begins with prefix and is not deleted.
func (e *etcdData) newest(prefix string) (map[string][]byte, error) {
	values := map[string][]byte{}
	err := e.view(func(tx *bolt.Tx) error {
		bucket := tx.Bucket([]byte("key"))
		if bucket == nil {
			return errors.New("it has no bucket of keys, so it is no etcd data")
		}
		// Revisions are sorted, so the last one of a key is the newest.
		return bucket.ForEach(func(revision, value []byte) error {
			deleted, err := tombstone(revision)
			if err != nil {
				return err
			}
			kv := &mvccpb.KeyValue{}
			if err := proto.Unmarshal(value, kv); err != nil {
				return fmt.Errorf("a value at revision %x cannot be read", revision)
			}
			if !bytes.HasPrefix(kv.GetKey(), []byte(prefix)) {
				return nil
			}
			if deleted {
				delete(values, string(kv.GetKey()))
			} else {
				values[string(kv.GetKey())] = kv.GetValue()
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return values, nil
}

// tombstone parses etcd's key of a revision: 8 bytes, '_', 8 bytes, and 't' for a deletion.
func tombstone(revision []byte) (bool, error) {
	const plain, marked = 17, 18
	switch {
	case len(revision) == plain && revision[8] == '_':
	case len(revision) == marked && revision[8] == '_' && revision[plain] == 't':
		return true, nil
	default:
		return false, fmt.Errorf("%x is no revision of etcd", revision)
	}
	return false, nil
}

// members returns the members that the cluster had when this one was last up, with their peer addresses.
func (e *etcdData) members() ([]nodepod.Member, error) {
	var out []nodepod.Member
	err := e.view(func(tx *bolt.Tx) error {
		bucket := tx.Bucket([]byte("members"))
		if bucket == nil {
			return nil
		}
		return bucket.ForEach(func(_, value []byte) error {
			m := struct {
				Name     string   `json:"name"`
				PeerURLs []string `json:"peerURLs"`
			}{}
			if err := json.Unmarshal(value, &m); err != nil {
				return errors.New("a member cannot be read")
			}
			for _, address := range nodepod.Addresses(strings.Join(m.PeerURLs, ",")) {
				out = append(out, nodepod.Member{Name: m.Name, Address: address})
			}
			return nil
		})
	})
	slices.SortFunc(out, func(a, b nodepod.Member) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func (e *etcdData) view(look func(*bolt.Tx) error) error {
	err := guarded(e.file, func() error { return e.db.View(look) })
	if err != nil {
		return fmt.Errorf("read etcd data %s: %w", e.file, err)
	}
	return nil
}

// guarded turns bbolt's reactions to a damaged file, a panic or a read beyond its end, into an error.
func guarded(file string, do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%s is damaged (%v): restore the data from a snapshot or from another member, or give the Secrets of the signers with --secret-file", file, fault)
		}
	}()
	return do()
}

// refuseRunning returns ErrRunning while etcd listens where the manifest says, or has its data open.
func refuseRunning(ctx context.Context, m *nodepod.Manifest, dataDirectory string) error {
	// Moving the manifest away may not suffice: a kubelet that has not reached an API server since its start does not
	// stop the pod.
	const next = "stop it first: stop kubelet (systemctl stop kubelet) and then the pod (crictl stopp $(crictl pods --quiet --name NAME)); start kubelet again afterwards"
	for _, address := range m.Listens {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		cancel()
		if err == nil {
			conn.Close()
			return fmt.Errorf("something listens on %s: %w; %s", address, ErrRunning, next)
		}
	}
	if dataDirectory == "" || !hasEtcdData(dataDirectory) {
		return nil
	}
	data, err := openEtcdData(dataDirectory)
	if err != nil {
		return fmt.Errorf("%w; %s", err, next)
	}
	return data.Close()
}
