from controlplane.domain.failures.kind import machine

SETTINGS = machine(
    "EHN-DOCKER-SETTINGS",
    "This host is to start `{package}` with `{python}` and from the image `{image}`: one runtime "
    "is started in one way only.",
    "Unset one of the two settings (`…_PYTHON` or `…_IMAGE`), then restart agent and build worker.",
)
SDK = machine(
    "EHN-DOCKER-SDK",
    "This host names an image, and the Python package `docker` is not installed.",
    "Install Enginehouse with its extra `containers`: pip install 'enginehouse[containers]'.",
)
AWAY = machine(
    "EHN-DOCKER-AWAY",
    "No Docker engine answers at `{address}`: {reason}.",
    "Start Docker on this host, or set DOCKER_HOST to its socket; where the agent itself runs in a "
    "container, mount the socket into it.",
)
DENIED = machine(
    "EHN-DOCKER-DENIED",
    "The user of this process may not use Docker's socket `{address}`.",
    "Add that user to the socket's group (mostly `docker`) and restart agent and build worker.",
)
NO_IMAGE = machine(
    "EHN-DOCKER-NO-IMAGE",
    "This host does not have the image `{image}`, and a start never pulls one.",
    "Run on this host: docker pull {image}",
)
NO_RUNTIME = machine(
    "EHN-DOCKER-NO-RUNTIME",
    "The image `{image}` has no `{package}` that its `python3` can import.",
    "Name an image of that runtime.",
)
NO_GPU = machine(
    "EHN-DOCKER-NO-GPU",
    "This host's Docker engine cannot give a GPU to a container.",
    "Install the NVIDIA Container Toolkit, run `nvidia-ctk runtime configure` and restart Docker.",
)
NAME = machine(
    "EHN-DOCKER-NAME",
    "A container that is not this installation's has the name `{name}`.",
    "Look at it with `docker inspect {name}`, and rename or remove it.",
)
FOLDER = machine(
    "EHN-DOCKER-FOLDER",
    "The Docker engine does not find a folder that the container needs.",
    "Where agent or build worker run in a container themselves, DATA_DIR and ENGINE_CACHE_DIR must "
    "be mounted there at the same path as on the host.",
)
REFUSED = machine(
    "EHN-DOCKER-REFUSED",
    "The Docker engine refused the container.",
    "Read its words below and the log of Docker on this host.",
)
LOST = machine(
    "EHN-DOCKER-LOST",
    "The Docker engine of this host went away while it ran the engine.",
    "Nothing to do once it is back: the container is removed, and another replica takes its place.",
)
OUT_OF_MEMORY = machine(
    "EHN-DOCKER-OOM",
    "The kernel's out-of-memory killer ended the engine in its container (`OOMKilled`).",
    "Free host memory on that node, or lower what the config keeps there "
    "(`kv_cache_host_memory_bytes`).",
)
