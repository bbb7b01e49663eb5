package devicemanager

import (
	"errors"
	"fmt"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
)

// provocations is what a test makes the manager do to its plugins. The manager's mutex guards it.
type provocations struct {
	refused map[string]bool
	// The client of each resource's newest connection, and the one before it where both are open.
	newest, former map[string]plugin.DevicePlugin
	// Every client that ever connected. The manager forgets those whose place another took.
	connected []plugin.DevicePlugin
	closing   bool
}

func newProvocations() provocations {
	return provocations{
		refused: map[string]bool{},
		newest:  map[string]plugin.DevicePlugin{},
		former:  map[string]plugin.DevicePlugin{},
	}
}

// Refuse makes every further registration of the resource fail, as one whose options cannot be had; Accept ends that.
func (o *ObservedManager) Refuse(resource string) { o.setRefused(resource, true) }
func (o *ObservedManager) Accept(resource string) { o.setRefused(resource, false) }

func (o *ObservedManager) setRefused(resource string, refused bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.provoked.refused[resource] = refused
}

func (o *ObservedManager) refusal(resource string) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.provoked.refused[resource] {
		return errors.New("failed to get device plugin options: refused by the test")
	}
	return nil
}

// Validate says what the manager has against a resource of this name.
func (o *ObservedManager) Validate(resource string) error {
	return o.GetWatcherHandler().ValidatePlugin(resource, "", []string{pluginapi.Version})
}

// Cancel ends the resource's stream as the kubelet's plugin registry does.
func (o *ObservedManager) Cancel(resource string) error {
	if _, err := o.connection(resource); err != nil {
		return err
	}
	o.observer.Ending(resource)
	// Its parameters differ between versions.
	switch server := any(o.GetWatcherHandler()).(type) {
	case interface{ DeRegisterPlugin(string) }:
		server.DeRegisterPlugin(resource)
	case interface{ DeRegisterPlugin(name, endpoint string) }:
		server.DeRegisterPlugin(resource, "")
	default:
		return errors.New("this version's DeRegisterPlugin is unknown")
	}
	return nil
}

// Double connects to the resource's socket once more, as when a plugin registers while its stream lives: the new
// client takes the place of the old one, whose stream stays open.
func (o *ObservedManager) Double(resource string) error {
	client, err := o.connection(resource)
	if err != nil {
		return err
	}
	o.observer.Doubling(resource)
	versions := []string{pluginapi.Version}
	switch server := any(o.GetWatcherHandler()).(type) {
	case interface {
		RegisterPlugin(string, string, []string) error
	}:
		err = server.RegisterPlugin(resource, client.SocketPath(), versions)
	case interface {
		RegisterPlugin(string, string, []string, *time.Duration) error
	}:
		err = server.RegisterPlugin(resource, client.SocketPath(), versions, nil)
	default:
		err = errors.New("this version's RegisterPlugin is unknown")
	}
	if err != nil {
		return err
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	// Gone again already, or replaced by a registration of the plugin's: then there are no two to tell apart.
	if newest := o.provoked.newest[resource]; newest != nil && newest != client {
		o.provoked.former[resource] = client
	}
	return nil
}

// Drop ends the older one of a doubled resource's streams. The kubelet then disconnects the newer one.
func (o *ObservedManager) Drop(resource string) error {
	o.mutex.Lock()
	client := o.provoked.former[resource]
	delete(o.provoked.former, resource)
	o.mutex.Unlock()
	if client == nil {
		return fmt.Errorf("%s has no two streams", resource)
	}
	o.observer.Ending(resource)
	return o.disconnect(client.(plugin.Client))
}

func (o *ObservedManager) connection(resource string) (plugin.DevicePlugin, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if client := o.provoked.newest[resource]; client != nil {
		return client, nil
	}
	return nil, fmt.Errorf("%s is not connected", resource)
}

func (o *ObservedManager) noteConnected(resource string, client plugin.DevicePlugin) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.provoked.connected = append(o.provoked.connected, client)
	o.provoked.newest[resource] = client
	delete(o.provoked.former, resource)
	o.misled.undeceive(resource)
}

// closeForgotten ends the streams that the stopped manager left open. A kubelet's process takes them with it.
func (o *ObservedManager) closeForgotten() {
	o.mutex.Lock()
	o.provoked.closing = true
	connected := o.provoked.connected
	o.mutex.Unlock()
	for _, client := range connected {
		// The only error is that of a connection which is closed already.
		_ = o.disconnect(client.(plugin.Client))
	}
}

// disconnected stands after the manager took note of a stream's end.
func (o *ObservedManager) disconnected(resource string) {
	o.mutex.Lock()
	delete(o.provoked.newest, resource)
	delete(o.provoked.former, resource)
	closing := o.provoked.closing
	o.mutex.Unlock()
	if !closing {
		o.observer.Disconnected(resource)
	}
}

// endpointOf gives the client through which the manager asks the resource's plugin.
func (o *ObservedManager) endpointOf(resource string) (endpoint, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	known, found := o.endpoints[resource]
	if !found || known.e.isStopped() {
		return nil, fmt.Errorf("%s is not connected", resource)
	}
	return known.e, nil
}
