// For Kubernetes up to 1.34.
package devicemanager

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
)

// NewObservedManager makes a manager that will listen at socket, an absolute path. Its checkpoint lies beside the socket.
// numa, policy and scope are the topology manager's.
func NewObservedManager(socket string, numa []int, policy, scope string, observer Observer) (*ObservedManager, error) {
	nodes, topology, err := newTopology(numa, policy, scope)
	if err != nil {
		return nil, err
	}
	manager, err := newManagerImpl(socket, nodes, topology)
	if err != nil {
		return nil, err
	}
	observed := &ObservedManager{manager, topology, observer, newProvocations(), newMisled()}
	if manager.server, err = plugin.NewServer(socket, manager, observed); err != nil {
		return nil, err
	}
	topology.AddHintProvider(observed)
	return observed, nil
}

func (o *ObservedManager) PluginConnected(resource string, p plugin.DevicePlugin) error {
	if err := o.refusal(resource); err != nil {
		return err
	}
	if err := o.ManagerImpl.PluginConnected(resource, p); err != nil {
		return err
	}
	o.noteConnected(resource, p)
	o.connected(resource, p.SocketPath())
	return nil
}

func (o *ObservedManager) PluginListAndWatchReceiver(resource string, list *pluginapi.ListAndWatchResponse) {
	o.receive(resource, list)
}

func (o *ObservedManager) takeIn(resource string, list *pluginapi.ListAndWatchResponse) {
	o.ManagerImpl.PluginListAndWatchReceiver(resource, list)
}

func (o *ObservedManager) PluginDisconnected(resource string) {
	o.ManagerImpl.PluginDisconnected(resource)
	o.disconnected(resource, "")
}

// Listen reads the checkpoint, empties the directory and takes registrations.
func (o *ObservedManager) Listen(activePods ActivePodsFunc) error {
	return o.Start(activePods, allSourcesReady{}, nil, nil)
}

// Close ends every stream and the registration server.
func (o *ObservedManager) Close() error {
	err := o.Stop()
	o.closeForgotten()
	return err
}

// RunOptions does what a container's start needs: PreStartContainer where a plugin requires it, then the options.
func (o *ObservedManager) RunOptions(pod *v1.Pod, container *v1.Container) (*DeviceRunContainerOptions, error) {
	return o.GetDeviceRunContainerOptions(pod, container)
}

// WatchRegistry registers the plugins whose sockets are in the directory, the kubelet's plugins_registry, until stop.
func (o *ObservedManager) WatchRegistry(directory string, stop <-chan struct{}) {
	registry := pluginmanager.NewPluginManager(directory, &record.FakeRecorder{})
	registry.AddHandler(registerapi.DevicePlugin, o.GetWatcherHandler())
	registry.Run(allSourcesReady{}, stop)
}

// The three calls of a container's start, with ids of the test's choice, as the manager makes them.

func (o *ObservedManager) AskAllocate(resource string, ids []string) (any, error) {
	e, err := o.endpointOf(resource)
	if err != nil {
		return nil, err
	}
	return e.allocate(ids)
}

func (o *ObservedManager) AskPreferred(resource string, available, mustInclude []string, size int) (any, error) {
	e, err := o.endpointOf(resource)
	if err != nil {
		return nil, err
	}
	return e.getPreferredAllocation(available, mustInclude, size)
}

func (o *ObservedManager) AskPreStart(resource string, ids []string) (any, error) {
	e, err := o.endpointOf(resource)
	if err != nil {
		return nil, err
	}
	return e.preStartContainer(ids)
}

func (o *ObservedManager) disconnect(client plugin.Client) error {
	return client.Disconnect()
}
