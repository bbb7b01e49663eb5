"""What must hold in every scenario, whatever it is about: read from the kubelet's events as they come."""

# A stream that the kubelet closed is reported as ended a little later; the plugin may be faster.
REPORTING_SECONDS = 0.02


class Rules:
    def __init__(self, several):
        """several: the kubelet knows a resource's streams by their sockets, and line 26 is not for it."""
        self._several = several
        self._streams = {}  # by resource: when its stream opened, while the kubelet has not begun to end it
        # Resources to which the test had this kubelet connect once more: which of the two streams an end belongs to
        # cannot be told, so that line 26 is not judged for them until the next kubelet.
        self._doubled = set()
        self._suspects = []  # registrations while a stream lived: the resource, since when, and when
        self._twice = []  # the same of two registrations at once, which both got a stream
        self._ids = {}  # by resource
        self._told = set()  # the names of sockets
        self._broken = []

    def take(self, event):
        kind, resource, at = event["event"], event.get("resource"), event["at"]
        if kind in ("started", "stopping"):
            self._streams.clear()
            self._doubled.clear()
            self._ids.clear()
        elif kind == "doubling":
            self._doubled.add(resource)
        elif kind == "connected":
            if resource in self._streams and resource not in self._doubled:
                self._twice.append((resource, self._streams[resource], at))
            self._streams[resource] = at
        elif kind == "ending":
            self._streams.pop(resource, None)
        elif kind == "disconnected":
            if not event.get("left"):
                self._streams.pop(resource, None)
            self._suspects = [
                each for each in self._suspects if each[0] != resource or at - each[2] > REPORTING_SECONDS
            ]
        elif kind == "wire" and event.get("request", {}).get("endpoint"):  # other calls have none
            name = event["request"]["endpoint"]
            if name in self._told:
                self._broken.append((47, f"{name} was told twice"))
            self._told.add(name)
        elif kind == "listed":
            self._check_list(resource, event["devices"])
        elif kind == "log" and event["log"]["msg"].startswith("Got registration request"):
            resource = event["log"]["resourceName"]
            if resource in self._streams and resource not in self._doubled:
                self._suspects.append((resource, self._streams[resource], at))

    def _check_list(self, resource, devices):
        ids = {device["id"] for device in devices}
        self._ids[resource] = ids
        if len(ids) < len(devices):
            self._broken.append((15, f"{resource} lists an id twice"))
        for other, theirs in self._ids.items():
            if other != resource and not ids.isdisjoint(theirs):
                self._broken.append((15, f"{resource} and {other} list the same id {min(ids & theirs)}"))
        if bad := [each for each in ids if not 1 <= len(each) <= 63]:
            self._broken.append((15, f"{resource} lists an id of {len(bad[0])} characters: {bad[0]}"))
        if any(node < 0 for device in devices for node in device.get("numa") or []):
            self._broken.append((16, f"{resource} lists a device on NUMA node -1"))

    def broken(self, daemon_ends):
        """Pairs of a line's number and what happened.

        daemon_ends: when the test ended a daemon, and so its streams.
        """
        return self._broken + [
            (
                26,
                f"{resource} was registered while its stream lived, {at - since:.6f} s after that was opened",
            )
            for resource, since, at in self._suspects + self._twice
            if not self._several and not any(since <= end <= at for end in daemon_ends)
        ]
