// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"context"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// pagePause is the pause between two reads of a page. A page may be gone at the end of a run, such as the metrics of
// a killed process.
const pagePause = 30 * time.Second

// Page is a text that can be read during a run, such as the metrics of a program or a list of the API.
type Page struct {
	Name string
	Read func(ctx context.Context) (string, error)
}

// Run collects each private key in a Secret of any namespace while a cluster runs. It also collects texts outside of
// logs: the events and the pages. One goroutine reads the pages, one runs the informers; both end with Stop.
type Run struct {
	pages   []Page
	stop    context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	keys map[string][]byte   // PEM by the Secret and the key in it.
	seen map[[32]byte]bool   // Hashes of these keys.
	said map[string][]string // Each text once, by its kind.
	told map[[32]byte]bool   // Hashes of these texts.
}

// Watch begins a run. It returns when it has read all existing objects.
func Watch(ctx context.Context, client kubernetes.Interface, pages ...Page) (*Run, error) {
	r := &Run{pages: pages, keys: map[string][]byte{}, seen: map[[32]byte]bool{}, said: map[string][]string{}, told: map[[32]byte]bool{}}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	factory := informers.NewSharedInformerFactory(client, 0)
	secrets, events := factory.Core().V1().Secrets().Informer(), factory.Events().V1().Events().Informer()
	var synced []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{secrets, events} {
		registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    r.take,
			UpdateFunc: func(_, now any) { r.take(now) },
		})
		if err != nil {
			stop()
			return nil, fmt.Errorf("watch Secrets and events: %w", err)
		}
		synced = append(synced, registered.HasSynced)
	}
	factory.StartWithContext(running)
	r.running.Go(func() {
		<-running.Done()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		r.Stop()
		return nil, fmt.Errorf("wait for the Secrets and events: %w", context.Cause(ctx))
	}
	r.running.Go(func() { r.keepReading(running) })
	return r, nil
}

// Stop ends the run. Its keys and texts stay for Search.
func (r *Run) Stop() {
	r.stop()
	r.running.Wait()
}

// Search returns an error with each place of a key of this run: in the texts, or in the files below the directories.
// A run without a key proves nothing, which is also an error. Call it after Stop, when no process writes the files
// any more.
func (r *Run) Search(dirs ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == 0 {
		return errors.New("no Secret had a private key: a search for keys shows nothing")
	}
	ix, err := indexOf(r.keys)
	if err != nil {
		return err
	}
	var finds []string
	for _, name := range slices.Sorted(maps.Keys(r.said)) {
		for _, h := range ix.in([]byte(strings.Join(r.said[name], "\n"))) {
			finds = append(finds, Find{File: name, Key: h.key, Form: h.form}.String())
		}
	}
	for _, dir := range dirs {
		in, err := inFiles(dir, ix)
		if err != nil {
			return err
		}
		for _, find := range in {
			finds = append(finds, find.String())
		}
	}
	if len(finds) > 0 {
		return fmt.Errorf("private keys are where none may be:\n  %s", strings.Join(finds, "\n  "))
	}
	return nil
}

// Summary returns how many keys were searched for in how many texts.
func (r *Run) Summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts, length := 0, 0
	for _, of := range r.said {
		texts += len(of)
		for _, text := range of {
			length += len(text)
		}
	}
	return fmt.Sprintf("%d private keys of Secrets; %d events and pages of %d KiB", len(r.keys), texts, length>>10)
}

func (r *Run) take(object any) {
	switch object := object.(type) {
	case *corev1.Secret:
		r.takeKeys(object)
	case *eventsv1.Event:
		r.tell("events", strings.Join([]string{object.Reason, object.Action, object.Note, fmt.Sprint(object.Annotations)}, " "))
	}
}

// takeKeys records each new private key of a Secret. It skips data that only looks like a key, which tests put into
// Secrets.
func (r *Run) takeKeys(secret *corev1.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, value := range secret.Data {
		for block, rest := pem.Decode(value); block != nil; block, rest = pem.Decode(rest) {
			if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
				continue
			}
			key := pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})
			hash := sha256.Sum256(key)
			if r.seen[hash] {
				continue
			}
			if _, err := Of(key); err != nil {
				continue
			}
			r.seen[hash] = true
			r.keys[fmt.Sprintf("%s of secret %s/%s (the %dth that was seen)", name, secret.Namespace, secret.Name, len(r.seen))] = key
		}
	}
}

// tell records a text once.
func (r *Run) tell(kind, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if hash := sha256.Sum256([]byte(kind + "\x00" + text)); !r.told[hash] {
		r.told[hash] = true
		r.said[kind] = append(r.said[kind], text)
	}
}

func (r *Run) keepReading(ctx context.Context) {
	tick := time.NewTicker(pagePause)
	defer tick.Stop()
	for {
		r.ReadPages(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ReadPages reads every page once. It skips pages that do not answer, because tests kill their servers.
func (r *Run) ReadPages(ctx context.Context) {
	for _, page := range r.pages {
		if text, err := page.Read(ctx); err == nil {
			r.tell(page.Name, text)
		}
	}
}
