//! The worker that computes on WebGPU, with the compiler that this takes.

fn main() {
    drope_worker::serve();
}
