# SPDX-License-Identifier: (Apache-2.0 OR MIT)
"""A package for Spack: put this folder into a repository's packages/."""

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Coreplane(PythonPackage):
    """Runs real programs on memory that cannot be bought: a simulator of machines with
    persistent, near-data and remote memory."""

    license("Apache-2.0 OR MIT")

    # After a release: url and sha256. Until then a checkout is built:
    # spack dev-build coreplane@0.1.0
    # Spack's own repository may have older versions of what is needed (py-altair 6.2, py-polars
    # 1.30, py-maturin 1.16): a newer one goes beside this folder then.
    version("0.1.0")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-maturin@1.16", type="build")
    depends_on("py-numpy@2.1:", type=("build", "run"))
    depends_on("py-polars@1.30:", type=("build", "run"))
    depends_on("py-altair@6.2:6", type=("build", "run"))
    depends_on("py-vl-convert-python@1.9:1", type=("build", "run"))

    conflicts("platform=darwin", msg="the recorder is for Linux on x86-64")
    conflicts("target=aarch64:", msg="the recorder is for Linux on x86-64")
