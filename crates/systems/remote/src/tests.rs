//! Contract, timing and fault tests.
