"""The packages of the wheel; all else is in pyproject.toml, which can either find packages or list them, and here it takes both."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["core*", "spec_ui*"]), "specscope_assets"],
    package_dir={"specscope_assets": "assets"},  # the folder's name in a wheel: `assets` in site-packages could be anybody's
)
