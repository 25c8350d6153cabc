// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster starts and stops a real Kubernetes control plane on this machine, without root: etcd,
// kube-apiserver and, if asked, kube-controller-manager. `make tools` builds them all from Go modules into bin/tools.
// It also runs other programs next to them ([Process]): tests and `make up` run certrotation that way.
//
// A cluster is a directory:
//
//	NAME.pid             the process id of each program, alone, for people and scripts
//	processes/NAME.json  more about that process, to detect a reused process id
//	logs/NAME.log        its output, appended over restarts
//	kubeconfig           cluster-admin
//	kubeconfigs/         the users that UserKubeconfig made
//	pki/, etcd/          certificates and keys, data
//	cluster.json         the ports
//
// Start on a used directory continues with its certificates, ports and data.
//
// # Who owns a process
//
// Without [Config.Detach] the processes are children, which the kernel kills when their parent dies (on Linux). A
// test binary that a timeout or kill -9 ends leaves nothing behind. With Detach they outlive the command that started
// them. A later Start adopts those that run and starts the others; [StopDir] ends them. No process is signalled
// before its start time was compared with the recorded one.
//
// # Goroutines
//
// Each running child has one goroutine, owned by its Process, which ends when the child does. It holds an operating
// system thread, because the kernel ties a child's death signal to the thread that made it. Nothing else runs in the
// background. A Process and a Cluster may be used from several goroutines.
package cluster
