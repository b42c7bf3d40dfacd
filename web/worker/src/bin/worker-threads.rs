//! The worker that computes on the CPU with several threads.

fn main() {
    drope_worker::serve();
}
