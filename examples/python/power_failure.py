"""Which store was not ordered: a seeded mistake, found, named, and tried again.

``python examples/python/power_failure.py``
"""

import coreplane as cp


def main() -> None:
    program = cp.Workload("hashmap", bug="flush-address", operations=30)
    found = cp.crash("intel", program, points=80)
    print(found)
    for finding in found.findings:
        print(finding.why or finding.message)
        for store in finding.missing:
            print(f"  missing: {store.site}")
        for store in finding.present:
            print(f"  there:   {store.site}")
    first = next(finding for finding in found.findings if finding.replay)
    again = cp.crash("intel", program, replay=first.replay)
    print("the same image again:", "clean" if again.ok else again.findings[0].message)
    print("without the mistake:", cp.crash("intel", cp.Workload("hashmap", operations=30), points=80))


if __name__ == "__main__":
    main()
