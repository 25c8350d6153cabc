// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
)

const containerdSocket = "/run/containerd/containerd.sock"

// containerdConfig configures only what pods need. Without restrict_oom_score_adj runc fails where CAP_SYS_RESOURCE
// is missing.
const containerdConfig = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.snapshotter.v1.blockfile",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.nri.v1.nri",
  "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
  address = "` + containerdSocket + `"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = %[1]q
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "` + pauseImage + `"

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["` + toolsInNode + `"]
    conf_dir = "/etc/cni/net.d"
    use_internal_loopback = true
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        SystemdCgroup = false
`

// podNetwork gives pods without hostNetwork an address that all nodes and this machine reach.
const podNetwork = `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [{
    "type": "bridge",
    "bridge": "cni0",
    "isGateway": true,
    "ipam": {
      "type": "host-local",
      "dataDir": "/run/cni/networks",
      "ranges": [[{"subnet": %[1]q}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`

// startContainerd starts containerd and imports the images that changed since the last start. The caller holds n.mu.
func (n *Node) startContainerd(ctx context.Context) error {
	snapshotter, err := n.chooseSnapshotter(ctx)
	if err != nil {
		return err
	}
	if err := n.write("/etc/containerd/config.toml", fmt.Sprintf(containerdConfig, snapshotter)); err != nil {
		return err
	}
	if err := n.write("/etc/cni/net.d/10-pods.conflist", fmt.Sprintf(podNetwork, podSubnet(n.network.number, n.host))); err != nil {
		return err
	}
	if n.containerd == nil || !n.containerd.Running() {
		n.containerd = n.process("containerd", "--config=/etc/containerd/config.toml", "--log-level=info")
		if _, err := n.launch(ctx, n.containerd); err != nil {
			return err
		}
	}
	if err := n.containerd.WaitReady(ctx, n.dialContainerd); err != nil {
		return err
	}
	for _, archive := range append([]string{n.network.pauseArchive()}, n.network.cfg.Images...) {
		if err := n.importOnce(ctx, archive, snapshotter); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) dialContainerd(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", n.inMemory(containerdSocket))
	if err != nil {
		return err
	}
	return conn.Close()
}

// chooseSnapshotter returns overlayfs if the node's disk supports it, and else native, which is much slower because
// it copies.
func (n *Node) chooseSnapshotter(ctx context.Context) (string, error) {
	const stamp = "/var/lib/containerd/snapshotter"
	if text, err := os.ReadFile(n.Path(stamp)); err == nil {
		return string(text), nil
	}
	const trial = `d=/var/lib/containerd/trial; mkdir -p $d/lower $d/upper $d/work $d/merged &&
mount -t overlay overlay -o lowerdir=$d/lower,upperdir=$d/upper,workdir=$d/work $d/merged && umount $d/merged`
	chosen := "overlayfs"
	if _, err := n.Exec(ctx, "sh", "-c", trial); err != nil {
		chosen = "native"
	}
	if err := os.RemoveAll(n.Path("/var/lib/containerd/trial")); err != nil {
		return "", err
	}
	return chosen, n.write(stamp, chosen)
}

// importOnce imports the image of an archive into this node, unless it has the image.
func (n *Node) importOnce(ctx context.Context, archive, snapshotter string) error {
	file, err := os.Open(archive)
	if err != nil {
		return fmt.Errorf("import an image: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("read the image %s: %w", archive, err)
	}
	want := []byte(hex.EncodeToString(sum.Sum(nil)))
	stamp := n.Path(filepath.Join("/var/lib/containerd/imported", filepath.Base(archive)))
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, want) {
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	cmd := n.Command(ctx, "ctr", "--namespace=k8s.io", "images", "import", "--local", "--snapshotter="+snapshotter, "-")
	cmd.Stdin = file
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("import the image %s: %w: %s", archive, err, out)
	}
	if err := os.MkdirAll(filepath.Dir(stamp), 0o755); err != nil {
		return err
	}
	return os.WriteFile(stamp, want, 0o644)
}

// Import imports the image of an archive into all nodes, also those added later.
func (w *Network) Import(ctx context.Context, archive string) error {
	w.starting.Lock()
	defer w.starting.Unlock()
	if !slices.Contains(w.cfg.Images, archive) {
		w.cfg.Images = append(w.cfg.Images, archive)
	}
	return each(w.Nodes(), func(n *Node) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.startContainerd(ctx)
	})
}

func (n *Node) write(inNode, text string) error {
	path := n.Path(inNode)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
