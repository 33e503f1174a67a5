"""Protocols and models: every interleaving, and what a power failure may leave.

``python examples/python/explore.py``
"""

import coreplane as cp


def main() -> None:
    print(cp.protocols().select("name", "meaning"))
    whole = cp.explore("bbb")
    print(whole, "complete" if whole.complete else "bounded")
    tests = cp.litmus(model="px86")
    print(tests.table.head(5))
    for test in list(tests)[:1]:
        for image in test.images:
            print(test.name, image)


if __name__ == "__main__":
    main()
