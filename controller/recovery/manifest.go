// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/apis/document"
	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/diagnosis"
)

// maxManifestBytes is far above any manifest; kubelet itself takes 10 MiB.
const maxManifestBytes = 4 << 20

// readManifest reads the manifest of a static pod. What is wrong with the file is part of the result.
func readManifest(file, name string) diagnosis.Manifest {
	m := diagnosis.Manifest{Path: file}
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m
	}
	m.Present = true
	if err != nil {
		m.Problem = err.Error()
		return m
	}
	m.TooOpen = tooOpen(info)
	data, err := readBounded(file, maxManifestBytes)
	if err != nil {
		m.Problem = err.Error()
		return m
	}
	if err := parseManifest(&m, data, name); err != nil {
		m.Problem = err.Error()
	}
	return m
}

// parseManifest takes from a manifest what Manifest holds of it.
func parseManifest(m *diagnosis.Manifest, data []byte, name string) error {
	pod := &corev1.Pod{}
	if err := document.Unmarshal(data, maxManifestBytes, pod, false); err != nil {
		return errors.New("it is no YAML of a Pod")
	}
	if pod.Kind != "Pod" || len(pod.Spec.Containers) == 0 {
		return fmt.Errorf("it is no Pod with containers but %q", pod.Kind)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		if v.HostPath == nil {
			continue
		}
		if revision, ok := revisionOf(filepath.Base(v.HostPath.Path), name); ok {
			volumes[v.Name] = true
			if !slices.Contains(m.Mounts, revision) {
				m.Mounts = append(m.Mounts, revision)
			}
		}
	}
	slices.Sort(m.Mounts)
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		readContainer(m, pod, &c, volumes)
	}
	slices.Sort(m.Uses)
	m.Uses = slices.Compact(m.Uses)
	return nil
}

// readContainer looks at the command line as one text: it may be the arguments of a process or a script.
func readContainer(m *diagnosis.Manifest, pod *corev1.Pod, c *corev1.Container, volumes map[string]bool) {
	text := strings.Join(slices.Concat(c.Command, c.Args), "\n")
	for _, mount := range c.VolumeMounts {
		if !volumes[mount.Name] {
			continue
		}
		prefix := path.Join(mount.MountPath, generation.PointerName) + "/"
		for _, at := range regexp.MustCompile(regexp.QuoteMeta(prefix)+`[A-Za-z0-9._/-]+`).FindAllString(text, -1) {
			m.Uses = append(m.Uses, strings.TrimPrefix(at, prefix))
		}
		for flag, to := range map[string]*string{
			"peer-cert-file": &m.Peer.Cert, "peer-key-file": &m.Peer.Key, "peer-trusted-ca-file": &m.Peer.Trust,
		} {
			if value, ok := strings.CutPrefix(flagOf(text, flag), prefix); ok {
				*to = value
			}
		}
	}
	if dir := flagOf(text, "data-dir"); dir != "" && flagOf(text, "listen-peer-urls") != "" {
		m.DataDirectory = onHost(pod, c, dir)
		m.Self = flagOf(text, "name")
		m.Listens = slices.Concat(addressesOf(flagOf(text, "listen-client-urls")), addressesOf(flagOf(text, "listen-peer-urls")))
	}
	cluster := flagOf(text, "initial-cluster")
	for _, env := range c.Env {
		if env.Name == "ETCD_INITIAL_CLUSTER" && cluster == "" {
			cluster = env.Value
		}
	}
	if cluster != "" {
		m.InitialCluster = parseCluster(cluster)
	}
}

// flagOf finds the value of --flag=value or --flag value, "" if there is none.
func flagOf(text, flag string) string {
	found := regexp.MustCompile(`(?:^|\s)--` + regexp.QuoteMeta(flag) + `[=\s]["']?([^\s"']+)`).FindStringSubmatch(text)
	if found == nil || strings.HasPrefix(found[1], "--") {
		return ""
	}
	return found[1]
}

// onHost is where a path of a container is on the host, "" if that is not a volume of the host.
func onHost(pod *corev1.Pod, c *corev1.Container, file string) string {
	host, longest := "", -1
	for _, mount := range c.VolumeMounts {
		rest, ok := strings.CutPrefix(path.Clean(file)+"/", path.Clean(mount.MountPath)+"/")
		if !ok || len(mount.MountPath) <= longest {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.Name == mount.Name && v.HostPath != nil {
				host, longest = path.Join(v.HostPath.Path, mount.SubPath, rest), len(mount.MountPath)
			}
		}
	}
	return host
}

// parseCluster reads name=url[,name=url]... What is no URL is left out.
func parseCluster(text string) []diagnosis.Member {
	var out []diagnosis.Member
	for entry := range strings.SplitSeq(text, ",") {
		name, address, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if !ok {
			continue
		}
		for _, found := range addressesOf(address) {
			out = append(out, diagnosis.Member{Name: name, Address: found})
		}
	}
	return out
}

// addressesOf are the host:port of comma-separated URLs.
func addressesOf(urls string) []string {
	var out []string
	for text := range strings.SplitSeq(urls, ",") {
		parsed, err := url.Parse(strings.TrimSpace(text))
		if err != nil || parsed.Hostname() == "" || parsed.Port() == "" {
			continue
		}
		out = append(out, net.JoinHostPort(parsed.Hostname(), parsed.Port()))
	}
	return out
}

// revisionOf reads NAME-pod-REVISION.
func revisionOf(base, name string) (int64, bool) {
	text, ok := strings.CutPrefix(base, name+"-pod-")
	if !ok {
		return 0, false
	}
	return number(text)
}

// number reads a decimal number in its canonical form.
func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}
