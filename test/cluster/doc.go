// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster starts and stops a real Kubernetes control plane on this machine, without root: etcd, kube-apiserver
// and, when asked, kube-controller-manager, all built from Go modules into bin/tools by `make tools`. It also runs any
// other program next to them ([Process]), which is how tests and `make up` run certrotation itself.
//
// A cluster is a directory:
//
//	NAME.pid             the process id of each program, alone, for people and scripts
//	processes/NAME.json  what else is known about that process, so that a reused process id is never mistaken for it
//	logs/NAME.log        its output, appended over restarts
//	kubeconfig           cluster-admin
//	kubeconfigs/         the users that UserKubeconfig made
//	pki/, etcd/          certificates and keys, data
//	cluster.json         the ports
//
// Start on a directory that was used before goes on with its certificates, ports and data.
//
// # Who owns a process
//
// Without [Config.Detach] the processes are children that the kernel kills with their parent, however it dies: a test
// binary ended by a timeout or by kill -9 leaves nothing behind (on Linux). With Detach they outlive the command that
// started them; a later Start takes over those that run and starts those that do not, and [StopDir] ends them. No process
// is signalled before its recorded start time was compared with the running one's.
//
// # Goroutines
//
// Each running child has one goroutine, owned by its Process, which ends when the child does. It holds an operating
// system thread, because the kernel ties a child's death signal to the thread that made it and not to the process.
// Nothing else runs in the background. A Process and a Cluster may be used from several goroutines.
package cluster
