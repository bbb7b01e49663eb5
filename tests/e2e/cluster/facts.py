"""What the replays have in common: the resources, and facts that are waited for or required."""

from process import TimedOut, until

GOPHER = "lixueduan.com/gopher"
GPU = "nicktming.com/gpu"
RDMA = "nicktming.com/rdma"

# A shell hands on no variable with a '/' in its name; this is what the container was given.
ENVIRONMENT = "tr '\\0' '\\n' </proc/1/environ"

# The kubelet derives `allocatable` from its own copy of the Node. After the API server was away, its watch of the Node
# waits for up to a minute before it connects again (client-go's Reflector: 30 s at most, and up to 100 % jitter).
NODE_SECONDS = 90


class NotShown(Exception):
    """This machine lacks what the replay needs."""


def expect(fact, otherwise):
    if not fact:
        raise AssertionError(otherwise)


def advertised(cluster, node, resource, count):
    """Waits until the API server knows so many devices of the node, in capacity and allocatable."""

    def there():
        status = cluster.api.node(node.name)["status"]
        return all(status[part].get(resource) == str(count) for part in ("capacity", "allocatable"))

    until(there, NODE_SECONDS, f"{count} of {resource} on {node.name}", every=0.05)


def advertised_none(cluster, node, resource):
    """Capacity stays for 5 minutes: only allocatable says that nobody serves the resource."""
    until(lambda: cluster.api.node(node.name)["status"]["allocatable"].get(resource) == "0", NODE_SECONDS,
          f"0 allocatable of {resource} on {node.name}", every=0.05)


def nothing_offered(cluster, node):
    """Waits until nobody serves any device there: what the next one offers is its own."""

    def left():
        allocatable = cluster.api.node(node.name)["status"]["allocatable"]
        return [resource for resource, count in allocatable.items() if "/" in resource and count != "0"]

    try:
        until(lambda: not left(), NODE_SECONDS, f"nothing is offered on {node.name}", every=0.05)
    except TimedOut as error:
        raise TimedOut(f"{error}: {', '.join(left())} still") from None


def gopher_entry(folder):
    return f"""
- name: {GOPHER}
  directory:
    path: {folder}
  env:
    Gopher: "{{id}}"
"""


def counted_entry(name, count=10):
    return f"""
- name: {name}
  count: {count}
  env:
    NVIDIA_VISIBLE_DEVICES/{{resource}}: "{{id}}"
"""


def gophers(node, *names):
    """A fresh directory with these files."""
    folder = node.fresh_folder()
    for name in names:
        (folder / name).touch()
    return folder
