"""What an evaluation has to do: each reader of the configuration with all that its answers depend on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from omegaconf import DictConfig, OmegaConf

from unwritten.benchmark.protocols import PROTOCOLS
from unwritten.errors import UsageError
from unwritten.readers.base import Reader
from unwritten.readers.load import load_reader


@dataclass(frozen=True)
class Job:
    """One reader with all that its answers depend on."""

    reader: Reader
    protocol: str
    settings: str


def load_jobs(config: DictConfig) -> list[Job]:
    """The readers of the configuration.

    Raises:
        UsageError: an unknown protocol, or two readers of one name.
    """
    jobs: list[Job] = []
    for key, node in config.reader.items():
        for reader in load_reader(node, str(key)):
            protocol = str(node.get("protocol") or reader.protocol or config.protocol)
            if protocol not in PROTOCOLS:
                raise UsageError(f"protocol={protocol}: known are {', '.join(PROTOCOLS)}")
            if reader.name in {job.reader.name for job in jobs}:
                raise UsageError(f"reader.{key}.name={reader.name}: two readers have this name; rename one")
            depends = {
                "reader": OmegaConf.to_container(node, resolve=True),
                "benchmark": OmegaConf.to_container(config.benchmark, resolve=True),
                "seed": config.seed,
                "fingerprint": reader.fingerprint,
            }
            digest = hashlib.sha256(json.dumps(depends, sort_keys=True, default=str).encode()).hexdigest()[:16]
            jobs.append(Job(reader, protocol, digest))
    return jobs
