"""The Kubernetes API, as far as the replays need it: pods in and out, nodes, logs, and what else a manifest has."""

import http.client
import json
import ssl
import urllib.parse


class ApiError(Exception):
    """The API server said no, in its own words."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Api:
    """As who has the token or the file with certificate and key. Each request is a connection of its own. Thread-safe."""

    def __init__(self, host, port, authority, token=None, certificate=None):
        self._address = (host, port)
        self._authority = authority
        self._certificate = certificate
        self._who = {"Authorization": f"Bearer {token}"} if token else {}

    def _request(self, method, path, body=None, kind="application/json"):
        context = ssl.create_default_context(cafile=self._authority)
        if self._certificate:
            context.load_cert_chain(self._certificate)
        connection = http.client.HTTPSConnection(*self._address, context=context, timeout=30)
        try:
            connection.request(method, path, body, {**self._who, "Content-Type": kind})
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if response.status >= 400:
            raise ApiError(response.status, f"{method} {path}: {response.status} {text.strip()}")
        return text

    def get(self, path):
        return json.loads(self._request("GET", path))

    def ready(self):
        try:
            return self._request("GET", "/readyz") == "ok"
        except (OSError, ApiError):
            return False

    def post(self, path, document):
        """document is YAML, which the API server itself reads."""
        return json.loads(self._request("POST", path, document, "application/yaml"))

    def patch(self, path, change):
        """change: what the object has instead, as a JSON merge patch."""
        return json.loads(self._request("PATCH", path, json.dumps(change), "application/merge-patch+json"))

    def remove(self, path):
        self._request("DELETE", path)

    def exists(self, path):
        return self._found(path) is not None

    def _found(self, path):
        """None if there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _pods(self, name="", namespace="default"):
        return f"/api/v1/namespaces/{namespace}/pods/{name}".rstrip("/")

    def create(self, pod):
        """pod is YAML, which the API server itself reads."""
        return self.post(self._pods(), pod)

    def pod(self, name):
        """None if there is none."""
        return self._found(self._pods(name))

    def pods(self, namespace="default"):
        return self.get(self._pods(namespace=namespace))["items"]

    def pod_names(self, node=None):
        """All pods, or those on one node."""
        return [pod["metadata"]["name"] for pod in self.pods() if node in (None, pod["spec"].get("nodeName"))]

    def delete(self, name, seconds=1):
        """The pod has so many seconds to end. With 0 it is forgotten at once, whatever its node does."""
        self._request("DELETE", self._pods(name), json.dumps({"gracePeriodSeconds": seconds}))

    def log(self, name, namespace="default", container=""):
        """container: which one, if it has several."""
        return self._request("GET", f"{self._pods(name, namespace)}/log?container={container}")

    def node(self, name):
        """None if there is none."""
        return self._found(f"/api/v1/nodes/{name}")

    def forget_node(self, name):
        self.remove(f"/api/v1/nodes/{name}")

    def events(self, pod):
        selector = urllib.parse.quote(f"involvedObject.name={pod}")
        return self.get(f"/api/v1/namespaces/default/events?fieldSelector={selector}")["items"]
