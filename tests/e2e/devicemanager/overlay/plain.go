// For Kubernetes up to 1.34.
package devicemanager

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
)

// NewObservedManager makes a manager that will listen at socket, an absolute path. Its checkpoint lies beside the socket.
func NewObservedManager(socket string, nodes []cadvisorapi.Node, topology topologymanager.Manager, observer Observer) (*ObservedManager, error) {
	manager, err := newManagerImpl(socket, nodes, topology)
	if err != nil {
		return nil, err
	}
	observed := &ObservedManager{manager, topology, observer}
	if manager.server, err = plugin.NewServer(socket, manager, observed); err != nil {
		return nil, err
	}
	topology.AddHintProvider(observed)
	return observed, nil
}

func (o *ObservedManager) PluginConnected(resource string, p plugin.DevicePlugin) error {
	if err := o.ManagerImpl.PluginConnected(resource, p); err != nil {
		return err
	}
	o.connected(resource, p.SocketPath())
	return nil
}

func (o *ObservedManager) PluginListAndWatchReceiver(resource string, list *pluginapi.ListAndWatchResponse) {
	o.ManagerImpl.PluginListAndWatchReceiver(resource, list)
	o.listed(resource, list)
}

func (o *ObservedManager) PluginDisconnected(resource string) {
	o.ManagerImpl.PluginDisconnected(resource)
	o.observer.Disconnected(resource)
}

// Listen reads the checkpoint, empties the directory and takes registrations.
func (o *ObservedManager) Listen(activePods ActivePodsFunc) error {
	return o.Start(activePods, allSourcesReady{}, nil, nil)
}

// Close ends every stream and the registration server.
func (o *ObservedManager) Close() error {
	return o.Stop()
}

// RunOptions does what a container's start needs: PreStartContainer where a plugin requires it, then the options.
func (o *ObservedManager) RunOptions(pod *v1.Pod, container *v1.Container) (*DeviceRunContainerOptions, error) {
	return o.GetDeviceRunContainerOptions(pod, container)
}
