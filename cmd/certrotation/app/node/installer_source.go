// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/nodepod"
)

const (
	// dataLink is the link by which kubelet swaps the content of a volume.
	dataLink = "..data"
	// maxKeyBytes bounds the value of a key; an object has about 1 MiB at most.
	maxKeyBytes = 4 << 20
)

// readSource reads the objects below dir. It takes the templates out of their ConfigMap: they are not part of the
// content.
func readSource(dir, podConfigMap, podKey string, companions []string) (nodepod.Content, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nodepod.Content{}, fmt.Errorf("open --source-dir: %w", err)
	}
	defer root.Close()
	content := nodepod.Content{}
	if content.ConfigMaps, err = readObjects(root.FS(), "configmaps"); err != nil {
		return nodepod.Content{}, fmt.Errorf("read --source-dir %s: %w", dir, err)
	}
	if content.Secrets, err = readObjects(root.FS(), "secrets"); err != nil {
		return nodepod.Content{}, fmt.Errorf("read --source-dir %s: %w", dir, err)
	}
	if missing := content.TakeTemplates(podConfigMap, podKey, companions); len(missing) > 0 {
		return nodepod.Content{}, fmt.Errorf("%w: there is no pod template: configmaps/%s/%s is not in %s",
			generation.ErrContent, podConfigMap, strings.Join(missing, ", "), dir)
	}
	return content, nil
}

// readObjects reads KIND/NAME/KEY. A kind without objects needs no directory.
func readObjects(fsys fs.FS, kind string) (map[string]map[string][]byte, error) {
	entries, err := fs.ReadDir(fsys, kind)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	objects := map[string]map[string][]byte{}
	for _, entry := range entries {
		name := path.Join(kind, entry.Name())
		if faults := validation.IsDNS1123Subdomain(entry.Name()); len(faults) > 0 || !entry.IsDir() {
			return nil, fmt.Errorf("%s: want a directory with the name of an object", name)
		}
		if objects[entry.Name()], err = readVolume(fsys, name); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// readVolume reads the keys of an object. In a volume that kubelet projects, it reads all from the current target of
// ..data, so that they are consistent. Elsewhere the directory has plain files.
func readVolume(fsys fs.FS, dir string) (map[string][]byte, error) {
	from := dir
	switch target, err := fs.ReadLink(fsys, path.Join(dir, dataLink)); {
	case err == nil:
		if !strings.HasPrefix(target, "..") || target == ".." || strings.Contains(target, "/") {
			return nil, fmt.Errorf("%s/%s leads to %q: want a directory beside it whose name begins with two dots", dir, dataLink, target)
		}
		from = path.Join(dir, target)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is no link: %w", path.Join(dir, dataLink), err)
	}
	entries, err := fs.ReadDir(fsys, from)
	if err != nil {
		return nil, err
	}
	keys := map[string][]byte{}
	for _, entry := range entries {
		if keys[entry.Name()], err = readKey(fsys, from, entry); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func readKey(fsys fs.FS, dir string, entry fs.DirEntry) ([]byte, error) {
	name := path.Join(dir, entry.Name())
	if faults := validation.IsConfigMapKey(entry.Name()); len(faults) > 0 {
		return nil, fmt.Errorf("%s: this is no key: %s", name, strings.Join(faults, "; "))
	}
	if !entry.Type().IsRegular() {
		return nil, fmt.Errorf("%s: want a plain file, it is %v", name, entry.Type())
	}
	return nodepod.ReadFile(fsys, name, maxKeyBytes)
}
