// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	restclient "k8s.io/client-go/rest"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/canary"
)

// heapEnv holds the task of the searched process: CA file, URL, content type, dump file, mode.
const heapEnv = "CERTROTATION_HEAP_CHILD"

// TestHeapHoldsNoParsedKey runs an Inventory in its own process, which lists Secrets with keys over TLS and
// HTTP/2. It searches a heap dump for the keys after garbage collection. A second process, which keeps the keys,
// shows that the search works.
//
// Buffers of the transport may still hold the text of a Secret. No code could use that as a key by mistake, so the
// test only logs how often it occurs.
func TestHeapHoldsNoParsedKey(t *testing.T) {
	if task := os.Getenv(heapEnv); task != "" {
		dumpHeap(t, strings.Split(task, "|"))
		return
	}
	keys, secrets := canaries(t)
	for name, tc := range map[string]struct {
		contentType, mode string
		found             bool
	}{
		"protobuf":             {contentType: runtime.ContentTypeProtobuf},
		"JSON":                 {contentType: runtime.ContentTypeJSON},
		"a process that keeps": {contentType: runtime.ContentTypeProtobuf, mode: "keeps", found: true},
	} {
		t.Run(name, func(t *testing.T) {
			requests := make(chan string, 100)
			server := httptest.NewUnstartedServer(secretServer(t, secrets, requests))
			server.EnableHTTP2 = true
			server.StartTLS()
			defer server.Close()
			dir := t.TempDir()
			ca, dump := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "heap")
			if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestHeapHoldsNoParsedKey$")
			child.Env = append(os.Environ(), heapEnv+"="+strings.Join([]string{ca, server.URL, tc.contentType, dump, tc.mode}, "|"))
			if out, err := child.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := <-requests; got != "HTTP/2.0 "+tc.contentType {
				t.Errorf("the Secrets were listed by %s", got)
			}
			whole, err := os.ReadFile(dump)
			if err != nil {
				t.Fatal(err)
			}
			heap, err := heldMemory(whole)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for name, key := range keys {
				traces, err := canary.InMemory(key)
				if err != nil {
					t.Fatal(err)
				}
				forms := canary.In(heap, traces)
				found += len(forms)
				if len(forms) > 0 && !tc.found {
					t.Errorf("the heap has key %s: %v", name, forms)
				}
				t.Logf("key %s: text in buffers: %d", name, strings.Count(string(heap), string(key[40:100])))
			}
			if tc.found && found == 0 {
				t.Error("the search finds no key that is there")
			}
		})
	}
}

// canaries returns Secrets with keys of several kinds, and the keys.
func canaries(t *testing.T) (map[string][]byte, []corev1.Secret) {
	t.Helper()
	keys, secrets := map[string][]byte{}, []corev1.Secret(nil)
	for _, algorithm := range []pki.KeyAlgorithm{pki.RSA2048, pki.ECDSAP256, pki.ECDSAP384} {
		ca, err := pki.NewAuthority(pki.Profile{CommonName: "canary", Key: algorithm, Validity: time.Hour}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		name := "canary-" + strings.ToLower(string(algorithm))
		keys[name] = keyPEM(t, ca)
		secrets = append(secrets, corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name, UID: "u", ResourceVersion: "7", Annotations: map[string]string{
				trust.AnnotationConfiguration: "config", // a key is parsed only where its Secret consents
			}}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{inventory.ActiveCertKey: ca.CertPEM(), inventory.ActiveKeyKey: keys[name]},
		})
	}
	return keys, secrets
}

// secretServer lists the Secrets and lets watches wait. It records how the Secrets were requested.
func secretServer(t *testing.T, secrets []corev1.Secret, requests chan<- string) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			if r.URL.Query().Has("sendInitialEvents") {
				// A server without streaming lists answers so.
				w.WriteHeader(http.StatusUnprocessableEntity)
				return
			}
			w.Header().Set("Content-Type", runtime.ContentTypeJSON)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		meta := metav1.ListMeta{ResourceVersion: "10"}
		var list runtime.Object
		switch {
		case strings.HasSuffix(r.URL.Path, "/secrets") && strings.HasPrefix(r.URL.Query().Get("fieldSelector"), "type=kubernetes.io/tls"):
			list = &corev1.SecretList{ListMeta: meta, Items: secrets}
			accept, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
			requests <- r.Proto + " " + accept
		case strings.HasSuffix(r.URL.Path, "/secrets") && strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata"):
			w.Header().Set("Content-Type", runtime.ContentTypeJSON)
			_ = json.NewEncoder(w).Encode(&metav1.PartialObjectMetadataList{
				TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, ListMeta: meta,
			})
			return
		case strings.HasSuffix(r.URL.Path, "/secrets"):
			list = &corev1.SecretList{ListMeta: meta}
		case strings.HasSuffix(r.URL.Path, "/nodes"):
			list = &corev1.NodeList{ListMeta: meta}
		default:
			kind := "RotationConfigurationList"
			switch {
			case strings.HasSuffix(r.URL.Path, "/rotationrecords"):
				kind = "RotationRecordList"
			case strings.HasSuffix(r.URL.Path, "/staticpodclasses"):
				kind = "StaticPodClassList"
			}
			w.Header().Set("Content-Type", runtime.ContentTypeJSON)
			fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"10"},"items":[]}`, configv1alpha1.SchemeGroupVersion, kind)
			return
		}
		media := runtime.ContentTypeJSON
		if strings.Contains(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
			media = runtime.ContentTypeProtobuf
		}
		info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
		w.Header().Set("Content-Type", media)
		_ = scheme.Codecs.EncoderForVersion(info.Serializer, schema.GroupVersion{Version: "v1"}).Encode(list, w)
	})
}

// kept holds the keys in the process that keeps them.
var kept []any

// dumpHeap is the body of the searched process.
func dumpHeap(t *testing.T, task []string) {
	t.Helper()
	ca, url, contentType, dump, mode := task[0], task[1], task[2], task[3], task[4]
	config := &restclient.Config{Host: url, TLSClientConfig: restclient.TLSClientConfig{CAFile: ca}}
	typed := restclient.CopyConfig(config)
	typed.ContentType, typed.AcceptContentTypes = contentType, contentType
	core, err := kubernetes.NewForConfig(typed)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	own, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := inventory.New(inventory.Clients{Core: core, Metadata: meta, Config: own}, inventory.Options{Namespaces: []string{testNamespace}})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(t.Context())
	inv.Start(running)
	waiting, cancel := context.WithTimeout(t.Context(), time.Minute)
	err = inv.WaitForSync(waiting)
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	if mode == "keeps" {
		keep(t.Context(), t, core)
	}
	stop()
	inv.Wait()
	// sync.Pool frees its content at the second collection.
	for range 3 {
		debug.FreeOSMemory()
	}
	file, err := os.Create(dump)
	if err != nil {
		t.Fatal(err)
	}
	debug.WriteHeapDump(file.Fd())
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	// Use the inventory after the dump, so that it is still reachable during the dump.
	if s := inv.Sources(testNamespace); s == nil || len(s.Secrets) != 3 {
		t.Fatalf("the inventory knows %+v", s)
	}
	// The connections stay open, and the check for leaked goroutines would report them.
	os.Exit(0)
}

func keep(ctx context.Context, t *testing.T, core kubernetes.Interface) {
	t.Helper()
	list, err := core.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeTLS)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		block, _ := pem.Decode(list.Items[i].Data[inventory.ActiveKeyKey])
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, key)
	}
}
