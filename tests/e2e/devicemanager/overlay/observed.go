// Added to package devicemanager by `go build -overlay`: its constructor with a socket path of
// the caller's choice, and its state, are not exported. This file, provoked.go and misled.go are for
// every version; build.sh says which versions take which of the others.
package devicemanager

import (
	"sort"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// Observer hears what device plugins do, each time after the manager took note of it.
// Thread-safe: one plugin's calls are in order, those of two may be concurrent.
type Observer interface {
	Connected(resource, socket string, options *pluginapi.DevicePluginOptions)
	Listed(resource string, devices []ListedDevice)
	// Swallowed is a list that the test keeps from the manager.
	Swallowed(resource string, devices []ListedDevice)
	// Disconnected says that one of the resource's streams has ended, and how many are left.
	Disconnected(resource string, left int)
	// Ending and Doubling come before the manager does so because the test asked for it.
	Ending(resource string)
	Doubling(resource string)
}

// ListedDevice is a device as a plugin sent it.
type ListedDevice struct {
	ID     string  `json:"id"`
	Health string  `json:"health"`
	NUMA   []int64 `json:"numa,omitempty"`
}

// KnownDevice is a device as the manager counts it.
type KnownDevice struct {
	// When a stream ends, all of the resource's devices stop being healthy, whatever was listed.
	Healthy bool    `json:"healthy"`
	NUMA    []int64 `json:"numa,omitempty"`
	Pod     string  `json:"pod,omitempty"`
}

// Allocation is what the manager keeps of one resource for one container.
type Allocation struct {
	IDs      []string                             `json:"ids"`
	Response *pluginapi.ContainerAllocateResponse `json:"response"`
}

// ObservedManager is a device manager with the topology manager that admits pods for it.
type ObservedManager struct {
	*ManagerImpl
	topology topologymanager.Manager
	observer Observer
	provoked provocations
	misled   misled
}

// Devices gives what each resource that has an endpoint has, by device id.
func (o *ObservedManager) Devices() map[string]map[string]KnownDevice {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	resources := map[string]map[string]KnownDevice{}
	for resource := range o.healthyDevices {
		resources[resource] = map[string]KnownDevice{}
		for id, device := range o.allDevices[resource] {
			resources[resource][id] = KnownDevice{
				Healthy: o.healthyDevices[resource].Has(id),
				NUMA:    numaNodes(device.Topology),
			}
		}
	}
	for pod, containers := range o.Allocations() {
		for _, allocations := range containers {
			for resource, allocation := range allocations {
				for _, id := range allocation.IDs {
					if device, known := resources[resource][id]; known {
						device.Pod = pod
						resources[resource][id] = device
					}
				}
			}
		}
	}
	return resources
}

// Allocations gives what is allocated, by pod UID, container and resource.
func (o *ObservedManager) Allocations() map[string]map[string]map[string]Allocation {
	o.podDevices.RLock()
	defer o.podDevices.RUnlock()
	pods := map[string]map[string]map[string]Allocation{}
	for pod, containers := range o.podDevices.devs {
		pods[pod] = map[string]map[string]Allocation{}
		for container, resources := range containers {
			pods[pod][container] = map[string]Allocation{}
			for resource, allocated := range resources {
				ids := []string{}
				for id := range allocated.deviceIds.Devices() {
					ids = append(ids, id)
				}
				sort.Strings(ids)
				pods[pod][container][resource] = Allocation{IDs: ids, Response: allocated.allocResp}
			}
		}
	}
	return pods
}

// connected stands after a plugin's options are known.
func (o *ObservedManager) connected(resource, socket string) {
	o.mutex.Lock()
	options := o.endpoints[resource].opts
	o.mutex.Unlock()
	o.observer.Connected(resource, socket, options)
}

func listedDevices(list *pluginapi.ListAndWatchResponse) []ListedDevice {
	devices := make([]ListedDevice, 0, len(list.Devices))
	for _, device := range list.Devices {
		devices = append(devices, ListedDevice{device.ID, device.Health, numaNodes(device.Topology)})
	}
	return devices
}

func numaNodes(topology *pluginapi.TopologyInfo) []int64 {
	if topology == nil {
		return nil
	}
	nodes := make([]int64, 0, len(topology.Nodes))
	for _, node := range topology.Nodes {
		nodes = append(nodes, node.ID)
	}
	return nodes
}

type allSourcesReady struct{}

func (allSourcesReady) AddSource(string) {}
func (allSourcesReady) AllReady() bool   { return true }
