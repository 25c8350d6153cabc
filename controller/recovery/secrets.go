// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"certrotation.dev/apis/document"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/view/inventory"
)

// ErrEncrypted reports that the API server encrypts the Secrets at rest.
var ErrEncrypted = errors.New("the Secrets are encrypted at rest")

// encryptedPrefix starts values that the API server has encrypted (k8s.io/apiserver
// pkg/server/options/encryptionconfig). The provider follows, up to the fourth colon.
const encryptedPrefix = "k8s:enc:"

const maxSecretFileBytes = 64 << 20

// decoder decodes core objects in every form that the API server stores or kubectl prints.
type decoder struct{ runtime.Decoder }

func newDecoder() (decoder, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return decoder{}, fmt.Errorf("make a decoder for Secrets: %w", err)
	}
	return decoder{serializer.NewCodecFactory(scheme).UniversalDeserializer()}, nil
}

func (d decoder) fromStore(key string, value []byte) (*corev1.Secret, error) {
	if bytes.HasPrefix(value, []byte(encryptedPrefix)) {
		provider := strings.SplitN(string(value[:min(len(value), 128)]), ":", 5)
		return nil, fmt.Errorf("%s (%s): %w; this command has no access to the API server's keys: give the Secrets of the signers "+
			"from a backup or from `certrotation render` with --secret-file", key, strings.Join(provider[2:min(len(provider), 3)], ":"), ErrEncrypted)
	}
	object, _, err := d.Decode(value, nil, nil)
	if err != nil {
		// The error may quote the value.
		return nil, fmt.Errorf("%s holds no Kubernetes object that can be read", key)
	}
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return nil, fmt.Errorf("%s holds a %s, not a Secret", key, object.GetObjectKind().GroupVersionKind().Kind)
	}
	return secret, nil
}

// storedSecrets reads the TLS Secrets of a namespace from etcd's data. prefix is the API server's --etcd-prefix.
func (d decoder) storedSecrets(data *etcdData, prefix, namespace string) ([]*corev1.Secret, error) {
	under := stored(prefix, "secrets", namespace)
	values, err := data.newest(under)
	if err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s holds no key under %s: check --namespace and --etcd-prefix", data.file, under)
	}
	out := make([]*corev1.Secret, 0, len(values))
	for key, value := range values {
		secret, err := d.fromStore(key, value)
		if err != nil {
			return nil, err
		}
		if secret.Type == corev1.SecretTypeTLS || secret.Data[corev1.TLSCertKey] != nil {
			out = append(out, secret)
		}
	}
	return out, nil
}

// storedBundles reads the ConfigMaps of a namespace that hold trust anchors. Unreadable ones are skipped, because the
// controller completes bundles itself.
func (d decoder) storedBundles(data *etcdData, prefix, namespace string) ([]*corev1.ConfigMap, error) {
	values, err := data.newest(stored(prefix, "configmaps", namespace))
	if err != nil {
		return nil, err
	}
	var out []*corev1.ConfigMap
	for _, value := range values {
		object, _, err := d.Decode(value, nil, nil)
		if cm, ok := object.(*corev1.ConfigMap); err == nil && ok && cm.Data[inventory.BundleKey] != "" && (cm.Immutable == nil || !*cm.Immutable) {
			out = append(out, cm)
		}
	}
	return out, nil
}

// stored returns the common prefix of the keys of one kind in a namespace.
func stored(prefix, resource, namespace string) string {
	return "/" + strings.Trim(prefix, "/") + "/" + resource + "/" + namespace + "/"
}

// secretFile reads the Secrets of a file, or of all *.yaml, *.yml and *.json files of a directory: manifests,
// multiple documents or Lists. It skips other objects.
func (d decoder) secretFile(file string) ([]*corev1.Secret, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return d.secretDocuments(file)
	}
	var out []*corev1.Secret
	err = filepath.WalkDir(file, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".yaml", ".yml", ".json":
			found, err := d.secretDocuments(path)
			out = append(out, found...)
			return err
		}
		return nil
	})
	return out, err
}

func (d decoder) secretDocuments(file string) ([]*corev1.Secret, error) {
	// The operator names the file or its directory, so links to it are followed.
	data, err := nodepod.ReadFile(os.DirFS(filepath.Dir(file)), filepath.Base(file), maxSecretFileBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []*corev1.Secret
	documents, err := document.Split(data, maxSecretFileBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: it is no YAML", file)
	}
	for i, text := range documents {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		found, err := d.object(text)
		if err != nil {
			return nil, fmt.Errorf("%s, document %d: %w", file, i+1, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// object decodes one object. Kinds outside the core group are skipped.
func (d decoder) object(text []byte) ([]*corev1.Secret, error) {
	converted, err := document.ToJSON(text, maxSecretFileBytes)
	if err != nil {
		return nil, errors.New("it is no YAML that can be read")
	}
	object, _, err := d.Decode(converted, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.New("it is no Kubernetes object that can be read")
	}
	switch object := object.(type) {
	case *corev1.Secret:
		return []*corev1.Secret{withStringData(object)}, nil
	case *corev1.SecretList:
		return pointers(object.Items), nil
	case *corev1.List:
		return d.items(object)
	}
	return nil, nil
}

func (d decoder) items(list *corev1.List) ([]*corev1.Secret, error) {
	var out []*corev1.Secret
	for i := range list.Items {
		found, err := d.object(list.Items[i].Raw)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

func pointers(items []corev1.Secret) []*corev1.Secret {
	out := make([]*corev1.Secret, 0, len(items))
	for i := range items {
		out = append(out, withStringData(&items[i]))
	}
	return out
}

// withStringData merges stringData into data, as the API server does on writes.
func withStringData(secret *corev1.Secret) *corev1.Secret {
	if secret.Data == nil {
		secret.Data = make(map[string][]byte, len(secret.StringData))
	}
	for k, v := range secret.StringData {
		secret.Data[k] = []byte(v)
	}
	return secret
}
