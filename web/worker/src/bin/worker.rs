//! The worker that computes on the CPU: small, so that it answers first.

fn main() {
    drope_worker::serve();
}
