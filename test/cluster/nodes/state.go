// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// stateFile is the file of a network's directory with which a later start gives each node the same address.
const stateFile = "network.json"

type state struct {
	// Number is the second octet of every address.
	Number int `json:"number"`
	// Nodes has the last octet of each node's address.
	Nodes map[string]int `json:"nodes"`
}

func loadState(dir string) (state, error) {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return state{}, fmt.Errorf("parse %s: %w", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

func (w *Network) saveState() error {
	s := state{Number: w.number, Nodes: map[string]int{}}
	for _, n := range w.Nodes() {
		s.Nodes[n.name] = n.host
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(w.cfg.Dir, stateFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// nameProblems returns what is wrong with a node's name, which is also its host name, its Node's name and its
// directory's name.
func nameProblems(name string) string {
	return strings.Join(validation.IsDNS1123Label(name), "; ")
}
