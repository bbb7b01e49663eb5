package devicemanager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	plugin "k8s.io/kubernetes/pkg/kubelet/cm/devicemanager/plugin/v1beta1"
)

// provocations is what a test makes the manager do to its plugins. The manager's mutex guards it.
type provocations struct {
	refused map[string]bool
	// The client of each open connection of a resource, oldest first. To 1.36 the manager knows the newest alone.
	open    map[string][]plugin.DevicePlugin
	doubled map[string]bool // its two newest connections are of Double
	// Every client that ever connected. The manager forgets those whose place another took.
	connected []plugin.DevicePlugin
	closing   bool
}

func newProvocations() provocations {
	return provocations{
		refused: map[string]bool{},
		open:    map[string][]plugin.DevicePlugin{},
		doubled: map[string]bool{},
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
	versions := []string{pluginapi.Version}
	switch server := any(o.GetWatcherHandler()).(type) {
	case interface {
		ValidatePlugin(string, string, []string) error
	}:
		return server.ValidatePlugin(resource, "", versions)
	case interface {
		ValidatePlugin(context.Context, string, string, []string) error
	}:
		return server.ValidatePlugin(context.Background(), resource, "", versions)
	}
	return errors.New("this version's ValidatePlugin is unknown")
}

// Cancel ends the resource's stream as the kubelet's plugin registry does.
func (o *ObservedManager) Cancel(resource string) error {
	client, err := o.connection(resource)
	if err != nil {
		return err
	}
	o.observer.Ending(resource)
	// Its parameters differ between versions.
	switch server := any(o.GetWatcherHandler()).(type) {
	case interface{ DeRegisterPlugin(string) }:
		server.DeRegisterPlugin(resource)
	case interface{ DeRegisterPlugin(name, endpoint string) }:
		server.DeRegisterPlugin(resource, client.SocketPath())
	case interface {
		DeRegisterPlugin(context.Context, string, string)
	}:
		server.DeRegisterPlugin(context.Background(), resource, client.SocketPath())
	default:
		return errors.New("this version's DeRegisterPlugin is unknown")
	}
	return nil
}

// Double connects to the resource's socket once more, as when a plugin registers while its stream lives. To 1.36 the new
// client takes the place of the old one, whose stream stays open; from 1.37 on the manager keeps both.
func (o *ObservedManager) Double(resource string) error {
	client, err := o.connection(resource)
	if err != nil {
		return err
	}
	o.observer.Doubling(resource)
	socket, remove, err := socketOfDouble(client.SocketPath())
	if err != nil {
		return err
	}
	defer remove()
	if err := o.register(resource, socket); err != nil {
		return err
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	// Gone again already, or replaced by a registration of the plugin's: then there are no two to tell apart.
	open := o.provoked.open[resource]
	o.provoked.doubled[resource] = len(open) > 1 && open[len(open)-2] == client
	return nil
}

// Again connects to the resource's socket under the name that it has, as when a plugin tells a name twice. From 1.37 on that
// is refused, and the manager forgets the client that it has.
func (o *ObservedManager) Again(resource string) error {
	client, err := o.connection(resource)
	if err != nil {
		return err
	}
	return o.register(resource, client.SocketPath())
}

// register does what a Register of the plugin's does. Its parameters differ between versions.
func (o *ObservedManager) register(resource, socket string) error {
	versions := []string{pluginapi.Version}
	switch server := any(o.GetWatcherHandler()).(type) {
	case interface {
		RegisterPlugin(string, string, []string) error
	}:
		return server.RegisterPlugin(resource, socket, versions)
	case interface {
		RegisterPlugin(string, string, []string, *time.Duration) error
	}:
		return server.RegisterPlugin(resource, socket, versions, nil)
	case interface {
		RegisterPlugin(context.Context, string, string, []string, *time.Duration) error
	}:
		return server.RegisterPlugin(context.Background(), resource, socket, versions, nil)
	}
	return errors.New("this version's RegisterPlugin is unknown")
}

// Drop ends the older one of a doubled resource's streams. To 1.36 the kubelet then disconnects the newer one.
func (o *ObservedManager) Drop(resource string) error {
	o.mutex.Lock()
	doubled, open := o.provoked.doubled[resource], o.provoked.open[resource]
	delete(o.provoked.doubled, resource)
	o.mutex.Unlock()
	if !doubled {
		return fmt.Errorf("%s has no two streams", resource)
	}
	o.observer.Ending(resource)
	return o.disconnect(open[len(open)-2].(plugin.Client))
}

func (o *ObservedManager) connection(resource string) (plugin.DevicePlugin, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if open := o.provoked.open[resource]; len(open) > 0 {
		return open[len(open)-1], nil
	}
	return nil, fmt.Errorf("%s is not connected", resource)
}

func (o *ObservedManager) noteConnected(resource string, client plugin.DevicePlugin) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.provoked.connected = append(o.provoked.connected, client)
	o.provoked.open[resource] = append(slices.Clone(o.provoked.open[resource]), client)
	delete(o.provoked.doubled, resource)
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

// disconnected stands after the manager took note of a stream's end. socket: the one of its connection; empty: to 1.36, where
// the manager now takes the resource for disconnected, however many streams are open.
func (o *ObservedManager) disconnected(resource, socket string) {
	o.mutex.Lock()
	open := slices.DeleteFunc(slices.Clone(o.provoked.open[resource]), func(client plugin.DevicePlugin) bool {
		return socket == "" || client.SocketPath() == socket
	})
	o.provoked.open[resource] = open
	delete(o.provoked.doubled, resource)
	closing := o.provoked.closing
	o.mutex.Unlock()
	if !closing {
		o.observer.Disconnected(resource, len(open))
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
