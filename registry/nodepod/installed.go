// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/apis/document"
)

// MaxManifestBytes is far above any manifest; kubelet accepts 10 MiB.
const MaxManifestBytes = 4 << 20

// Manifest is the manifest file of a static pod.
type Manifest struct {
	Path    string
	Present bool
	Defects Defects
	// Mounts are the revisions whose directories it mounts.
	Mounts []int
	// Uses are the files of a generation on the command lines of its containers, relative to the generation.
	Uses []string
	// Peer are the files of the peer listener, relative to the generation; empty if the manifest does not say.
	Peer ListenerFiles
	// InitialCluster are the members in the manifest.
	InitialCluster []Member
	// Self is the member's own name, "" if the manifest does not say.
	Self string
	// DataDirectory of etcd on the host, "" if the manifest does not say.
	DataDirectory string
	// Listens are the host:port addresses that the member listens on.
	Listens []string

	// Revision that the installer wrote it for, 0 if the installer did not. RestartHash and Pod are set with it.
	Revision    int
	RestartHash string
	Pod         *corev1.Pod
}

// ListenerFiles are the files of a TLS listener.
type ListenerFiles struct {
	Cert, Key, Trust string
}

// Member is a member of the cluster: its name and the host:port for its peers.
type Member struct {
	Name, Address string
}

// Usable reports whether there is a manifest that kubelet can run.
func (m *Manifest) Usable() bool { return m.Present && m.Problem() == "" }

// Problem returns why kubelet cannot run an existing manifest, "" if it can.
func (m *Manifest) Problem() string {
	for _, d := range m.Defects {
		if d.Reason == Unreadable || d.Reason == ManifestUnreadable {
			return d.Message
		}
	}
	return ""
}

// FromInstaller reports whether the installer wrote it: it mounts the directory of the revision that it names.
func (m *Manifest) FromInstaller() bool { return m.Revision > 0 }

// ReadManifest reads the static pod's manifest in dir: "." of the manifest directory, or a directory of a revision.
func (l Layout) ReadManifest(fsys fs.FS, dir string) Manifest {
	name := path.Join(dir, l.ManifestName())
	m := Manifest{Path: filepath.Join(l.ResourceDirectory, name)}
	if dir == "." {
		m.Path = l.Manifest()
	}
	info, err := fs.Lstat(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		m.Defects.Add(ManifestMissing, m.Path, "there is none")
		return m
	}
	m.Present = true
	switch {
	case err != nil:
		m.Defects.addUnseen(m.Path, err)
		return m
	case !info.Mode().IsRegular():
		m.Defects.Add(ManifestUnreadable, m.Path, "it is no plain file: %v", info.Mode())
		return m
	case info.Mode() != PlainMode:
		m.Defects.addMode(m.Path, info.Mode(), PlainMode)
	}
	text, err := ReadFile(fsys, name, MaxManifestBytes)
	if err != nil {
		m.Defects.addUnread(m.Path, err)
		return m
	}
	l.ParseManifest(&m, text)
	return m
}

// ParseManifest parses the text of a manifest into m.
func (l Layout) ParseManifest(m *Manifest, text []byte) {
	pod, foreign := ParsePod(text)
	if foreign != nil {
		// kubelet accepts more than the installer writes.
		pod = &corev1.Pod{}
		if err := document.Unmarshal(text, MaxManifestBytes, pod, false); err != nil {
			m.Defects.Add(ManifestUnreadable, m.Path, "it is no YAML of a Pod")
			return
		}
	}
	if pod.Kind != "Pod" || len(pod.Spec.Containers) == 0 {
		m.Defects.Add(ManifestUnreadable, m.Path, "it is no Pod with containers but %q", pod.Kind)
		return
	}
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		if v.HostPath == nil {
			continue
		}
		if n, _, ok := l.ParseDirectoryName(filepath.Base(v.HostPath.Path)); ok {
			volumes[v.Name] = true
			m.Mounts = append(m.Mounts, n)
		}
	}
	slices.Sort(m.Mounts)
	m.Mounts = slices.Compact(m.Mounts)
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		m.readContainer(pod, &c, volumes)
	}
	slices.Sort(m.Uses)
	m.Uses = slices.Compact(m.Uses)
	if foreign != nil {
		m.Defects.Add(ManifestForeign, m.Path, "it is not as the installer writes it: %v", foreign)
		return
	}
	l.recognize(m, pod)
}

// recognize sets Revision, RestartHash and Pod if the installer wrote the manifest, and adds ManifestForeign if not.
func (l Layout) recognize(m *Manifest, pod *corev1.Pod) {
	n, ok := ParseNumber(pod.Annotations[AnnotationRevision])
	if !ok {
		m.Defects.Add(ManifestForeign, m.Path, "annotation %s is %q", AnnotationRevision, pod.Annotations[AnnotationRevision])
		return
	}
	if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.HostPath != nil && path.Clean(v.HostPath.Path) == l.HostDirectory(n)
	}) {
		m.Defects.Add(ManifestForeign, m.Path, "it says that it is of revision %d, and does not mount %s", n, l.HostDirectory(n))
		return
	}
	m.Revision, m.RestartHash, m.Pod = n, pod.Annotations[AnnotationRestartHash], pod
}

// Mentioned returns the revisions whose directories a manifest mentions anywhere, even if it is unparsable or
// foreign.
func (l Layout) Mentioned(manifest []byte) map[int]bool {
	out := map[int]bool{}
	mention := regexp.MustCompile(regexp.QuoteMeta(TemplateName(l.Name)) + `-([0-9]+)`)
	for _, match := range mention.FindAllSubmatch(manifest, -1) {
		if n, ok := ParseNumber(string(match[1])); ok {
			out[n] = true
		}
	}
	return out
}

// readContainer searches the command line as one text, because it may be arguments or a script.
func (m *Manifest) readContainer(pod *corev1.Pod, c *corev1.Container, volumes map[string]bool) {
	text := strings.Join(slices.Concat(c.Command, c.Args), "\n")
	for _, mount := range c.VolumeMounts {
		if !volumes[mount.Name] {
			continue
		}
		prefix := path.Join(mount.MountPath, PointerName) + "/"
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
		m.Listens = slices.Concat(Addresses(flagOf(text, "listen-client-urls")), Addresses(flagOf(text, "listen-peer-urls")))
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

// flagOf returns the value of --flag=value or --flag value, "" if there is none.
func flagOf(text, flag string) string {
	found := regexp.MustCompile(`(?:^|\s)--` + regexp.QuoteMeta(flag) + `[=\s]["']?([^\s"']+)`).FindStringSubmatch(text)
	if found == nil || strings.HasPrefix(found[1], "--") {
		return ""
	}
	return found[1]
}

// onHost returns the host path of a path in a container, "" if it is not on a hostPath volume.
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

// parseCluster parses name=url[,name=url]... and skips invalid URLs.
func parseCluster(text string) []Member {
	var out []Member
	for entry := range strings.SplitSeq(text, ",") {
		name, address, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if !ok {
			continue
		}
		for _, found := range Addresses(address) {
			out = append(out, Member{Name: name, Address: found})
		}
	}
	return out
}

// Addresses returns the host:port of each comma-separated URL. It skips URLs without both.
func Addresses(urls string) []string {
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
