//! The repair of what Consul has lost of running tasks: exactly what consul-ecs registered, with few calls.

mod admission;
mod calls;
mod corrected;
mod guarded;
mod half_dead;
mod mesh_of_tasks;
mod observed;
mod partitions;
mod without_reporter;
