// What people write, on a machine that has everything: plugins.d with `cdi: true`, and the examples with it.
package cdi

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"go.yaml.in/yaml/v3"
)

// Seen by this process and by those that it starts, which `run` has put into a mount namespace of its own.
// The sys and run of MADE/machine; and its dev, where a link stands for a node.
func machineWithEverything(t *testing.T) {
	made := filepath.Join(os.Getenv("MADE"), "machine")
	mount := func(source, target, kind string, flags uintptr) {
		if err := syscall.Mount(source, target, kind, flags, ""); err != nil {
			t.Fatalf("%s on %s: %v", source, target, err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(target, syscall.MNT_DETACH) })
	}
	var nodes, serial []string
	note := func(top string, each func(path, below string)) {
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				each(path, strings.TrimPrefix(path, top))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	note(made+"/dev", func(_, below string) {
		switch {
		case below == "/snd": // that a directory is a device, too, is shown by this one
			nodes = append(nodes, "/snd/controlC0", "/snd/pcmC0D0p", "/snd/seq")
		case strings.HasPrefix(below, "/serial/"):
			serial = append(serial, below)
		default:
			nodes = append(nodes, below)
		}
	})
	name := regexp.MustCompile(`(?m)^DEVNAME=(.*)$`)
	note(made+"/sys", func(path, _ string) {
		if filepath.Base(path) != "uevent" {
			return
		}
		text, _ := os.ReadFile(path)
		if found := name.FindSubmatch(text); found != nil {
			nodes = append(nodes, "/"+string(found[1]))
		}
	})
	nodes = append(nodes, "/vfio/vfio", "/infiniband/rdma_cm", "/iluvatar0", "/itrctl")

	mount(made+"/sys", "/sys", "", syscall.MS_BIND)
	mount(made+"/run", "/run", "", syscall.MS_BIND)
	mount("made", "/dev", "tmpfs", 0)
	number := 0
	makeNode := func(path string, major, minor int) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		err := syscall.Mknod(path, syscall.S_IFCHR|0o666, major<<8|minor)
		if err != nil && err != syscall.EEXIST {
			t.Fatalf("%s: %v", path, err)
		}
	}
	for minor, basic := range map[int]string{3: "/dev/null", 5: "/dev/zero", 9: "/dev/urandom"} {
		makeNode(basic, 1, minor)
	}
	for _, node := range nodes {
		number++
		makeNode("/dev"+node, 240, number)
	}
	for i, link := range serial {
		node := fmt.Sprintf("/dev/ttyACM%d", i)
		makeNode(node, 166, i)
		if err := os.MkdirAll(filepath.Dir("/dev"+link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(node, "/dev"+link); err != nil {
			t.Fatal(err)
		}
	}
}

// The entries of a configuration that are to be tried, as plughost reads them; "" where there is none.
func entriesWithCdi(t *testing.T, text []byte, all bool) string {
	var document struct {
		Domain    string           `yaml:"domain"`
		Resources []map[string]any `yaml:"resources"`
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	chosen := slices.DeleteFunc(document.Resources, func(entry map[string]any) bool {
		_, has := entry["cdi"]
		_, assumes := entry["assume"] // those are written when a container comes: tests/e2e/cluster
		return !all && !has || assumes
	})
	for _, entry := range chosen {
		entry["cdi"] = true
		if name := entry["name"].(string); !strings.Contains(name, "/") {
			entry["name"] = "example.com/" + name
		}
	}
	if len(chosen) == 0 {
		return ""
	}
	written, err := yaml.Marshal(chosen)
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}

// What plughost says that it offers.
type offered struct {
	Resource string
	Devices  []struct {
		Cdi   string
		Nodes []struct {
			HostPath      string
			ContainerPath string
		}
		Mounts []struct{ ContainerPath string }
	}
}

func discovered(t *testing.T, entries string) []offered {
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("resources:\n"+entries), 0o644); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(os.Getenv("PLUGHOST"), "discover", "--config", config, "--output", "json").Output()
	if err != nil {
		t.Fatalf("discover: %v\n%s", err, entries)
	}
	var offers []offered
	if err := json.Unmarshal(said, &offers); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return offers
}

// Each device of these entries gets into a container, with the nodes that it has. How many there were.
func tryEntries(t *testing.T, entries string) int {
	specs := specifications(t, entries)
	tried := 0
	for _, offer := range discovered(t, entries) {
		for _, device := range offer.Devices {
			if device.Cdi == "" {
				continue
			}
			tried++
			container, err := waitForInjected(specs, device.Cdi, func(*oci.Spec) bool { return true })
			if err != nil {
				t.Errorf("%s: %v", device.Cdi, err)
				continue
			}
			for _, node := range device.Nodes {
				var its syscall.Stat_t
				if err := syscall.Stat(node.HostPath, &its); err != nil {
					t.Fatalf("%s: %v", node.HostPath, err)
				}
				found := false
				for _, given := range container.Linux.Devices {
					found = found || given.Path == node.ContainerPath && given.Major == int64(its.Rdev>>8) &&
						given.Minor == int64(its.Rdev&0xff)
				}
				// One whose path is another in each container is in the kubelet's answer itself.
				if found == strings.Contains(node.ContainerPath, "{n}") {
					t.Errorf("%s: %s: %+v", device.Cdi, node.HostPath, container.Linux.Devices)
				}
			}
			for _, mount := range device.Mounts {
				if !slices.ContainsFunc(container.Mounts, func(given oci.Mount) bool {
					return given.Destination == mount.ContainerPath
				}) {
					t.Errorf("%s: no mount at %s", device.Cdi, mount.ContainerPath)
				}
			}
		}
	}
	return tried
}

func TestEveryReadyMadeEntryGetsIntoAContainer(t *testing.T) {
	machineWithEverything(t)
	// Of these nothing belongs to a device alone but variables; or NVIDIA's own specification has it.
	bare := []string{"can", "count", "gopher", "gpu-memory", "nvidia-gpu", "nvidia-gpu-shared", "nvidia-mig"}
	presets, _ := filepath.Glob("../../plugins.d/*.yaml")
	if len(presets) < 40 {
		t.Fatalf("%d files in plugins.d", len(presets))
	}
	for _, preset := range presets {
		name := strings.TrimSuffix(filepath.Base(preset), ".yaml")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(preset)
			if err != nil {
				t.Fatal(err)
			}
			if tried := tryEntries(t, entriesWithCdi(t, text, true)); (tried == 0) != slices.Contains(bare, name) {
				t.Errorf("%d devices", tried)
			}
		})
	}
}

func TestEveryExampleWithCdiGetsIntoAContainer(t *testing.T) {
	machineWithEverything(t)
	texts := map[string][]byte{}
	example, err := os.ReadFile("../../config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	texts["config.example.yaml"] = example
	block := regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```")
	pages, _ := filepath.Glob("../../docs/*.md")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, found := range block.FindAllSubmatch(text, -1) {
			if strings.Contains(string(found[1]), "cdi: true") {
				texts[fmt.Sprintf("%s-%d", filepath.Base(page), i+1)] = found[1]
			}
		}
	}
	if len(texts) < 3 {
		t.Fatalf("%d examples", len(texts))
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			entries := entriesWithCdi(t, text, false)
			if entries == "" {
				t.Log("nothing but entries with `assume`")
			} else if tryEntries(t, entries) == 0 {
				t.Error("no device")
			}
		})
	}
}
