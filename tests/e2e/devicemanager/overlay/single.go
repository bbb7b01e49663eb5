// For Kubernetes up to 1.36: one endpoint of a resource.
package devicemanager

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

func newTopology(numa []int, policy, scope string) ([]cadvisorapi.Node, topologymanager.Manager, error) {
	nodes := make([]cadvisorapi.Node, 0, len(numa))
	for _, id := range numa {
		nodes = append(nodes, cadvisorapi.Node{Id: id})
	}
	topology, err := topologymanager.NewManager(nodes, policy, scope, nil)
	return nodes, topology, err
}

// Hints gives the topology hints for a container of a pod that need not be admitted.
func (o *ObservedManager) Hints(pod *v1.Pod, container *v1.Container) map[string][]topologymanager.TopologyHint {
	return o.GetTopologyHints(pod, container)
}

// Capacity gives capacity, allocatable, and what was forgotten, as the node's status has them.
func (o *ObservedManager) Capacity() (capacity, allocatable v1.ResourceList, removed []string) {
	return o.GetCapacity()
}

// TakeBack frees the devices of pods that are gone.
func (o *ObservedManager) TakeBack() { o.UpdateAllocatedDevices() }

// Admit decides on a pod as the kubelet does, which allocates its devices.
func (o *ObservedManager) Admit(pod *v1.Pod) lifecycle.PodAdmitResult {
	return o.topology.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
}

// socketOfDouble gives the socket through which Double connects, and what removes it afterwards.
func socketOfDouble(socket string) (string, func(), error) { return socket, func() {}, nil }
