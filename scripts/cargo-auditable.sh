#!/bin/sh
# A cargo that records the dependencies in what it builds, for tools that run the program in the variable CARGO.
exec cargo auditable "$@"
