// For Kubernetes from 1.37 on: several endpoints of a resource, each known by its socket.
package devicemanager

import (
	"context"
	"os"
	"path/filepath"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

func newTopology(numa []int, policy, scope string) ([]cadvisorapi.Node, topologymanager.Manager, error) {
	nodes := make([]cadvisorapi.Node, 0, len(numa))
	for _, id := range numa {
		nodes = append(nodes, cadvisorapi.Node{Id: id})
	}
	topology, err := topologymanager.NewManager(klog.Background(), nodes, policy, scope, nil)
	return nodes, topology, err
}

func (o *ObservedManager) PluginDisconnected(logger klog.Logger, resource, socket string) {
	o.ManagerImpl.PluginDisconnected(logger, resource, socket)
	o.disconnected(resource, socket)
}

// Hints gives the topology hints for a container of a pod that need not be admitted.
func (o *ObservedManager) Hints(pod *v1.Pod, container *v1.Container) map[string][]topologymanager.TopologyHint {
	return o.GetTopologyHints(klog.Background(), pod, container, lifecycle.AddOperation)
}

// Capacity gives capacity, allocatable, and what was forgotten, as the node's status has them.
func (o *ObservedManager) Capacity() (capacity, allocatable v1.ResourceList, removed []string) {
	return o.GetCapacity(klog.Background())
}

// TakeBack frees the devices of pods that are gone.
func (o *ObservedManager) TakeBack() { o.UpdateAllocatedDevices(klog.Background()) }

// Admit decides on a pod as the kubelet does, which allocates its devices.
func (o *ObservedManager) Admit(pod *v1.Pod) lifecycle.PodAdmitResult {
	return o.topology.Admit(context.Background(), &lifecycle.PodAdmitAttributes{Pod: pod, Operation: lifecycle.AddOperation})
}

// socketOfDouble gives another name of the socket, through which Double connects, and what removes it afterwards: under one
// name a plugin may connect only once.
func socketOfDouble(socket string) (string, func(), error) {
	other := filepath.Join(filepath.Dir(socket), "double-of-"+filepath.Base(socket))
	return other, func() { _ = os.Remove(other) }, os.Link(socket, other)
}
